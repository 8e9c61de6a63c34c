"""Periods: days, weeks, months, quarters or years in a row, one after another; and what lies before and after them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, final
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.attributes import OUTSIDE, Attribute, CellType
from dxgeom.universe.columns import Column, TextColumn
from dxgeom.universe.dates import day_of

Every: TypeAlias = Literal["day", "week", "month", "quarter", "year"]
MONTHS: Final[dict[str, int]] = {"month": 1, "quarter": 3, "year": 12}
"""How many months periods have that are none of days."""
DAYS: Final[dict[str, int]] = {"day": 1, "week": 7}
"""How many days other periods have."""
BEFORE: Final = date.min.isoformat()
"""What the period is called that holds all days before the first one: its own first day, the calendar's."""


@final
@dataclass(frozen=True)
class Periods:
    """Whole periods from the day ``first`` up to the day ``last``, both included.

    ``every``: how long each is; a week has seven days from ``first`` on. ``zone``: where calendars show the day of a
    moment that knows its own zone.
    """

    first: date
    last: date
    every: Every
    zone: str | None = None

    @cached_property
    def starts(self) -> tuple[date, ...]:
        """The first day of each."""
        return tuple(_starts(self.first, self.last, self.every))

    @property
    def end(self) -> date:
        """The first day beyond them."""
        return self.last + timedelta(1)

    @property
    def whole(self) -> bool:
        """Whether the last one is not cut, and the first one begins where a month, a quarter or a year does."""
        begins = self.every in DAYS or (self.first.day == 1 and (self.first.month - 1) % MONTHS[self.every] == 0)
        return begins and self.end == next_start(self.starts[-1], self.every)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """What each is called: its first day, as year-month-day."""
        return tuple(start.isoformat() for start in self.starts)

    def place_of(self, day: date) -> int:
        """Which one has that day, from 0; -1 for days before them, and their number for days beyond."""
        return len(self.starts) if day > self.last else bisect_right(self.starts, day) - 1

    def period_of(self, moment: date | str) -> str | None:
        """What the period of a day, or a moment, is called; None for days before or after all of them, or of none.

        None, too, for a moment that knows its own zone where no ``zone`` is stated.
        """
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            try:
                moment = "" if self.zone is None else moment.astimezone(ZoneInfo(self.zone)).date()
            except OverflowError:
                return None
        day = day_of(moment)
        place = -1 if day is None else self.place_of(day)
        return self.ids[place] if 0 <= place < len(self.ids) else None


def next_start(start: date, every: Every) -> date:
    """The first day of the period after the one that begins there. Raises: OverflowError beyond the calendar."""
    if every in DAYS:
        return start + timedelta(DAYS[every])
    months = start.year * 12 + start.month - 1 + MONTHS[every]
    if months // 12 > date.max.year:
        raise OverflowError("the calendar ends with the year 9999")
    return date(months // 12, months % 12 + 1, start.day)


def _starts(first: date, last: date, every: Every) -> Iterator[date]:
    while first <= last:
        yield first
        try:
            first = next_start(first, every)
        except OverflowError:
            return


@final
@dataclass(frozen=True)
class PeriodAttribute(Attribute):
    """The periods of a policy's time in their order, each a value that is called by its first day.

    ``before`` and ``after``: whether all earlier days, and all later ones, are a value each, too; where they are not,
    these days are outside. ``border``: how far these are from the period beside them, in periods.
    """

    name: str
    periods: Periods
    before: bool = True
    after: bool = True
    border: Fraction = field(default=Fraction(1))

    @property
    def labels(self) -> tuple[str, ...]:
        return self._labels

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        after = (self.periods.end.isoformat(),) if self.after else ()
        return (*([BEFORE] if self.before else []), *self.periods.ids, *after)

    @property
    def codes(self) -> range:
        """Of the periods, without what is before and after them."""
        return range(int(self.before), int(self.before) + len(self.periods.ids))

    @cached_property
    def positions(self) -> tuple[Fraction, ...]:
        """Where each code lies on the line, in periods from the first one."""
        inside = tuple(map(Fraction, range(len(self.periods.ids))))
        before, after = (-self.border,) * self.before, (inside[-1] + self.border,) * self.after
        return (*before, *inside, *after)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (TextColumn(self.name, self.labels, dates=True, endless=self.after),)

    @property
    def size(self) -> int:
        return len(self.periods.ids) + self.before + self.after

    @property
    def read_as(self) -> CellType:
        return "days"

    @cached_property
    def known_days(self) -> frozenset[date]:
        """The first day of everything that codes tell apart, and of what is outside beside it."""
        beside = {self.periods.first - timedelta(1), self.periods.end}
        return frozenset({*self.periods.starts, *beside})

    @property
    def ends_in_words(self) -> dict[str, str]:
        """What readers see instead of what the values before and after the periods are called."""
        before = {BEFORE: f"before {self.periods.first}"} if self.before else {}
        return before | ({self.periods.end.isoformat(): f"after {self.periods.last}"} if self.after else {})

    def stands_for_more(self, label: str) -> bool:
        """Whether a value is more than the day it is called by."""
        return self.periods.every != "day" or label not in self.periods.ids

    def accepted(self, found: str) -> str:
        told = f"from {self.periods.first} to {self.periods.last}, "
        return f"accepted are dates {'' if self.before and self.after else told}written year-month-day"

    @property
    def beyond_labels(self) -> Sequence[Any]:
        border = str(self.border) if self.before or self.after else ""
        return (self.periods.every, self.periods.last.isoformat(), self.before, self.after, border)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        cells = raw
        if isinstance(raw, np.ndarray) and raw.dtype.kind == "M":
            cells = raw.astype("datetime64[D]").astype(object)
        return np.fromiter(map(self._code, cells), dtype=np.int64, count=len(raw))

    def _code(self, cell: Any) -> int:
        day = day_of(cell)
        if day is None:
            return OUTSIDE
        code = self.periods.place_of(day) + self.before
        return code if 0 <= code < self.size else OUTSIDE


def along_time(attributes: Sequence[Attribute]) -> tuple[int, PeriodAttribute] | None:
    """The attribute of a policy's time, and its place; None where it states none."""
    return next(((place, one) for place, one in enumerate(attributes) if isinstance(one, PeriodAttribute)), None)
