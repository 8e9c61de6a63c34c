"""Hulls of points: in the subspace that they span, in integers, and of few facets."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.geometry.fan import Fan
from dxgeom.geometry.hull_growth import extreme_points
from dxgeom.geometry.polytope import SymmetricPolytope, hull_of_corners, proved_fan
from dxgeom.numeric.arrays import FITS
from dxgeom.numeric.exact_numbers import solve_exactly
from dxgeom.numeric.qhull import HullLimits, far_apart, float_hull

_DEPENDENT = 1e-9


class SpannedSpace(NamedTuple):
    """``pivots``: indices of coordinates whose differences are independent; ``combinations`` (K, m) rationals with
    Δ_k = Σ_j combinations[k, j]·Δ_pivots[j] for every difference, exactly."""

    pivots: NDArray[np.int64]
    combinations: NDArray[Any]


def span_of(differences: NDArray[np.int64], bounds: NDArray[np.float64], most: int) -> SpannedSpace:
    """The span of integer differences (E, K); pivots are queries that stay far apart when divided by the bounds (E,).

    Raises: TooLarge when it has more than ``most`` dimensions; NotANormBall when queries are so nearly dependent that
    float64 takes them for dependent and exact integers do not.
    """
    points = differences / bounds[:, None]
    pivots = independent_columns(points, most)
    independent = differences[:, pivots]
    rows = far_apart(points[:, pivots] / np.max(np.abs(points[:, pivots]), axis=0))
    determinant, numerators = solve_exactly(independent[rows][None], differences[rows][None])
    if determinant[0] == 0:
        raise NotANormBall("the queries are too nearly dependent to tell their span")
    _check_dependence(differences, independent, int(determinant[0]), numerators[0])
    combinations = [[Fraction(int(entry), int(determinant[0])) for entry in column] for column in numerators[0].T]
    return SpannedSpace(pivots, np.array(combinations, dtype=object).reshape(differences.shape[1], len(pivots)))


def independent_columns(points: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Columns by pivoted Gram–Schmidt, the longest remaining first; in ascending order.

    Raises: TooLarge when there are more than ``most``.
    """
    largest = np.max(np.abs(points), axis=0, initial=0)
    left = points / np.where(largest > 0, largest, 1)
    threshold = _DEPENDENT * np.sqrt(len(left))
    chosen: list[int] = []
    while True:
        lengths = np.linalg.norm(left, axis=0)
        longest = int(lengths.argmax())
        if lengths[longest] <= threshold:
            return np.array(sorted(chosen), dtype=np.int64)
        if len(chosen) == most:
            raise TooLarge(f"the queries span more than {most} dimensions")
        chosen.append(longest)
        direction = left[:, longest] / lengths[longest]
        left = left - np.outer(direction, direction @ left)
        left[:, chosen] = 0


def _check_dependence(
    differences: NDArray[np.int64], independent: NDArray[np.int64], determinant: int, numerators: NDArray[Any]
) -> None:
    """determinant·Δ = Δ_pivots·numerators for every difference, in integers that cannot overflow."""
    reach = max(abs(determinant), *(abs(int(entry)) for entry in numerators.ravel()))
    largest = int(np.abs(differences).max())
    kind = np.int64 if reach * largest * len(numerators) < FITS else object
    combined = independent.astype(kind) @ numerators.astype(kind)
    if np.any(combined != differences.astype(kind) * determinant):
        raise NotANormBall("the queries are so nearly dependent that their span cannot be told in float64")


LARGEST_COORDINATE = 2**26


def integer_hull(points: NDArray[np.int64], limits: HullLimits | None = None) -> Fan:
    """The proved fan of conv(±points), ``points`` (E, m) with coordinates up to 2²⁶.

    Guarantee: *exact*: its vertices are points or their opposites, and every point is inside.
    Raises: TooLarge beyond ``limits`` or 2²⁶; NotANormBall when the points lie in a subspace; CertificateRefused
    when float64 proposes no boundary that can be proved.
    """
    limits = limits or HullLimits()
    if np.abs(points).max(initial=0) > LARGEST_COORDINATE:
        raise TooLarge(f"integer vertices have coordinates up to 2^26, found {np.abs(points).max():,}")
    if np.linalg.matrix_rank(points) < points.shape[1]:
        raise NotANormBall("the points lie in a subspace: reduce to their span first")
    leading = points[np.arange(len(points)), np.argmax(points != 0, axis=1)]
    half = np.unique((points * np.sign(leading)[:, None])[leading != 0], axis=0)
    corners = half[extreme_points(half.astype(np.float64), limits)]
    fan = proved_fan(np.vstack([corners, -corners]), limits)
    if not fan.holds(half):
        raise CertificateRefused("a point lies outside the hull that was found of it")
    return fan


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
