"""Hulls of points: in the subspace that they span, in integers, and of few facets.

A polytope around a set that is known by its support function.
"""

from __future__ import annotations

import itertools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.geometry.fan import Fan, extreme_points
from dxgeom.geometry.polytope import SymmetricPolytope, hull_of_corners, hull_of_differences, proved_fan
from dxgeom.numeric.arrays import FITS
from dxgeom.numeric.exact_numbers import solve_exactly
from dxgeom.numeric.qhull import FloatHull, HullLimits, far_apart, float_hull
from dxgeom.numeric.rounding import round_up

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


class SupportOracle(ABC):
    """A bounded symmetric set S ⊂ ℝᵐ with support function h(u) = sup over s ∈ S of u·s.

    Law: ``u·furthest(u) ≤ reach_bounds(u)``, up to the rounding of float64 on the left.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number m of coordinates."""

    @abstractmethod
    def furthest(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each direction (F, m) a point of S far out along it, as far as float64 tells. A search, no proof."""

    @abstractmethod
    def reach_bounds(self, directions: NDArray[Any], scales: Sequence[int]) -> NDArray[np.float64]:
        """(F,): h(directions[f])/scales[f] for integer directions (F, m) and positive integer scales.

        Guarantee: *rounded up*. This is what privacy rests on.
        """


@final
@dataclass(frozen=True, eq=False)
class StatedSupport(SupportOracle):
    """A set somebody knows by other means: a search for its far points, and a bound that its owner has proved.

    ``search(directions)`` gives points (F, m) for directions (F, m); ``bound(direction)`` is at least the support
    function, and both take the set for symmetric. The body built from it hides the set only if ``bound`` is right.
    """

    size: int
    search: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    bound: Callable[[tuple[int, ...]], Fraction]

    @property
    def dimension(self) -> int:
        return self.size

    def furthest(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.search(directions), dtype=np.float64)

    def reach_bounds(self, directions: NDArray[Any], scales: Sequence[int]) -> NDArray[np.float64]:
        rows = zip(directions.tolist(), scales, strict=True)
        return np.array([round_up(Fraction(self.bound(tuple(row))) / scale) for row, scale in rows])


_PLACES = 40
"""Binary places of the integers that found points are rounded to before their hull is proved."""
_SAME = 1e-9
_FLAT = 1e-9
_MOST_SIGNS = 6


@final
@dataclass(frozen=True)
class EnclosureLimits:
    """How near is near enough (``tolerance``: largest relative excess of the body over the hull), and when to stop."""

    tolerance: float = 0.005
    facets: int = 12_000
    seconds: float = 20.0


@final
@dataclass(frozen=True, eq=False)
class EnclosingPolytope:
    """A norm ball around a set S, and how near it is: the hull of S contains ``body`` shrunk by 1 + ``excess``."""

    body: SymmetricPolytope
    excess: float

    @property
    def hull_share(self) -> float:
        """At least this part of the body's volume is inside the hull of S, up to 1e-6: (1 + excess)^−m."""
        return float((1 + self.excess) ** -self.body.dimension)


def enclosing_polytope(oracle: SupportOracle, limits: EnclosureLimits | None = None) -> EnclosingPolytope:
    """A polytope that contains every point of a set, barely larger than the set's hull.

    The hull of points of S is grown at the facets over which S reaches furthest, and proved closed and convex in exact
    integers. Every facet's exact plane n·v ≤ 1 is then moved outward to n·v ≤ max_f h(n_f), with the oracle's proved
    bound on h: since h(n_f) bounds n_f·s for all of S, *S is inside*, wherever the points came from.

    Raises: TooLarge when a first hull already passes the limits; NotANormBall when S lies in a subspace, or a bound is
    not finite; CertificateRefused when no placement of the vertices gives a provable boundary.
    """
    limits = limits or EnclosureLimits()
    units = _units(oracle)
    points = _grown(oracle, units, limits)
    integers = np.rint(points * 2.0**_PLACES).astype(np.int64)
    caps = HullLimits(8 * limits.facets, max(limits.seconds, 1.0))
    inner = hull_of_differences(integers, np.full(len(integers), 2.0**_PLACES), caps)
    units = inner.units * units
    inflation = float(np.max(oracle.reach_bounds(*_planes(inner.fan, units))))
    if not (inflation > 0 and math.isfinite(inflation)):
        raise NotANormBall(f"the bound on a set's reach is a positive finite number, found {inflation}")
    return EnclosingPolytope(SymmetricPolytope(inner.fan, units, inflation, inner.moved), inflation - 1)


def _units(oracle: SupportOracle) -> NDArray[np.float64]:
    """A power of two per coordinate, not below how far S was found to reach along it."""
    axes = np.eye(oracle.dimension)
    reach = np.sum(axes * oracle.furthest(axes), axis=1)
    if not np.all((reach > 0) & np.isfinite(reach)):
        raise NotANormBall("some coordinate of the set never changes, or its reach is no finite number")
    return np.asarray(2.0 ** np.ceil(np.log2(reach)))


def _grown(oracle: SupportOracle, units: NDArray[np.float64], limits: EnclosureLimits) -> NDArray[np.float64]:
    """Corners (n, m) of a hull of points ±S over their units, one of each pair, grown until near enough or at a limit.

    The last hull within the limits is taken: what it lacks is made up for by the inflation.
    """
    deadline = time.monotonic() + limits.seconds
    kept = _spanning(oracle, units)
    hull = float_hull(np.vstack([kept, -kept]))
    if len(hull.simplices) > limits.facets:
        raise TooLarge(f"the first hull of this set has {len(hull.simplices):,} facets; {limits.facets:,} are allowed")
    while True:
        kept = kept[np.unique(hull.corners % len(kept))]
        normals = _one_of_each_pair(hull.normals)
        found = _far_points(oracle, units, normals)
        excess = np.sum(normals * found, axis=1) - 1
        outside = np.argsort(-excess)[: np.count_nonzero(excess > max(limits.tolerance, float(excess.max()) / 4))]
        room = (limits.facets / len(hull.simplices)) ** (1 / max(1, oracle.dimension // 2)) - 1
        larger = _with_some_of(kept, found[outside[: math.ceil(len(kept) * room)]], limits.facets)
        if larger is None or time.monotonic() > deadline:
            return kept
        kept, hull = larger


def _with_some_of(
    kept: NDArray[np.float64], outside: NDArray[np.float64], most: int
) -> tuple[NDArray[np.float64], FloatHull] | None:
    """The points with as many of those outside as give no more than ``most`` facets, the first of them first."""
    count = len(outside)
    while count:
        points = _one_of_each_pair(np.vstack([kept, outside[:count]]))
        hull = float_hull(np.vstack([points, -points]))
        if len(hull.simplices) <= most and len(points) > len(kept):
            return points, hull
        count //= 4
    return None


def _spanning(oracle: SupportOracle, units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Far points (n, m) along first directions, then along those that the points found so far do not span."""
    points = _one_of_each_pair(_far_points(oracle, units, _first_directions(oracle.dimension)))
    for _ in range(oracle.dimension):
        _, lengths, axes = np.linalg.svd(np.vstack([points, -points]))
        if lengths[-1] > _FLAT * lengths[0]:
            return points
        across = axes[-1:]
        far = _far_points(oracle, units, across)
        if not abs(float(np.sum(across * far))) > _FLAT:
            break
        points = np.vstack([points, far])
    raise NotANormBall("the set lies in a subspace: leave out coordinates that follow from others")


def _first_directions(dimension: int) -> NDArray[np.float64]:
    spread = np.random.default_rng(0).standard_normal((8 * dimension, dimension))
    signs = list(itertools.product([1.0, -1.0], repeat=dimension)) if dimension <= _MOST_SIGNS else []
    return np.vstack([np.eye(dimension), np.array(signs).reshape(-1, dimension), spread])


def _far_points(
    oracle: SupportOracle, units: NDArray[np.float64], directions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Far points over their units, for directions in the scaled coordinates."""
    return np.asarray(oracle.furthest(directions / units) / units)


def _one_of_each_pair(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distinct vectors (n, m), one of each ±v, as far as nine digits tell."""
    size = np.max(np.abs(vectors), initial=0.0) * _SAME
    rounded = np.rint(vectors / (size or 1.0)).astype(np.int64)
    vectors, rounded = vectors[np.any(rounded != 0, axis=1)], rounded[np.any(rounded != 0, axis=1)]
    leading = np.sign(rounded[np.arange(len(rounded)), np.argmax(rounded != 0, axis=1)])
    _, first = np.unique(rounded * leading[:, None], axis=0, return_index=True)
    return np.asarray(vectors[first])


def _planes(fan: Fan, units: NDArray[np.float64]) -> tuple[NDArray[Any], list[int]]:
    """Integer directions u (H, m) and scales c with u·v ≤ c on ``diag(units)·conv(fan.vertices)``: every plane once.

    Units are powers of two, so the planes are exact; of two opposite planes one is enough for a symmetric set.
    """
    exponents = [math.frexp(float(unit))[1] - 1 for unit in units]
    highest = max(*exponents, 0)
    shifts = [highest - exponent for exponent in exponents]
    planes = set()
    for normal, volume in zip(fan.normals.tolist(), fan.volumes.tolist(), strict=True):
        direction = [int(x) << shift for x, shift in zip(normal, shifts, strict=True)]
        scale = int(volume) << highest
        divisor = math.gcd(scale, *direction) * (-1 if next(x for x in direction if x) < 0 else 1)
        planes.add((*(x // divisor for x in direction), scale // abs(divisor)))
    rows = sorted(planes)
    return np.array([row[:-1] for row in rows], dtype=object), [row[-1] for row in rows]
