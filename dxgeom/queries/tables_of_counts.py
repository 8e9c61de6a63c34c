"""Queries that ask for tables of counts: marginals, and prefixes and ranges along an ordered column."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, Final, final

from pydantic import Field, WithJsonSchema

from dxgeom.errors import UnsupportedCombination
from dxgeom.policy.source.mistakes import Span
from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.policy.source.yaml_tree import Sequence as Nodes
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.query_kind import (
    SEVERAL_WORDS,
    Bounds,
    BoxKind,
    QuerySyntax,
    TableKind,
    Where,
    Word,
    condition_words,
    one_line,
)
from dxgeom.queries.weights import AskedQueries
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.weight_table import products
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads.constructors import NamedTable, marginal, prefix_counts, range_counts
from dxgeom.universe.workloads.groups import Groups, groups_of_column, ordered_groups
from dxgeom.universe.workloads.spans import Spans, cells, prefixes, ranges
from dxgeom.universe.workloads.whole_tables import MOST_TABLES

_ALL_WAYS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"ways": {"type": ["integer", "string"]}, "of": SEVERAL_WORDS},
    "required": ["ways"],
    "additionalProperties": False,
}
_GROUPS: Final[dict[str, Any]] = {"type": "array", "items": SEVERAL_WORDS, "minItems": 1}


@final
class MarginalSyntax(QuerySyntax):
    """``{marginal: [columns…], where: condition}``; what is no column is told at its place."""

    marginal: Annotated[Any, WithJsonSchema(SEVERAL_WORDS)] = Field(
        description="A count for every combination of the values of these attributes or columns."
    )
    where: Where = None


@final
class MarginalsSyntax(QuerySyntax):
    """``{marginals: [[columns…], …]}`` or ``{marginals: {ways: 2, of: [columns…]}}``."""

    marginals: Annotated[Any, WithJsonSchema({"anyOf": [_GROUPS, _ALL_WAYS]})] = Field(
        description="Several marginals: a list of groups of columns, or all groups of so many 'ways', 'of' some "
        "columns."
    )
    where: Where = None


@final
class PrefixesSyntax(QuerySyntax):
    """``{prefixes: column, at: [bounds…], where: condition}``."""

    prefixes: Word = Field(
        description="For each value of a column of numbers or dates: how many records have it or a lower one."
    )
    where: Where = None
    at: Bounds = None


@final
class RangesSyntax(QuerySyntax):
    """``{ranges: column, at: [bounds…], where: condition}``."""

    ranges: Word = Field(
        description="For each two values of a column of numbers or dates: how many records lie between, both included."
    )
    where: Where = None
    at: Bounds = None


@final
class Marginal(TableKind):
    """A count for every combination of values."""

    word = "marginal"
    syntax = MarginalSyntax
    several = True

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        return _counts(node, columns, _marginals(self.tables(value, columns)))

    def tables(self, value: Node, columns: ColumnReader) -> Sequence[tuple[Groups, ...]] | None:
        entries = value.items if isinstance(value, Nodes) else (value,)
        groups = _columns(value.span, entries, columns)
        return None if groups is None else [groups]

    def spans(self, node: Mapping, value: Node, columns: ColumnReader) -> Sequence[Spans] | None:
        return _cells(self.tables(value, columns))


@final
class Marginals(TableKind):
    """Several marginals."""

    word = "marginals"
    syntax = MarginalsSyntax
    several = True

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        return _counts(node, columns, _marginals(self.tables(value, columns)))

    def tables(self, value: Node, columns: ColumnReader) -> Sequence[tuple[Groups, ...]] | None:
        if isinstance(value, Mapping):
            return _all_ways(value, columns)
        if not isinstance(value, Nodes) or not value.items:
            message = "'marginals' is a list of groups, such as [[age, sex], [race]], or {ways: 2}"
            columns.note("DX108", value.span, message, "write 'marginal: age' for one table")
            return None
        lists = [item.items if isinstance(item, Nodes) else (item,) for item in value.items]
        each = zip(value.items, lists, strict=True)
        found = [_columns(item.span, entries, columns) for item, entries in each]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    def spans(self, node: Mapping, value: Node, columns: ColumnReader) -> Sequence[Spans] | None:
        return _cells(self.tables(value, columns))


@final
class Prefixes(BoxKind):
    """How many records have each value or a lower one."""

    word = "prefixes"
    syntax = PrefixesSyntax
    several = True

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        groups = _along(self.word, node, value, columns)
        return _counts(node, columns, None if groups is None else [prefix_counts(groups)])

    def spans(self, node: Mapping, value: Node, columns: ColumnReader) -> Sequence[Spans] | None:
        groups = _along(self.word, node, value, columns)
        return None if groups is None else [prefixes(groups)]


@final
class Ranges(BoxKind):
    """How many records lie between each two values."""

    word = "ranges"
    syntax = RangesSyntax
    several = True

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        groups = _along(self.word, node, value, columns)
        return _counts(node, columns, None if groups is None else [range_counts(groups)])

    def spans(self, node: Mapping, value: Node, columns: ColumnReader) -> Sequence[Spans] | None:
        groups = _along(self.word, node, value, columns)
        return None if groups is None else [ranges(groups)]


def _marginals(sets_of_groups: Sequence[tuple[Groups, ...]] | None) -> list[NamedTable] | None:
    return None if sets_of_groups is None else [marginal(groups) for groups in sets_of_groups]


def _cells(sets_of_groups: Sequence[tuple[Groups, ...]] | None) -> list[Spans] | None:
    return None if sets_of_groups is None else [cells(groups) for groups in sets_of_groups]


def _counts(node: Mapping, columns: ColumnReader, tables: list[NamedTable] | None) -> AskedQueries | None:
    """Tables of counts, of those records only that satisfy the query's condition."""
    chosen = columns.where(node)
    if chosen is None or not tables:
        return None
    names = tuple(name + condition_words(node) for one in tables for name in one.names)
    counted = tuple(products(one.table, chosen) for one in tables)
    origins = (replace(own, query=own.query + condition_words(node)) for one in tables for own in one.origins)
    by_group = all(one.groups for one in tables)
    return AskedQueries(names, (Fraction(1),) * len(names), counted, origins=tuple(origins) if by_group else ())


def _columns(span: Span, entries: tuple[Node, ...], columns: ColumnReader) -> tuple[Groups, ...] | None:
    groups = tuple(group for group in map(columns.groups, entries) if group is not None)
    if not entries:
        columns.note("DX108", span, "a marginal is of one or more columns", "write 'marginal: age' for one table")
    if len(groups) < len(entries) or not groups:
        return None
    if len({group.axis for group in groups}) < len(groups):
        columns.note(
            "DX201", span, "a marginal takes one column of each attribute, found two of one", "leave one of them out"
        )
        return None
    return groups


def _all_ways(value: Mapping, columns: ColumnReader) -> Sequence[tuple[Groups, ...]] | None:
    for key, _ in value.entries:
        if key.text not in _ALL_WAYS["properties"]:
            advice = did_you_mean(key.text, tuple(_ALL_WAYS["properties"]))
            columns.note("DX105", key.span, f"the key {shown(key.text)} is not known here", advice)
    among = value.entry("of")
    if among is None:
        each = enumerate(columns.universe.attributes)
        first = [(axis, attribute.columns[0]) for axis, attribute in each if not attribute.unlisted]
        found: list[Groups | None] = [groups_of_column(columns.universe, *one) for one in first]
        for one in first:
            columns.by_value(*one)
    else:
        nodes = among[1].items if isinstance(among[1], Nodes) else (among[1],)
        found = [columns.groups(node) for node in nodes]
    known = [one for one in found if one is not None]
    ways = _ways(value, len(found), columns)
    if ways is None or len(known) < len(found):
        return None
    if len({one.axis for one in known}) < len(known):
        columns.note("DX201", value.span, "a marginal takes one column of each attribute, found two of one")
        return None
    if math.comb(len(known), ways) > MOST_TABLES:
        columns.note("DX207", value.span, f"these are {math.comb(len(known), ways):,} tables; at most {MOST_TABLES:,}")
        return None
    return [*itertools.combinations(known, ways)]


def _ways(value: Mapping, most: int, columns: ColumnReader) -> int | None:
    stated = value.entry("ways")
    try:
        number = exact(one_line(stated[1])) if stated else Fraction(0)
    except NotANumber:
        number = Fraction(0)
    if number.denominator == 1 and 0 < number <= most:
        return int(number)
    span = stated[1].span if stated else value.span
    columns.note(
        "DX210",
        span,
        f"'ways' says how many columns each table has: a whole number from 1 to {most}",
        f"write 'ways: {most}'",
    )
    return None


def _along(word: str, node: Mapping, value: Node, columns: ColumnReader) -> Groups | None:
    """The values of an ordered column, or what lies between bounds."""
    found, bounds = columns.column(value), node.entry("at")
    if found is None:
        return None
    try:
        groups: Groups | None = ordered_groups(columns.universe, *found)
    except UnsupportedCombination as error:
        columns.note("DX201", value.span, str(error), f"{word} are along numbers or dates")
        return None
    if bounds is not None and isinstance(bounds[1], Nodes):
        groups = columns.intervals(value, bounds[1])
    else:
        columns.by_value(*found)
    return groups
