"""Bodies made of other bodies: products and sums over blocks of coordinates, and linear images."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.body import ConvexBody, Rows, combined, diagonal, image_of, side_by_side
from dxgeom.geometry.gauge import Gauge, LargestGauge, SumGauge
from dxgeom.numeric.arrays import block_diagonal, block_slices
from dxgeom.numeric.exact_numbers import ExactNumber, largest, rational_matrix, solve_rationally, total
from dxgeom.numeric.sealed import cached_property, freeze_arrays


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
