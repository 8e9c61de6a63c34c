"""What several releases tell together of one pair: pure ones beside Gaussian ones, composed number by number.

Each release is dominated by a pair of laws: Gaussian noise at μ by N(0, 1) and N(μ, 1), pure noise at ε by randomised
response, whose log-odds are ±ε. Log-odds of a sequence are sums, adaptive sequences included; Gaussians together are
one Gaussian, so that only sums of ±ε are laid out, on a grid, with chances that are rounded up.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, count
from typing import Final, TypeAlias, final

import numpy as np
from flint import arb, ctx, fmpq, fmpz, fmpz_poly
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import cached_property
from dxgeom.privacy.curves import concentrated_delta, gaussian_delta, least, normal_below, require_curve, rounded_up

Pure: TypeAlias = Sequence[tuple[float, int]]
"""Each ε > 0, and how many releases have it."""

UNITS: Final = 128
"""Chances are multiples of 2 to the minus this."""
_LOST: Final = 2 ** (UNITS - 80)
"""What one law may lose above, in those units."""
_LAW_PRECISION: Final = 192
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
        with ctx.workprec(_LAW_PRECISION):
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
    with ctx.workprec(_LAW_PRECISION):
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


_BESIDE_GAUSSIANS: Final = 4096
"""Points of a law, each of which has its Gaussian curve evaluated in balls."""
_PRECISION: Final = 128
_CLOSE: Final = 1e-9
_MOST: Final = 10_000


@final
@dataclass(frozen=True)
class Composition:
    """Releases at one distance: ``pure`` (ε and how many times), ``gaussian`` and ``concentrated``, roots of the sums
    of squares of the μ of Gaussian releases, and of those of which no more than the promise is known.

    Guarantee: all curves *rounded up*; true both ways, and of adaptive sequences whose ε and μ are settled beforehand.
    Source: Zhu, Dong & Wang 2022, Theorem 10 (dominating pairs compose); Kairouz, Oh & Viswanath 2015 (randomised
    response dominates); Meiser & Mohammadi 2018 (rounding up).
    """

    pure: tuple[tuple[float, int], ...] = ()
    gaussian: float = 0.0
    concentrated: float = 0.0

    def __post_init__(self) -> None:
        for epsilon, times in self.pure:
            require_curve(0.0, epsilon=epsilon)
            if not 0 < times <= _MOST:
                raise UnsupportedCombination(f"releases are counted from 1 to {_MOST:,}, found {times!r}")
        for distance in (self.gaussian, self.concentrated):
            require_curve(distance)

    @classmethod
    def of(
        cls, pure: Iterable[float] = (), gaussian: Iterable[float] = (), concentrated: Iterable[float] = ()
    ) -> Composition:
        """Of each release's ε or μ. Where more than ten thousand are alike, only their squares are added up."""
        counted = sorted(Counter(map(float, pure)).items())
        known = tuple((epsilon, times) for epsilon, times in counted if times <= _MOST and epsilon)
        many = (_root([epsilon] * times) for epsilon, times in counted if times > _MOST)
        return cls(known, _root(gaussian), _root([*concentrated, *many]))

    @property
    def distance(self) -> float:
        """The root of the sum of all squares, *rounded up*: D_α ≤ α·μ²/2."""
        return _root([self.gaussian, self.concentrated, *(e for e, times in self.pure for _ in range(times))])

    @property
    def ceiling(self) -> float:
        """The log-odds that are never exceeded, *rounded up*: ∞ unless all releases are pure."""
        if self.gaussian or self.concentrated:
            return math.inf
        return rounded_up(lambda: sum((arb(epsilon) * times for epsilon, times in self.pure), arb(0)))

    def delta(self, epsilon: float) -> float:
        """δ(ε): the smaller of the bound for concentrated mechanisms and, where all are known, the sum over odds."""
        require_curve(0.0, epsilon=epsilon)
        if epsilon >= self.ceiling:
            return 0.0
        bound = concentrated_delta(epsilon, self.distance)
        if self.concentrated:
            return bound
        if not self.pure:
            return min(bound, gaussian_delta(epsilon, self.gaussian))
        return min(bound, self._composed(epsilon))

    def epsilon(self, delta: float) -> float:
        """The least ε ≥ 0 with :meth:`delta` at most δ, to within 1e-9 of itself where that can be told."""
        require_curve(0.0, delta=delta)
        known = least(lambda epsilon: concentrated_delta(epsilon, self.distance) <= delta)
        known = min(known, self.ceiling)
        if self.concentrated or known == 0:
            return known
        guess = _crossing(self._nearly, delta, known) * (1 + _CLOSE)
        for _ in range(8):
            if guess >= known:
                break
            if self.delta(guess) <= delta:
                return guess
            guess *= 1 + 1e-7
        return known

    def right_guess(self) -> float:
        """The chance of a right guess between two records that were equally likely, at best: (1 + δ(0))/2."""
        return min(1.0, rounded_up(lambda: (1 + arb(self.delta(0.0))) / 2))

    @cached_property
    def _law(self) -> LossLaw:
        """Log-odds of the pure releases where the first record is true."""
        law = law_of_sum(self.pure)
        return law.coarser(_BESIDE_GAUSSIANS) if self.gaussian else law

    @cached_property
    def _beyond_each(self) -> tuple[list[arb], list[arb]]:
        """For each point of the law the chance of it and all above, under the first record and under the second."""
        law = self._law
        with ctx.workprec(_PRECISION):
            chances = [arb(chance) for chance in law.chances.coeffs()]
            other = [chance * (-arb(loss)).exp() for chance, loss in zip(chances, law.losses, strict=True)]
            first, second = (list(accumulate(reversed(one)))[::-1] for one in (chances, other))
        return first, second

    def _composed(self, epsilon: float) -> float:
        law, sure = self._law, arb(2) ** -UNITS

        def among_pure() -> arb:
            first, second = self._beyond_each
            place = math.floor(math.ldexp(epsilon, -law.exponent)) + 1 - law.lowest
            if place >= len(first):
                return arb(law.beyond) * sure
            above = max(0, place)
            return (first[above] - arb(epsilon).exp() * second[above] + law.beyond) * sure

        def beside_gaussians() -> arb:
            total = arb(law.beyond)
            for loss, chance in zip(law.losses, law.chances.coeffs(), strict=True):
                if chance:
                    total += arb(chance) * self._beyond(arb(epsilon) - arb(loss))
            return total * sure

        return min(1.0, rounded_up(beside_gaussians if self.gaussian else among_pure))

    def _beyond(self, left: arb) -> arb:
        """δ of the Gaussian releases at a log-odds of any sign."""
        mu = arb(self.gaussian)
        return normal_below(mu / 2 - left / mu) - left.exp() * normal_below(-mu / 2 - left / mu)

    def _nearly(self, epsilon: float) -> float:
        """δ(ε) in float64, to look for a crossing with."""
        if not self.pure:
            return gaussian_delta(epsilon, self.gaussian)
        losses, chances = self._floats
        left = epsilon - losses
        if not self.gaussian:
            return float(chances @ np.maximum(0.0, -np.expm1(np.minimum(left, 0.0))))
        mu = self.gaussian
        below, beside = (
            np.array([0.5 * math.erfc(number) for number in (left / mu + sign * mu / 2) / math.sqrt(2)])
            for sign in (-1, 1)
        )
        return float(chances @ (below - np.exp(np.minimum(left, 700.0)) * beside))

    @cached_property
    def _floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        chances = [math.ldexp(float(chance), -UNITS) for chance in self._law.chances.coeffs()]
        return np.array(self._law.losses), np.array(chances)


def _root(distances: Iterable[float]) -> float:
    return rounded_up(lambda: sum((arb(one) ** 2 for one in distances), arb(0)).sqrt())


def _crossing(curve: Callable[[float], float], level: float, high: float) -> float:
    """About where a falling curve is as low as the level."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= level else (middle, high)
    return high
