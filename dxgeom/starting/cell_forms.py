"""The closed list of forms in which cells write numbers, days and moments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, final

from dxgeom.engines.column_names import MARKERS


class Convention(NamedTuple):
    """What stands before decimals, and between thousands; nothing where nothing does."""

    decimal: str
    thousands: str


CONVENTIONS: Final = tuple(
    Convention(decimal, thousands) for thousands in ("", ".", ",", " ", "'") for decimal in ".," if decimal != thousands
)
"""The simplest first."""
_DIGIT: Final = re.compile("[0-9]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_DAY: Final = "(?:0?[1-9]|[12][0-9]|3[01])"
_MONTH: Final = "(?:0?[1-9]|1[0-2])"
_YEAR: Final = "(?:1[5-9]|2[0-9])[0-9]{2}"
_SHORT: Final = "[0-9]{2}"
_NAMED: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_NAMED_IN_FULL: Final = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAYS: Final = {
    "2025-12-31": f"{_YEAR}-{_MONTH}-{_DAY}",
    "2025/12/31": f"{_YEAR}/{_MONTH}/{_DAY}",
    "2025.12.31": f"{_YEAR}[.]{_MONTH}[.]{_DAY}",
    "20251231": "(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])",
    "31.12.2025": f"{_DAY}[.]{_MONTH}[.]{_YEAR}",
    "31/12/2025": f"{_DAY}/{_MONTH}/{_YEAR}",
    "31-12-2025": f"{_DAY}-{_MONTH}-{_YEAR}",
    "12/31/2025": f"{_MONTH}/{_DAY}/{_YEAR}",
    "12-31-2025": f"{_MONTH}-{_DAY}-{_YEAR}",
    "12.31.2025": f"{_MONTH}[.]{_DAY}[.]{_YEAR}",
    "31.12.25": f"{_DAY}[.]{_MONTH}[.]{_SHORT}",
    "31/12/25": f"{_DAY}/{_MONTH}/{_SHORT}",
    "31-12-25": f"{_DAY}-{_MONTH}-{_SHORT}",
    "12/31/25": f"{_MONTH}/{_DAY}/{_SHORT}",
    "12-31-25": f"{_MONTH}-{_DAY}-{_SHORT}",
    "25-12-31": f"{_SHORT}-{_MONTH}-{_DAY}",
    "25/12/31": f"{_SHORT}/{_MONTH}/{_DAY}",
    "25.12.31": f"{_SHORT}[.]{_MONTH}[.]{_DAY}",
    "31 Dec 2025": f"{_DAY} {_NAMED} {_YEAR}",
    "31-Dec-2025": f"{_DAY}-{_NAMED}-{_YEAR}",
    "31-Dec-25": f"{_DAY}-{_NAMED}-{_SHORT}",
    "31 December 2025": f"{_DAY} {_NAMED_IN_FULL} {_YEAR}",
    "Dec 31 2025": f"{_NAMED} {_DAY} {_YEAR}",
    "Dec 31, 2025": f"{_NAMED} {_DAY}, {_YEAR}",
    "December 31, 2025": f"{_NAMED_IN_FULL} {_DAY}, {_YEAR}",
}
_HOUR: Final = "(?:[01]?[0-9]|2[0-3]):[0-5][0-9]"
_SECONDS: Final = ":[0-5][0-9](?:[.][0-9]+)?"
_CLOCKS: Final = {
    "": "",
    " 23:59": f" {_HOUR}",
    " 23:59:58": f" {_HOUR}{_SECONDS}",
    "T23:59": f"T{_HOUR}",
    "T23:59:58": f"T{_HOUR}{_SECONDS}",
    " 11:59 PM": " (?:0?[1-9]|1[0-2]):[0-5][0-9] ?[AaPp][Mm]",
    " 11:59:58 PM": f" (?:0?[1-9]|1[0-2]):[0-5][0-9]{_SECONDS} ?[AaPp][Mm]",
}
_ZONE: Final = "(?:Z|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})"
_TIME_OF_DAY: Final = re.compile(f"{_HOUR}(?:{_SECONDS})?(?: ?[AaPp][Mm])?")
_WITH_UNIT: Final = re.compile(
    r"(?:[^\w\s.,+-]{1,3}\s*)?[-+]?[0-9][0-9.,' ]*(?:\s*(?:[^\W\d_]{1,6}|[^\w\s.,+-]{1,3}))?"
)
_CODE: Final = re.compile("0[0-9]+")
_ICD: Final = re.compile(r"[A-TV-Za-tv-z][0-9][0-9AB]([.]?[0-9A-Za-z-]{1,4})?[+*!]?")
_PROBED: Final = 60


@final
@dataclass(frozen=True)
class DayForm:
    """How days are written, by example; ``zoned``: with the zone's offset behind."""

    written: str
    zoned: bool


@cache
def _number(convention: Convention) -> re.Pattern[str]:
    decimal, thousands = map(re.escape, convention)
    signs = (
        "[ \u00a0\u202f]" if convention.thousands == " " else "['\u2019]" if convention.thousands == "'" else thousands
    )
    whole = f"(?:[1-9][0-9]{{0,2}}(?:{signs}[0-9]{{3}})+|(?:0|[1-9][0-9]*))" if thousands else "[0-9]+"
    return re.compile(f"[-+]?{whole}(?:{decimal}[0-9]+)?(?:[eE][-+]?[0-9]{{1,2}})?")


def reads(convention: Convention, cell: str) -> str | None:
    """The number that a cell is, in digits and a point; None where it is none.

    >>> reads(Convention(",", "."), "1.234,5"), reads(Convention(".", ""), "1,5")
    ('1234.5', None)
    """
    if not _number(convention).fullmatch(cell):
        return None
    digits = re.sub("['\u2019 \u00a0\u202f]", "", cell)
    digits = digits.replace(convention.thousands, "") if convention.thousands in (".", ",") else digits
    return digits.replace(convention.decimal, ".")


def is_number(cell: str) -> bool:
    """Whether a cell is a number by any convention; one with a zero before other digits is a code."""
    return not _CODE.fullmatch(cell) and any(_number(one).fullmatch(cell) for one in CONVENTIONS)


def is_code(cell: str) -> bool:
    """Whether a cell is digits of which the first is a zero, which a number would lose."""
    return bool(_CODE.fullmatch(cell))


def is_diagnosis(cell: str) -> bool:
    """Whether a cell is like a code of the International Classification of Diseases."""
    return bool(_ICD.fullmatch(cell))


def is_time_of_day(cell: str) -> bool:
    """Whether a cell is a time without a day."""
    return bool(_TIME_OF_DAY.fullmatch(cell))


def has_a_unit(cell: str) -> bool:
    """Whether a cell is a number with a word or a sign before or behind it."""
    return bool(_WITH_UNIT.fullmatch(cell)) and not is_number(cell) and not is_code(cell)


def is_marker(cell: str) -> bool:
    """Whether a cell is a word that often stands where something is missing."""
    return cell.casefold() in MARKERS


def shape_of(cell: str) -> str:
    """A cell with 9 for every digit and a for runs of letters."""
    return re.sub("a+", "a", _LETTER.sub("a", _DIGIT.sub("9", cell)))


def is_like_data(cell: str) -> bool:
    """Whether a cell is empty, a number, a day or a time, an address of mail, or far too long for a name."""
    if not cell or len(cell) > 80 or "@" in cell or is_number(cell) or is_code(cell) or is_time_of_day(cell):
        return True
    return bool(day_forms([cell]))


def day_forms(cells: Iterable[str]) -> dict[DayForm, list[str]]:
    """Each form that some cells have, and these cells; the forms of a day that are never the only ones come last."""
    cells = list(cells)
    step = max(1, len(cells) // _PROBED)
    probe = cells[::step]
    found: dict[DayForm, list[str]] = {}
    for (day, first), (clock, second) in ((one, two) for one in _DAYS.items() for two in _CLOCKS.items()):
        for zone in ("", _ZONE) if clock else ("",):
            pattern = _compiled(first + second + zone)
            if any(map(pattern.fullmatch, probe)):
                found[DayForm(day + clock, bool(zone))] = [cell for cell in cells if pattern.fullmatch(cell)]
    return found


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def best_days(cells: Mapping[str, int]) -> tuple[tuple[DayForm, ...], int]:
    """The forms that read most rows, and how many these are; several where more than one reads all that any of them
    does, or where each reads some that the others do not and they read the days in another order.

    Args: how often each cell comes.
    """
    forms = {form: set(read) for form, read in day_forms(cells).items()}
    weights = {form: sum(cells[cell] for cell in read) for form, read in forms.items()}
    if not weights:
        return (), 0
    best = max(weights, key=lambda form: weights[form])
    rivals = [best]
    for form, read in forms.items():
        shared = read & forms[best]
        if form != best and shared and (read - forms[best] or read == forms[best]):
            rivals.append(form)
    every = set().union(*(forms[form] for form in rivals))
    return tuple(rivals), sum(cells[cell] for cell in every)
