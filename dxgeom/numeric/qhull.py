"""Convex hulls by Qhull, grown a few points at a time so that they can be given up."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from dxgeom.errors import TooLarge


@dataclass(frozen=True)
class HullLimits:
    """When to give a hull up."""

    facets: int = 60_000
    seconds: float = 20.0


@dataclass(frozen=True)
class FloatHull:
    """Qhull's answer, trusted by nobody: ``simplices`` (F, m) index points, ``normals`` (F, m) have n·x ≤ 1 inside."""

    simplices: NDArray[np.int64]
    normals: NDArray[np.float64]

    @property
    def corners(self) -> NDArray[np.int64]:
        """Indices of the points that some simplex uses."""
        return np.unique(self.simplices)


def float_hull(points: NDArray[np.float64]) -> FloatHull:
    """The hull of points around the origin, facets cut into simplices; on a line, its two ends.

    Raises: TooLarge when Qhull cannot tell the points from a flat set.
    """
    if points.shape[1] == 1:
        ends = np.array([[points[:, 0].argmin()], [points[:, 0].argmax()]], dtype=np.int64)
        return FloatHull(ends, 1 / points[ends[:, 0]])
    rounded, frame = _made_round(points)
    try:
        hull = ConvexHull(rounded, qhull_options="Qt Q12" if points.shape[1] <= 4 else "Qt Qx Q12")
    except QhullError as error:
        raise TooLarge(f"Qhull gave up on this hull: {_first_line(error)}") from error
    offsets = -hull.equations[:, -1]
    if np.any(offsets <= 0):
        raise TooLarge("Qhull's hull does not contain the origin in its interior")
    normals = _solved(frame, (hull.equations[:, :-1] / offsets[:, None]).T).T
    return FloatHull(np.asarray(hull.simplices, dtype=np.int64), normals)


def _made_round(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points with m of them, chosen far from each other's span, as axes; and those m, ``points = rounded @ frame``.

    A long or thin body becomes a round one, of which Qhull finds the first simplex and every direction is seen.
    """
    left, rows = points.copy(), []
    for _ in range(points.shape[1]):
        lengths = np.linalg.norm(left, axis=1)
        rows.append(int(lengths.argmax()))
        direction = left[rows[-1]] / max(lengths[rows[-1]], np.finfo(float).tiny)
        left -= np.outer(left @ direction, direction)
    frame = points[rows]
    return _solved(frame.T, points.T).T, frame


def _solved(matrix: NDArray[np.float64], sides: NDArray[np.float64]) -> NDArray[np.float64]:
    try:
        return np.asarray(np.linalg.solve(matrix, sides), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise TooLarge("the points lie in a subspace") from error


def extreme_points(points: NDArray[np.float64], limits: HullLimits) -> NDArray[np.int64]:
    """Indices of points whose hull contains all others up to float64 rounding.

    Points far out in many directions come first; then, of those still outside, the furthest beyond each facet, until
    none is outside. A point once inside is never looked at again, since the hull only grows.
    Raises: TooLarge when the hull passes ``limits``, or the points lie in a subspace.
    """
    deadline = _Deadline(limits)
    points, _ = _made_round(points)
    chosen = _far_out(points)
    left = np.arange(len(points))
    while True:
        hull = float_hull(points[chosen])
        deadline.check(len(hull.simplices))
        chosen = chosen[hull.corners]
        fresh, left = _outside(points, left, hull.normals, deadline)
        fresh = np.setdiff1d(fresh, chosen)
        if fresh.size == 0:
            return chosen
        chosen = np.concatenate([chosen, fresh])


class _Deadline:
    def __init__(self, limits: HullLimits) -> None:
        self._limits, self._started = limits, time.monotonic()

    def check(self, facets: int) -> None:
        seconds = time.monotonic() - self._started
        if facets > self._limits.facets or seconds > self._limits.seconds:
            raise TooLarge(
                f"the hull still grew at {facets:,} facets after {seconds:.1f} s "
                f"(limits: {self._limits.facets:,} facets, {self._limits.seconds:g} s)"
            )


def _far_out(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """The furthest points along the axes and a fixed spread of directions: enough to span a first hull."""
    dimension = points.shape[1]
    directions = np.random.default_rng(0).standard_normal((64 * dimension, dimension))
    heights = np.vstack([np.eye(dimension), directions]) @ points.T
    return np.unique(np.concatenate([heights.argmax(axis=1), heights.argmin(axis=1)]))


def _outside(
    points: NDArray[np.float64], left: NDArray[np.int64], normals: NDArray[np.float64], deadline: _Deadline
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every facet the point furthest beyond it; and all the points beyond some facet."""
    best = np.full(len(normals), _BEYOND)
    furthest = np.full(len(normals), -1, dtype=np.int64)
    beyond = []
    size = max(1, _HEIGHTS_PER_BLOCK // len(normals))
    for start in range(0, len(left), size):
        deadline.check(len(normals))
        here = left[start : start + size]
        heights = points[here] @ normals.T
        row = heights.argmax(axis=0)
        height = heights[row, np.arange(len(normals))]
        better = height > best
        best[better], furthest[better] = height[better], here[row[better]]
        beyond.append(here[heights.max(axis=1) > _BEYOND])
    return np.unique(furthest[furthest >= 0]), np.concatenate([np.empty(0, dtype=np.int64), *beyond])


_BEYOND = 1 + 1e-10
"""Nearer than this a point counts as on the hull; the body is inflated afterwards by what it misses."""
_HEIGHTS_PER_BLOCK = 4_000_000


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
