"""How dates and times are written, told by an example: the last minute of 2025.

That minute has a number for each part that no other part can have, so an example is never ambiguous: 2025 or 25 is the
year, 12 the month, 31 the day, 23 the hour (11 with PM), 59 the minute, 58 or 59 after it the second.

What cells mean before an attribute sees them: trimmed, in small letters, missing, recoded, in units, by example.

The order is always the same: trim, NFC, small letters, missing words, words or units, value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Final, final
from unicodedata import normalize

_NUMBERS: Final = (("2025", "Y"), ("25", "y"), ("12", "m"), ("31", "d"), ("23", "H"), ("11", "I"))
_WORDS: Final = {
    "dec": "b",
    "december": "B",
    "wed": "a",
    "wednesday": "A",
    "pm": "p",
    "t": "t",
    "h": "h",
    "uhr": "uhr",
    "at": "at",
    "of": "of",
}
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PIECE: Final = re.compile(r"[0-9]+|[^\W\d_]+|.", re.DOTALL)
_ZONE: Final = re.compile(r"(?<=[0-9 ])( ?)(z|utc|gmt|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})$", re.IGNORECASE)
_SPECIAL: Final = re.compile(r"[][\\.^$*+?(){}|]")
_OFFSET: Final = "(z|utc|gmt|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)"
_PATTERNS: Final = {
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "b": "(?:" + "|".join(month[:3] for month in _MONTHS) + ")",
    "B": "(?:" + "|".join(_MONTHS) + ")",
    "a": "(?:" + "|".join(day[:3] for day in _DAYS) + ")",
    "A": "(?:" + "|".join(_DAYS) + ")",
    "p": "(?:am|pm)",
    "M": "[0-9]{2}",
    "S": "[0-9]{2}",
}
_NEEDED: Final = (("yY", "the year, 2025 or 25"), ("mbB", "the month, 12, Dec or December"), ("d", "the day, 31"))
_LAST_MINUTE: Final = "write how 31 December 2025, 23:59 is written in the column, such as 31.12.2025 23:59"


@final
class NoExample(Exception):
    """What is written is no way to write the last minute of 2025; the message says why, ``advice`` what to write."""

    def __init__(self, message: str, advice: str = _LAST_MINUTE) -> None:
        super().__init__(message)
        self.advice = advice


@final
@dataclass(frozen=True)
class WrittenMoment:
    """A way to write dates or times.

    ``pieces``: the codes of strptime, each with how many digits it must have at least, and letters that stand for
    themselves (code "", then the sign); ``zone``: the blank before an offset from UTC at the end, None without one.
    Texts are compared in small letters.
    """

    pieces: tuple[tuple[str, str], ...]
    zone: str | None = None

    @property
    def codes(self) -> str:
        """The codes in it, in order."""
        return "".join(code for code, _ in self.pieces)

    @property
    def has_hours(self) -> bool:
        return "H" in self.codes or "I" in self.codes

    @property
    def short_year(self) -> bool:
        """Whether its year has two digits, which do not say the century."""
        return "y" in self.codes

    @property
    def layout(self) -> str:
        """As strptime takes it, without fractions of a second and without the offset."""
        return "".join(f"%{code}" if code else text.replace("%", "%%") for code, text in self.pieces)

    @cached_property
    def pattern(self) -> str:
        """A regular expression that the whole text matches, in small letters.

        Groups: 1 and 2 what stands before and after a fraction of a second, 3 the offset from UTC.
        """
        head, tail, fraction = "", "", False
        for code, text in self.pieces:
            part = (
                (_PATTERNS.get(code) or ("[0-9]{2}" if text else "[0-9]{1,2}"))
                if code
                else _SPECIAL.sub(r"\\\g<0>", text)
            )
            head, tail = (head, tail + part) if fraction else (head + part, tail)
            fraction |= code == "S"
        between = "(?:[.,][0-9]{1,9})?" if fraction else ""
        offset = "" if self.zone is None else self.zone + _OFFSET
        return f"^({head}){between}({tail}){offset}$"

    @property
    def digest(self) -> list[str]:
        return [self.layout, self.pattern]

    def read(self, text: str) -> datetime | None:
        """The moment as it is written, without its offset: the slow twin of what the engine does.

        The century of a year of two digits is that of 2000 to 2099.
        """
        found = re.fullmatch(self.pattern, text.lower())
        if found is None:
            return None
        try:
            moment = datetime.strptime(found[1] + found[2], self.layout)
        except ValueError:
            return None
        return moment.replace(year=2000 + moment.year % 100) if self.short_year else moment

    def write(self, moment: datetime) -> str:
        """The moment so written, at UTC where there is an offset."""
        text = moment.strftime(self.layout.replace("%Y", f"{moment.year:04d}")).lower()
        return text if self.zone is None else f"{text}{self.zone}+00:00"


def written_moment(example: str) -> WrittenMoment:
    """The way in which an example writes the last minute, or the last day, of 2025. Raises: NoExample."""
    text, zone = example.strip(), None
    if (offset := _ZONE.search(text)) is not None and ":" in text[: offset.start()]:
        text, zone = text[: offset.start()], offset[1]
    pieces: list[tuple[str, str]] = []
    for piece in _PIECE.findall(text):
        if piece.isdigit() and len(pieces) > 1 and pieces[-2][0] == "S" and pieces[-1] in (("", "."), ("", ",")):
            pieces.pop()  # fractions are read in any case
        elif piece.isascii() and piece.isdigit():
            pieces += _numbers(piece, pieces, example)
        elif piece.isalpha():
            code = _WORDS.get(piece.lower(), "")
            if not code:
                raise NoExample(f"{piece!r} in {example!r} is neither a number nor an English name of a month or a day")
            pieces.append((code, "") if len(code) == 1 and code not in "th" else ("", piece.lower()))
        else:
            pieces.append(("", piece))
    found = WrittenMoment(tuple(pieces), zone)
    _require_whole(found, example)
    return found


def _numbers(digits: str, before: list[tuple[str, str]], example: str) -> list[tuple[str, str]]:
    """The parts that a run of digits is: of several no blank says where one ends, so each has all its digits."""
    found: list[tuple[str, str]] = []
    known = {code for code, _ in before}
    whole = digits
    while digits:
        clock = known & {"H", "I"}
        later = (("59", "M" if "M" not in known else "S"), ("58", "S")) if clock else ()
        number, code = next(
            ((number, code) for number, code in (*later, *_NUMBERS) if digits.startswith(number)), ("", "")
        )
        if not number or code in known:
            raise NoExample(f"{whole!r} in {example!r} is no part of the last minute of 2025")
        known.add(code)
        digits = digits[len(number) :]
        found.append((code, ""))
    return [(code, "2") for code, _ in found] if len(found) > 1 else found


def _require_whole(found: WrittenMoment, example: str) -> None:
    codes = found.codes
    for letters, what in _NEEDED:
        if sum(codes.count(letter) for letter in letters) != 1:
            raise NoExample(f"{example!r} says not once {what}")
    if codes.count("H") + codes.count("I") > 1 or ("I" in codes) != ("p" in codes):
        raise NoExample(f"{example!r} does not say the hour as 23, or as 11 with PM")
    if ("S" in codes and "M" not in codes) or any(codes.count(code) > 1 for code in "MSpaAbB"):
        raise NoExample(f"{example!r} has seconds without minutes, or a part twice")
    if found.zone is not None and not found.has_hours:
        raise NoExample(f"{example!r} has a zone, but no hour")


_START: Final = datetime(2001, 2, 3, 4, 5, 6)
_TRIED: Final = tuple(
    (_START + timedelta(days=37 * k, hours=5 * k, minutes=7 * k, seconds=11 * k)).replace(year=year)
    for k in range(0, 120, 3)
    for year in (2001 + k % 12, 1003 + 101 * (k % 12))
    if (_START + timedelta(days=37 * k)).day <= 28
)
"""Moments whose days, months and short years could each be one of the others."""


def different_readings(ways: tuple[WrittenMoment, ...]) -> tuple[int, int, str] | None:
    """The places of two ways that read one text differently, and the text; None where no two do."""
    for (i, one), (j, other) in combinations(enumerate(ways), 2):
        for way in (one, other):
            for moment in _TRIED:
                text = way.write(moment)
                both = one.read(text), other.read(text)
                if None not in both and both[0] != both[1]:
                    return i, j, text
    return None


BLANKS: Final = " \t\u00a0\u2007\u202f\ufeff"
"""What ``trim`` takes from both ends of a cell."""


@final
@dataclass(frozen=True)
class CellRules:
    """How the cells of one attribute are read.

    ``trim``: without BLANKS at their ends, and nothing left is missing; ``fold``: in small letters on both sides of
    every comparison; ``missing``: words that mean that nothing is there; ``words``: what is read as which value;
    ``units``: what a number with this word before or behind it is multiplied by; ``decimal`` and ``thousands``: the
    signs in numbers, the latter empty where there is none; ``written``: how moments are written, year-month-day where
    it is empty; ``century``: the first day of the hundred years into which two-digit years are read.
    """

    trim: bool = False
    fold: bool = False
    missing: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    units: tuple[tuple[str, Fraction], ...] = ()
    decimal: str = "."
    thousands: str = ""
    written: tuple[WrittenMoment, ...] = ()
    century: date | None = None

    @property
    def composed(self) -> bool:
        """Whether letters are put together as Unicode's NFC does."""
        return self.trim or self.fold

    @property
    def digest(self) -> list[Any]:
        """Ready for JSON; equal digests read every cell alike. The order of words and units has no meaning."""
        return [
            "cells",
            self.trim,
            self.fold,
            sorted(self.missing),
            sorted(map(list, self.words)),
            sorted([unit, str(factor)] for unit, factor in self.units),
            self.decimal,
            self.thousands,
            [way.digest for way in self.written],
            None if self.century is None else self.century.isoformat(),
        ]

    def compared(self, word: str) -> str:
        """A word of the policy as cells are compared with it, for its mistakes; engines do it in their own terms."""
        word = word.strip(BLANKS) if self.trim else word
        word = normalize("NFC", word) if self.composed else word
        return "".join(map(_small, word)) if self.fold else word

    def alike(self, words: Iterable[str]) -> tuple[str, str] | None:
        """Two different words that cells cannot tell apart; None where there are none."""
        met: dict[str, str] = {}
        for word in words:
            other = met.setdefault(self.compared(word), word)
            if other != word:
                return other, word
        return None


def _small(letter: str) -> str:
    return letter.lower() if len(letter.lower()) == 1 else letter


@final
@dataclass(frozen=True)
class Ignored:
    """Rows that are none, such as totals: those whose cell in ``column`` is one of ``words``, read by ``rules``."""

    column: str
    words: tuple[str, ...]
    rules: CellRules

    @property
    def digest(self) -> list[Any]:
        return ["ignored", self.column, sorted(self.words), self.rules.digest]
