"""Distances between places, never above the true ones.

A great-circle distance is taken on a sphere of radius 6371.0088 km (the Earth's mean radius), in kilometres.

Kernel: SciPy's k-d tree, loaded by the first search for near places.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
