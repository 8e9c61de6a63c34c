"""Queries with one answer: counts and sums."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import final

from pydantic import Field

from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.queries.columns import ONE_EACH, ColumnReader
from dxgeom.queries.query_kind import (
    By,
    QueryKind,
    QuerySyntax,
    TableKind,
    Weight,
    Where,
    Within,
    Word,
    added_words,
    condition_words,
    one_line,
    weight_words,
    within_of,
)
from dxgeom.queries.weights import AskedQueries, SummedNumbers
from dxgeom.universe.weight_table import WeightTable, products
from dxgeom.universe.workloads.groups import Groups
from dxgeom.universe.workloads.spans import Spans, spans_of


@final
class CountSyntax(QuerySyntax):
    """``{count: condition, weight: column, by: [columns…]}``."""

    count: Word = Field(description="How many records satisfy a condition, such as: age >= 65 and sex == 'Female'.")
    weight: Weight = None
    by: By = None


@final
class SumSyntax(QuerySyntax):
    """``{sum: column, within: [low, high], weight: column, where: condition, by: [columns…]}``."""

    sum: Word = Field(description="The sum of a numeric attribute or column.")
    within: Within = None
    weight: Weight = None
    where: Where = None
    by: By = None


@final
class Count(TableKind):
    """How many records satisfy a condition; ``true`` is of them all, which is a table of one cell."""

    word = "count"
    syntax = CountSyntax

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        chosen, by = columns.condition(value), columns.weight(node)
        name = "count" if node.entry("by") and one_line(value) == "true" else one_line(value)
        weight = node.entry("weight")
        if chosen is None or by is None:
            return None
        if weight is None:
            return AskedQueries((name,), (Fraction(1),), (chosen,), counted=chosen)
        return sum_of(f"{name}{weight_words(node)}", one_line(weight[1]), by, chosen)

    def tables(self, value: Node, columns: ColumnReader) -> Sequence[tuple[Groups, ...]] | None:
        if one_line(value) == "true":
            return [()]
        message = "without a count of every possible record only whole tables are counted, not those with a condition"
        columns.note("DX221", value.span, message, "ask for the marginal of the columns in it, or 'count: true'")
        return None

    def spans(self, node: Mapping, value: Node, columns: ColumnReader) -> Sequence[Spans] | None:
        chosen = columns.condition(value)
        return None if chosen is None else [spans_of(chosen)]


@final
class Sum(QueryKind):
    """The sum of a column over the records that satisfy a condition."""

    word = "sum"
    syntax = SumSyntax

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        chosen, found = columns.where(node), columns.numbers(value, within_of(node))
        by = columns.weight(node)
        if found is None or chosen is None or by is None:
            return None
        own = found if by is ONE_EACH else found.weighted(by)
        words = added_words(node, value)
        return sum_of(f"sum of {words}{condition_words(node)}", f"{words}{weight_words(node)}", own, chosen)


def sum_of(name: str, measure: str, numbers: SummedNumbers, chosen: WeightTable) -> AskedQueries:
    """The sum of numbers over the chosen records."""
    return AskedQueries(
        (name,),
        (numbers.unit,),
        (products(numbers.weights, chosen),),
        measure=measure,
        rounding=numbers.rounding(chosen),
        counted=chosen,
        numbers=numbers,
    )
