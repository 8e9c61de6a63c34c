"""Amounts of budget, exact: 0.1 is one tenth."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.decimals import LARGEST, SMALLEST, NotANumber, exact

Amount: TypeAlias = int | float | str | Decimal | Fraction


def exact_amount(amount: Amount, what: str) -> Fraction:
    """The amount as written: a float means its shortest decimal, so that ten times 0.1 is 1.

    Raises: UnsupportedCombination unless it is a positive number between 1e-30 and 1e30.
    """
    try:
        value = amount if isinstance(amount, Fraction) else _parsed(str(amount).strip())
    except (NotANumber, ZeroDivisionError) as error:
        raise UnsupportedCombination(
            f"the {what} is a positive number such as 0.25 or 1/4, found {amount!r}"
        ) from error
    if not SMALLEST <= value <= LARGEST:
        raise UnsupportedCombination(f"the {what} is a positive number such as 0.25 or 1/4, found {amount!r}")
    return value


def _parsed(text: str) -> Fraction:
    above, slash, below = text.partition("/")
    return exact(above) / exact(below) if slash else exact(text)
