"""How a spend is shared by rounds that select and measure, each at the cost of pure privacy, as the account adds up."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dxgeom.privacy.currencies import Currency

SELECTING: Final = Fraction(1, 3)
"""The part of a round's budget that selects; the rest measures. Half each, as printed, errs more on census data."""
_DIGITS: Final = 9


def share_of_round(currency: Currency, spend: Fraction, rounds: int) -> Fraction:
    """What each of so many rounds has, of which :data:`SELECTING` selects and the rest measures.

    Definition: spend/T; or, where squares add up, the largest r with T·r²·(1/9 + 4/9) ≤ spend², *rounded down* to nine
    digits: pure privacy at ε is concentrated at ε, and 2T of these, each chosen by earlier outputs, add up in squares.
    Source: Bun & Steinke 2016, Lemma 2.3 and Prop. 3.3.
    """
    if not currency.squares:
        return spend / rounds
    exact = currency.spend_below(spend * spend / (rounds * _parts()))
    unit = Fraction(10) ** (math.floor(math.log10(exact)) + 1 - _DIGITS)
    return exact // unit * unit


def best_rounds(currency: Currency, reach: float, cost: float) -> float:
    """T where 2·reach/√T + cost·(what a round spends at T = 1 over what it does) is least; ``cost`` positive."""
    if not currency.squares:
        return math.pow(reach / cost, 2 / 3)
    return 2 * reach / (cost * math.sqrt(_parts()))


def _parts() -> Fraction:
    return SELECTING**2 + (1 - SELECTING) ** 2


def worth_it(*, marginals: bool) -> int:
    """Everything is measured at once unless its noise is more than so many times that of the rounds, which leave most
    of the workload unmeasured, of whole marginals all but T. On census data that is about where both err alike."""
    return 4 if marginals else 2
