"""Queries with one answer: counts and sums.

Queries whose weights a file lists, possible record by possible record.

Queries that divide: means, variances, and shares of a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import final

import numpy as np
from pydantic import Field

from dxgeom.policy.source.data_files import WrongContent, read_csv
from dxgeom.policy.source.text import Unreadable
from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.queries.columns import EVERYBODY, ONE_EACH, ColumnReader
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
from dxgeom.queries.weights import AskedQueries, RatioWords, SummedNumbers, TooFine, integers_over_unit
from dxgeom.universe.columns import plain
from dxgeom.universe.weight_table import WeightTable, products
from dxgeom.universe.weight_tables import table_of_rows
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.counts import RECORDS
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


@final
class MatrixSyntax(QuerySyntax):
    """``{matrix: file.csv}``."""

    matrix: Word = Field(
        description="A CSV file of weights beside the queries file: a column per query, a row per possible record."
    )


@final
class Matrix(QueryKind):
    """A query for each column of a file."""

    word = "matrix"
    syntax = MatrixSyntax
    several = True

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        file, universe = one_line(value), columns.universe
        try:
            table = read_csv(columns.mistakes.text.folder, file)
            if len(table.rows) != universe.record_types:
                raise WrongContent(
                    f"{file} has {len(table.rows):,} rows below its header; "
                    f"the universe has {universe.record_types:,} possible records"
                )
            each = [integers_over_unit(table.numbers(name)) for name in table.header]
        except Unreadable as error:
            what = f"the matrix file {shown(file)}: {error}"
            columns.note("DX114", value.span, what, "keep it in the folder of this file")
            return None
        except WrongContent as error:
            columns.note("DX206", value.span, str(error), "one row per possible record, one column per query")
            return None
        except TooFine as error:
            columns.note("DX208", value.span, f"{file}: {error}", "round the numbers")
            return None
        rows = table_of_rows(universe, np.stack([integers for integers, _ in each]))
        return AskedQueries(table.header, tuple(unit for _, unit in each), (rows,))


_SHARES = (Fraction(0), Fraction(1))
_ONES = (Fraction(1), Fraction(1))


@final
class MeanSyntax(QuerySyntax):
    """``{mean: column, within: [low, high], weight: column, where: condition, by: [columns…]}``."""

    mean: Word = Field(
        description="The mean of a numeric attribute or column: over all records, whose public number is 'records', or "
        "over a group whose size is private."
    )
    within: Within = None
    weight: Weight = None
    where: Where = None
    by: By = None


@final
class VarianceSyntax(QuerySyntax):
    """``{variance: column, weight: column, where: condition, by: [columns…]}``."""

    variance: Word = Field(
        description="The mean squared distance of a numeric attribute or column from its mean, in its unit squared; "
        "divided by the number of records, not by one less."
    )
    weight: Weight = None
    where: Where = None
    by: By = None


@final
class ShareSyntax(QuerySyntax):
    """``{share: condition, where: condition, by: [columns…]}``."""

    share: Word = Field(
        description="Which part of the records satisfies a condition; with 'where', of those of a group."
    )
    where: Where = None
    by: By = None


@final
class Mean(QueryKind):
    """The mean of a column over all records of a public number; a sum over a count where their number is private, over
    the sum of the weights where there are such."""

    word = "mean"
    syntax = MeanSyntax

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        chosen, found, by = columns.where(node), columns.numbers(value, within_of(node)), columns.weight(node)
        weight = node.entry("weight")
        place = (node.entry(self.word) or (node,))[0].span
        private = bool(weight or node.entry("where") or node.entry("by")) or columns.universe.absent is not None
        private = private or (found is not None and found.there is not EVERYBODY)
        if not private and records is None:
            advice = "add 'records: …' at the top of the file; it is public when one record replaces another"
            columns.note("DX204", place, "a mean needs the number of records", advice)
            return None
        if found is None or chosen is None or by is None:
            return None
        if not _exact_weights(weight, by, chosen, columns, "mean"):
            return None
        counted = products(chosen, found.there)
        rounding, words = found.rounding(chosen), f"{added_words(node, value)}{condition_words(node)}"
        if records is not None and not private:
            each = replace(rounding, per_record=rounding.per_record / records)
            name, unit = f"mean {words}", found.unit / records
            return AskedQueries((name,), (unit,), (found.weights,), measure=name, rounding=each)
        known = "" if found.there is EVERYBODY else f" with {one_line(value)}"
        names = (f"sum of {words}", f"records{known}{condition_words(node)}")
        below = products(counted, by.weights)
        if weight is not None:
            found = found.weighted(by)
            rounding = found.rounding(chosen)
        tables, units = (products(found.weights, chosen), below), (found.unit, by.unit)
        ratio = RatioWords(f"mean {words}", found.extent)
        return AskedQueries(
            names,
            units,
            tables,
            measure=f"{added_words(node, value)}{weight_words(node)}",
            rounding=rounding,
            counted=counted,
            numbers=found,
            ratios=(ratio,),
            measured_below=RECORDS if weight is None else one_line(weight[1]),
        )


@final
class Variance(QueryKind):
    """The mean squared distance of a column's numbers from their mean: sums of w(x − c)² and of wx, over that of w."""

    word = "variance"
    syntax = VarianceSyntax

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        chosen, found, by = columns.where(node), columns.numbers(value), columns.weight(node)
        squares = None if found is None else columns.squares(value)
        if found is None or squares is None or chosen is None or by is None:
            return None
        weight = node.entry("weight")
        if not _exact_weights(weight, by, chosen, columns, self.word):
            return None
        counted, half_width = products(chosen, found.there), found.rounding(chosen).per_record
        words, condition = one_line(value), condition_words(node)
        known = "" if found.there is EVERYBODY else f" with {words}"
        names = (
            f"sum of {words}{condition}",
            f"records{known}{condition}",
            f"squares of {words} from {plain((found.extent[0] + found.extent[1]) / 2)}{condition}",
        )
        below = products(counted, by.weights)
        if weight is not None:
            found, squares = found.weighted(by), squares.weighted(by)
        return AskedQueries(
            names,
            (found.unit, by.unit, squares.unit),
            (products(found.weights, chosen), below, products(squares.weights, chosen)),
            measure=f"{words}{weight_words(node)}",
            rounding=found.rounding(chosen),
            counted=counted,
            numbers=found,
            ratios=(RatioWords(f"variance of {words}{condition}", found.extent, half_width=half_width),),
            measured_below=RECORDS if weight is None else one_line(weight[1]),
            squares=squares,
        )


def _exact_weights(
    weight: tuple[Node, Node] | None, by: SummedNumbers, chosen: WeightTable, columns: ColumnReader, word: str
) -> bool:
    """Whether each weight is one number, as what is divided by has to be; noted where it is not."""
    if weight is None or not by.rounding(chosen).per_record:
        return True
    message = f"the weights of a {word} are exact, and values of {shown(one_line(weight[1]))} stand for many numbers"
    advice = "a value is one number in '{range: [0, 9], step: 1, whole: true}'; a sum may have such weights"
    columns.note("DX201", weight[1].span, message, advice)
    return False


@final
class Share(QueryKind):
    """How many of a group satisfy a condition, over how many there are in the group."""

    word = "share"
    syntax = ShareSyntax

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        among, chosen = columns.where(node), columns.condition(value)
        if among is None or chosen is None:
            return None
        words = f"{one_line(value)}{condition_words(node)}"
        tables = (products(chosen, among), among if node.entry("where") else EVERYBODY)
        names = (f"records with {words}", f"records{condition_words(node)}")
        return AskedQueries(names, _ONES, tables, counted=among, ratios=(RatioWords(f"share of {words}", _SHARES),))
