"""Exact numbers from the text a person wrote."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final, final

LARGEST: Final = Fraction(10**30)
SMALLEST: Final = Fraction(1, 10**30)
_LONGEST = 64
_DECIMAL = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,12}))?", re.ASCII)


@final
class NotANumber(Exception):
    """The text is no number that is accepted; the message says why. Callers turn it into an error with a place."""


def exact(text: str) -> Fraction:
    """The exact value of a decimal: ``0.1`` is 1/10, ``1e-3`` is 1/1000.

    Raises: NotANumber for words, NaN, infinities, and magnitudes outside 1e-30 … 1e30 (before computing them).
    """
    match = _DECIMAL.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        if text.lower().lstrip("+-") in {".inf", "inf", "infinity", ".nan", "nan"}:
            raise NotANumber("numbers are finite")
        raise NotANumber("this is not a decimal number")
    sign, digits, exponent = match.groups()
    power = int(exponent or 0)
    if abs(power) > 100:
        raise NotANumber("numbers lie between 1e-30 and 1e30 in magnitude")
    value = Fraction(digits.removesuffix(".")) * Fraction(10) ** power
    if value and not SMALLEST <= value <= LARGEST:
        raise NotANumber("numbers lie between 1e-30 and 1e30 in magnitude")
    return -value if sign == "-" else value
