"""What cells mean before an attribute sees them: trimmed, in small letters, missing, recoded, in units, by example.

The order is always the same: trim, NFC, small letters, missing words, words or units, value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, Final, final
from unicodedata import normalize

from dxgeom.universe.reading.written import WrittenMoment

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
