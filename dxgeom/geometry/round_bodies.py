"""The balls of ℓp, stretched: boxes, cross-polytopes, ellipsoids, and those between.

Bodies made of other bodies: products and sums over blocks of coordinates, and linear images.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.body import (
    DEGREES,
    ConvexBody,
    Gauge,
    LargestGauge,
    Powers,
    RowNorm,
    Rows,
    SumGauge,
    combined,
    diagonal,
    every_sign,
    image_of,
    on_the_axes,
    power_norm,
    rationals,
    reciprocals,
    side_by_side,
)
from dxgeom.geometry.inverse import Enclosure, inverse_enclosure
from dxgeom.numeric.arrays import block_diagonal, block_slices
from dxgeom.numeric.exact_numbers import ExactNumber, largest, power, rational_matrix, solve_rationally, total
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import cached_property, freeze_arrays


class AxisBall(ConvexBody):
    """Σ_k (|v_k|/radii[k])^p ≤ 1, and |v_k| ≤ radii[k] where p is infinite; its corners are known for p = 1 and ∞.

    Volume Π 2r_k · Γ(1 + 1/p)^m / Γ(1 + m/p). A vector of independent x_k with density ∝ exp(−|x|^p) has a direction
    that is independent of its length, and Γ(a/p)/Γ(1/p) for its moments; the second moment follows.
    Source: Dirichlet's integral.
    """

    @property
    @abstractmethod
    def powers(self) -> Powers: ...

    @property
    def dimension(self) -> int:
        return len(self.powers.radii)

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        radii, p = self.powers
        return power_norm(np.abs(np.asarray(points)) / radii, p)

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        radii, p = self.powers
        dual = math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)
        return power_norm(np.abs(np.asarray(directions)) * radii, dual)

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        radii, exponent = self.powers
        shares = [abs(x) / radius for x, radius in zip(point, rationals(radii), strict=True)]
        if math.isinf(exponent):
            return largest(shares)
        p = Fraction(exponent)
        return power(total(power(share, p) for share in shares), 1 / p)

    @cached_property
    def certified_gauge(self) -> RowNorm:
        return RowNorm(reciprocals(self.powers.radii), self.powers.exponent)

    def exact_corners(self) -> Rows | None:
        radii = rationals(self.powers.radii)
        match self.powers.exponent:
            case 1:
                return on_the_axes(radii)
            case math.inf:
                return every_sign(radii)
            case _:
                return None

    def exact_facets(self) -> Rows | None:
        rates = [1 / radius for radius in rationals(self.powers.radii)]
        match self.powers.exponent:
            case 1:
                return every_sign(rates)
            case math.inf:
                return on_the_axes(rates)
            case _:
                return None

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        radii, p = self.powers
        if math.isinf(p):
            return generator.uniform(-1, 1, (count, self.dimension)) * radii
        sizes = generator.standard_gamma(1 / p, (count, self.dimension))
        whole = sizes.sum(axis=1, keepdims=True) + generator.standard_exponential((count, 1))
        places = (sizes / whole) ** (1 / p)
        return np.asarray(places * generator.choice([-1.0, 1.0], places.shape) * radii)

    @property
    def volume(self) -> float:
        inverse, m = 1 / self.powers.exponent, self.dimension
        share = math.exp(m * math.lgamma(1 + inverse) - math.lgamma(1 + m * inverse))
        return float(np.prod(2 * self.powers.radii)) * share

    @property
    def second_moment(self) -> NDArray[np.float64]:
        radii, p = self.powers
        if math.isinf(p):
            return np.diag(radii**2 / 3)
        m = self.dimension
        logarithm = math.lgamma(3 / p) + math.lgamma(m / p) - math.lgamma(1 / p) - math.lgamma((m + 2) / p)
        return np.diag(radii**2 * (math.exp(logarithm) * m / (m + 2)))


def check_lengths(lengths: NDArray[np.float64]) -> None:
    """Refuse lengths (m,) that make no body. Raises: NotANormBall."""
    if lengths.ndim != 1 or lengths.size == 0 or not np.all((lengths > 0) & np.isfinite(lengths)):
        raise NotANormBall(f"a body's lengths are positive and finite, found {lengths}")


@final
@dataclass(frozen=True, eq=False)
class PowerBall(AxisBall):
    """Σ_k (|v_k|/radii[k])^p ≤ 1, and |v_k| ≤ radii[k] where p is infinite; ``exponent``: p, from 1 to ∞."""

    radii: NDArray[np.float64]
    exponent: float

    def __post_init__(self) -> None:
        freeze_arrays(self, "radii")
        check_lengths(self.radii)
        if not self.exponent >= 1:
            raise NotANormBall(f"the ball of ℓp is convex for p from 1 to infinity, found {self.exponent}")

    @property
    def powers(self) -> Powers:
        return Powers(self.radii, self.exponent)

    @property
    def axes_of_ball(self) -> NDArray[np.float64] | None:
        return np.diag(self.radii) if self.exponent == 2 else None


_LOST: Final = 2.0**-510
"""Of a number whose square leaves float64 at its lower end, no more than this is lost."""


@final
@dataclass(frozen=True, eq=False)
class Box(AxisBall):
    """|v_k| ≤ half_widths[k] for every k: the stretched ball of ℓ∞."""

    half_widths: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self, "half_widths")
        check_lengths(self.half_widths)

    def gauge_upper_bounds(self, points: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        sizes = (np.abs(points) + errors) / self.half_widths
        return np.asarray(sizes.max(axis=1) * (1 + 4 * UNIT_ROUNDOFF))

    @property
    def powers(self) -> Powers:
        return Powers(self.half_widths, math.inf)

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        edges = onto * self.half_widths
        across = np.column_stack([-edges[1], edges[0]])
        signs = np.sign(np.vstack([DEGREES, across + 1e-9 * edges.T, across - 1e-9 * edges.T]) @ edges)
        return np.vstack([signs @ edges.T, -signs @ edges.T])


@final
@dataclass(frozen=True, eq=False)
class CrossPolytope(AxisBall):
    """Σ_k |v_k|/radii[k] ≤ 1: the stretched ball of ℓ₁, whose noise is independent Laplace noise."""

    radii: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self, "radii")
        check_lengths(self.radii)

    def gauge_upper_bounds(self, points: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        sizes = (np.abs(points) + errors) / self.radii
        return np.asarray(sizes.sum(axis=1) * (1 + (len(self.radii) + 4) * UNIT_ROUNDOFF))

    @property
    def powers(self) -> Powers:
        return Powers(self.radii, 1.0)

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.vstack([(onto * self.radii).T, -(onto * self.radii).T])

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        sizes = generator.standard_exponential((count, self.dimension + 1))
        places = sizes[:, :-1] / sizes.sum(axis=1, keepdims=True)
        return np.asarray(places * generator.choice([-1.0, 1.0], places.shape) * self.radii)

    @property
    def volume(self) -> float:
        return float(np.prod(2 * self.radii)) / math.factorial(self.dimension)

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.diag(2 * self.radii**2 / ((self.dimension + 1) * (self.dimension + 2)))


@final
@dataclass(frozen=True, eq=False)
class Ellipsoid(ConvexBody):
    """``axes @ (the unit ball of ℓ₂)``; ``axes`` (m, m), invertible."""

    axes: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self, "axes")
        square = self.axes.ndim == 2 and self.axes.shape[0] == self.axes.shape[1] > 0
        if not (square and np.all(np.isfinite(self.axes)) and np.linalg.matrix_rank(self.axes) == len(self.axes)):
            raise NotANormBall("an ellipsoid's axes form an invertible square matrix of finite numbers")

    @property
    def dimension(self) -> int:
        return len(self.axes)

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        flat = np.asarray(points, dtype=np.float64).reshape(-1, self.dimension)
        lengths = np.linalg.norm(np.linalg.solve(self.axes, flat.T), axis=0)
        return np.asarray(lengths.reshape(np.shape(points)[:-1]))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.linalg.norm(np.asarray(directions) @ self.axes, axis=-1))

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        places = solve_rationally(self.axes.tolist(), point)
        return power(sum((place**2 for place in places), fmpq(0)), Fraction(1, 2))

    @cached_property
    def certified_gauge(self) -> RowNorm:
        return RowNorm(rational_matrix(self.axes.tolist()).inv(), 2)

    @cached_property
    def _inverse(self) -> Enclosure:
        return inverse_enclosure(self.axes)

    def gauge_upper_bounds(self, points: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        return lengths_rounded_up(*self._inverse.images(points, errors))

    def preimages(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(E, m) and (E, m): axes⁻¹·point for each, and bounds on its errors."""
        return self._inverse.products(points)

    def exact_support(self, direction: Sequence[fmpq]) -> ExactNumber:
        if self.powers is not None:
            return super().exact_support(direction)
        squares = (height**2 for height in image_of(self.axes.T, direction))
        return power(sum(squares, fmpq(0)), Fraction(1, 2))

    @property
    def powers(self) -> Powers | None:
        """Where the axes are those of the coordinates."""
        if not np.array_equal(self.axes, np.diag(np.diag(self.axes))):
            return None
        return Powers(np.abs(np.diag(self.axes)), 2.0)

    @property
    def axes_of_ball(self) -> NDArray[np.float64]:
        return self.axes

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        pulled = DEGREES @ (onto @ self.axes)
        lengths = np.linalg.norm(pulled, axis=1, keepdims=True)
        return np.asarray(pulled / np.where(lengths > 0, lengths, 1) @ (onto @ self.axes).T)

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        normals = generator.standard_normal((count, self.dimension))
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return np.asarray(normals / lengths * generator.random((count, 1)) ** (1 / self.dimension) @ self.axes.T)

    @property
    def volume(self) -> float:
        ball = math.pi ** (self.dimension / 2) / math.gamma(self.dimension / 2 + 1)
        return float(ball * abs(np.linalg.det(self.axes)))

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.axes @ self.axes.T / (self.dimension + 2))


def lengths_rounded_up(points: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """(E,): ‖w‖₂, *rounded up*, for every w within ``errors`` (E, m) of the ``points`` (E, m)."""
    sizes = np.abs(points) + errors
    lengths = np.linalg.norm(sizes, axis=1) * (1 + (points.shape[1] + 4) * UNIT_ROUNDOFF)
    return np.asarray(lengths + np.where(np.any(sizes > 0, axis=1), _LOST * math.sqrt(points.shape[1]), 0.0))


class BodyOfParts(ConvexBody, ABC):
    """A body made of ``parts`` over blocks of coordinates, one after the other."""

    parts: tuple[ConvexBody, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise NotANormBall("a body made of parts has at least one")

    @property
    def dimension(self) -> int:
        return sum(part.dimension for part in self.parts)

    def _gauges(self, points: ArrayLike) -> list[NDArray[np.float64]]:
        return [part.gauge(np.asarray(points)[..., block]) for part, block in blocks_of(self.parts)]

    def _supports(self, directions: ArrayLike) -> list[NDArray[np.float64]]:
        return [part.support_function(np.asarray(directions)[..., block]) for part, block in blocks_of(self.parts)]

    def _exact_gauges(self, point: Sequence[fmpq]) -> list[ExactNumber]:
        return [part.exact_gauge(point[block]) for part, block in blocks_of(self.parts)]

    def _exact_supports(self, direction: Sequence[fmpq]) -> list[ExactNumber]:
        return [part.exact_support(direction[block]) for part, block in blocks_of(self.parts)]

    def _certified_gauges(self) -> tuple[Gauge, ...]:
        """Each part's gauge of its own coordinates, as a function of all."""
        axes = diagonal([fmpq(1)] * self.dimension)
        return tuple(part.certified_gauge.through(fmpq_mat(axes[block])) for part, block in blocks_of(self.parts))


@final
@dataclass(frozen=True, eq=False)
class CartesianProduct(BodyOfParts):
    """K₁ × … × K_B over blocks of coordinates: the *largest* of the parts' gauges. Its corners combine theirs."""

    parts: tuple[ConvexBody, ...]

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(self._gauges(points), axis=0))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.sum(self._supports(directions), axis=0))

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        return largest(self._exact_gauges(point))

    @cached_property
    def certified_gauge(self) -> LargestGauge:
        return LargestGauge(self._certified_gauges())

    def exact_support(self, direction: Sequence[fmpq]) -> ExactNumber:
        return total(self._exact_supports(direction))

    def exact_corners(self) -> Rows | None:
        return combined([part.exact_corners() for part in self.parts])

    def exact_facets(self) -> Rows | None:
        return side_by_side([part.exact_facets() for part in self.parts], [part.dimension for part in self.parts])

    @property
    def factors(self) -> tuple[ConvexBody, ...]:
        return self.parts

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return np.hstack([part.simulate_uniform(count, generator) for part in self.parts])

    @property
    def volume(self) -> float:
        return math.prod(part.volume for part in self.parts)

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        return block_diagonal([part.second_moment for part in self.parts])


@final
@dataclass(frozen=True, eq=False)
class FreeSum(BodyOfParts):
    """conv(K₁ ∪ … ∪ K_B) over blocks of coordinates: the *sum* of the parts' gauges. Its corners are theirs.

    Its noise is independent noise of the parts, side by side. Volume Π m_b!·Vol K_b / m!.
    """

    parts: tuple[ConvexBody, ...]

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.sum(self._gauges(points), axis=0))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(self._supports(directions), axis=0))

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        return total(self._exact_gauges(point))

    @cached_property
    def certified_gauge(self) -> SumGauge:
        return SumGauge(self._certified_gauges())

    def exact_support(self, direction: Sequence[fmpq]) -> ExactNumber:
        return largest(self._exact_supports(direction))

    def exact_corners(self) -> Rows | None:
        return side_by_side([part.exact_corners() for part in self.parts], [part.dimension for part in self.parts])

    def exact_facets(self) -> Rows | None:
        return combined([part.exact_facets() for part in self.parts])

    @property
    def summands(self) -> tuple[ConvexBody, ...]:
        return self.parts

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.vstack([part.projection(onto[:, block]) for part, block in blocks_of(self.parts)])

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        radii = [generator.standard_gamma(part.dimension + 1, (count, 1)) for part in self.parts]
        parts = zip(radii, self.parts, strict=True)
        noise = np.hstack([radius * part.simulate_uniform(count, generator) for radius, part in parts])
        return np.asarray(noise / (self.gauge(noise) + generator.standard_exponential(count))[:, None])

    @property
    def volume(self) -> float:
        whole = math.prod(math.factorial(part.dimension) * part.volume for part in self.parts)
        return whole / math.factorial(self.dimension)

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        noise = block_diagonal([part.noise_second_moment for part in self.parts])
        return noise / ((self.dimension + 1) * (self.dimension + 2))


@final
@dataclass(frozen=True, eq=False)
class LinearImage(ConvexBody):
    """{map·v: v ∈ K}, with the gauge ‖map⁻¹w‖_K. ``map`` (m, m): float64, invertible."""

    inner: ConvexBody
    map: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self, "map")
        shaped = self.map.shape == (self.inner.dimension, self.inner.dimension) and np.all(np.isfinite(self.map))
        if not (shaped and np.linalg.matrix_rank(self.map) == self.inner.dimension):
            raise NotANormBall("the map of a body onto its image is an invertible square matrix of its dimension")

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        flat = np.asarray(points, dtype=np.float64).reshape(-1, self.dimension)
        places = np.linalg.solve(self.map, flat.T).T
        return np.asarray(self.inner.gauge(places).reshape(np.shape(points)[:-1]))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return self.inner.support_function(np.asarray(directions) @ self.map)

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        return self.inner.exact_gauge(solve_rationally(self.map.tolist(), point))

    @cached_property
    def certified_gauge(self) -> Gauge:
        return self.inner.certified_gauge.through(rational_matrix(self.map.tolist()).inv())

    def exact_support(self, direction: Sequence[fmpq]) -> ExactNumber:
        return self.inner.exact_support(image_of(self.map.T, direction))

    def exact_corners(self) -> Rows | None:
        corners = self.inner.exact_corners()
        return None if corners is None else [image_of(self.map, corner) for corner in corners]

    def exact_facets(self) -> Rows | None:
        facets = self.inner.exact_facets()
        return None if facets is None else [solve_rationally(self.map.T.tolist(), facet) for facet in facets]

    @property
    def preimage(self) -> tuple[ConvexBody, NDArray[np.float64]]:
        return self.inner, self.map

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.projection(onto @ self.map)

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray(self.inner.simulate_uniform(count, generator) @ self.map.T)

    @property
    def volume(self) -> float:
        return self.inner.volume * float(abs(np.linalg.det(self.map)))

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.map @ self.inner.second_moment @ self.map.T)


def blocks_of(parts: tuple[ConvexBody, ...]) -> list[tuple[ConvexBody, slice]]:
    """Each part and where its coordinates are."""
    return list(zip(parts, block_slices(part.dimension for part in parts), strict=True))
