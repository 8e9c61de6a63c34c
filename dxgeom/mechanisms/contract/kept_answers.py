"""Answers of numbers as a ledger keeps them: whole numbers as such, exact fractions as text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np

from dxgeom.errors import UnsupportedCombination

ANSWER_BYTES: Final = 2**16
"""Room for an answer whose size nobody states."""

FLOAT_BYTES: Final = 24
"""No float64 is longer as text: -2.2250738585072014e-308."""


def kept_numbers(answer: Any) -> Any:
    """Whole numbers and fractions, and tuples of them, as JSON.

    >>> kept_numbers((3, (Fraction(1, 2),)))
    [3, ['1/2']]

    Raises: UnsupportedCombination for anything else.
    """
    match answer:
        case int() | np.integer():
            return int(answer)
        case Fraction():
            return str(answer)
        case tuple() | list():
            return [kept_numbers(part) for part in answer]
        case _:
            raise UnsupportedCombination(
                f"an answer of type {type(answer).__name__} is kept as it is shown: give its mechanism 'kept' and "
                "'recalled' to have it made again"
            )


def recalled_numbers(kept: Any) -> Any:
    """The answer that :func:`kept_numbers` wrote.

    >>> recalled_numbers([3, ["1/2"]])
    (3, (Fraction(1, 2),))
    """
    match kept:
        case list():
            return tuple(recalled_numbers(part) for part in kept)
        case str():
            return Fraction(kept)
        case _:
            return kept


def fraction_bytes(numerator: int, denominator: int) -> int:
    """No fraction that is at most this far from 0, over a divisor of this denominator, is longer as text.

    Its numerator in lowest terms is at most as large, its denominator too; a sign and a stroke are added. A number
    below 2^b has at most b·log10(2) + 1 digits.
    """
    digits = numerator.bit_length() * 0.30103 + denominator.bit_length() * 0.30103
    return int(digits) + 6
