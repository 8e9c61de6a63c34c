"""Amounts of budget, exact: 0.1 is one tenth."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TypeAlias

from dxgeom.errors import UnsupportedCombination

Amount: TypeAlias = int | float | str | Decimal | Fraction
_LARGEST_EXPONENT = 30


def exact_amount(amount: Amount, what: str) -> Fraction:
    """The amount as written: a float means its shortest decimal, so that ten times 0.1 is 1.

    Raises: UnsupportedCombination unless it is a positive number between 1e-30 and 1e30.
    """
    try:
        exact = amount if isinstance(amount, Fraction) else _parsed(str(amount).strip())
    except (ValueError, ArithmeticError, InvalidOperation) as error:
        raise UnsupportedCombination(
            f"the {what} is a positive number such as 0.25 or 1/4, found {amount!r}"
        ) from error
    if not Fraction(1, 10**_LARGEST_EXPONENT) <= exact <= 10**_LARGEST_EXPONENT:
        raise UnsupportedCombination(f"the {what} is a positive number such as 0.25 or 1/4, found {amount!r}")
    return exact


def _parsed(text: str) -> Fraction:
    """The exponent is looked at first: 1e999999999 must not be written out."""
    if "/" in text:
        return Fraction(text) if len(text) < 100 else Fraction(0)
    number = Decimal(text)
    if not number.is_finite() or abs(number.adjusted()) > _LARGEST_EXPONENT or len(text) > 100:
        return Fraction(0)
    return Fraction(number)
