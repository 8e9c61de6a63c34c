"""Planar Laplace noise: a place is reported with noise that reaches equally far in all directions.

(α, δ)-usefulness: how far off an answer is, except with probability δ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import array_of, require_exact
from dxgeom.errors import DxgeomError, UnboundedLoss, UnsupportedCombination
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.contract.secret_mechanism import SecretMechanism
from dxgeom.metrics.metric import PairBlock
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.noise.round_laws import EllipsoidNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import quotient_round_up
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal

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

_DOOR = object()
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
