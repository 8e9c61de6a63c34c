"""Queries with one answer: counts, sums and means."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, final

from pydantic import Field

from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.queries.columns import EVERYBODY, ColumnReader
from dxgeom.queries.query_kind import By, QueryKind, QuerySyntax, Where, Word, condition_words, one_line
from dxgeom.queries.weights import AskedQueries
from dxgeom.universe.weight_table import products


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
class MeanSyntax(QuerySyntax):
    """``{mean: column}``."""

    mean: Word = Field(
        description="The mean of a numeric attribute or column over all records; needs 'records', not under 'presence'."
    )


@final
class Count(QueryKind):
    """How many records satisfy a condition."""

    word = "count"
    syntax = CountSyntax

    def asked(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        chosen = columns.condition(value)
        name = "count" if node.entry("by") and one_line(value) == "true" else one_line(value)
        return None if chosen is None else AskedQueries((name,), (Fraction(1),), (chosen,), counted=chosen)


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
        summed = products(found.weights, chosen)
        return AskedQueries(
            (name,),
            (found.unit,),
            (summed,),
            measure=one_line(value),
            rounding=found.rounding(chosen),
            counted=chosen,
            numbers=found,
        )


@final
class Mean(QueryKind):
    """The mean of a column over all records, of which there is a public number."""

    word = "mean"
    syntax = MeanSyntax
    refused: ClassVar = {
        "where": (
            "DX204",
            "a mean is over all records: how many records satisfy a condition is itself private",
            "ask for the sum and the count with the same condition, and divide the answers",
        ),
        "by": (
            "DX204",
            "a mean is over all records: how many records a group has is itself private",
            "ask for the sum and for 'count: true' with the same 'by', and divide the answers",
        ),
    }

    def asked(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        found = columns.numbers(value)
        place = (node.entry(self.word) or (node,))[0].span
        if columns.may_be_missing(value):
            advice = f"ask for 'sum: {one_line(value)}' and for 'count: {one_line(value)} is not missing', and divide"
            what = "a mean divides by the number of values that are there, which is private where some may be missing"
            columns.note("DX218", place, what, advice)
            return None
        if columns.universe.absent is not None:
            advice = "ask for the sum and for 'count: true', and divide the answers"
            what = "a mean divides by the number of records, which the policy keeps private"
            columns.note("DX215", place, what, advice)
        elif records is None:
            advice = "add 'records: …' at the top of the file; it is public when one record replaces another"
            columns.note("DX204", place, "a mean needs the number of records", advice)
        if found is None or records is None:
            return None
        whole, name = found.rounding(EVERYBODY), f"mean {one_line(value)}"
        rounding = replace(whole, per_record=whole.per_record / records)
        return AskedQueries((name,), (found.unit / records,), (found.weights,), measure=name, rounding=rounding)
