"""Laws of log-odds on a grid, with exact integers for chances: what many pure releases tell together.

A law is a polynomial, its coefficients chances in units of 2⁻¹²⁸, all rounded up; releases compose as polynomials
multiply. Whatever lies between two points of the grid is spread over both so that it is as likely as before under both
records; whatever is rarest above has odds without limit, whatever is rarest below is put to the lowest point kept.
Each of these raises every δ(ε).
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Final, TypeAlias, final

from flint import arb, ctx, fmpq, fmpz, fmpz_poly

Pure: TypeAlias = Sequence[tuple[float, int]]
"""Each ε > 0, and how many releases have it."""

UNITS: Final = 128
"""Chances are multiples of 2 to the minus this."""
_LOST: Final = 2 ** (UNITS - 80)
"""What one law may lose above, in those units."""
_PRECISION: Final = 192
_POINTS: Final = 1024
"""Of the grid, for each standard deviation at most."""
_POINTS_OF_MANY: Final = 12
"""The same for each root of the number of laws that are spread over the grid."""


@final
@dataclass(frozen=True)
class LossLaw:
    """Log-odds ``(lowest + j)·2**exponent`` with the chance of coefficient j where the first record is true, and those
    without limit with the chance ``beyond``, in units of 2⁻¹²⁸. Guarantee: every δ(ε) that follows is *rounded up*.
    """

    exponent: int
    lowest: int
    chances: fmpz_poly
    beyond: int

    @property
    def losses(self) -> list[float]:
        """The log-odds that the coefficients belong to, exactly."""
        return [math.ldexp(self.lowest + place, self.exponent) for place in range(self.chances.length())]

    def times(self, other: LossLaw) -> LossLaw:
        """The law of the sum of two independent log-odds."""
        beyond = self._whole * other.beyond + self.beyond * int(other.chances(1))
        product = _lowered(self.chances * other.chances)
        return _trimmed(self.exponent, self.lowest + other.lowest, product, -(-beyond >> UNITS))

    def coarser(self, most: int) -> LossLaw:
        """The law on every 2nd, 4th … point, so that there are no more of them."""
        halvings = max(0, math.ceil(math.log2(max(1, self.chances.length()) / most)))
        if not halvings:
            return self
        with ctx.workprec(_PRECISION):
            points = [
                (fmpq(self.lowest + place, 1 << halvings), arb(chance))
                for place, chance in enumerate(self.chances.coeffs())
                if chance
            ]
            return _spread(points, self.exponent + halvings, self.beyond)

    @property
    def _whole(self) -> int:
        return int(self.chances(1)) + self.beyond


def law_of_sum(pure: Pure) -> LossLaw:
    """The law of the sum of ±ε over all releases, each + with chance e^ε/(1 + e^ε).

    The grid is so fine that what spreading adds to the variance is less than 1/500 of the sum of all ε².
    Guarantee: chances *rounded up* in exact integers. Source: Kairouz, Oh & Viswanath 2015 (randomised response
    dominates); Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022 (spreading, and that it raises every δ).
    """
    largest = max(epsilon for epsilon, _ in pure)
    squares = math.fsum(times * (epsilon / largest) ** 2 for epsilon, times in pure)
    fine = max(_POINTS, _POINTS_OF_MANY * math.sqrt(len(pure)))
    exponent = math.floor(math.log2(largest) + math.log2(math.sqrt(squares) / fine))
    order = count()
    waiting = [(law.chances.length(), next(order), law) for law in (_repeated(*one, exponent) for one in pure)]
    heapq.heapify(waiting)
    # The two shortest first: no law is multiplied by one that is much longer, other than where it must be.
    while len(waiting) > 1:
        product = reduce(LossLaw.times, (heapq.heappop(waiting)[2] for _ in range(2)))
        heapq.heappush(waiting, (product.chances.length(), next(order), product))
    return waiting[0][2]


def _repeated(epsilon: float, times: int, exponent: int) -> LossLaw:
    """The law of so many ±ε alone: binomial, each of its points spread over two of the grid."""
    place = fmpq(*epsilon.as_integer_ratio()) / fmpq(2) ** exponent
    points = []
    with ctx.workprec(_PRECISION):
        falling = (-arb(epsilon)).exp()
        chance = arb(2) ** UNITS / (1 + falling) ** times
        for minus in range(times + 1):
            points.append((place * (times - 2 * minus), chance))
            chance = chance * falling * (times - minus) / (minus + 1)
        return _spread(points, exponent, 0)


def _spread(points: Sequence[tuple[fmpq, arb]], exponent: int, beyond: int) -> LossLaw:
    """Points on a grid: a point between two of it goes to both, with the same chances under both records together, so
    that its likelihood ratio is spread about its mean, and every δ rises. What each gets is rounded up."""
    step = arb(2) ** exponent
    last = (-step).expm1()
    found: dict[int, int] = defaultdict(int)
    for place, chance in points:
        below = int(place.floor())
        between = place - below
        if not between:
            found[below] += _whole_above(chance)
            continue
        part = 1 - (-arb(between) * step).expm1() / last
        found[below] += _whole_above(chance * part)
        found[below + 1] += _whole_above(chance * (1 - part))
    lowest, highest = min(found), max(found)
    chances = fmpz_poly([found.get(place, 0) for place in range(lowest, highest + 1)])
    return _trimmed(exponent, lowest, chances, beyond)


def _trimmed(exponent: int, lowest: int, chances: fmpz_poly, beyond: int) -> LossLaw:
    """Without what is rarest above, which has odds without limit then, and below, which is put to the lowest left."""
    kept = list(map(int, chances.coeffs()))
    gone, top = 0, len(kept)
    while top > 1 and gone + kept[top - 1] <= _LOST:
        top -= 1
        gone += kept[top]
    under, low = 0, 0
    while low < top - 1 and under + kept[low] <= _LOST:
        under += kept[low]
        low += 1
    kept[low] += under
    return LossLaw(exponent, lowest + low, fmpz_poly(kept[low:top]), beyond + gone)


def _lowered(product: fmpz_poly) -> fmpz_poly:
    """A product of two laws in the units of each, *rounded up*."""
    return -(-product // fmpz(1 << UNITS))


def _whole_above(ball: arb) -> int:
    number = ball.upper().ceil().unique_fmpz()
    if number is None:
        raise ArithmeticError(f"{ball} is not known well enough to be rounded")
    return max(0, int(number))
