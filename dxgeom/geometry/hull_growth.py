"""The corners among many points, found by hulls that grow a few points at a time, so that they can be given up.

How many facets the whole hull will have, and how long it will take, is told from hulls of a few of its corners.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.numeric.qhull import HullLimits, float_hull, made_round

SURELY = 2.0
"""A hull is refused unseen when the estimate is this many times a limit."""
_ENOUGH_FACETS = 8_000
"""A hull of a few corners with this many facets is not enlarged further."""
_GROWTH = 1.5
_DIRECTIONS = 64
_FEW_DIRECTIONS = 4
_QHULL = 2e-6
"""Seconds per facet and squared dimension, for all the hulls on the way to the last."""
_SCAN = 5e-10
"""Seconds per facet, point and dimension, to look for points beyond a facet."""
_PROOF = 3e-7
"""Seconds per facet and cubed dimension, for the certificate in exact integers."""


class HullEstimate(NamedTuple):
    """About how many simplices the boundary will have, and about how many seconds it will take to find and prove."""

    facets: float
    seconds: float


def extreme_points(half: NDArray[np.float64], limits: HullLimits) -> NDArray[np.int64]:
    """Indices of points that, with their opposites, have all other ± points (E, m) in their hull, up to rounding.

    Points far out in many directions come first; then, of those still outside, the furthest beyond each facet, until
    none is outside. A point once inside is never looked at again, since the hull only grows.
    No hull is begun that is expected to pass ``limits`` by far, so that none runs on for minutes.
    Raises: TooLarge when the hull passes ``limits``, is expected to, or the points lie in a subspace.
    """
    deadline = _Deadline(limits)
    half, _ = made_round(half)
    chosen, vertices = _far_out(half, _DIRECTIONS)
    deadline.expect(estimate_hull(half[chosen], vertices, len(half)))
    return _grown(half, chosen, deadline)


def few_extreme_points(half: NDArray[np.float64], limits: HullLimits) -> NDArray[np.int64]:
    """The same where they are likely to be few: hulls grow from the furthest points along a handful of directions, and
    how large the whole will be is not estimated first.

    Raises: TooLarge as :func:`extreme_points`.
    """
    half, _ = made_round(half)
    return _grown(half, _far_out(half, _FEW_DIRECTIONS)[0], _Deadline(limits))


def _grown(half: NDArray[np.float64], chosen: NDArray[np.int64], deadline: _Deadline) -> NDArray[np.int64]:
    points = np.vstack([half, -half])
    chosen = np.concatenate([chosen, chosen + len(half)])
    left = np.arange(len(points))
    while True:
        hull = float_hull(points[chosen])
        deadline.check(len(hull.simplices))
        chosen = chosen[hull.corners]
        fresh, left = _outside(points, left, hull.normals, deadline)
        fresh = np.setdiff1d(fresh, chosen)
        if fresh.size == 0:
            return np.unique(chosen % len(half))
        deadline.expect_growth(len(hull.simplices), 1 + len(fresh) / len(chosen), half.shape[1])
        chosen = np.concatenate([chosen, fresh])


def estimate_of(half: NDArray[np.float64]) -> HullEstimate:
    """What :func:`extreme_points` expects of the hull of ± points (E, m) before it begins.

    Raises: TooLarge when the points lie in a subspace.
    """
    half, _ = made_round(half)
    chosen, vertices = _far_out(half, _DIRECTIONS)
    return estimate_hull(half[chosen], vertices, len(half))


@final
class _Deadline:
    def __init__(self, limits: HullLimits) -> None:
        self._limits, self._started = limits, time.monotonic()

    def check(self, facets: int) -> None:
        if self._limits.progress is not None:
            self._limits.progress(facets)
        seconds = time.monotonic() - self._started
        if facets > self._limits.facets or seconds > self._limits.seconds:
            raise TooLarge(f"the hull still grew at {facets:,} facets after {seconds:.1f} s {self._limits_in_words}")

    def expect(self, estimate: HullEstimate) -> None:
        """Refuse a hopeless hull before it is begun; one that may come off, given the estimate's error, goes ahead."""
        if estimate.facets > SURELY * self._limits.facets or estimate.seconds > SURELY * self._limits.seconds:
            raise TooLarge(
                f"the hull would have about {rounded(estimate.facets)} facets and take about "
                f"{rounded(estimate.seconds)} s {self._limits_in_words}"
            )

    def expect_growth(self, facets: int, factor: float, dimension: int) -> None:
        """Refuse the next hull when it is going to be far beyond the limit."""
        expected = facets_after_growth(facets, factor, dimension)
        if expected > SURELY * self._limits.facets:
            raise TooLarge(
                f"the hull grows from {facets:,} to about {rounded(expected)} facets {self._limits_in_words}"
            )

    @property
    def _limits_in_words(self) -> str:
        return f"(limits: {self._limits.facets:,} facets, {self._limits.seconds:g} s)"


def rounded(number: float) -> str:
    """A guess in two digits."""
    return f"{float(f'{number:.1e}'):,.0f}"


def _far_out(half: NDArray[np.float64], spread: int) -> tuple[NDArray[np.int64], float]:
    """The furthest points along the axes and ``spread`` fixed directions for each; and about how many corners all have.

    Corners that one direction found and corners that two found tell how many none found (Chao's estimate, from below).
    """
    dimension = half.shape[1]
    directions = np.random.default_rng(0).standard_normal((spread * dimension, dimension))
    directions = np.vstack([np.eye(dimension), directions])
    size = max(1, _HEIGHTS_PER_BLOCK // len(half))
    found = np.concatenate(
        [np.abs(directions[start : start + size] @ half.T).argmax(axis=1) for start in range(0, len(directions), size)]
    )
    chosen, times = np.unique(found, return_counts=True)
    once, twice = np.count_nonzero(times == 1), np.count_nonzero(times == 2)
    return chosen, 2 * (len(chosen) + once * (once - 1) / (2 * (twice + 1)))


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


def estimate_hull(corners: NDArray[np.float64], vertices: float, points: int) -> HullEstimate:
    """The estimate for ±points of which ``corners`` (n, m) are some corners, one of each opposite pair.

    Args: ``vertices``: about how many corners the whole hull has; ``points``: among how many points they are.
    A fixed shuffle of the corners is taken in growing parts. The facets of the last two parts grow with a power of the
    number of corners, between 1 and ⌊m/2⌋ (no hull grows faster: the upper bound theorem).
    Guarantee: none, it is a guess, the same one every time; see ``benchmarks/hulls.py`` for how far off it is.
    """
    dimension = corners.shape[1]
    order = np.random.default_rng(0).permutation(len(corners))
    size, sizes, facets = 2 * dimension, [], []
    while True:
        part = corners[order[:size]]
        sizes.append(min(size, len(corners)))
        facets.append(len(float_hull(np.vstack([part, -part])).simplices))
        if size >= len(corners) or facets[-1] >= _ENOUGH_FACETS:
            break
        size = math.ceil(size * _GROWTH)
    exponent = float(dimension // 2)
    if len(sizes) > 1:
        exponent = math.log(facets[-1] / facets[-2]) / math.log(sizes[-1] / sizes[-2])
    whole = facets_after_growth(facets[-1], max(1.0, vertices / (2 * sizes[-1])), dimension, exponent)
    seconds = whole * dimension**2 * _QHULL + whole * points * dimension * _SCAN + whole * dimension**3 * _PROOF
    return HullEstimate(whole, seconds)


def facets_after_growth(facets: float, factor: float, dimension: int, exponent: float = 1.0) -> float:
    """About how many facets a hull has when its corners become ``factor`` times as many."""
    return float(facets * factor ** min(max(exponent, 1.0), max(1, dimension // 2)))
