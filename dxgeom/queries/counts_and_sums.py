"""Queries with one answer: counts and sums."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import final

from pydantic import Field

from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.query_kind import By, QueryKind, QuerySyntax, TableKind, Where, Word, condition_words, one_line
from dxgeom.queries.weights import AskedQueries
from dxgeom.universe.weight_table import products
from dxgeom.universe.workloads.groups import Groups
from dxgeom.universe.workloads.spans import Spans, spans_of


@final
class CountSyntax(QuerySyntax):
    """``{count: condition, by: [columns…]}``."""

    count: Word = Field(description="How many records satisfy a condition, such as: age >= 65 and sex == 'Female'.")
    by: By = None


@final
class SumSyntax(QuerySyntax):
    """``{sum: column, where: condition, by: [columns…]}``."""

    sum: Word = Field(description="The sum of a numeric attribute or column.")
    where: Where = None
    by: By = None


@final
class Count(TableKind):
    """How many records satisfy a condition; ``true`` is of them all, which is a table of one cell."""

    word = "count"
    syntax = CountSyntax

    def asked(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        chosen = columns.condition(value)
        name = "count" if node.entry("by") and one_line(value) == "true" else one_line(value)
        return None if chosen is None else AskedQueries((name,), (Fraction(1),), (chosen,), counted=chosen)

    def tables(self, value: Node, columns: ColumnReader) -> Sequence[tuple[Groups, ...]] | None:
        if one_line(value) == "true":
            return [()]
        message = "without a count of every record type only whole tables are counted, not those with a condition"
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

    def asked(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        chosen, found = columns.where(node), columns.numbers(value)
        if found is None or chosen is None:
            return None
        name = f"sum of {one_line(value)}{condition_words(node)}"
        return AskedQueries(
            (name,),
            (found.unit,),
            (products(found.weights, chosen),),
            measure=one_line(value),
            rounding=found.rounding(chosen),
            counted=chosen,
            numbers=found,
        )
