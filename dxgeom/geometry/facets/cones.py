"""How many cones over simplices hold a point, in exact integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.integer_solve import solve_exactly

_LONGEST = 2**40
"""Directions are rounded to integers no longer than this: finer than float64 knows them is of no use."""


def cones_around(corners: NDArray[np.int64], point: NDArray[Any]) -> int:
    """The number of closed cones over simplices ``corners`` (F, m, m), none of them flat, that hold ``point`` (m,).

    Guarantee: *exact*.
    """
    near = corners[~_provably_beside(corners, point)]
    sides = np.broadcast_to(point[None, :, None], (*near.shape[:2], 1))
    determinants, coordinates = solve_exactly(near.transpose(0, 2, 1), sides)
    signs = np.where(determinants < 0, -1, 1)
    return int(np.count_nonzero(np.all(coordinates[:, :, 0] * signs[:, None] >= 0, axis=1)))


def _provably_beside(corners: NDArray[np.int64], point: NDArray[Any]) -> NDArray[np.bool_]:
    """Cones that do not hold the point for a reason that 64-bit integers show; not all of them.

    The reason is a direction in which every corner points forward, and the point backward. Float64 proposes it; what
    it is rounded to proves itself.
    """
    count, dimension, _ = corners.shape
    largest = max(*point, *-point, int(corners.max()), -int(corners.min()))
    room = 2**62 // (dimension * largest)
    inverses = _inverses(corners)
    if room < 2 or inverses is None:
        return np.zeros(count, dtype=bool)
    coordinates = inverses @ point.astype(np.float64)
    lowest = coordinates.argmin(axis=1)
    every = np.arange(count)
    # Tilted towards all corners, so that rounding does not turn the direction away from those it is orthogonal to.
    tilt = -coordinates[every, lowest] / (2 * np.abs(coordinates).sum(axis=1))
    directions = inverses[every, lowest] + tilt[:, None] * inverses.sum(axis=1)
    scaled = directions / np.abs(directions).max(axis=1, keepdims=True) * float(min(room, _LONGEST) - 1)
    whole = np.rint(np.where(np.isfinite(scaled), scaled, 0)).astype(np.int64)
    forward = np.einsum("fim,fm->fi", corners, whole).min(axis=1)
    return np.asarray((forward >= 0) & (whole @ point.astype(np.int64) < 0))


def _inverses(corners: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """(F, m, m): rows that give a point's coordinates in each cone; None where float64 does not suffice."""
    try:
        inverses = np.linalg.inv(corners.astype(np.float64).transpose(0, 2, 1))
    except np.linalg.LinAlgError:
        return None
    return np.asarray(inverses) if np.all(np.isfinite(inverses)) else None
