"""Released answers, as files and ledgers hold them: read as if an enemy had written them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

from dxgeom.arguments import require
from dxgeom.errors import DataError, file_errors

_LARGEST: Final = 64 << 20


@final
@dataclass(frozen=True)
class AnswerAsReleased:
    """One answer with the ends of its bar; ``low`` and ``high`` are ∞ where no limit can be given."""

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
    answers: tuple[AnswerAsReleased, ...]
    rehearsal: bool


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
        return _released(document)
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError, RecursionError) as error:
        raise DataError(
            f"{where} is no release with answers to queries; name a file of 'dxgeom release --format json'"
        ) from error


def _released(document: Mapping[str, Any]) -> Released:
    remaining = document.get("remaining")
    return Released(
        time=str(document.get("time") or ""),
        policy=str(document["policy"]["fingerprint"]),
        spend=Fraction(str(document["spent"])),
        remaining=None if remaining is None else Fraction(str(remaining)),
        records=None if document.get("records") is None else int(document["records"]),
        level=float(document["level"]),
        answers=tuple(map(_answer, document["answers"])),
        rehearsal=bool(document.get("rehearsal")),
    )


def _answer(row: Mapping[str, Any]) -> AnswerAsReleased:
    low, high = row.get("interval") or (None, None)
    value = float(row["value"])
    if not math.isfinite(value):
        raise ValueError("an answer is a number")
    unit = row.get("unit")
    ends = (-math.inf if low is None else float(low), math.inf if high is None else float(high))
    return AnswerAsReleased(str(row["name"]), None if unit is None else str(unit), value, *ends)
