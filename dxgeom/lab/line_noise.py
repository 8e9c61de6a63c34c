"""Noise in layers for a secret on a line: staircases, and layers of what neighbours can differ by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require, require_exact
from dxgeom.errors import DxgeomError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.contract.secret_mechanism import SecretMechanism
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.noise.layers import (
    LayeredIntegerNoise,
    runs_of,
    staircase_mean_absolute_on_integers,
    staircase_noise,
)
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest

MOST_SECRETS = 10_000
"""Secrets on a line whose pairs are all looked at."""
_DOOR = object()
_MOST_SENSITIVITIES = 512
_WIDTHS = 10
_EPSILON_BITS = 49
_LARGEST = 2**40


@final
@dataclass(frozen=True, eq=False)
class LineNoise(SecretMechanism[Fraction]):
    """Report (place + Z)·step, Z of a law in layers on the integers.

    ``places`` (N,): where each secret lies, in steps; ``step``: their width. Only :func:`staircase` and
    :func:`layered_line` make one.

    Guarantee: replacing the secret i by j changes the odds of any report by at most e^(spend·d(i, j)): along every
    generating pair the layers between i and j times the law's epsilon, exact numbers both, are at most spend·d. Reports
    are not held within the secrets' range.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    places: tuple[int, ...] = field(repr=False)
    step: Fraction
    law: LayeredIntegerNoise
    spend: Fraction
    door: InitVar[object] = None

    def __post_init__(self, door: object) -> None:
        if door is not _DOOR:
            raise DxgeomError("a LineNoise is made by staircase or layered_line, which check it, never directly")

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(
            "line", self.metric.fingerprint, self.name, self.places, self.step, self.law, self.spend
        )

    def report(self, secret: int, randomness: Randomness) -> Fraction:
        return self.reports(secret, 1, randomness)[0]

    def reports(self, secret: int, count: int, randomness: Randomness) -> list[Fraction]:
        if not 0 <= secret < len(self.places):
            raise IndexError(f"secrets run from 0 to {len(self.places) - 1}")
        return [(self.places[secret] + z) * self.step for z in self.law.draw(count, randomness).tolist()]

    @property
    def mean_absolute(self) -> float:
        """E|reported − true|, exact up to the rounding of float64."""
        return self.law.mean_absolute * float(self.step)

    @property
    def root_mean_square(self) -> float:
        """√E(reported − true)², exact up to the rounding of float64."""
        return math.sqrt(self.law.mean_square) * float(self.step)

    def radius(self, level: float = 0.95) -> Fraction:
        """The true value is within this distance with probability *at least* ``level``."""
        return self.law.radius(level) * self.step


def staircase(metric: VerifiedMetric, numbers: Sequence[Fraction | int], spend: Fraction = Fraction(1)) -> LineNoise:
    """Staircase noise for numbers under any metric on them: of all sensitivities the one of least mean absolute error.

    Definition: steps Δ wide, each ε less likely; ε is the most that keeps ε·⌈|x_i − x_j|/Δ⌉ ≤ spend·d(i, j) along the
    generating pairs. Where all numbers are alike hard to tell apart Δ is their range, where ``within T`` holds it is T;
    where odds grow with every step it is one step, and the noise the two-sided geometric one.
    Args: ``numbers`` (N,): the exact value of each secret.
    Raises: UnboundedLoss when two different numbers have distance 0; UnsupportedCombination when nothing is hidden;
    TooLarge beyond 10,000 secrets, and for noise that leaves 64-bit integers.
    Source: Geng & Viswanath 2016; Wu, Xia & He 2017, Theorem 1 and Example 9.
    """
    line = _line_of(metric, numbers, spend)

    def error(sensitivity: int) -> float:
        epsilon = float(np.min(line.bounds * float(spend) / -(-line.gaps // sensitivity)))
        return staircase_mean_absolute_on_integers(sensitivity, epsilon) if epsilon > 0 else math.inf

    chosen = min(_sensitivities(line.gaps), key=error)
    steps = [-(-gap // chosen) for gap in line.gaps.tolist()]
    law = staircase_noise(chosen, _epsilon(line, steps, spend))
    return LineNoise("staircase", metric, line.places, line.step, law, spend, _DOOR)


def layered_line(
    metric: VerifiedMetric,
    numbers: Sequence[Fraction | int],
    spend: Fraction = Fraction(1),
    width: Fraction | int | None = None,
) -> LineNoise:
    """Noise in layers of the differences V that close secrets have: for numbers with wide gaps between them.

    Definition: V are the differences of generating pairs less than twice as far apart as the closest, and of others as
    far as sums of these do not reach them within their distance; layer i is made of sums of i of V.
    Args: ``numbers``: as of :func:`staircase`. ``width``: how far around an answer counts as the answer, in the
    numbers' own unit; left out, of a few the one of least mean absolute error.
    Raises: as :func:`staircase`; TooLarge for differences in too many runs.
    Source: Wu, Xia & He 2017, Theorem 3 and §6.2, corrected as :class:`LayeredIntegerNoise` says.
    """
    line = _line_of(metric, numbers, spend)
    closest = float(line.bounds.min())
    order = np.argsort(line.bounds, kind="stable")
    near = line.bounds[order] < 2 * closest
    gaps = line.gaps[order].tolist()
    differences = runs_of((gap, gap) for gap, close in zip(gaps, near, strict=True) if close)
    epsilon, one = Fraction(1), Fraction(closest)
    for gap, bound in zip(gaps, line.bounds[order].tolist(), strict=True):
        if LayeredIntegerNoise(differences, 0, epsilon).steps(gap) > Fraction(bound) / one:
            differences = runs_of([*differences.runs, (gap, gap)])
    probe = LayeredIntegerNoise(differences, 0, epsilon)
    epsilon = _epsilon(line, [probe.steps(gap) for gap in line.gaps.tolist()], spend)
    widths = _widths(line, width)
    laws = [LayeredIntegerNoise(differences, one, epsilon) for one in widths]
    law = laws[0] if len(laws) == 1 else min(laws, key=lambda one: one.mean_absolute)
    return LineNoise("layered line", metric, line.places, line.step, law, spend, _DOOR)


class _Line(NamedTuple):
    """``places`` in steps; of each gap in steps between generating pairs the least ``bound``."""

    places: tuple[int, ...]
    step: Fraction
    gaps: NDArray[np.int64]
    bounds: NDArray[np.float64]


def _line_of(metric: VerifiedMetric, numbers: Sequence[Fraction | int], spend: Fraction) -> _Line:
    require_verified(metric)
    require_exact(spend, "spend")
    require(numbers, (Sequence, np.ndarray), "numbers", "list the exact number of each secret")
    for number in numbers:
        require(number, (*WHOLE, Fraction), "numbers", "list exact numbers, such as Fraction('0.1')")
    if len(numbers) != metric.size:
        raise UnsupportedCombination(f"the metric is on {metric.size:,} secrets, {len(numbers):,} numbers are given")
    if metric.size > MOST_SECRETS:
        raise TooLarge(f"noise on a line is for at most {MOST_SECRETS:,} secrets, the metric has {metric.size:,}")
    exact = [Fraction(number) for number in numbers]
    unit = Fraction(1, math.lcm(*(number.denominator for number in exact)))
    scaled = [int(number / unit) for number in exact]
    # Every answer lies where a secret could: the lattice of the numbers, which begins anywhere.
    common = math.gcd(*(number - scaled[0] for number in scaled), 0)
    common = math.gcd(common, scaled[0]) or 1
    places = tuple(number // common for number in scaled)
    if max(map(abs, places)) >= _LARGEST:
        raise TooLarge("numbers on a line stay below 2**40 steps of their common unit: round them")
    gaps, bounds = _least_bounds(metric, np.array(places, dtype=np.int64))
    if not gaps.size:
        raise UnsupportedCombination("the metric hides no number from another, so there is no noise to shape")
    if bounds.min() == 0:
        raise UnboundedLoss("two different numbers have distance 0: no report may tell them apart")
    return _Line(places, common * unit, gaps, bounds)


def _least_bounds(metric: VerifiedMetric, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    found: dict[int, float] = {}
    for block in metric.metric.generating_pairs():
        gaps, which = np.unique(np.abs(places[block.first] - places[block.second]), return_inverse=True)
        least = np.full(len(gaps), np.inf)
        np.minimum.at(least, which, block.bound)
        for gap, bound in zip(gaps.tolist(), least.tolist(), strict=True):
            found[gap] = min(bound, found.get(gap, math.inf))
    found.pop(0, None)
    gaps = np.array(sorted(found), dtype=np.int64)
    return gaps, np.array([found[gap] for gap in gaps.tolist()])


def _epsilon(line: _Line, steps: Sequence[int], spend: Fraction) -> Fraction:
    """The most that every pair allows, *rounded down* to multiples of 2⁻⁴⁹."""
    pairs = zip(line.bounds.tolist(), steps, strict=True)
    exact = min(Fraction(bound) * spend / number for bound, number in pairs)
    grains = math.floor(exact * (1 << _EPSILON_BITS))
    if grains == 0:
        raise TooLarge("a spend this small needs noise that leaves 64-bit integers: spend more")
    return Fraction(grains, 1 << _EPSILON_BITS)


def _sensitivities(gaps: NDArray[np.int64]) -> list[int]:
    """Those for which a pair's number of layers is least: parts of the gaps, and the common step."""
    spread = gaps[np.unique(np.linspace(0, len(gaps) - 1, _MOST_SENSITIVITIES // 2).astype(int))].tolist()
    parts = [-(-int(gaps[-1]) // number) for number in range(1, _MOST_SENSITIVITIES // 2)]
    return sorted({1, *spread, *parts})


def _widths(line: _Line, width: Fraction | int | None) -> list[int]:
    if width is None:
        return sorted({0, *(int(line.gaps[-1]) >> shift for shift in range(1, _WIDTHS + 1))})
    require(width, (*WHOLE, Fraction), "width", "write it exactly, such as Fraction('0.1'), or leave it out")
    whole = Fraction(width) / line.step
    if whole.denominator != 1 or whole < 0:
        raise UnsupportedCombination(f"a width is a whole number of steps of {line.step}, at least 0; found {width}")
    return [int(whole)]
