"""Releases, as files and ledgers hold them: read as if an enemy had written them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple, final

from dxgeom.arguments import require
from dxgeom.errors import DataError, file_errors
from dxgeom.planner.answers.tables import BARS, UNREADABLE, AnswerPart, AnswerTable, parts_of

_LARGEST: Final = 64 << 20


class AnswerAsReleased(NamedTuple):
    """One answer that is a number, with the ends of its bar; ``low`` and ``high`` are ∞ where no limit can be given."""

    name: str
    unit: str | None
    value: float
    low: float
    high: float


@final
@dataclass(frozen=True)
class Released:
    """One release: when, at what spend, under which policy, and its answers; ``level``: the bars' own.

    ``remaining``: of the budget, as it said then.
    """

    time: str
    policy: str
    spend: Fraction
    remaining: Fraction | None
    records: int | None
    level: float
    parts: tuple[AnswerPart, ...] = field(repr=False)
    rehearsal: bool

    @property
    def answers(self) -> tuple[AnswerAsReleased, ...]:
        """Those that are numbers, a quotient beside its parts, too."""
        return tuple(one for part in self.parts for table in part.tables for one in _numbers(table))

    @property
    def together(self) -> bool:
        """Whether all bars of every table hold at once."""
        return all("at once" in table.manner for part in self.parts for table in part.tables)


def read_release(path: str | Path) -> Released:
    """The release in a file of ``dxgeom release``.

    Raises: DataError when it is none.
    """
    require(path, (str, os.PathLike), "path", "name a file of 'dxgeom release --format json'")
    place = Path(path)
    with file_errors(place, "read"):
        if place.stat().st_size > _LARGEST:
            raise DataError(f"'{place}' is larger than a release may be; name a file of 'dxgeom release --format json'")
        content = place.read_bytes()
    return release_of(content, f"'{place}'")


def release_of(content: bytes, where: str) -> Released:
    """The release that a text holds. Raises: DataError."""
    try:
        document = json.loads(content)
        remaining = document.get("remaining")
        return Released(
            time=str(document.get("time") or ""),
            policy=str(document["policy"]["fingerprint"]),
            spend=Fraction(str(document["spent"])),
            remaining=None if remaining is None else Fraction(str(remaining)),
            records=None if document.get("records") is None else int(document["records"]),
            level=float(document.get("level", 0.95)),
            parts=parts_of(document),
            rehearsal=bool(document.get("rehearsal")),
        )
    except UNREADABLE as error:
        raise DataError(f"{where} is no release; name a file of 'dxgeom release --format json'") from error


def _numbers(table: AnswerTable) -> Iterator[AnswerAsReleased]:
    ends = (-math.inf, math.inf)
    for name, unit, value, *bar in zip(table.names, *map(table.cells, ("unit", *BARS[:3])), strict=True):
        if isinstance(value, float | int):
            low, high = (free if end is None else float(end) for free, end in zip(ends, bar, strict=True))
            yield AnswerAsReleased(name, unit, float(value), low, high)
