"""A task of statistics: sums of products of numbers over all records, such as regressions and moments need."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, final

from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema

from dxgeom.errors import TooLarge
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence
from dxgeom.queries.one_file import stacked
from dxgeom.queries.query_kind import SEVERAL_WORDS, Where, condition_words
from dxgeom.queries.tasks.task_kind import STRICT, TaskKind, TaskReader, TaskSyntax, whole
from dxgeom.queries.weights import AskedQueries, SummedNumbers
from dxgeom.universe.numbers.value_rounding import ValueRounding
from dxgeom.universe.tasks.questions import StatisticsTask
from dxgeom.universe.weight_table import WeightTable, products
from dxgeom.universe.workloads.groups import AnswerOrigin

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan

HIGHEST_DEGREE: Final = 8
MOST_SUMS: Final = 64
_PRODUCTS: Final[dict[str, Any]] = {"type": "array", "minItems": 1, "items": SEVERAL_WORDS}


def _degree(value: Any) -> int:
    return whole(value, "a degree", 1, HIGHEST_DEGREE)


@final
class StatisticsBody(BaseModel):
    """``{moments: [columns…], degree: 2, products: [[column, column], …]}``."""

    model_config = STRICT

    moments: Annotated[Any, WithJsonSchema(SEVERAL_WORDS)] = Field(
        None, description="Columns of numbers: the sums of each, and of all products of up to 'degree' of them."
    )
    degree: Annotated[int, PlainValidator(_degree), WithJsonSchema({"type": ["integer", "string"]})] = Field(
        2, description="Of how many numbers the products of 'moments' are at most."
    )
    products: Annotated[Any, WithJsonSchema(_PRODUCTS)] = Field(
        None, description="Lists of columns of numbers: the sum of the product of each list; [age, age] is a square."
    )
    where: Where = None


@final
class StatisticsTaskSyntax(TaskSyntax):
    """``{statistics: {moments: […]}}``."""

    statistics: Any = Field(
        description="Sums of products of numbers, with noise shaped by all that a record can change."
    )


@final
class StatisticsKind(TaskKind, QuestionKind[StatisticsTask]):
    """Sums of products of numbers over all records."""

    question = StatisticsTask
    about = "statistics"
    word = "statistics"
    syntax = StatisticsTaskSyntax
    body = StatisticsBody

    def part(self, question: StatisticsTask, how: Planning) -> Plan:
        return how.of(question.sums)

    def read(self, value: Node, reader: TaskReader) -> StatisticsTask | None:
        said = reader.body(StatisticsBody, value, "a task of statistics")
        if said is None:
            return None
        body, node = said
        columns, before = reader.queries.columns, len(reader.mistakes.all)
        columns.stepped.clear()
        chosen = columns.where(node)
        asked = [*_moments(node, body.degree, reader), *_products(node, reader)]
        if chosen is None or len(reader.mistakes.all) > before:
            return None
        sums = _distinct(asked)
        if not 0 < len(sums) <= MOST_SUMS:
            message = f"statistics are 1 to {MOST_SUMS} sums, found {len(sums)}"
            reader.note("DX233", value.span, message, "name columns with 'moments', or with 'products'")
            return None
        try:
            made = [] if reader.universe.absent is None else [_count(chosen, condition_words(node))]
            made += [_sum(one, chosen, condition_words(node), tuple(columns.stepped)) for one in sums]
        except TooLarge as error:
            reader.note("DX208", value.span, str(error), "take a coarser step in the policy, or a lower degree")
            return None
        return StatisticsTask(stacked(made, (), reader.universe, reader.queries.records, None))


@final
@dataclass(frozen=True, eq=False)
class _Factor:
    """A column of numbers in a product."""

    name: str
    numbers: SummedNumbers


def _moments(node: Mapping, degree: int, reader: TaskReader) -> Iterator[tuple[_Factor, ...]]:
    stated = node.entry("moments")
    if stated is None:
        return
    factors = _factors(stated[1], "moments", reader)
    for size in range(1, degree + 1):
        yield from itertools.islice(itertools.combinations_with_replacement(factors, size), MOST_SUMS + 1)


def _products(node: Mapping, reader: TaskReader) -> Iterator[tuple[_Factor, ...]]:
    stated = node.entry("products")
    if stated is None:
        return
    if not isinstance(stated[1], Sequence) or not stated[1].items:
        reader.note("DX108", stated[1].span, "'products' is a list of lists of columns, such as [[age, income]]")
        return
    for item in stated[1].items:
        factors = _factors(item, "products", reader)
        if len(factors) > HIGHEST_DEGREE:
            reader.note("DX232", item.span, f"a product is of at most {HIGHEST_DEGREE} numbers")
        elif factors:
            yield tuple(factors)


def _factors(node: Node, word: str, reader: TaskReader) -> list[_Factor]:
    nodes = node.items if isinstance(node, Sequence) else (node,)
    if not nodes:
        reader.note("DX108", node.span, f"'{word}' names one or more columns of numbers")
    read = [(one, reader.queries.columns.numbers(one)) for one in nodes]
    return [_Factor(one.text, found) for one, found in read if isinstance(one, Scalar) and found is not None]


def _distinct(asked: list[tuple[_Factor, ...]]) -> list[tuple[_Factor, ...]]:
    """Each product once, whatever the order of its factors."""
    return list({tuple(sorted(factor.name for factor in one)): one for one in reversed(asked)}.values())[::-1]


def _sum(factors: tuple[_Factor, ...], chosen: WeightTable, condition: str, stepped: tuple[str, ...]) -> AskedQueries:
    """The sum of a product over the chosen records; a record without one of the numbers adds nothing.

    Raises: TooLarge.
    """
    table, unit = chosen, Fraction(1)
    for factor in factors:
        table, unit = products(table, factor.numbers.weights), unit * factor.numbers.unit
    name = "·".join(factor.name for factor in factors)
    clamped = tuple(dict.fromkeys(column for factor in factors for column in factor.numbers.clamped))
    return AskedQueries(
        (f"sum of {name}{condition}",),
        (unit,),
        (table,),
        measure=name,
        rounding=ValueRounding(_off(factors), clamped=clamped),
        counted=chosen,
        origins=(AnswerOrigin(f"sum of {name}{condition}"),),
        stepped=stepped,
    )


def _count(chosen: WeightTable, condition: str) -> AskedQueries:
    """How many records there are, where that is private: error bars of sums need it."""
    name = f"count{condition}"
    return AskedQueries((name,), (Fraction(1),), (chosen,), counted=chosen, origins=(AnswerOrigin(name),))


def _largest(table: WeightTable) -> int:
    low, high = table.extremes
    return max(abs(int(end)) for ends in (low, high) for end in ends)


def _off(factors: tuple[_Factor, ...]) -> Fraction:
    """How far the product of raw numbers can be from that of the values that stand for them; *rounded up*.

    With |m_i| ≤ M_i and |x_i − m_i| ≤ h_i it is |Π x_i − Π m_i| ≤ Π(M_i + h_i) − Π M_i.
    """
    largest = [_largest(one.numbers.weights) * one.numbers.unit for one in factors]
    off = [_largest(one.numbers.spread) * one.numbers.spread_unit for one in factors]
    return math.prod((m + h for m, h in zip(largest, off, strict=True)), start=Fraction(1)) - math.prod(
        largest, start=Fraction(1)
    )


STATISTICS: Final = StatisticsKind()
