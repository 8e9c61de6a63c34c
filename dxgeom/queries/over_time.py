"""Queries along a policy's time: a count for each period, running totals, sliding windows; by other columns, too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, NamedTuple, final, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.policy.kinds.kind import Misfit
from dxgeom.policy.kinds.periods import PERIODS
from dxgeom.policy.source.fields import length
from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.policy.source.yaml_tree import Sequence as Nodes
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.query_kind import BoxKind, By, QuerySyntax, Where, Word, condition_words, one_line
from dxgeom.queries.weights import AskedQueries
from dxgeom.universe.decimals import NotANumber
from dxgeom.universe.periods import Every, PeriodAttribute, Periods, along_time
from dxgeom.universe.weight_table import WeightTable, products, refuse_too_many
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads.groups import AnswerOrigin, Groups, GroupValues
from dxgeom.universe.workloads.spans import Spans, cells

_NO_TIME: Final = "the policy states no time, so nothing is counted by its periods"
_STATE_ONE: Final = "write 'time: {column: day, from: 2027-01-01, to: 2027-12-31, every: day}' into the policy"
_EVERY: Final = get_args(Every)
_TOTALS: Final = ("so far", "since ever")


class Runs(NamedTuple):
    """Runs of codes of the time's attribute: ``names``, the first code inside each, and the first beyond; ``single``:
    each is one period, and its name says so as that of a group does. ``behind``: not 0 where the run that lies so many
    codes earlier is taken off."""

    names: tuple[str, ...]
    lower: list[int]
    upper: list[int]
    single: bool = False
    behind: int = 0


Named = tuple[str, AnswerOrigin]
"""What an answer is called, and what it is about."""


@final
class AgainstSyntax(QuerySyntax):
    """``{against: 52 steps, by: [columns…], where: condition}``."""

    against: Word = Field(
        description="For each period that has another so long before: how many records more than that one it has."
    )
    where: Where = None
    by: By = None


@final
class EverySyntax(QuerySyntax):
    """``{every: month, by: [columns…], where: condition}``."""

    every: Word = Field(description="A count for each period of the policy's time, or for each month, … of these.")
    where: Where = None
    by: By = None


@final
class TotalSyntax(QuerySyntax):
    """``{total: so far, by: [columns…], where: condition}``."""

    total: Word = Field(
        description="'so far': for each period how many records it and the earlier ones have; 'since ever': those of "
        "days before the first period, too."
    )
    where: Where = None
    by: By = None


@final
class WindowSyntax(QuerySyntax):
    """``{window: 7 days, by: [columns…], where: condition}``."""

    window: Word = Field(
        description="For each period from which so many are full: how many records the last ones have."
    )
    where: Where = None
    by: By = None


class AlongTime(BoxKind, ABC):
    """A kind of query that counts runs of periods, each by itself or by the values of other columns."""

    several = True
    by_itself = True

    @abstractmethod
    def runs(self, value: Node, attribute: PeriodAttribute, columns: ColumnReader) -> Runs | None:
        """The runs that are asked for. Notes mistakes, and gives None then."""

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQueries | None:
        chosen, found = columns.where(node), self._found(node, value, columns)
        if chosen is None or found is None:
            return None
        names, spans, behind = found
        refuse_too_many(len(names), len(names))
        shape = columns.universe.shape
        between = np.stack([spans.lower, np.minimum(spans.upper, np.array([shape[axis] for axis in spans.axes]))])
        classes = tuple(np.arange(shape[axis]) for axis in spans.axes)
        table = WeightTable(np.arange(len(names)), spans.axes, classes, None, None, between.astype(np.int64))
        if np.any(behind):
            earlier = replace(table, between=(between - behind).astype(np.int64))
            table = replace(table, between=None, dense=table.weights - earlier.weights)
        about = tuple(own for _, own in names)
        return AskedQueries(
            tuple(name for name, _ in names), (Fraction(1),) * len(names), (products(table, chosen),), origins=about
        )

    def spans(self, node: Mapping, value: Node, columns: ColumnReader) -> Sequence[Spans] | None:
        found = self._found(node, value, columns)
        if found is not None and np.any(found[2]):
            raise UnsupportedCombination("what a period has more than another one is no count in a box")
        return None if found is None else [found[1]]

    def _found(
        self, node: Mapping, value: Node, columns: ColumnReader
    ) -> tuple[list[Named], Spans, NDArray[np.int64]] | None:
        """The names, what each is about, the boxes, and how far behind along each axis lie those that are taken off;
        those of one group after each other."""
        universe = columns.universe
        time = along_time(universe.attributes)
        if time is None:
            columns.note("DX211", value.span, _NO_TIME, _STATE_ONE)
            return None
        axis, attribute = time
        runs = self.runs(value, attribute, columns)
        groups = self._groups(node, axis, columns)
        if runs is None or groups is None:
            return None
        along, said = (
            Spans((axis,), np.array(runs.lower)[:, None], np.array(runs.upper)[:, None]),
            condition_words(node),
        )
        if not groups:
            return [_named(runs, name, (), said) for name in runs.names], along, np.array([runs.behind])
        try:
            others = cells(groups)
        except (UnsupportedCombination, TooLarge) as error:
            columns.note("DX221", node.span, str(error), "group by columns whose values follow each other")
            return None
        places = [*np.ndindex(*(len(one.words) for one in groups))]
        values = [tuple((one.title, one.words[at]) for one, at in zip(groups, place, strict=True)) for place in places]
        each = [along.within(Spans(others.axes, others.lower[[k]], others.upper[[k]])) for k in range(len(values))]
        lower, upper = (np.concatenate([getattr(one, side) for one in each]) for side in ("lower", "upper"))
        named = [_named(runs, name, group, said) for group in values for name in runs.names]
        behind = np.array([runs.behind * (own == axis) for own in each[0].axes])
        return named, Spans(each[0].axes, lower, upper), behind

    def _groups(self, node: Mapping, axis: int, columns: ColumnReader) -> list[Groups] | None:
        by = node.entry("by")
        if by is None:
            return []
        nodes = by[1].items if isinstance(by[1], Nodes) else (by[1],)
        found = [columns.groups(one) for one in nodes]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        if len({axis, *(one.axis for one in known)}) <= len(known):
            message = "counts along time are grouped by one column of each other attribute"
            columns.note("DX201", by[1].span, message, "leave out the time's own, and take one column of an attribute")
            return None
        return known


@final
class EachPeriod(AlongTime):
    """A count for each period, or each longer one that is made of them."""

    word = "every"
    syntax = EverySyntax

    def runs(self, value: Node, attribute: PeriodAttribute, columns: ColumnReader) -> Runs | None:
        own, asked = attribute.periods, one_line(value)
        every: Any = asked
        if asked not in _EVERY:
            message = f"'every' says how long a period is: {', '.join(_EVERY)}; found {shown(asked)}"
            columns.note("DX211", value.span, message, did_you_mean(asked, _EVERY))
            return None
        if asked == own.every:
            columns.by_value(columns.universe.names.index(attribute.name), attribute.columns[0])
            names = tuple(f"{attribute.name}={one}" for one in own.ids)
            return Runs(names, list(attribute.codes), [code + 1 for code in attribute.codes], single=True)
        longer = Periods(own.first, own.last, every)
        if not longer.whole or not {*longer.starts} <= {*own.starts}:
            has = f"the policy's time has a period every {own.every} from {own.first} to {own.last}"
            message = f"{has}, and these make no whole {asked}s"
            columns.note("DX211", value.span, message, f"write 'every: {own.every}'")
            return None
        places = [attribute.before + own.place_of(start) for start in longer.starts]
        return _runs(attribute, places, [*places[1:], attribute.codes.stop])


@final
class TotalSoFar(AlongTime):
    """Running totals, a count for each period with all earlier ones."""

    word = "total"
    syntax = TotalSyntax

    def runs(self, value: Node, attribute: PeriodAttribute, columns: ColumnReader) -> Runs | None:
        asked = one_line(value)
        if asked not in _TOTALS:
            message = (
                f"'total' counts records 'so far', from the first period on, or 'since ever'; found {shown(asked)}"
            )
            columns.note("DX211", value.span, message, did_you_mean(asked, _TOTALS))
            return None
        codes = attribute.codes
        # The first totals are of the same records as other questions may be, so they have names of their own.
        since, begins = (asked, codes.start) if asked == "so far" else ("up", 0)
        names = tuple(f"{attribute.name} {since} to {one}" for one in attribute.periods.ids)
        return Runs(names, [begins] * len(codes), [code + 1 for code in codes])


@final
class SlidingWindow(AlongTime):
    """The last so many periods, at each period from which they are all there."""

    word = "window"
    syntax = WindowSyntax

    def runs(self, value: Node, attribute: PeriodAttribute, columns: ColumnReader) -> Runs | None:
        codes, width = attribute.codes, _periods(self.word, value, attribute, columns, len(attribute.codes))
        if width is None:
            return None
        first = list(range(codes.start, codes.stop - width + 1))
        names = tuple(f"{one_line(value)} of {attribute.name} to {one}" for one in attribute.periods.ids[width - 1 :])
        return Runs(names, first, [code + width for code in first])


@final
class AgainstEarlier(AlongTime):
    """What each period has more than the one so many before, as one year over another."""

    word = "against"
    syntax = AgainstSyntax

    def runs(self, value: Node, attribute: PeriodAttribute, columns: ColumnReader) -> Runs | None:
        codes, ids = attribute.codes, attribute.periods.ids
        behind = _periods(self.word, value, attribute, columns, len(codes) - 1)
        if behind is None:
            return None
        later = list(codes)[behind:]
        each = zip(ids[behind:], ids[: len(ids) - behind], strict=True)
        names = tuple(f"{attribute.name} {one} against {other}" for one, other in each)
        return Runs(names, later, [code + 1 for code in later], behind=behind)


def _periods(word: str, value: Node, attribute: PeriodAttribute, columns: ColumnReader, most: int) -> int | None:
    """How many periods a length is, at least one and at most so many. Notes mistakes, and gives None then."""
    advice = f"write '{word}: 7 days', or '{word}: 2 steps'; a step is a period"
    try:
        found = PERIODS.measured(attribute, word, length(one_line(value)))
    except NotANumber as error:
        columns.note("DX211", value.span, f"'{word}' says how long it is: {error}", advice)
        return None
    if isinstance(found, Misfit):
        columns.note("DX211", value.span, found.message, found.advice)
        return None
    if found[1].denominator != 1 or not 1 <= found[1] <= most:
        message = f"'{word}' is of 1 to {most:,} whole periods, found {shown(one_line(value))}"
        columns.note("DX211", value.span, message, advice)
        return None
    return int(found[1])


def _named(runs: Runs, name: str, group: GroupValues, said: str) -> Named:
    """One answer: of a period it is called as a cell of a table is, of a run by its ends, and then by its group."""
    words = ", ".join(f"{column}={value}" for column, value in group)
    if runs.single:
        column, _, value = name.partition("=")
        values = (*group, (column, value))
        whole = f"marginal of {', '.join(column for column, _ in values)}{said}"
        return f"{words}{', ' if words else ''}{name}{said}", AnswerOrigin(whole, values)
    whole = f"{name}{said}"
    return f"{whole}{', ' if words else ''}{words}", AnswerOrigin(whole, group)


def _runs(attribute: PeriodAttribute, lower: list[int], upper: list[int]) -> Runs:
    """Runs that are called by their first and their last period."""
    labels, name = attribute.labels, attribute.name
    each = zip(lower, upper, strict=True)
    return Runs(tuple(f"{name} from {labels[low]} to {labels[high - 1]}" for low, high in each), lower, upper)
