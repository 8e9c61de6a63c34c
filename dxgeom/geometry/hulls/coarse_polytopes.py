"""A polytope of few facets around many points: most of them are covered by a simple body that is shrunk first."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.geometry.bodies.polytope import SymmetricPolytope, hull_of_corners
from dxgeom.geometry.facets.hull_growth import extreme_points
from dxgeom.numeric.qhull import HullLimits, float_hull

LARGEST_DIMENSION = 10
"""A cross-polytope has 2^m facets, and beyond ten dimensions a few points more make a hundred thousand of them."""
_STEP, _LAST_STEP = 1 / 16, 1 / 64
"""By how much t is lowered at once, at first and at last: hulls that are too large take longest."""
_HAIR = 1e-4
_WORK = 4e10
"""Multiplications to compare all points with all facets once: half a minute at most, for all the hulls looked at."""


def coarse_polytope(
    points: NDArray[np.float64],
    corners: NDArray[np.float64],
    facets: int,
    progress: Callable[[int], None] | None = None,
) -> SymmetricPolytope:
    """The hull of ±points and, where that has too many facets, of t·±corners and the points that stick out of their
    cross-polytope shrunk by t, with the smallest t that suffices; t is sought in steps, from 1 down.

    Args: ``points`` (E, m); ``corners`` (m, m), rows, a basis whose cross-polytope holds the points or nearly so;
    ``facets``: how many the body may have; fewer when the points are millions.
    Guarantee: the boundary is proved. That the points are inside is *not* promised: it is true up to 1e-9 or so, and
    whoever uses the body has to check it. Deterministic, since nothing is timed.
    Raises: TooLarge when a cross-polytope has more facets than that; CertificateRefused when no boundary can be proved.
    """
    dimension = points.shape[1]
    limits = HullLimits(min(facets, int(_WORK / points.size)), math.inf, progress)
    require_few_dimensions(dimension)
    if 2**dimension > limits.facets:
        raise TooLarge(
            f"every hull in {dimension} dimensions has at least {2**dimension:,} facets; {limits.facets:,} are allowed"
        )
    lengths = np.abs(points @ np.linalg.inv(corners)).sum(axis=1)
    return hull_of_corners(_least_shrunk(points, corners, lengths, limits), limits)


def require_few_dimensions(dimension: int) -> None:
    """Raises: TooLarge where no such polytope is made."""
    if dimension > LARGEST_DIMENSION:
        raise TooLarge(f"a coarse hull has at most {LARGEST_DIMENSION} dimensions; these differences have {dimension}")


def _least_shrunk(
    points: NDArray[np.float64], corners: NDArray[np.float64], lengths: NDArray[np.float64], limits: HullLimits
) -> NDArray[np.float64]:
    """The corners of the body, one of each pair, for the smallest t that was found to be large enough."""
    whole = _corners_within(points, limits)
    if whole is not None:
        return whole
    kept, share, step = corners, 1.0, _STEP
    while step >= _LAST_STEP:
        tried = share - step
        found = _corners_within(np.vstack([tried * corners, points[lengths > tried]]), limits) if tried > 0 else None
        if found is None:
            step /= 2
        else:
            kept, share = found, tried
    return kept


def _corners_within(points: NDArray[np.float64], limits: HullLimits) -> NDArray[np.float64] | None:
    """The corners of the hull of ±points, or None where it passes the limits.

    Where many corners share a facet it would have to be cut in exact integers; moved outward by a hair, each by its
    own, they do not share it, and the hull still holds the points.
    """
    try:
        corners = points[extreme_points(points, limits)]
        corners = corners * (1 + _HAIR * np.random.default_rng(0).random((len(corners), 1)))
        facets = len(float_hull(np.vstack([corners, -corners])).simplices)
    except TooLarge:
        return None
    return corners if facets <= limits.facets else None
