"""A polytope around a set that is known by its support function."""

from __future__ import annotations

import itertools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.fan import Fan
from dxgeom.geometry.polytope import SymmetricPolytope, hull_of_differences
from dxgeom.numeric.qhull import FloatHull, HullLimits, float_hull
from dxgeom.numeric.rounding import round_up


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
