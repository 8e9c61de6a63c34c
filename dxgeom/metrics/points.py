"""Places: what is near is hard to tell apart. Their distances are never above the true ones.

A great-circle distance is taken on a sphere of radius 6371.0088 km (the Earth's mean radius), in kilometres.

Kernel: SciPy's k-d tree, loaded by the first search for near places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.metric import Metric, MetricCertificate, PairBlock, pairs_at_a_finite_distance, require
from dxgeom.numeric.rounding import product_round_down, round_down
from dxgeom.numeric.sealed import cached_property

Geometry: TypeAlias = Literal["plane", "great circle"]

EARTH_RADIUS_KM = 6371.0088
_RELATIVE_ERROR = 1e-14
_ABSOLUTE_ERROR = 2.0**-50
"""Of the largest coordinate (plane) or of a radian (great circle): conversion and subtraction of decimals."""


def lower_distance(
    coordinates: NDArray[np.float64], geometry: Geometry, i: ArrayLike, j: ArrayLike
) -> NDArray[np.float64]:
    """Distance of place i from place j, rounded down below the rounding error of computing it.

    Args: ``coordinates`` (n, dims): degrees (latitude, longitude) on the great circle, else plane coordinates.
    """
    first, second = np.broadcast_arrays(np.asarray(i), np.asarray(j))
    if geometry == "plane":
        distance = np.sqrt(np.sum((coordinates[first] - coordinates[second]) ** 2, axis=-1))
    else:
        sphere = on_the_unit_sphere(coordinates)
        distance = EARTH_RADIUS_KM * _central_angle(sphere[first], sphere[second])
    below = distance * (1 - _RELATIVE_ERROR) - absolute_error(coordinates, geometry)
    return np.where(first == second, 0.0, np.maximum(below, 0.0))


def absolute_error(coordinates: NDArray[np.float64], geometry: Geometry) -> float:
    """What is taken off every distance of these places for the rounding of their coordinates."""
    if geometry == "plane":
        return float(np.max(np.abs(coordinates), initial=0.0) * _ABSOLUTE_ERROR * coordinates.shape[1])
    return float(2 * np.pi * EARTH_RADIUS_KM * _ABSOLUTE_ERROR)


def pairs_within(
    coordinates: NDArray[np.float64], geometry: Geometry, radius: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """All unordered pairs whose rounded-down distance is at most ``radius``, with that distance.

    A pair on the border counts as within: one bound more can only protect more.
    """
    points, reach = coordinates, radius
    if geometry == "great circle":
        points = on_the_unit_sphere(coordinates)
        reach = 2 * np.sin(min(radius / (2 * EARTH_RADIUS_KM), np.pi / 2))
    slack = 1e-9 * (reach + float(np.max(np.abs(points), initial=0.0)))
    first, second = _pairs_in_balls(points, reach + slack)
    distance = lower_distance(coordinates, geometry, first, second)
    near = distance <= radius
    return first[near], second[near], distance[near]


def _pairs_in_balls(points: NDArray[np.float64], radius: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Unordered pairs of rows of ``points`` at Euclidean distance at most ``radius``, lower index first."""
    from scipy.spatial import cKDTree

    pairs = cKDTree(points).query_pairs(radius, output_type="ndarray").astype(np.int64)
    return pairs[:, 0], pairs[:, 1]


def _central_angle(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The angle between unit vectors, from chord and antichord: accurate for near places and antipodes alike."""
    chord = np.sqrt(np.sum((first - second) ** 2, axis=-1))
    antichord = np.sqrt(np.sum((first + second) ** 2, axis=-1))
    return np.asarray(2 * np.arctan2(chord, antichord))


def on_the_unit_sphere(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vectors (n, 3) of places given in degrees."""
    latitude, longitude = np.radians(degrees[:, 0]), np.radians(degrees[:, 1])
    return np.column_stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )


_COORDINATE_RANGE = (1e-100, 1e100)
"""Squares of larger coordinates could overflow, of smaller ones lose their digits: the distance could be too large."""


@final
@dataclass(frozen=True, eq=False)
class PointsMetric(Metric):
    """d(i, j) = max(floor, rate·D(i, j)) for i ≠ j, D the plane or great-circle distance.

    With floor 0 this is geo-indistinguishability; with a floor, Blowfish's smooth distance threshold.

    ``coordinates``: (n, dims), degrees (latitude, longitude) on the great circle; ``rate``: nats per coordinate unit
    in the plane, per kilometre on the great circle. Two places at one spot have distance ``floor``.
    """

    coordinates: NDArray[np.float64] = field(repr=False)
    geometry: Geometry
    rate: Fraction
    floor: Fraction = Fraction(0)

    @property
    def size(self) -> int:
        return len(self.coordinates)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        grown = product_round_down(
            round_down(self.rate), lower_distance(self.coordinates, self.geometry, first, second)
        )
        return np.where(first == second, 0.0, np.maximum(grown, self._floor))

    def generating_pairs(self) -> Iterator[PairBlock]:
        return pairs_at_a_finite_distance(self)

    def certificate(self) -> MetricCertificate:
        require(self.rate > 0 and self.floor >= 0, "a rate is positive and a floor is not negative")
        furthest = float(np.max(np.abs(self.coordinates), initial=0.0))
        low, high = _COORDINATE_RANGE
        require(furthest == 0 or low <= furthest <= high, f"the largest coordinate lies between {low:g} and {high:g}")
        if self.geometry == "great circle":
            on_earth = (np.abs(self.coordinates) <= (90, 360)).all()
            require(bool(on_earth), "latitudes lie between -90 and 90 degrees, longitudes between -360 and 360")
        floor = f"max({float(self.floor):g}, ·) of " if self.floor else ""
        reason = f"{floor}rate times the {self.geometry} distance, computed from below"
        return MetricCertificate("points", self.size, reason)

    @cached_property
    def _floor(self) -> float:
        return round_down(self.floor)
