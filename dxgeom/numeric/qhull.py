"""Convex hulls by Qhull.

Kernel: SciPy's Qhull.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge


@final
@dataclass(frozen=True)
class HullLimits:
    """When to give a hull up. ``progress`` is told the facets so far while one grows; it may raise to end the work."""

    facets: int = 60_000
    seconds: float = 20.0
    progress: Callable[[int], None] | None = field(default=None, compare=False, repr=False)


@final
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
    from scipy.spatial import ConvexHull, QhullError  # half a second that loading a finished hull can do without

    rounded, frame = made_round(points)
    try:
        hull = ConvexHull(rounded, qhull_options="Qt Q12" if points.shape[1] <= 4 else "Qt Qx Q12")
    except QhullError as error:
        raise TooLarge(f"Qhull gave up on this hull: {_first_line(error)}") from error
    offsets = -hull.equations[:, -1]
    if np.any(offsets <= 0):
        raise TooLarge("Qhull's hull does not contain the origin in its interior")
    normals = _solved(frame, (hull.equations[:, :-1] / offsets[:, None]).T).T
    return FloatHull(np.asarray(hull.simplices, dtype=np.int64), normals)


def made_round(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points with m of them, chosen far from each other's span, as axes; and those m, ``points = rounded @ frame``.

    A long or thin body becomes a round one, of which Qhull finds the first simplex and every direction is seen.
    """
    frame = points[far_apart(points)]
    return _solved(frame.T, points.T).T, frame


def far_apart(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """As many points as dimensions, each the furthest from the span of those before."""
    left, chosen = points.copy(), []
    for _ in range(points.shape[1]):
        lengths = np.linalg.norm(left, axis=1)
        chosen.append(int(lengths.argmax()))
        direction = left[chosen[-1]] / max(float(lengths[chosen[-1]]), np.finfo(np.float64).tiny)
        left -= np.outer(left @ direction, direction)
    return np.array(chosen, dtype=np.int64)


def _solved(matrix: NDArray[np.float64], sides: NDArray[np.float64]) -> NDArray[np.float64]:
    try:
        return np.asarray(np.linalg.solve(matrix, sides), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise TooLarge("the points lie in a subspace") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
