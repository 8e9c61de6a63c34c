"""Laws on integer vectors, with exact probabilities, moments and draws: of Laplace noise, and of integer polytopes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, final

import numpy as np
from flint import arb, ctx, fmpq, fmpz_mat
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.fan import Fan
from dxgeom.geometry.hulls import LARGEST_COORDINATE, integer_hull
from dxgeom.numeric.exact_numbers import solve_exactly
from dxgeom.numeric.randomness import (
    LARGEST_DENOMINATOR,
    Randomness,
    bernoulli_exp,
    check_scale,
    fair_bits,
    geometric,
    uniform_below,
)
from dxgeom.numeric.sealed import DefinedByNumbers, cached_property


class DiscreteNoise(DefinedByNumbers):
    """A symmetric law of Z in ℤᵐ with P(Z = z) ∝ exp(−‖z‖) for a norm: no ideal noise is rounded.

    Adding Z to exact integer answers changes their odds by at most e^‖Δ‖ when the answers change by Δ.

    Laws: ‖·‖ is ``loss``; log P(z) − log P(z + Δ) is ``loss(z + Δ) − loss(z)``; ``second_moment`` is that of
    ``probability``, which ``draw`` follows; laws with one digest are one law.
    """

    @abstractmethod
    def loss(self, shift: Sequence[int]) -> Fraction:
        """‖shift‖, *exact*: a shift of the answers changes the odds of any output by at most e^‖shift‖."""

    @property
    @abstractmethod
    def second_moment(self) -> NDArray[np.float64]:
        """E[Z Zᵀ], (m, m), exact up to the rounding of float64."""

    @abstractmethod
    def probability(self, point: Sequence[int]) -> arb:
        """P(Z = point), as a ball of about 128 bits that contains it."""

    @abstractmethod
    def draw(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        """``count`` draws (count, m). Guarantee: *exact*, given uniform random words."""

    @property
    def dimension(self) -> int:
        """The number m of coordinates."""
        return len(self.second_moment)


PRECISION = 128
"""Bits of the probabilities' balls."""


@final
@dataclass(frozen=True, eq=False)
class DiscreteLaplaceNoise(DiscreteNoise):
    """P(z) ∝ exp(−Σ_k |z_k|/scales[k]) on ℤᵐ, for positive rational scales.

    Source: Canonne, Kamath & Steinke 2020, Algorithm 2; Ghosh, Roughgarden & Sundararajan 2012 (geometric mechanism).
    """

    scales: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.scales or any(scale <= 0 for scale in self.scales):
            raise NotANormBall("discrete Laplace noise has at least one coordinate, and positive scales")
        for scale in self.scales:
            check_scale(scale)

    def loss(self, shift: Sequence[int]) -> Fraction:
        return sum((abs(int(z)) / scale for z, scale in zip(shift, self.scales, strict=True)), Fraction(0))

    @property
    def second_moment(self) -> NDArray[np.float64]:
        """E[z²] = 2x/(1 − x)² with x = exp(−1/scale)."""
        rates = np.array([1 / float(scale) for scale in self.scales])
        return np.diag(2 * np.exp(-rates) / np.expm1(-rates) ** 2)

    def probability(self, point: Sequence[int]) -> arb:
        with ctx.workprec(PRECISION):
            result = arb(1)
            for z, scale in zip(point, self.scales, strict=True):
                ratio = (-arb(fmpq(scale.denominator, scale.numerator))).exp()
                result *= (1 - ratio) / (1 + ratio) * ratio ** abs(int(z))
            return result

    def draw(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        return np.stack([_two_sided(scale, count, randomness) for scale in self.scales], axis=1)


def _two_sided(scale: Fraction, count: int, randomness: Randomness) -> NDArray[np.int64]:
    """A geometric number with a fair sign; −0 is drawn again, lest 0 be twice as likely."""
    values = np.zeros(count, dtype=np.int64)
    pending = np.arange(count)
    while pending.size:
        sizes = geometric(scale, len(pending), randomness)
        negative = fair_bits(len(pending), randomness)
        values[pending] = np.where(negative, -sizes, sizes)
        pending = pending[negative & (sizes == 0)]
    return values


LARGEST_DETERMINANT = 2**31 - 1
"""Of the vertices of one simplex: squares fit 64-bit integers."""
MOST_POINTS = 2**20
"""Lattice points of all fundamental parallelepipeds together up to which moments and probabilities are summed."""
STEEPEST = 12
"""Largest rate times dimension, unless the determinants are small: at least one try in e¹² is accepted."""


@final
@dataclass(frozen=True, eq=False)
class DiscreteConeNoise(DiscreteNoise):
    """P(z) ∝ exp(−rate·‖z‖_P) on ℤᵐ, P the polytope of a proved fan with integer vertices.

    The cones over the simplices, each without some of its walls, partition ℤᵐ. Within one, z = p + Σ k_i·u_i in exactly
    one way, with u_i its vertices, integers k_i ≥ 0 and p a lattice point of the fundamental parallelepiped. So: a cone
    by its determinant (the number of such p), p uniformly, all of it kept with probability exp(−rate·‖p‖) and else
    drawn again, and k_i geometric with ratio exp(−rate).

    Which walls belong to a cone: those that a fixed generic direction, leaving the wall, enters the cone by.

    Raises: TooLarge when a determinant passes :data:`LARGEST_DETERMINANT` or rate·m passes :data:`STEEPEST`.
    """

    fan: Fan = field(repr=False)
    rate: Fraction

    def __post_init__(self) -> None:
        check_scale(1 / self.rate if self.rate > 0 else self.rate)
        size, largest = self.fan.simplices.shape[1], max(self.fan.volumes)
        if largest > LARGEST_DETERMINANT or np.abs(self.fan.vertices).max() > LARGEST_COORDINATE:
            raise TooLarge(
                f"the integer polytope of a discrete law has a simplex of determinant {largest:,}, the limit is "
                f"{LARGEST_DETERMINANT:,}: use the rounded ideal law, or bounds with common denominators"
            )
        if max(self.rate.numerator * size, self.rate.denominator) * int(largest) >= LARGEST_DENOMINATOR:
            raise TooLarge(f"the rate {self.rate} of a discrete law has too many digits: round it down to fewer")
        if self.rate * size > STEEPEST and sum(self.fan.volumes) > np.exp(STEEPEST):
            raise TooLarge(f"a discrete law this steep is drawn too slowly: rate times dimension passes {STEEPEST}")

    @property
    def dimension(self) -> int:
        """The number m of coordinates."""
        return int(self.fan.simplices.shape[1])

    def gauge(self, point: Sequence[int]) -> Fraction:
        """‖point‖_P, *exact*."""
        heights = self.fan.normals @ np.array([int(z) for z in point], dtype=object)
        return max(Fraction(int(h), int(v)) for h, v in zip(heights, self.fan.volumes, strict=True))

    def loss(self, shift: Sequence[int]) -> Fraction:
        return self.rate * self.gauge(shift)

    @property
    def defining(self) -> tuple[Any, ...]:
        """Planes and volumes follow from the simplices."""
        return self.fan.vertices, self.fan.simplices, self.rate

    def draw(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        size = self.dimension
        cones, coordinates = self._accepted(count, randomness)
        corners = self._corners[cones]
        offsets = np.einsum("bi,bij->bj", coordinates, corners) // self._determinants[cones, None]
        multiples = geometric(1 / self.rate, count * size, randomness).reshape(count, size)
        reach = int(np.abs(self.fan.vertices).max()) * (int(multiples.max(initial=0)) + 1) * size
        if reach >= 2**62:
            raise TooLarge("noise of this size does not fit 64-bit integers; spend more of the budget on this release")
        return np.asarray(offsets + np.einsum("bi,bij->bj", multiples, corners))

    def _accepted(self, count: int, randomness: Randomness) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """``count`` cones, and coordinates (count, m) of p times the cone's determinant, kept by exp(−rate·‖p‖)."""
        cones = np.zeros(count, dtype=np.int64)
        coordinates = np.zeros((count, self.dimension), dtype=np.int64)
        ends = np.cumsum(self._determinants)
        pending = np.arange(count)
        while pending.size:
            tried = np.searchsorted(ends, uniform_below(np.full(len(pending), ends[-1]), randomness), side="right")
            place = self._parallelepiped_points(tried, randomness)
            kept = bernoulli_exp(
                place.sum(axis=1) * self.rate.numerator, self._determinants[tried] * self.rate.denominator, randomness
            )
            cones[pending[kept]], coordinates[pending[kept]] = tried[kept], place[kept]
            pending = pending[~kept]
        return cones, coordinates

    def _parallelepiped_points(self, cones: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
        """Uniform lattice points of each cone's parallelepiped, as coordinates times the determinant D.

        A uniform q in {0..D−1}ᵐ is uniform modulo the lattice of the vertices, which contains D·ℤᵐ.
        """
        size, determinants = self.dimension, self._determinants[cones]
        anywhere = uniform_below(np.repeat(determinants, size), randomness).reshape(-1, size)
        return self._reduced(anywhere, cones)

    def _reduced(self, points: NDArray[np.int64], cones: NDArray[np.int64]) -> NDArray[np.int64]:
        """Coordinates, times D, of points 0 ≤ q < D moved into the parallelepiped: [0, D), or (0, D] at open walls."""
        determinants = self._determinants[cones][:, None]
        total = np.zeros_like(points)
        for axis in range(self.dimension):
            total = (total + self._inverses[cones, :, axis] * points[:, axis : axis + 1] % determinants) % determinants
        return np.where((total == 0) & ~self._closed[cones], determinants, total)

    @cached_property
    def _determinants(self) -> NDArray[np.int64]:
        return self.fan.volumes.astype(np.int64)

    @cached_property
    def _corners(self) -> NDArray[np.int64]:
        """(F, m, m): the vertices of each simplex, as rows."""
        return np.asarray(self.fan.vertices[self.fan.simplices])

    @cached_property
    def _exact_inverses(self) -> NDArray[Any]:
        """(F, m, m) Python integers: coordinates of z in cone f are ``inverses[f] @ z / determinants[f]``."""
        size = self.dimension
        identity = np.broadcast_to(np.eye(size, dtype=np.int64), self._corners.shape)
        determinants, numerators = solve_exactly(self._corners.transpose(0, 2, 1), identity)
        return np.asarray(numerators * np.where(determinants < 0, -1, 1)[:, None, None])

    @cached_property
    def _inverses(self) -> NDArray[np.int64]:
        """The same modulo the determinant, in [0, D)."""
        return np.asarray((self._exact_inverses % self.fan.volumes[:, None, None]).astype(np.int64))

    @cached_property
    def _closed(self) -> NDArray[np.bool_]:
        """(F, m): whether the wall opposite vertex i belongs to cone f."""
        generator = np.random.default_rng(1)
        while True:
            generic = generator.integers(-(2**40), 2**40, self.dimension).astype(object)
            slopes = self._exact_inverses @ generic
            if np.all(slopes != 0):
                return np.asarray(slopes > 0, dtype=bool)

    @cached_property
    def _points(self) -> list[NDArray[np.int64]]:
        """Per cone, the coordinates (D, m), times D, of every lattice point of its parallelepiped.

        Raises: TooLarge beyond :data:`MOST_POINTS` in all.
        """
        if sum(self.fan.volumes) > MOST_POINTS:
            raise TooLarge(f"moments and probabilities of a discrete law are sums over at most {MOST_POINTS:,} points")
        listed = []
        for cone, corners in enumerate(self._corners):
            steps = fmpz_mat(corners.tolist()).hnf()
            spans = [range(abs(int(steps[k, k]))) for k in range(self.dimension)]
            points = np.array(list(product(*spans)), dtype=np.int64)
            listed.append(self._reduced(points, np.full(len(points), cone)))
        return listed

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        """E[Z Zᵀ]: given p, Z has mean p + μ Σ u_i and covariance σ² Σ u uᵀ, with μ, σ² those of the geometric law.

        Raises: TooLarge when the determinants add up to more than :data:`MOST_POINTS`.
        """
        rate = float(self.rate)
        mean = 1 / np.expm1(rate)
        variance = mean * (mean + 1)
        total, moment = 0.0, np.zeros((self.dimension, self.dimension))
        for points, corners, volume in zip(
            self._points, self._corners.astype(np.float64), self._determinants, strict=True
        ):
            weights = np.exp(-rate * points.sum(axis=1) / volume)
            centres = points @ corners / volume + mean * corners.sum(axis=0)
            moment += (centres * weights[:, None]).T @ centres + weights.sum() * variance * corners.T @ corners
            total += float(weights.sum())
        return np.asarray(moment / total)

    def probability(self, point: Sequence[int]) -> arb:
        with ctx.workprec(PRECISION):
            return self._exp(self.gauge(point)) * (1 - self._exp(Fraction(1))) ** self.dimension / self._mass

    @cached_property
    def _mass(self) -> arb:
        """Σ exp(−rate·‖p‖) over the lattice points of all parallelepipeds."""
        counts: dict[Fraction, int] = {}
        for points, volume in zip(self._points, self._determinants, strict=True):
            for height, number in zip(*np.unique(points.sum(axis=1), return_counts=True), strict=True):
                key = Fraction(int(height), int(volume))
                counts[key] = counts.get(key, 0) + int(number)
        with ctx.workprec(2 * PRECISION):
            return sum((number * self._exp(gauge) for gauge, number in counts.items()), arb(0))

    def _exp(self, gauge: Fraction) -> arb:
        exponent = self.rate * gauge
        return (-arb(fmpq(exponent.numerator, exponent.denominator))).exp()


def discrete_hull_noise(differences: NDArray[np.int64], bounds: Sequence[Fraction]) -> DiscreteConeNoise:
    """P(z) ∝ exp(−‖z‖_K) on ℤᵐ, K the hull of ±differences[e]/bounds[e]: every difference is hidden within its bound.

    With the common denominator L of all vertices, P = L·K is an integer polytope and ‖z‖_K = L·‖z‖_P.

    Args: ``differences`` (E, m); ``bounds`` (E,): positive rationals.
    Guarantee: *exact*: ‖differences[e]‖_K ≤ bounds[e].
    Raises: TooLarge when L makes the polytope's determinants pass :data:`LARGEST_DETERMINANT`; NotANormBall when the
    differences lie in a subspace or a bound is not positive; CertificateRefused when no boundary can be proved.
    """
    if not all(bound > 0 for bound in bounds):
        raise NotANormBall("a sensitivity body needs positive finite bounds")
    common = math.lcm(*(bound.numerator for bound in bounds))
    factors = [common // bound.numerator * bound.denominator for bound in bounds]
    vertices = differences.astype(object) * np.array(factors, dtype=object)[:, None]
    divisor = math.gcd(*(int(entry) for entry in vertices.ravel()))
    if divisor == 0 or max(abs(int(entry)) for entry in vertices.ravel()) > divisor * LARGEST_COORDINATE:
        raise TooLarge(
            f"the bounds have the common denominator {common:,}, too long for a discrete law: use the rounded ideal "
            "law, or bounds with fewer digits"
        )
    fan = integer_hull((vertices // divisor).astype(np.int64))
    return DiscreteConeNoise(fan, Fraction(common, divisor))
