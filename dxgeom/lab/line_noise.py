"""Noise in layers for a secret on a line: staircases, and layers of what neighbours can differ by.

Planar Laplace noise: a place is reported with noise that reaches equally far in all directions.

(α, δ)-usefulness: how far off an answer is, except with probability δ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import NamedTuple, TypeAlias, final

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import WHOLE, array_of, require, require_exact
from dxgeom.errors import DxgeomError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.contract.mechanism import SecretMechanism
from dxgeom.metrics.metric import PairBlock
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.noise.layers import (
    LayeredIntegerNoise,
    runs_of,
    staircase_mean_absolute_on_integers,
    staircase_noise,
)
from dxgeom.noise.round_laws import EllipsoidNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import quotient_round_up
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal

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


_BITS = 128


def laplace_usefulness(sensitivity: float, epsilon: float, delta: float) -> float:
    """α with P(|noise| > α) = δ for Laplace noise of scale Δ/ε: Δ·ln(1/δ)/ε; *approximate within* float64.

    Raises: UnsupportedCombination unless 0 < δ < 1 and Δ, ε are positive.
    Source: Chatzikokolakis et al. 2013, Example 1 and Fig. 3.
    """
    _check(delta, sensitivity, epsilon)
    return sensitivity / epsilon * -math.log(delta)


def planar_usefulness(epsilon: float, delta: float) -> float:
    """α with P(r > α) = δ for the radius r of planar Laplace noise: (1 + εα)·e^(−εα) = δ; *rounded up*.

    Definition: εα = −1 − W₋₁(−δ/e), W₋₁ the lower branch of Lambert's function. E r = 2/ε, E r² = 6/ε².
    Raises: UnsupportedCombination unless 0 < δ < 1 and ε is positive.
    Source: Andrés, Bordenabe, Chatzikokolakis & Palamidessi 2013, §4; here the radius is Gamma(2, 1/ε).
    """
    _check(delta, epsilon)
    with ctx.workprec(_BITS):
        branch = acb(-arb(delta) / arb(1).exp()).lambertw(-1).real
        bound = (-1 - branch) / arb(epsilon)
        return math.nextafter(float(bound.upper()), math.inf)


def _check(delta: float, *positive: float) -> None:
    if not (0 < delta < 1 and all(0 < number < math.inf for number in positive)):
        raise UnsupportedCombination("usefulness needs 0 < δ < 1 and positive, finite parameters")


Place: TypeAlias = tuple[Fraction, Fraction]

_LARGEST_COORDINATE = 1 << 25
_CELLS_PER_BLOCK = 1 << 14


@final
@dataclass(frozen=True, eq=False)
class PlanarLaplace(SecretMechanism[Place]):
    """Report place + round(V) on a lattice of the plane, V of density ∝ e^(−spend·‖v‖₂/scale).

    ``places`` (N, 2): int64, in steps of the lattice; ``step``: its width. ``scale``: the largest ‖place_i −
    place_j‖₂/d(i, j) in steps, *rounded up*: 1/ε for the metric ε·(Euclidean distance). Only :func:`planar_laplace`
    makes one.

    Guarantee: replacing place i by j changes the odds of any report by at most e^(spend·d(i, j)).
    """

    metric: VerifiedMetric = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)
    step: Fraction
    scale: float
    spend: Fraction
    name: str = "planar Laplace"
    door: InitVar[object] = None

    def __post_init__(self, door: object) -> None:
        seal(self)
        if door is not _DOOR:
            raise DxgeomError("a PlanarLaplace is made by planar_laplace, which measures its scale, never directly")

    @cached_property
    def law(self) -> EllipsoidNoise:
        """The law of V at spend 1, in steps."""
        return EllipsoidNoise(Ellipsoid(self.scale * np.eye(2)))

    @cached_property
    def fingerprint(self) -> str:
        lattice = (self.places, self.step)
        return canonical_digest("planar", self.metric.fingerprint, self.name, *lattice, self.law, self.spend)

    def report(self, secret: int, randomness: Randomness) -> Place:
        return self.reports(secret, 1, randomness)[0]

    def reports(self, secret: int, count: int, randomness: Randomness) -> list[Place]:
        if not 0 <= secret < len(self.places):
            raise IndexError(f"places run from 0 to {len(self.places) - 1}")
        noise = self.law.draw(count, randomness, 1 / self.spend)
        return [(x * self.step, y * self.step) for x, y in (self.places[secret] + noise).tolist()]

    def simulate(self, secret: int, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """(count, 2): unrounded float draws for predictions and plots. **Never release these.**"""
        noise = self.law.simulate(count, generator) / float(self.spend)
        return np.asarray((self.places[secret] + noise) * float(self.step))

    @property
    def mean_squared_error(self) -> float:
        """E‖reported − true‖²: 6·(scale/spend)² steps², exact, and about step²/6 for rounding to the lattice."""
        return float(self.step) ** 2 * (6 * (self.scale / float(self.spend)) ** 2 + 1 / 6)

    def radius(self, level: float = 0.95) -> float:
        """The true place is within this distance with probability *at least* ``level``."""
        ideal = planar_usefulness(float(self.spend) / self.scale, 1 - level)
        return math.nextafter(float(self.step) * (ideal + math.sqrt(0.5)) * (1 + 2.0**-50), math.inf)

    def best_guess(self, answer: Place, prior: Sequence[float], losses: ArrayLike) -> int:
        """The guess w that costs least over the posterior given the reported place; post-processing, so float64 does.

        Args: ``prior`` (N,); ``losses`` (N, W): what the guess w costs at each place.
        """
        spot = np.array([[float(part / self.step) for part in answer]])
        return int(np.argmin(self._joint_costs(spot, *self._checked(prior, losses))))

    def guessed_loss(self, prior: Sequence[float], losses: ArrayLike, *, nearest: bool = False) -> float:
        """The expected loss when every report is replaced by the best guess.

        Args: ``nearest``: whoever guesses is told only which of the places is nearest to the report.
        Guarantee: *approximate*: the density at the middle of each lattice cell stands for its probability, which is
        good to (step/scale)² or so; cells beyond 20 scales of every place are left out.
        """
        chances, costs = self._checked(prior, losses)
        total, told = 0.0, np.zeros((len(self.places), costs.shape[1]))
        for spots in self._cells(math.ceil(20 * self.scale / float(self.spend))):
            joint = self._joint_costs(spots, chances, costs)
            if nearest:
                gaps = np.linalg.norm(spots[:, None, :] - self.places[None, :, :], axis=2)
                np.add.at(told, gaps.argmin(axis=1), joint)
            else:
                total += float(joint.min(axis=1).sum())
        return total + float(told.min(axis=1).sum())

    def _cells(self, margin: int) -> Iterator[NDArray[np.float64]]:
        """The lattice around all places, in blocks."""
        low, high = self.places.min(axis=0) - margin, self.places.max(axis=0) + margin
        columns = np.arange(low[1], high[1] + 1)
        rows = max(1, _CELLS_PER_BLOCK // len(columns))
        for start in range(int(low[0]), int(high[0]) + 1, rows):
            lines = np.arange(start, min(start + rows, int(high[0]) + 1))
            yield np.stack(np.meshgrid(lines, columns, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.float64)

    def _joint_costs(
        self, spots: NDArray[np.float64], chances: NDArray[np.float64], costs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(S, W): Σ_x π(x)·density(spot | x)·losses[x, w]."""
        rate = float(self.spend) / self.scale
        lengths = np.linalg.norm(spots[:, None, :] - self.places[None, :, :], axis=2)
        return np.asarray((np.exp(-rate * lengths) * (chances * rate**2 / (2 * math.pi))) @ costs)

    def _checked(self, prior: Sequence[float], losses: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        chances, costs = np.asarray(prior, dtype=np.float64), np.asarray(losses, dtype=np.float64)
        if chances.shape != (len(self.places),) or costs.ndim != 2 or len(costs) != len(self.places):
            raise DxgeomError(f"a prior and losses have an entry for each of {len(self.places)} places")
        return chances, costs


def planar_laplace(
    metric: VerifiedMetric, places: NDArray[np.int64], step: Fraction, spend: Fraction = Fraction(1)
) -> PlanarLaplace:
    """The planar Laplace mechanism for places on a lattice, under any metric on them.

    The secret is a point of the lattice: whoever has other coordinates rounds them first, and the metric then speaks of
    the rounded places.
    Guarantee: replacing place i by j changes the odds of any report by at most e^(spend·d(i, j)): the scale is taken
    over *all* generating pairs of the metric, in lengths rounded up and distances rounded down, and what is reported is
    the ideal mechanism's report rounded to the lattice, drawn exactly.
    Raises: UnboundedLoss when two different places have distance 0; TooLarge when the noise leaves 64-bit integers;
    UnsupportedCombination when nothing is hidden, or the metric is on other places; DxgeomError for coordinates that
    are no integers below 2²⁵.
    Source: Chatzikokolakis et al. 2013, §6.2; Andrés, Bordenabe, Chatzikokolakis & Palamidessi 2013.
    """
    require_verified(metric)
    for number, what in ((step, "step"), (spend, "spend")):
        require_exact(number, what)
    places = array_of(places, "places", "give two integers for each place")
    whole = places.ndim == 2 and places.shape[1] == 2 and places.dtype.kind == "i"
    if not whole or np.abs(places).max(initial=0) >= _LARGEST_COORDINATE:
        raise DxgeomError("places are pairs of integers below 2**25, in steps of the lattice")
    if metric.size != len(places):
        raise UnsupportedCombination(f"the metric is on {metric.size:,} places, {len(places):,} are given")
    places = places.astype(np.int64)
    scale = max((_longest(places, block) for block in metric.metric.generating_pairs()), default=0.0)
    if scale == 0:
        raise UnsupportedCombination("the metric hides no place from another, so there is no noise to shape")
    if math.isinf(scale):
        raise UnboundedLoss("two different places have distance 0: no report may tell them apart")
    mechanism = PlanarLaplace(metric, places, step, scale, spend, door=_DOOR)
    mechanism.law.check_size(1 / spend)
    return mechanism


def _longest(places: NDArray[np.int64], block: PairBlock) -> float:
    """Squares of integers below 2²⁶ add up exactly in int64; their root is rounded up."""
    squares = np.sum((places[block.first] - places[block.second]) ** 2, axis=1)
    lengths = np.where(squares > 0, np.nextafter(np.sqrt(squares.astype(np.float64)), np.inf), 0.0)
    return float(np.max(quotient_round_up(lengths, block.bound), initial=0.0))
