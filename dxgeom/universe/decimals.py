"""Exact numbers from what a person wrote: a text, or a row of numbers."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.columns import plain

_TOP: Final = 10**30
LARGEST: Final = Fraction(_TOP)
SMALLEST: Final = Fraction(1, _TOP)
_LONGEST = 64
_THOUSANDS: Final = 3
_OTHERWISE = re.compile(r"([+-]?\d+)(?:[.,](\d+))?\s*(?:(%)|/\s*(\d+))?", re.ASCII)
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
        raise NotANumber(meant(text) or "this is not a decimal number")
    sign, digits, exponent = match.groups()
    whole, _, places = digits.partition(".")
    power = int(exponent or 0)
    if abs(power) > 100:
        raise NotANumber("numbers lie between 1e-30 and 1e30 in magnitude")
    power -= len(places)
    above, below = int(whole + places) * 10 ** max(power, 0), 10 ** max(-power, 0)
    if above and (below > above * _TOP or above > below * _TOP):
        raise NotANumber("numbers lie between 1e-30 and 1e30 in magnitude")
    return Fraction(-above if sign == "-" else above, below)


def is_number(text: str) -> bool:
    """Whether a text is a number, exactly."""
    try:
        exact(text)
    except NotANumber:
        return False
    return True


def acceptable(number: Fraction | int) -> bool:
    """Whether an amount is positive, and within what numbers are accepted: 1e-30 … 1e30."""
    return SMALLEST <= number <= LARGEST


def meant(text: str) -> str:
    """Which number a text means that writes it in another way; empty for a text that means none.

    >>> meant("0,5"), meant("50 %")
    ("a decimal has a point: '0,5' is 0.5", "a share is written as a decimal: '50 %' is 0.5")
    >>> meant("1/2"), meant("1,000"), meant("half")
    ("a fraction is written as a decimal: '1/2' is 0.5", "a number has no comma: '1,000' is 1000, or 1.000", '')
    """
    text = text.strip()
    found = _OTHERWISE.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return ""
    number, decimals, sign, below = found.groups()
    if sign == "%":
        share = Fraction(f"{number}.{decimals or 0}") / 100
        return f"a share is written as a decimal: '{text}' is {plain(share)}"
    if below is not None:
        if decimals or not int(below):
            return ""
        ratio = Fraction(int(number), int(below))
        said = plain(ratio) if "/" not in plain(ratio) else f"about {float(ratio):.4g}"
        return f"a fraction is written as a decimal: '{text}' is {said}"
    if decimals is None:
        return ""
    if len(decimals) == _THOUSANDS:
        return f"a number has no comma: '{text}' is {number}{decimals}, or {number}.{decimals}"
    return f"a decimal has a point: '{text}' is {number}.{decimals}"


def exact_row(row: NDArray[Any]) -> tuple[list[int], Fraction]:
    """A row of weights as integers and their unit; float64 to 51 bits below the largest.

    Raises: UnsupportedCombination for NaN, infinities and words.
    """
    if row.dtype.kind in "iub":
        return [int(entry) for entry in row], Fraction(1)
    if row.dtype.kind == "f":
        if not np.all(np.isfinite(row)):
            raise UnsupportedCombination("weights are finite numbers")
        _, exponent = np.frexp(np.max(np.abs(row), initial=0.0))
        places = 51 - int(exponent)
        scaled = np.rint(np.ldexp(row.astype(np.float64), places)).astype(np.int64)
        return _lowest_terms([int(entry) for entry in scaled], Fraction(2) ** -places)
    if row.dtype != object:
        raise UnsupportedCombination(f"weights are numbers, found {row.dtype}")
    fractions = [_fraction(entry) for entry in row]
    denominator = math.lcm(*(entry.denominator for entry in fractions))
    return [int(entry * denominator) for entry in fractions], Fraction(1, denominator)


def _lowest_terms(numerators: list[int], unit: Fraction) -> tuple[list[int], Fraction]:
    divisor = math.gcd(*numerators) or 1
    return [numerator // divisor for numerator in numerators], unit * divisor


def _fraction(entry: Any) -> Fraction:
    try:
        return Fraction(entry)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnsupportedCombination(f"weights are finite numbers, found {entry!r}") from error
