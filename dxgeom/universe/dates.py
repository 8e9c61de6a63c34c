"""Dates: whole days in the Gregorian calendar, written year-month-day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.attributes import OUTSIDE, Attribute, CellType
from dxgeom.universe.columns import Column, TextColumn

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ISO: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def iso_date(text: str) -> date | None:
    """The day that a text such as ``2024-02-29`` names; None for any other spelling and for days that do not exist."""
    if not _ISO.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


@final
@dataclass(frozen=True)
class DateAttribute(Attribute):
    """The days first, first + step, …, up to last. A raw day in [first, last] is rounded *down* to the step.

    ``step``: whole days, at least 1. Raw values are ISO texts or dates; the hours of a datetime are cut off, and one
    with a time zone is outside, since its day depends on the reader.
    """

    name: str
    first: date
    last: date
    step: int

    @property
    def labels(self) -> tuple[str, ...]:
        return self._labels

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        return tuple((self.first + timedelta(int(day))).isoformat() for day in self.days)

    @cached_property
    def days(self) -> tuple[Fraction, ...]:
        """How many days after the first one each code lies."""
        return tuple(Fraction(self.step * k) for k in range(self.size))

    @property
    def columns(self) -> tuple[Column, ...]:
        return (TextColumn(self.name, self.labels, dates=True),)

    @property
    def size(self) -> int:
        return (self.last - self.first).days // self.step + 1

    @property
    def read_as(self) -> CellType:
        return "days"

    def parts(self, part: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The year, quarter, month or weekday (1 for Monday to 7) of every single day, and where each code's begin."""
        days = np.datetime64(self.first, "D") + np.arange((self.last - self.first).days + 1)
        months = days.astype("datetime64[M]").astype(np.int64)
        match part:
            case "year":
                numbers = 1970 + months // 12
            case "quarter":
                numbers = 1 + months % 12 // 3
            case "month":
                numbers = 1 + months % 12
            case _:
                numbers = 1 + (days.astype(np.int64) + 3) % 7  # the first of January 1970 was a Thursday
        return numbers, np.arange(0, len(days), self.step)

    def accepted(self, found: str) -> str:
        return f"accepted are dates from {self.first} to {self.last}, written year-month-day"

    @property
    def beyond_labels(self) -> Sequence[Any]:
        return (self.last.isoformat(), self.step)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        cells = raw
        if isinstance(raw, np.ndarray) and raw.dtype.kind == "M":
            cells = raw.astype("datetime64[D]").astype(object)
        return np.fromiter(map(self._code, cells), dtype=np.int64, count=len(raw))

    def _code(self, cell: Any) -> int:
        day = day_of(cell)
        return OUTSIDE if day is None or not self.first <= day <= self.last else (day - self.first).days // self.step


def day_of(cell: Any) -> date | None:
    """The day of a cell, an ISO text or a date; None for anything else, and for a moment with a zone."""
    if isinstance(cell, str):
        return iso_date(cell)
    if not isinstance(cell, date) or cell != cell:
        return None  # pandas calls a missing date a datetime, unequal to itself
    if isinstance(cell, datetime):
        return cell.date() if cell.tzinfo is None else None
    return cell
