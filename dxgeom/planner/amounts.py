"""Amounts of budget, exact: 0.1 is one tenth."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import UnsupportedCombination, WrongArgument
from dxgeom.numeric.arrays import LARGEST as MOST_RECORDS
from dxgeom.universe.decimals import LARGEST, SMALLEST, NotANumber, exact, meant

if TYPE_CHECKING:
    from dxgeom.metrics.verification import VerifiedMetric

Amount: TypeAlias = int | float | str | Decimal | Fraction
_SLACK: Final = 1e-9
_DIGITS: Final = 6


def exact_amount(amount: Amount, what: str) -> Fraction:
    """The amount as written: a float means its shortest decimal, so that ten times 0.1 is 1.

    Raises: UnsupportedCombination unless it is a positive number between 1e-30 and 1e30.
    """
    try:
        value = amount if isinstance(amount, Fraction) else _parsed(str(amount).strip())
    except (NotANumber, ZeroDivisionError) as error:
        hint = meant(str(amount))
        raise UnsupportedCombination(
            f"the {what} is a positive number such as 0.25 or 1/4, found {amount!r}{'; ' if hint else ''}{hint}"
        ) from error
    if not SMALLEST <= value <= LARGEST:
        raise UnsupportedCombination(f"the {what} is a positive number such as 0.25 or 1/4, found {amount!r}")
    return value


def spend_for(variances: NDArray[np.float64], wanted: NDArray[np.float64], rounding_part: float) -> Fraction:
    """The smallest spend, rounded up to six digits, at which answers with these variances at spend 1, and what rounding
    adds over them at any, have root mean squared errors of at most ``wanted``.

    Raises: UnsupportedCombination where rounding alone is more.
    """
    left = wanted**2 - variances * rounding_part
    if not np.all(left > 0):
        raise UnsupportedCombination("such small errors are less than what rounding noise to its lattice makes")
    spend = float(np.sqrt(np.max(variances / left))) * (1 + _SLACK)
    unit = Fraction(10) ** (math.floor(math.log10(spend)) + 1 - _DIGITS) if spend > 0 else Fraction(1)
    return math.ceil(Fraction(spend) / unit) * unit


def require_records(records: object) -> None:
    """Raises: WrongArgument unless this is a number of records that a table may have, or None."""
    advice = "give the whole number of records, or leave it out"
    require(records, (*WHOLE, NoneType), "records", advice)
    if isinstance(records, WHOLE) and not 1 <= records <= MOST_RECORDS:
        raise WrongArgument(f"'records' is from 1 to {MOST_RECORDS:,}; {advice}")


def _parsed(text: str) -> Fraction:
    above, slash, below = text.partition("/")
    return exact(above) / exact(below) if slash else exact(text)


def agreed_records(metric: VerifiedMetric, stated: int | None, given: int | None, says: str) -> int | None:
    """The number of records that what is asked and the caller agree on. Raises: UnsupportedCombination."""
    if given is not None and metric.absent is not None:
        raise UnsupportedCombination("the policy keeps the number of records private: leave 'records' out")
    if given is not None and (given < 1 or stated not in (None, given)):
        known = "a positive number" if stated is None else f"{stated:,}, {says}"
        raise UnsupportedCombination(f"the number of records is {known}; found {given:,}")
    return stated if given is None else int(given)
