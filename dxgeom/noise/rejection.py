"""K-norm noise of any body with an exact gauge, by rejection from the noise of a body around it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, DxgeomError, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.geometry.body import ConvexBody, Gauge, LargestGauge, RowNorm, reciprocals
from dxgeom.geometry.containment import contains
from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.noise.rounding import (
    FLOAT_ERROR,
    Evaluation,
    IdealDraws,
    LazyUniform,
    decided,
    exponentials,
    joined,
    legible,
)
from dxgeom.numeric.exact_numbers import rational_matrix
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import cached_property, freeze_arrays

LEAST_ACCEPTANCE = 1e-4
"""Below this a draw takes tens of thousands of tries: refused."""
_MOST_TRIES = 1 << 17


class KeptTries(NoiseLaw, ABC):
    """Density ∝ exp(−‖v‖_K) from the noise V of an envelope L ⊇ K: keep V when an exponential E ≥ ‖V‖_K − ‖V‖_L.

    That is the usual rejection of a uniform point of L that is not in K: ‖V‖_L + E is a Gamma(m + 1) radius R,
    independent of V/R, which is uniform in L; and V/R ∈ K iff ‖V‖_K ≤ R. So vol K/vol L of all tries are kept.

    Guarantee: ``draw`` is *exact*: a try is kept or not by its lazily read bits, decided in ball arithmetic where
    float64 leaves it open, and its coordinates are rounded from the same bits.
    """

    envelope: NoiseLaw

    @property
    @abstractmethod
    def acceptance(self) -> float:
        """The part of all tries that is kept, which says how many are made at once."""

    @property
    @abstractmethod
    def _gauges(self) -> tuple[Gauge, Gauge]:
        """Of K and of L."""

    @property
    def facets(self) -> int:
        return self.envelope.facets

    @property
    def amplitude(self) -> float:
        return self.envelope.amplitude

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        kept: list[NDArray[np.float64]] = []
        envelope = self.envelope.known_body
        while (missing := count - sum(map(len, kept))) > 0:
            tried = self.envelope.simulate(self._tries(missing), generator)
            inner, _ = self._gauges[0].near(tried, np.zeros_like(tried))
            kept.append(tried[generator.standard_exponential(len(tried)) >= inner - envelope.gauge(tried)])
        return np.concatenate([np.empty((0, self.dimension)), *kept])[:count]

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        kept = [self._accepted(self._tries(count), randomness)]
        while (missing := count - sum(len(draws.values) for draws in kept)) > 0:
            kept.append(self._accepted(self._tries(missing), randomness))
        return joined(kept).taken(np.arange(count))

    def _tries(self, missing: int) -> int:
        return min(_MOST_TRIES, int(missing / self.acceptance * 1.02) + 16)

    def _accepted(self, tries: int, randomness: Randomness) -> IdealDraws:
        """Those of ``tries`` draws of the envelope that are kept; E's uniform is the last of each row."""
        draws = self.envelope.ideal(tries, randomness)
        words = randomness.words(tries)
        margin, error = self._margin(draws, exponentials(words))
        sure = draws.legible & legible(words[:, None]) & (np.abs(margin) > error)
        kept, refined = margin > 0, dict[int, list[LazyUniform]]()
        sure[list(draws.refined)] = False  # these go on from the bits that their envelope has read
        for row in np.flatnonzero(~sure).tolist():
            refined[row] = [*draws.uniforms(row), LazyUniform(int(words[row]))]
            kept[row] = self._is_kept(draws.evaluation(row), refined[row], randomness)

        def evaluation(row: int) -> Evaluation:
            inner = draws.evaluation(row)
            return lambda uniforms: inner(uniforms[:-1])

        everything = IdealDraws(
            draws.values, draws.errors, draws.legible, np.column_stack([draws.words, words]), evaluation, refined
        )
        return everything.taken(np.flatnonzero(kept))

    def _margin(self, draws: IdealDraws, spare: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """E + ‖V‖_L − ‖V‖_K (B,) in float64, and a bound on its error; two sums add 2⁻⁵² of all terms, doubled."""
        inner, inner_error = self._gauges[0].near(draws.values, draws.errors)
        outer, outer_error = self._gauges[1].near(draws.values, draws.errors)
        error = inner_error + outer_error + (1 + spare) * FLOAT_ERROR + (spare + inner + outer) * 2.0**-51
        return spare + outer - inner, error

    def _is_kept(self, evaluation: Evaluation, uniforms: Sequence[LazyUniform], randomness: Randomness) -> bool:
        """The sign of E + ‖V‖_L − ‖V‖_K, reading bits until it is certain."""
        inner, outer = self._gauges

        def decide(balls: list[arb]) -> bool | None:
            point = evaluation(balls[:-1])
            margin: arb = outer.exact(point) - inner.exact(point) - balls[-1].log()
            return bool(margin > 0) if margin > 0 or margin < 0 else None

        return decided(decide, uniforms, randomness)


@final
@dataclass(frozen=True, eq=False)
class RejectionNoise(KeptTries):
    """The noise of a body from that of an envelope around it.

    Guarantee: that the envelope contains the body is proved when the law is made; were it not so, the law would be
    wrong.
    Raises: CertificateRefused when it does not; UnsupportedCombination when there is no way to tell; TooLarge when
    hardly any try would be kept.
    Source: Awan & Slavković 2020, Algorithm 8; corrected: its box may miss the body and its radius is left out.
    """

    body: ConvexBody
    envelope: NoiseLaw

    def __post_init__(self) -> None:
        if self.envelope.concentrated:
            raise UnsupportedCombination(
                "rejection is from noise with density ∝ exp(−‖v‖), which Gaussian noise has not"
            )
        if not contains(self.envelope.known_body, self.body, as_stated=False):
            raise CertificateRefused("the envelope does not provably contain the body it is drawn for")
        with np.errstate(over="ignore"):
            volumes = self.body.volume, self.envelope.known_body.volume
        if not all(0 < volume < math.inf for volume in volumes):
            raise TooLarge(
                "the volume of this body leaves the range of float64, so how often rejection would succeed is not "
                "known: only the shape of a body counts, state it in lengths near 1"
            )
        if self.acceptance < LEAST_ACCEPTANCE:
            raise TooLarge(
                f"rejection would keep {self.acceptance:.1e} of its tries, the least is {LEAST_ACCEPTANCE}: use a "
                "tighter envelope, or the noise of a larger body"
            )

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> RejectionNoise | None:
        """From the noise of the polytope around the body, where it knows one: hardly any try is rejected."""
        around = body.polytope_around
        return None if around is None else cls(body, law_of(around))

    @property
    def defining(self) -> tuple[Any, ...]:
        """The law is that of the body, whatever it is drawn from."""
        return (self.body,)

    @cached_property
    def acceptance(self) -> float:
        """vol K/vol L: the part of all tries that is kept, as exact as the bodies' volumes."""
        return min(1.0, self.body.volume / self.envelope.known_body.volume)

    @cached_property
    def _gauges(self) -> tuple[Gauge, Gauge]:
        return self.body.certified_gauge, self.envelope.known_body.certified_gauge


@final
@dataclass(frozen=True, eq=False)
class CutNoise(KeptTries):
    """The noise of what halfspaces leave of the envelope's body: ‖v‖_K = max(‖v‖_L, |normals[k]·v|/heights[k]).

    ``normals`` (H, m), ``heights`` (H,): the rationals that float64 holds. ``share``: vol K/vol L, and ``moment``
    (m, m): E[V Vᵀ], as far as somebody has found them, since volumes in many dimensions have no formula. No draw
    depends on either, but for how many tries are made at once.
    """

    envelope: NoiseLaw
    normals: NDArray[np.float64]
    heights: NDArray[np.float64]
    share: float
    moment: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self, "normals", "heights", "moment")
        if self.envelope.concentrated or not (np.all(self.heights > 0) and 0 < self.share <= 1):
            raise UnsupportedCombination("halfspaces cut noise with density ∝ exp(−‖v‖), at positive heights")

    @property
    def body(self) -> None:
        return None

    @property
    def defining(self) -> tuple[Any, ...]:
        """What the density is made of."""
        return (self.envelope, self.normals, self.heights)

    @property
    def acceptance(self) -> float:
        return self.share

    @property
    def second_moment(self) -> NDArray[np.float64]:
        """As it was stated."""
        return self.moment

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        values, slack = self._gauges[0].near(shifts, errors)
        return np.asarray((values + slack) * (1 + 4 * UNIT_ROUNDOFF))

    @cached_property
    def _gauges(self) -> tuple[Gauge, Gauge]:
        outer = self.envelope.known_body.certified_gauge
        rows = reciprocals(self.heights) * rational_matrix(self.normals.tolist())
        return LargestGauge((outer, RowNorm(rows, math.inf))), outer


Envelope: TypeAlias = BoxNoise | LaplaceNoise | EllipsoidNoise

MOST_SIGNS = 12
"""Dimensions up to which the 2^m facets of a cross-polytope are looked at."""
_OUTWARD = 1 + 2.0**-40
_ROUNDS = 200
_REFUSALS = (UnsupportedCombination, TooLarge, CertificateRefused, NotANormBall)


def tightest_rejection(inner: ConvexBody) -> RejectionNoise:
    """Noise of a body drawn from that of the smallest, by volume, of the bodies below that is proved to contain it.

    Raises: what the smallest is refused for, when all are; UnsupportedCombination when there is none.
    """
    envelopes: list[Envelope] = []
    refusals: list[DxgeomError] = []
    for enclosing in (box_around, cross_polytope_around, ellipsoid_around):
        try:
            envelopes.append(enclosing(inner))
        except _REFUSALS as error:
            refusals.append(error)
    with np.errstate(over="ignore"):  # what overflows is refused as an envelope
        envelopes.sort(key=lambda envelope: envelope.body.volume)
    for place, envelope in enumerate(envelopes):
        try:
            return RejectionNoise(inner, envelope)
        except _REFUSALS as error:
            refusals.insert(place, error)
    raise refusals[0]


def box_around(inner: ConvexBody) -> BoxNoise:
    """The noise of the smallest box along the axes, *rounded up*."""
    return BoxNoise(Box(_extents(inner) * _OUTWARD))


def cross_polytope_around(inner: ConvexBody) -> LaplaceNoise:
    """The noise of a cross-polytope along the axes, nearly the one of least volume where the corners are known.

    Least volume: maximise Σ log w_k subject to Σ_k w_k|v_k| ≤ 1 at every corner. With 1/w = Σ_v λ_v |v| and Σ λ = m,
    multiplying each λ_v by its corner's load is the ascent of the dual. Any w is stretched until it is feasible.
    Raises: TooLarge for round bodies beyond :data:`MOST_SIGNS` dimensions.
    """
    points = _float_corners(inner)
    if points is not None:
        sizes = np.abs(points)
        weights = np.full(len(points), points.shape[1] / len(points))
        for _ in range(_ROUNDS):
            rates = 1 / (weights @ sizes)
            weights = weights * (sizes @ rates)
        return LaplaceNoise((sizes @ rates).max() / rates * _OUTWARD)
    if inner.dimension > MOST_SIGNS:
        raise TooLarge(f"the facets of a cross-polytope are looked at in up to {MOST_SIGNS} dimensions")
    rates = 1 / _extents(inner)
    signs = 1 - 2 * (np.arange(2**inner.dimension)[:, None] >> np.arange(inner.dimension) & 1)
    return LaplaceNoise(inner.support_upper_bounds(signs * rates).max() / rates * _OUTWARD)


def ellipsoid_around(inner: ConvexBody) -> EllipsoidNoise:
    """The noise of an ellipsoid of nearly least volume around the corners; it has at most m^(m/2) times the body's.

    With M = Σ λ_v v vᵀ, multiplying each λ_v by vᵀM⁻¹v/m converges to the ellipsoid of least volume.
    Raises: UnsupportedCombination for a body without corners. Source: Titterington 1976.
    """
    points = _float_corners(inner)
    if points is None:
        raise UnsupportedCombination(
            f"a {type(inner).__name__} with round parts has no corners to put an ellipsoid around"
        )
    units = np.abs(points).max(axis=0)
    points = points / units
    weights = np.full(len(points), 1 / len(points))
    for _ in range(_ROUNDS):
        moment = (points * weights[:, None]).T @ points
        lengths = np.einsum("vi,vi->v", points, np.linalg.solve(moment, points.T).T)
        weights = weights * lengths / points.shape[1]
    axes = np.linalg.cholesky(moment) * (np.sqrt(lengths.max()) * (1 + 2.0**-20))
    return EllipsoidNoise(Ellipsoid(axes * units[:, None]))


def _extents(body: ConvexBody) -> NDArray[np.float64]:
    """(m,): how far the body reaches along each axis, *rounded up*."""
    return body.support_upper_bounds(np.eye(body.dimension))


def _float_corners(body: ConvexBody) -> NDArray[np.float64] | None:
    corners = body.exact_corners()
    return None if corners is None else np.array([[float(arb(x)) for x in corner] for corner in corners])
