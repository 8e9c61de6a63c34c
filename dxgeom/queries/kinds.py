"""What each kind of query asks for, as exact weights over record types."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.policy.source.data_files import WrongContent, read_csv
from dxgeom.policy.source.mistakes import Span
from dxgeom.policy.source.text import Unreadable
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.weights import TooFine, Workload, integers_over_unit
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.weight_table import products
from dxgeom.universe.weight_tables import table_of_rows
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads import (
    Groups,
    NamedTable,
    groups_of_column,
    marginal,
    ordered_groups,
    prefix_counts,
    range_counts,
)

KINDS: Final = ("count", "sum", "mean", "marginal", "marginals", "prefixes", "ranges", "matrix")
WITH_WHERE: Final = ("sum", "marginal", "marginals", "prefixes", "ranges")
ORDERED: Final = ("prefixes", "ranges")
"""Kinds that go along a column of numbers or dates, and may go by bounds instead of by values."""
SEVERAL: Final = ("marginal", "marginals", "prefixes", "ranges", "matrix")
"""Kinds that ask many questions at once, and whose names are therefore a beginning."""
_SINGLE_WORDS: Final = ("name", "where", "importance", "count", "sum", "mean", "matrix", "prefixes", "ranges")


@final
@dataclass(frozen=True)
class QueryReader:
    """Reads queries of one file, over one universe; notes mistakes and returns None for the query that has one."""

    columns: ColumnReader
    records: int | None

    def workload(self, node: Node) -> Workload | None:
        """The queries of one entry of the list."""
        if not isinstance(node, Mapping):
            self._note("DX200", node.span, "a query is a mapping such as 'count: age >= 65'")
            return None
        before = self._mistakes
        kind = self._kind(node)
        self._check_keys(node, kind)
        if kind is None or self._mistakes > before:
            return None
        _, value = node.entry(kind) or (None, node)
        try:
            made = self._made(kind, node, value)
        except TooLarge as error:
            self._note("DX207", value.span, str(error))
            return None
        importance = self._importance(node)
        if made is None or importance is None or self._mistakes > before:
            return None
        return replace(self._named(node, made), importance=importance)

    def _made(self, kind: str, node: Mapping, value: Node) -> Workload | None:
        match kind:
            case "count":
                return self._count(value)
            case "sum":
                return self._sum(node, value)
            case "mean":
                return self._mean(node, value)
            case "matrix":
                return self._matrix(value)
            case "marginal":
                entries = value.items if isinstance(value, Sequence) else (value,)
                return self._counts(node, [self._marginal(value.span, entries)])
            case "marginals":
                return self._counts(node, self._marginals(value))
            case _:
                return self._counts(node, [self._along(kind, node, value)])

    def _kind(self, node: Mapping) -> str | None:
        found = [key.text for key, _ in node.entries if key.text in KINDS]
        if len(found) == 1:
            return found[0]
        what = f"found {' and '.join(found)}" if found else "found none of them"
        advice = "write each as a query of its own" if found else ""
        strangers = [key for key, _ in node.entries if key.text not in ("name", "where", "at", "importance")]
        if not found and strangers:
            advice = did_you_mean(strangers[0].text, KINDS)
        self._note("DX200", node.span, f"a query asks for one of {', '.join(KINDS)}; {what}", advice)
        return None

    def _check_keys(self, node: Mapping, kind: str | None) -> None:
        known = ("name", "where", "at", "importance", *KINDS)
        for key, value in node.entries:
            if key.text not in known:
                if kind is not None:
                    self._note(
                        "DX105", key.span, f"the key {shown(key.text)} is not known here", did_you_mean(key.text, known)
                    )
            elif isinstance(value, Scalar) and value.plain and not value.text:
                self._note("DX107", key.span, f"{shown(key.text)} has no value", "write one or remove the key")
            elif key.text in _SINGLE_WORDS and not isinstance(value, Scalar):
                self._note("DX108", value.span, f"{shown(key.text)} is a single word or condition")
        where = node.entry("where")
        if where is not None and kind == "mean":
            self._note(
                "DX204",
                where[0].span,
                "a mean is over all records: how many records satisfy a condition is itself private",
                "ask for the sum and the count with the same condition, and divide the answers",
            )
        elif where is not None and kind not in (None, *WITH_WHERE):
            goes = f"{', '.join(WITH_WHERE[:-1])} and {WITH_WHERE[-1]}"
            self._note("DX200", where[0].span, f"'where' goes with {goes}, not with {kind}")
        bounds = node.entry("at")
        if bounds is not None and kind not in (None, *ORDERED):
            self._note("DX200", bounds[0].span, f"'at' goes with {' and '.join(ORDERED)}, not with {kind}")
        elif bounds is not None and not (isinstance(bounds[1], Sequence) and bounds[1].items):
            self._note("DX108", bounds[1].span, "'at' is a list of bounds, such as [18, 40, 65]")

    def _named(self, node: Mapping, made: Workload) -> Workload:
        name = node.entry("name")
        if name is None or not isinstance(name[1], Scalar):
            return made
        given = name[1].text
        several = any(node.entry(kind) for kind in SEVERAL)
        return replace(made, names=tuple(f"{given}: {own}" for own in made.names) if several else (given,))

    def _importance(self, node: Mapping) -> Fraction | None:
        stated = node.entry("importance")
        if stated is None:
            return Fraction(1)
        try:
            number = exact(_one_line(stated[1]))
        except NotANumber:
            number = Fraction(0)
        if number <= 0:
            advice = "2 counts the squared errors of these answers twice"
            self._note("DX209", stated[1].span, "an importance is a positive number", advice)
            return None
        return number

    def _count(self, value: Node) -> Workload | None:
        chosen = self.columns.condition(value)
        return None if chosen is None else Workload((_one_line(value),), (Fraction(1),), (chosen,))

    def _sum(self, node: Mapping, value: Node) -> Workload | None:
        chosen = self.columns.where(node)
        found = self.columns.numbers(value)
        if found is None or chosen is None:
            return None
        numbers, unit = found
        name = f"sum of {_one_line(value)}{_condition_words(node)}"
        return Workload((name,), (unit,), (products(numbers, chosen),))

    def _mean(self, node: Mapping, value: Node) -> Workload | None:
        found = self.columns.numbers(value)
        if self.columns.universe.absent is not None:
            advice = "ask for the sum and for 'count: true', and divide the answers"
            where = (node.entry("mean") or (node,))[0].span
            self._note(
                "DX215", where, "a mean divides by the number of records, which the policy keeps private", advice
            )
        elif self.records is None:
            advice = "add 'records: …' at the top of the file; it is public when one record replaces another"
            self._note("DX204", (node.entry("mean") or (node,))[0].span, "a mean needs the number of records", advice)
        if found is None or self.records is None:
            return None
        numbers, unit = found
        return Workload((f"mean {_one_line(value)}",), (unit / self.records,), (numbers,))

    def _counts(self, node: Mapping, made: list[NamedTable | None]) -> Workload | None:
        """Tables of counts, of those records only that satisfy the query's condition."""
        chosen = self.columns.where(node)
        tables = [one for one in made if one is not None]
        if chosen is None or len(tables) < len(made) or not tables:
            return None
        names = tuple(name + _condition_words(node) for one in tables for name in one.names)
        counted = tuple(products(one.table, chosen) for one in tables)
        return Workload(names, (Fraction(1),) * len(names), counted)

    def _marginal(self, span: Span, entries: tuple[Node, ...]) -> NamedTable | None:
        groups = [group for group in map(self.columns.groups, entries) if group is not None]
        if len(groups) < len(entries) or not groups:
            return None
        if len({group.axis for group in groups}) < len(groups):
            self._note("DX201", span, "a marginal takes one column of each attribute, found two of one")
            return None
        return marginal(groups)

    def _marginals(self, value: Node) -> list[NamedTable | None]:
        if isinstance(value, Mapping):
            return self._all_ways(value)
        if not isinstance(value, Sequence) or not value.items:
            message = "'marginals' is a list of groups, such as [[age, sex], [race]], or {ways: 2}"
            self._note("DX108", value.span, message, "write 'marginal: age' for one table")
            return []
        lists = [item.items if isinstance(item, Sequence) else (item,) for item in value.items]
        return [self._marginal(item.span, entries) for item, entries in zip(value.items, lists, strict=True)]

    def _all_ways(self, value: Mapping) -> list[NamedTable | None]:
        for key, _ in value.entries:
            if key.text not in ("ways", "of"):
                advice = did_you_mean(key.text, ("ways", "of"))
                self._note("DX105", key.span, f"the key {shown(key.text)} is not known here", advice)
        among = value.entry("of")
        columns: list[Groups | None]
        if among is None:
            universe = self.columns.universe
            first = [attribute.columns[0] for attribute in universe.attributes]
            columns = [groups_of_column(universe, axis, column) for axis, column in enumerate(first)]
        else:
            nodes = among[1].items if isinstance(among[1], Sequence) else (among[1],)
            columns = [self.columns.groups(node) for node in nodes]
        known = [one for one in columns if one is not None]
        ways = self._ways(value, len(columns))
        if ways is None or len(known) < len(columns):
            return []
        if len({one.axis for one in known}) < len(known):
            self._note("DX201", value.span, "a marginal takes one column of each attribute, found two of one")
            return []
        return [marginal(group) for group in itertools.combinations(known, ways)]

    def _ways(self, value: Mapping, most: int) -> int | None:
        stated = value.entry("ways")
        try:
            number = exact(_one_line(stated[1])) if stated else Fraction(0)
        except NotANumber:
            number = Fraction(0)
        if number.denominator == 1 and 0 < number <= most:
            return int(number)
        span = stated[1].span if stated else value.span
        self._note("DX210", span, f"'ways' says how many columns each table has: a whole number from 1 to {most}")
        return None

    def _along(self, kind: str, node: Mapping, value: Node) -> NamedTable | None:
        found, bounds = self.columns.column(value), node.entry("at")
        if found is None:
            return None
        try:
            groups: Groups | None = ordered_groups(self.columns.universe, *found)
        except UnsupportedCombination as error:
            self._note("DX201", value.span, str(error), f"{kind} are along numbers or dates")
            return None
        if bounds is not None and isinstance(bounds[1], Sequence):
            groups = self.columns.intervals(value, bounds[1])
        if groups is None:
            return None
        return prefix_counts(groups) if kind == "prefixes" else range_counts(groups)

    def _matrix(self, value: Node) -> Workload | None:
        file, universe = _one_line(value), self.columns.universe
        try:
            table = read_csv(self.columns.mistakes.text.folder, file)
            if len(table.rows) != universe.record_types:
                raise WrongContent(
                    f"{file} has {len(table.rows):,} rows below its header; "
                    f"the universe has {universe.record_types:,} record types"
                )
            columns = [integers_over_unit(table.numbers(name)) for name in table.header]
        except Unreadable as error:
            self._note(
                "DX114", value.span, f"the matrix file {shown(file)}: {error}", "keep it in the folder of this file"
            )
            return None
        except WrongContent as error:
            self._note("DX206", value.span, str(error), "one row per record type, one column per query")
            return None
        except TooFine as error:
            self._note("DX208", value.span, f"{file}: {error}", "round the numbers")
            return None
        try:
            rows = table_of_rows(universe, np.stack([integers for integers, _ in columns]))
        except TooLarge as error:
            self._note("DX207", value.span, str(error))
            return None
        return Workload(table.header, tuple(unit for _, unit in columns), (rows,))

    @property
    def _mistakes(self) -> int:
        return len(self.columns.mistakes.found)

    def _note(self, code: str, span: Span, message: str, advice: str = "") -> None:
        self.columns.note(code, span, message, advice)


def _one_line(node: Node) -> str:
    return " ".join(node.text.split()) if isinstance(node, Scalar) else ""


def _condition_words(node: Mapping) -> str:
    where = node.entry("where")
    return f" where {_one_line(where[1])}" if where else ""
