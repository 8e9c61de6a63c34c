"""The conditions and columns that queries mention, as tables of weights.

``by``: one answer for each group of records with the same values in some columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, final

import numpy as np

from dxgeom.errors import PredicateError, TooLarge
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence, place_in
from dxgeom.queries.weights import AskedQueries, SummedNumbers, TooFine, integers_over_unit
from dxgeom.universe.columns import Column, NumberColumn, TextColumn, plain
from dxgeom.universe.conditions.stepped import stands_for_more, stepped_columns
from dxgeom.universe.conditions.tokens import COMPUTED
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.numbers.number_cells import Interval
from dxgeom.universe.predicates import Literal, Name, parse_predicate
from dxgeom.universe.selections import evaluate, find_column
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import WeightTable, only, products, tabulated
from dxgeom.universe.weight_tables import along
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.constructors import NamedTable, marginal
from dxgeom.universe.workloads.groups import (
    AnswerOrigin,
    Groups,
    GroupValues,
    cut_groups,
    groups_of_column,
    unlisted_groups,
)

_COUNTED: Final = "count the records with each word, or make the attribute a range or bins"
_DATED: Final = "ask for 'median: column' of it, or make the attribute a range, such as of days since a first one"
_ALWAYS_0: Final = "the answer would always be 0: compare with values that the policy has, or leave it out"
EVERYBODY: Final = tabulated((), np.ones(1, dtype=np.int64))
"""Weight 1 for every record."""
_NOTHING: Final = tabulated((), np.zeros(1, dtype=np.int64))
ONE_EACH: Final = SummedNumbers(
    EVERYBODY, Fraction(1), _NOTHING, Fraction(1), (), (Fraction(1), Fraction(1)), EVERYBODY
)
"""The weights of records that nothing weighs."""


def interval_of(written: Sequence | list[object]) -> Interval | None:
    """The two numbers of 'within', the lower one first; None where they are none."""
    words = [one.text for one in written.items if isinstance(one, Scalar)] if isinstance(written, Sequence) else written
    try:
        low, high = (exact(one.strip()) for one in words if isinstance(one, str))
    except (NotANumber, ValueError):
        return None
    return (low, high) if low <= high else None


def _spread(column: NumberColumn, numbers: list[Fraction], within: Interval) -> list[Fraction]:
    """How far what a value stands for, once it is clamped, too, can be from its clamped number; *exact*, and nowhere
    further than before."""
    low, high = within
    stands_for = [(one, one) for one in column.numbers] if column.stands_for is None else column.stands_for.intervals
    return [
        max(one - max(ends[0], low), min(ends[1], high) - one, Fraction(0))
        for one, ends in zip(numbers, stands_for, strict=True)
    ]


@final
@dataclass(frozen=True)
class ColumnReader:
    """Reads conditions and columns of one file, over one universe; notes mistakes and returns None where there is
    one.

    ``stepped``: the columns of which the conditions so far ask more than their values tell.
    """

    universe: Universe
    mistakes: Mistakes
    stepped: list[str] = field(default_factory=list)

    def condition(self, node: Node) -> WeightTable | None:
        """Weight 1 where a condition is true, 0 elsewhere."""
        if not isinstance(node, Scalar):
            self.note("DX108", node.span, "a condition is one piece of text")
            return None
        try:
            predicate = parse_predicate(node.text)
            chosen = evaluate(predicate, self.universe)
        except PredicateError as error:
            span = place_in(node, error.offset, self.mistakes.text.content)
            self.note("DX202", span, error.message, error.advice)
            return None
        if not chosen.mask.any():
            self.note("DX202", node.span, "no possible record satisfies this condition", _ALWAYS_0)
            return None
        self.stepped.extend(stepped_columns(predicate, self.universe))
        return tabulated(chosen.axes, chosen.mask[None])

    def where(self, node: Mapping) -> WeightTable | None:
        """The query's own condition; weight 1 everywhere when it states none."""
        stated = node.entry("where")
        return self.condition(stated[1]) if stated else EVERYBODY

    def column(self, node: Node) -> tuple[int, Column] | None:
        """A column, and the place of the attribute that has it."""
        if not isinstance(node, Scalar):
            self.note("DX108", node.span, "a column's name is expected here")
            return None
        whole = Name(node.text.strip("`"), None, 0)
        attribute, dot, column = node.text.partition(".")
        try:
            qualified = dot and attribute in self.universe.names
            return find_column(self.universe, Name(column, attribute, 0) if qualified else whole)
        except PredicateError as error:
            advice = COMPUTED if set("*/+") & set(node.text) else error.advice
            advice = f"name the columns: [{', '.join(self.universe.names[:2])}]" if node.text == "*" else advice
            self.note("DX201", node.span, error.message, advice)
            return None

    def numbers(self, node: Node, within: Interval | None = None) -> SummedNumbers | None:
        """A column's numbers as they are added up, those outside ``within`` as its nearer end; a missing one adds
        nothing."""
        found = self._of_numbers(node)
        if found is None:
            return None
        (axis, column), (lowest, highest) = found, found[1].extent
        if within is None or (within[0] <= lowest and highest <= within[1]):
            return self._added_up(node, axis, column, column.added_up, column.half_widths)
        low, high = within
        if high < lowest or highest < low:
            ends = f"{shown(column.name)} goes from {plain(lowest)} to {plain(highest)}"
            advice = f"write 'within: [{plain(lowest)}, {plain(highest)}]', or ends inside of it"
            self.note("DX201", node.span, f"{ends}, and all of that would count as one number by 'within'", advice)
            return None
        numbers = [min(max(one, low), high) for one in column.added_up]
        summed = self._added_up(node, axis, column, numbers, _spread(column, numbers, within))
        extent = min(max(lowest, low), high), min(max(highest, low), high)
        return None if summed is None else replace(summed, clamped=(column.name,), extent=extent)

    def squares(self, node: Node) -> SummedNumbers | None:
        """The squares of a column's distances from the middle of what its numbers can be, as they are added up.

        Where x is at most h from a raw number, (x − c)² is at most h·(2|x − c| + h) from that number's.
        """
        found = self._of_numbers(node)
        if found is None:
            return None
        low, high = found[1].extent
        off = [number - (low + high) / 2 for number in found[1].added_up]
        moved = [half * (2 * abs(each) + half) for each, half in zip(off, found[1].half_widths, strict=True)]
        return self._added_up(node, *found, [each**2 for each in off], moved)

    def _of_numbers(self, node: Node) -> tuple[int, NumberColumn] | None:
        found = self.column(node)
        if found is None:
            return None
        axis, column = found
        if isinstance(column, TextColumn):
            holds, advice = ("dates", _DATED) if column.dates else ("words", _COUNTED)
            self.note("DX201", node.span, f"{shown(column.name)} holds {holds}; only numbers can be added up", advice)
            return None
        return axis, column

    def _added_up(
        self,
        node: Node,
        axis: int,
        column: NumberColumn,
        numbers: Iterable[Fraction],
        half_widths: Iterable[Fraction],
    ) -> SummedNumbers | None:
        try:
            integers, unit = integers_over_unit([*numbers])
            spread, spread_unit = integers_over_unit([*half_widths])
        except TooFine as error:
            self.note("DX208", node.span, f"{shown(column.name)}: {error}", "round the numbers in the file")
            return None
        cells = column.stands_for
        clamped = (column.name,) if cells is not None and cells.raw.clamped and cells.raw.true_ends is None else ()
        nothing = np.zeros(int(column.missing), dtype=np.int64)
        weights, spreads = (along(self.universe, axis, np.append(each, nothing)[None]) for each in (integers, spread))
        present = np.append(np.ones_like(integers), nothing)
        there = along(self.universe, axis, present[None]) if column.missing else EVERYBODY
        return SummedNumbers(weights, unit, spreads, spread_unit, clamped, column.extent, there)

    def weight(self, node: Mapping) -> SummedNumbers | None:
        """What each record of a query counts, by its key 'weight'; a missing number counts nothing."""
        stated = node.entry("weight")
        if stated is None:
            return ONE_EACH
        found = self.numbers(stated[1])
        if found is not None and found.extent[0] < 0:
            message = f"a weight is 0 or more, and these numbers reach down to {plain(found.extent[0])}"
            self.note("DX201", stated[1].span, message, "take a column of numbers that are not negative")
            return None
        return found

    def groups(self, node: Node, *, unlisted: bool = False) -> Groups | None:
        """A column's distinct values; with ``unlisted`` also of one whose values nobody listed."""
        name = node.text.strip("`") if isinstance(node, Scalar) else ""
        if unlisted and name in self.universe.names:
            axis = self.universe.names.index(name)
            if self.universe.attributes[axis].unlisted:
                return unlisted_groups(self.universe, axis)
        found = self.column(node)
        if found is None:
            return None
        self.by_value(*found)
        return groups_of_column(self.universe, *found)

    def by_value(self, axis: int, column: Column) -> None:
        """Remember that a column is asked about value by value."""
        if stands_for_more(self.universe, axis, column):
            self.stepped.append(column.name)

    def intervals(self, node: Node, bounds: Sequence) -> Groups | None:
        """A column's values put together between bounds."""
        found = self.column(node)
        if found is None:
            return None
        axis, column = found
        name = Name(column.name, self.universe.attributes[axis].name, 0)
        literals = []
        for place, bound in enumerate(bounds.items):
            text = bound.text if isinstance(bound, Scalar) else ""
            try:
                literals.append(Literal(text if isinstance(column, TextColumn) else exact(text), place))
            except NotANumber:
                self.note("DX202", bound.span, f"a bound of {shown(column.name)} is a number", "write -82.5, or 65")
                return None
        words = [bound.text for bound in bounds.items if isinstance(bound, Scalar)]
        try:
            return cut_groups(self.universe, name, literals, words)
        except PredicateError as error:
            self.note("DX202", bounds.items[error.offset].span, error.message, error.advice)
            return None

    def note(self, code: str, span: Span, message: str, advice: str = "") -> None:
        """Remember a mistake."""
        self.mistakes.add(code, span, message, advice)


MOST_WEIGHTS_BY_GROUP: Final = 50_000_000
"""The answers of one query by group have at most so many weights: 400 MB."""
MOST_RATIOS: Final = 400
"""Each ratio has an interval of its own to be worked out, so that fewer groups are feasible."""
_COARSER = "group by fewer columns, or by coarser ones, such as bins"


def by_groups(queries: AskedQueries, by: Node, columns: ColumnReader) -> AskedQueries | None:
    """A query with one answer, or a ratio of two, asked of each group by itself; the last column's values run fastest.

    Groups that no possible record is in, or none that the query is about, are left out: their answers would always be
    0. Notes mistakes, and gives None then.
    """
    found = groups_by(by, columns)
    if found is None:
        return None
    count = math.prod(len(group.words) for group in found)
    if queries.ratios and count > MOST_RATIOS:
        columns.note(
            "DX207", by.span, f"{count:,} groups make as many ratios; at most {MOST_RATIOS} are told", _COARSER
        )
        return None
    # What one group is counted by has its classes and those of the query, at most.
    weights = count * count * max(table.cells for table in queries.tables)
    if weights > MOST_WEIGHTS_BY_GROUP:
        message = f"{count:,} groups make {weights:,} weights; at most {MOST_WEIGHTS_BY_GROUP:,} are kept"
        columns.note("DX207", by.span, message, _COARSER)
        return None
    try:
        made = _asked_of_each(queries, marginal(found))
    except TooLarge as error:
        columns.note("DX207", by.span, str(error), _COARSER)
        return None
    if made is None:
        columns.note("DX202", by.span, "no group has a record that this is about", "the answers would always be 0")
    return made


def _asked_of_each(queries: AskedQueries, groups: NamedTable) -> AskedQueries | None:
    """The query times each group that it is about, None for none. Raises: TooLarge."""
    counted = groups.table if queries.counted is None else products(groups.table, queries.counted)
    inhabited = counted if queries.numbers is None else products(counted, queries.numbers.there)
    kept = [int(place) for place in np.flatnonzero(inhabited.extremes[1])]
    if not kept:
        return None
    counted, about = only(counted, kept), [groups.groups[place] for place in kept]
    return replace(
        queries,
        names=tuple(_called(name, group) for name in queries.names for group in about),
        units=tuple(unit for unit in queries.units for _ in about),
        tables=tuple(only(products(groups.table, table), kept) for table in queries.tables),
        counted=counted,
        by_group=() if queries.numbers is None else queries.numbers.roundings(counted),
        origins=tuple(AnswerOrigin(name, group) for name in queries.names for group in about),
        ratios=tuple(
            one._replace(title=_called(one.title, group), asks=AnswerOrigin(one.title, group))
            for one in queries.ratios
            for group in about
        ),
    )


def groups_by(by: Node, columns: ColumnReader, key: str = "by", *, unlisted: bool = False) -> list[Groups] | None:
    """The groups of each column that is named behind ``key``; with ``unlisted`` also where nobody listed values."""
    nodes = by.items if isinstance(by, Sequence) else (by,)
    if not nodes:
        advice = f"write '{key}: ward', or '{key}: [ward, sex]'"
        columns.note("DX108", by.span, f"'{key}' names one or more columns", advice)
    read = [(node, columns.groups(node, unlisted=unlisted)) for node in nodes]
    found = [(node.span, group) for node, group in read if group is not None]
    if len(found) < len(nodes) or not nodes:
        return None
    return None if _repeated(found, columns, key) else [group for _, group in found]


def _repeated(found: list[tuple[Span, Groups]], columns: ColumnReader, key: str) -> bool:
    """Whether two columns are of one attribute, which is noted at the second."""
    before: dict[int, str] = {}
    for span, group in found:
        if group.axis in before:
            same = before[group.axis] == group.column
            what = "the same column twice" if same else f"{shown(group.column)} is of the same attribute"
            what = f"'{key}' names {what}" if same else f"{what} as {shown(before[group.axis])}"
            columns.note("DX201", span, what, "groups are by one column of each attribute")
            return True
        before[group.axis] = group.column
    return False


def _called(name: str, group: GroupValues) -> str:
    return f"{name}, {', '.join(f'{column}={value}' for column, value in group)}"
