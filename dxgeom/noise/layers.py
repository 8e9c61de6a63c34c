"""Noise on the integers in layers, each so much less likely than the one before; staircases are the simplest."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any, final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.errors import DxgeomError, TooLarge
from dxgeom.noise.rounding import WORD, LazyUniform, decided
from dxgeom.numeric.randomness import Randomness, check_scale, geometric, uniform_below
from dxgeom.numeric.sealed import DefinedByNumbers, cached_property

MOST_RUNS = 1 << 20
"""Of the sums of two sets, before they are put together."""


@final
@dataclass(frozen=True)
class IntegerRuns:
    """Runs low..high of consecutive integers, in increasing order, with a gap between any two."""

    runs: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        proper = all(low <= high for low, high in self.runs)
        if not proper or any(a[1] + 1 >= b[0] for a, b in zip(self.runs, self.runs[1:], strict=False)):
            raise DxgeomError(f"runs of integers are apart and in order, found {self.runs[:8]}")

    def __add__(self, other: IntegerRuns) -> IntegerRuns:
        """The set {a + b}. Raises: TooLarge beyond 2²⁰ pairs of runs."""
        if len(self.runs) * len(other.runs) > MOST_RUNS:
            raise TooLarge(
                f"sums of {len(self.runs):,} and {len(other.runs):,} runs of integers are too many to list: take noise "
                "that knows the largest difference alone"
            )
        return runs_of((low + left, high + right) for low, high in self.runs for left, right in other.runs)

    @property
    def count(self) -> int:
        """How many integers there are."""
        return sum(high - low + 1 for low, high in self.runs)

    @property
    def widest_gap(self) -> int:
        """The largest difference of two neighbours in the set that are not in one run; 0 for one run."""
        return max((b[0] - a[1] for a, b in zip(self.runs, self.runs[1:], strict=False)), default=0)

    @property
    def furthest(self) -> int:
        """The largest |z|."""
        return max((max(abs(low), abs(high)) for low, high in self.runs), default=0)

    def power_sum(self, power: int) -> int:
        """Σ |z|^power, for a power of 0, 1 or 2."""
        return sum(
            _sum_below(high + 1, power) - _sum_below(low, power)
            if low >= 0
            else _sum_below(1 - low, power) - _sum_below(-high, power)
            if high < 0
            else _sum_below(high + 1, power) + _sum_below(1 - low, power) - (power == 0)
            for low, high in self.runs
        )

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self.runs, number, key=itemgetter(0)) - 1
        return place >= 0 and number <= self.runs[place][1]

    def holds(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each number is in the set."""
        place = np.searchsorted(self._lows, numbers, side="right") - 1
        return np.asarray((place >= 0) & (numbers <= self._highs[np.maximum(place, 0)]))

    @cached_property
    def _lows(self) -> NDArray[np.int64]:
        return np.array([low for low, _ in self.runs], dtype=np.int64)

    @cached_property
    def _highs(self) -> NDArray[np.int64]:
        return np.array([high for _, high in self.runs], dtype=np.int64)


def runs_of(runs: Iterable[tuple[int, int]]) -> IntegerRuns:
    """The integers of runs that may overlap or touch."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(runs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return IntegerRuns(tuple(merged))


def _sum_below(end: int, power: int) -> int:
    """Σ z^power over 0 ≤ z < end."""
    if power == 0:
        return end
    return end * (end - 1) // 2 if power == 1 else (end - 1) * end * (2 * end - 1) // 6


def computable_coins(chance: Callable[[], arb], count: int, randomness: Randomness) -> NDArray[np.bool_]:
    """Independent coins (count,) that fall true with the chance in [0, 1] that the ball holds.

    Args: ``chance``: makes a ball at the precision in force; the number in it is no multiple of 2⁻⁶⁴, or no ball of it
    is wider than nothing.
    Guarantee: *exact*, given uniform random words: 64 bits of a uniform mostly tell whether it is below the chance, and
    where they do not, 64 more are read.
    """
    words = randomness.words(count)
    with ctx.workprec(4 * WORD):
        scaled = chance() * arb(fmpq(1 << WORD))
        low, high = math.floor(_exactly(scaled.lower())), math.ceil(_exactly(scaled.upper()))
    surely = words < np.uint64(low) if low < 1 << WORD else np.ones(count, dtype=bool)
    unclear = np.zeros(count, dtype=bool) if low >= 1 << WORD else ~surely & (words.astype(object) < high)
    for place in np.flatnonzero(unclear):
        uniform = LazyUniform(int(words[place]))
        surely[place] = decided(lambda balls: _below(balls[0], chance()), [uniform], randomness)
    return np.asarray(surely)


def _exactly(ball: arb) -> Fraction:
    number = ball.mid().fmpq()
    return Fraction(int(number.p), int(number.q))


def _below(one: arb, other: arb) -> bool | None:
    return True if one < other else False if one >= other else None


_PRECISION = 256
_NEGLIGIBLE = 1e-18
_MOST_LAYERS = 4_000
_LARGEST = 2**61


@final
@dataclass(frozen=True)
class LayeredIntegerNoise(DefinedByNumbers):
    """P(z) ∝ e^(−epsilon·i) on layer i: the sums of i of ±V ∪ {0} and of −width..width, less the layers before.

    ``differences`` V: runs of positive integers, what neighbouring answers differ by; ``width``: how far around an
    answer counts as the answer. ``epsilon``: nats a layer.
    Guarantee: answers that differ by a sum of i of V have odds of at most e^(epsilon·i), exactly so somewhere: see
    :meth:`steps`. The normaliser is the same for every answer, so nothing is lost to it. Draws are *exact*.
    Source: Wu, Xia & He 2017, Theorem 3 with §6.2, on integers; corrected: V is made symmetric, what layer i leaves out
    is the whole *ball* of the layers before, and ε instead of 2ε (Corollary 1) needs answers without bounds.
    """

    differences: IntegerRuns
    width: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        positive = bool(self.differences.runs) and self.differences.runs[0][0] >= 1
        if not (positive and self.width >= 0 and self.epsilon > 0):
            raise DxgeomError("layered noise has positive differences, a width of at least 0 and epsilon > 0")
        check_scale(1 / self.epsilon)
        if self.differences.furthest + self.width >= 2**40:
            raise TooLarge("differences and widths of layered noise stay below 2**40 steps: take a longer step")

    @property
    def defining(self) -> tuple[Any, ...]:
        return self.differences.runs, self.width, self.epsilon

    @cached_property
    def symmetric_differences(self) -> IntegerRuns:
        """±V ∪ {0}."""
        runs = self.differences.runs
        return runs_of([*runs, *((-high, -low) for low, high in runs), (0, 0)])

    def steps(self, shift: int) -> int:
        """The least number of differences that add up to ``shift``: e^(epsilon·that) bounds the odds.

        Raises: DxgeomError when 4,000 of them do not reach it.
        """
        if shift == 0:
            return 0
        far, step = abs(shift), self.symmetric_differences
        if len(step.runs) == 1:
            return -(-far // step.furthest)
        reached = runs_of([(0, 0)])
        for number in range(_MOST_LAYERS):
            if far in reached:
                return number
            reached = reached + step
        raise DxgeomError(f"{_MOST_LAYERS:,} differences do not add up to a shift of {shift}")

    def layer(self, place: int) -> int:
        """The layer that an integer lies on. Raises: TooLarge where it takes more than 4,000 balls to tell."""
        number = max(0, -(-(abs(place) - self.width) // self._step))
        while place not in self.ball(number):
            number += 1
        return number

    def ball(self, number: int) -> IntegerRuns:
        """The layers 0..number together."""
        while len(self._balls) <= number and not self._whole(self._balls[-1]):
            if len(self._balls) >= _MOST_LAYERS:
                raise TooLarge(
                    f"epsilon is too small for differences with gaps: {_MOST_LAYERS:,} layers are listed at most"
                )
            self._balls.append(self._balls[-1] + self.symmetric_differences)
        return self._balls[number] if number < len(self._balls) else self._interval(number)

    def _whole(self, ball: IntegerRuns) -> bool:
        """Whether it is an interval, and so long that all further balls are."""
        return len(ball.runs) == 1 and ball.count >= self.symmetric_differences.widest_gap

    def _interval(self, number: int) -> IntegerRuns:
        reach = self.width + number * self._step
        return IntegerRuns(((-reach, reach),))

    def draw(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        """``count`` draws (count,). Guarantee: *exact*, given uniform random words.

        A layer's chance is Σ_(k ≥ layer) e^(−εk), so the law is that of: k with P(k) ∝ e^(−εk)·|ball k|, and any place
        of ball k alike. Ball k lies in an interval of 2(width + k·step) + 1 integers: k and a place of the interval are
        drawn until the place is in the ball, which for an interval it always is.
        """
        drawn = np.zeros(count, dtype=np.int64)
        pending = np.arange(count)
        while pending.size:
            numbers = self._numbers(len(pending), randomness)
            reaches = self.width + numbers * self._step
            places = uniform_below(2 * reaches + 1, randomness) - reaches
            kept = np.ones(len(pending), dtype=bool)
            if not self._whole(self._balls[0]):
                for number in np.unique(numbers):
                    here = numbers == number
                    kept[here] = self.ball(int(number)).holds(places[here])
            drawn[pending[kept]] = places[kept]
            pending = pending[~kept]
        return drawn

    @property
    def mean_absolute(self) -> float:
        """E|Z|; *approximate within* a relative 1e-15."""
        return float(self._sums[1] / self._sums[0])

    @property
    def mean_square(self) -> float:
        """E[Z²]; *approximate within* a relative 1e-15."""
        return float(self._sums[2] / self._sums[0])

    def probability(self, place: int) -> arb:
        """P(Z = place), as a ball that contains it."""
        with ctx.workprec(_PRECISION):
            return self._ratio() ** self.layer(place) / ((1 - self._ratio()) * self._sums[0])

    def radius(self, level: float) -> int:
        """The least t with P(|Z| ≤ t) ≥ level: *at least*, as if every ball were an interval."""
        low, high = -1, self.width
        while self._beyond(high) > 1 - level:
            high = 2 * high + self._step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._beyond(middle) > 1 - level else (low, middle)
        return high

    def _beyond(self, reach: int) -> float:
        """A bound on P(|Z| > reach), up to the rounding of float64."""
        epsilon, step = float(self.epsilon), self._step
        first = max(0, (reach - self.width) // step + 1)
        rest, ratio = self.width + first * step - reach, math.exp(-epsilon)
        shell = rest + step * ratio / -math.expm1(-epsilon)
        return 2 * math.exp(-epsilon * first) * shell / -math.expm1(-epsilon) / float(self._sums[0]) * (1 + 1e-12)

    def _numbers(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        """k with P(k) ∝ e^(−εk)·(2·width + 1 + 2k·step): of two laws, the first geometric, the second ∝ k·e^(−εk)."""
        scale = 1 / self.epsilon
        second = computable_coins(self._share_of_second, count, randomness)
        first = geometric(scale, count, randomness)
        further = int(second.sum())
        numbers = first
        numbers[second] += 1 + geometric(scale, further, randomness)
        if int(numbers.max(initial=0)) * self._step + self.width >= _LARGEST:
            raise TooLarge("noise of this size does not fit 64-bit integers; spend more of the budget on this release")
        return numbers

    def _share_of_second(self) -> arb:
        ratio = self._ratio()
        grown = 2 * self._step * ratio
        return grown / (grown + (2 * self.width + 1) * (1 - ratio))

    def _ratio(self) -> arb:
        return (-arb(fmpq(self.epsilon.numerator, self.epsilon.denominator))).exp()

    @property
    def _step(self) -> int:
        return self.differences.furthest

    @cached_property
    def _balls(self) -> list[IntegerRuns]:
        return [runs_of([(-self.width, self.width)])]

    @cached_property
    def _sums(self) -> tuple[arb, arb, arb]:
        """Σ_k e^(−εk)·Σ_(z in ball k) |z|^p for p = 0, 1, 2: in closed form as if every ball were an interval, less
        what the first of them lack."""
        with ctx.workprec(_PRECISION):
            sums = [self._whole_sum(power) for power in range(3)]
            number = 0
            while not self._whole(ball := self.ball(number)):
                left = self._left(number) if number else math.inf
                if left < _NEGLIGIBLE * float(sums[2]):
                    sums = [total - arb(0).union(arb(left)) for total in sums]
                    break
                whole, weight = self._interval(number), self._ratio() ** number
                lacking = [whole.power_sum(power) - ball.power_sum(power) for power in range(3)]
                sums = [total - weight * arb(lack) for total, lack in zip(sums, lacking, strict=True)]
                number += 1
            return sums[0], sums[1], sums[2]

    def _left(self, number: int) -> float:
        """More than the second moment of all further balls together."""
        epsilon, reach = float(self.epsilon), float(self.width + number * self._step + 1)
        grown = -math.expm1(-epsilon)
        return math.exp(-epsilon * number) * 2 * reach**3 * 8 / grown * (1 + (1 / (number * grown)) ** 3 * 6)

    def _whole_sum(self, power: int) -> arb:
        """Σ_k e^(−εk)·Σ |z|^power over |z| ≤ width + k·step."""
        width, step = Fraction(self.width), Fraction(self._step)
        # In n = width + k·step: 2n + 1, n² + n, (2n³ + 3n² + n)/3.
        in_n = ((1, 2, 0, 0), (0, 1, 1, 0), (0, Fraction(1, 3), 1, Fraction(2, 3)))[power]
        in_k = [
            sum(in_n[degree] * math.comb(degree, k) * width ** (degree - k) * step**k for degree in range(k, 4))
            for k in range(4)
        ]
        x = self._ratio()
        series = (1 / (1 - x), x / (1 - x) ** 2, x * (1 + x) / (1 - x) ** 3, x * (1 + 4 * x + x * x) / (1 - x) ** 4)
        return sum(
            (
                arb(fmpq(Fraction(c).numerator, Fraction(c).denominator)) * one
                for c, one in zip(in_k, series, strict=True)
            ),
            arb(0),
        )


def staircase_noise(sensitivity: int, epsilon: Fraction) -> LayeredIntegerNoise:
    """The noise of least E|Z| among staircases on the integers: steps as wide as the sensitivity, but for the first.

    Definition: P(z) ∝ e^(−ε·⌈(|z| + 1 − r)/Δ⌉₊) with the best r of 1..Δ, about γ·Δ with γ = 1/(1 + e^(ε/2)).
    Guarantee: answers at most Δ apart have odds of at most e^ε; i·Δ apart, e^(iε). Nothing else that is ε-private for
    answers Δ apart has less E|Z| on fine lattices.
    Source: Geng & Viswanath 2016, Theorems 3 and 7; Geng, Kairouz, Oh & Viswanath 2015.
    """
    if sensitivity < 1:
        raise DxgeomError(f"a sensitivity is a positive number of steps, found {sensitivity}")
    widths = _widths_about(sensitivity, epsilon)
    best = min(widths, key=lambda width: _mean_absolute(sensitivity, width, float(epsilon)))
    return LayeredIntegerNoise(runs_of([(1, sensitivity)]), best, epsilon)


def staircase_mean_absolute_on_integers(sensitivity: int, epsilon: float) -> float:
    """E|Z| of :func:`staircase_noise`, in float64 and at once, for choosing among many sensitivities."""
    return min(_mean_absolute(sensitivity, width, epsilon) for width in _widths_about(sensitivity, Fraction(epsilon)))


def _widths_about(sensitivity: int, epsilon: Fraction) -> range:
    """r − 1 near the continuous optimum; E|Z| falls, then rises with it."""
    middle = int(sensitivity / (1 + math.exp(min(float(epsilon), 1400.0) / 2)))
    return range(max(0, middle - 3), min(sensitivity - 1, middle + 3) + 1)


def _mean_absolute(sensitivity: int, width: int, epsilon: float) -> float:
    """Σ_k x^k·(n² + n) over Σ_k x^k·(2n + 1), n = width + k·sensitivity, times (1 − x)."""
    x, rest = math.exp(-epsilon), -math.expm1(-epsilon)
    ones, once, twice = 1.0, x / rest, x * (1 + x) / rest**2
    weight = (2 * width + 1) * ones + 2 * sensitivity * once
    moment = (width * width + width) * ones + (2 * width + 1) * sensitivity * once + sensitivity**2 * twice
    return moment / weight
