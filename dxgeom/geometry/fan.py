"""Simplices cut from facets, proved in exact integers to close up to the boundary of a symmetric convex body.

The corners among many points, found by hulls that grow a few points at a time, so that they can be given up.

How many facets the whole hull will have, and how long it will take, is told from hulls of a few of its corners.
"""

from __future__ import annotations

import math
import time
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.numeric.arrays import FITS
from dxgeom.numeric.exact_numbers import solve_exactly
from dxgeom.numeric.qhull import HullLimits, float_hull, made_round
from dxgeom.numeric.rounding import UNIT_ROUNDOFF

_CLEARLY_BELOW = 1e-9


def pulled_triangulation(points: NDArray[np.int64], simplices: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Simplices (F, m) that triangulate the boundary of conv(points), every face cut from its lowest corner.

    Hulls of counts are full of facets with many corners, and floating-point triangulations of those come out flat or
    folded. Which corner lies on which facet is decided in exact integers here; the rest is combinatorics.

    Args: ``points`` (V, m); ``simplices``: some simplex of every facet, none of them flat; ``most``: give up beyond.
    Cutting each face from its lowest corner makes neighbouring facets agree on what they share.
    Raises: CertificateRefused when a simplex' plane is no facet's, or facets do not fit together; TooLarge beyond
    ``most`` simplices.
    """
    if len(simplices) == 0:
        raise CertificateRefused("every simplex of the hull is flat")
    incidences = np.unique(_incidences(points, simplices), axis=0)
    incidences[:, ~corner_points(incidences)] = False
    facets = [_bits(row) for row in incidences]
    dimension = points.shape[1]
    known: dict[int, list[tuple[int, ...]]] = {}
    pieces: list[tuple[int, ...]] = []
    for row, facet in zip(incidences, facets, strict=True):
        simple = row.sum() <= dimension
        near = () if simple else np.flatnonzero(incidences[:, row].sum(axis=1) >= dimension - 1)
        pieces += _pull(facet, dimension, [facets[index] for index in near], known)
        if len(pieces) > most:
            raise TooLarge(f"triangulating the hull's facets passes {most:,} simplices")
    if any(len(piece) != dimension for piece in pieces):
        raise CertificateRefused("the facets of the hull do not fit together")
    return np.array(pieces, dtype=np.int64)


def _incidences(points: NDArray[np.int64], simplices: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(H, V): which point lies on which of the distinct planes, exactly."""
    ones = np.ones((*simplices.shape, 1), dtype=object)
    volumes, normals = solve_exactly(points[simplices].astype(object), ones)
    planes = np.array(
        sorted({_primitive(*plane) for plane in zip(normals[:, :, 0], volumes, strict=True)}), dtype=object
    )
    normals, heights = planes[:, :-1], planes[:, -1]
    slopes = np.array(normals / heights[:, None], dtype=np.float64) @ points.T.astype(np.float64)
    on_plane = np.zeros(slopes.shape, dtype=bool)
    for plane, point in np.argwhere(slopes > 1 - _CLEARLY_BELOW):
        height = int(np.dot(normals[plane], points[point].astype(object)))
        if height > heights[plane]:
            raise CertificateRefused("a plane of the hull cuts off one of its points")
        on_plane[plane, point] = height == heights[plane]
    return on_plane


def _primitive(normal: NDArray[Any], volume: Any) -> tuple[int, ...]:
    divisor = math.gcd(*(int(x) for x in normal), int(volume)) * (-1 if volume < 0 else 1)
    return tuple(int(x) // divisor for x in (*normal, volume))


def corner_points(incidences: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Points that are vertices: no other point lies on all of their facets."""
    common = [-1] * incidences.shape[1]
    for row in incidences:
        face = _bits(row)
        for point in np.flatnonzero(row):
            common[point] &= face
    return np.array([face == 1 << point for point, face in enumerate(common)])


def _bits(row: NDArray[np.bool_]) -> int:
    return sum(1 << int(index) for index in np.flatnonzero(row))


def _pull(
    face: int, corners: int, neighbours: list[int], known: dict[int, list[tuple[int, ...]]]
) -> list[tuple[int, ...]]:
    """The face's simplices of ``corners`` corners each: its lowest corner joined to every sub-face without it.

    A sub-face is where the face meets a neighbour, so the sub-faces are in turn each other's neighbours.
    """
    if face.bit_count() <= corners:
        return [tuple(index for index in range(face.bit_length()) if face >> index & 1)]
    if face not in known:
        meets = {face & neighbour for neighbour in neighbours} - {face}
        subfaces = [meet for meet in meets if not any(meet & other == meet and meet != other for other in meets)]
        lowest = face & -face
        apex = (lowest.bit_length() - 1,)
        known[face] = [
            apex + rest
            for subface in sorted(subfaces)
            if not subface & lowest
            for rest in _pull(subface, corners - 1, subfaces, known)
        ]
    return known[face]


_LONGEST = 2**40
"""Directions are rounded to integers no longer than this: finer than float64 knows them is of no use."""


class Fan(NamedTuple):
    """A proved tiling of space by simplicial cones.

    ``simplices`` (F, m) index ``vertices`` (V, m), integers in int64 or, where they are longer, Python's; ``normals``
    (F, m) and ``volumes`` (F,) are Python integers: ``normals[f]·v ≤ volumes[f]`` on the body, with equality on
    simplex f, and ``volumes[f]`` is its |determinant|.
    """

    vertices: NDArray[np.int64]
    simplices: NDArray[np.int64]
    normals: NDArray[Any]
    volumes: NDArray[Any]

    def holds(self, points: NDArray[Any]) -> bool:
        """Whether every integer point (E, m) is under every facet; by symmetry its opposite is too. *Exact*."""
        largest = int(np.abs(self.normals).max()) * int(np.abs(points).max())
        kind: Any = np.int64 if largest * points.shape[1] < FITS else object
        heights = np.abs(points.astype(kind) @ self.normals.T.astype(kind)).max(axis=0)
        return bool(np.all(heights <= self.volumes))


def certify_fan(vertices: NDArray[np.int64], simplices: NDArray[np.int64]) -> Fan:
    """The fan of simplices of integer vertices, once they are proved to close up to a symmetric convex body's boundary.

    A cone sampler draws nothing in a direction that no simplex covers, so a missing or folded simplex would be a leak,
    not an inaccuracy. What has to hold, for the cones over the simplices:

    1. every simplex has a non-zero determinant;
    2. every ridge belongs to exactly two simplices, which lie on opposite sides of the ridge's cone. Then the number of
       cones over a point does not change when the point crosses a ridge, so it is the same almost everywhere;
    3. one interior point of one cone lies in no other. Then that number is one: the cones tile space;
    4. across every ridge the other simplex' far vertex is not beyond this simplex' plane. A function that is linear on
       the cones of a tiling and convex across each ridge is convex: the gauge is a seminorm;
    5. the vertices come in opposite pairs: the gauge is symmetric, so a norm.

    Guarantee: *exact*. Raises: CertificateRefused naming the statement that fails.
    """
    if len(simplices) == 0:
        raise CertificateRefused("a hull without simplices covers nothing")
    used, renumbered = np.unique(simplices, return_inverse=True)
    vertices = vertices[used]
    simplices = np.sort(renumbered.reshape(simplices.shape), axis=1)
    determinants, normals = _planes(vertices, simplices)
    if np.any(determinants == 0):
        raise CertificateRefused("a simplex of the hull is flat")
    corners = vertices[simplices]
    if cones_around(corners, corners[0].astype(object).sum(axis=0)) != 1:
        raise CertificateRefused("the simplices of the hull cover some direction more than once")
    _check_symmetry(vertices)
    fan = Fan(vertices, simplices, normals, np.abs(determinants))
    _check_ridges(fan, determinants)
    return fan


def _planes(vertices: NDArray[np.int64], simplices: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Signed determinants and outward normals."""
    determinants, normals = solve_exactly(vertices[simplices], np.ones((*simplices.shape, 1), dtype=object))
    return determinants, normals[:, :, 0] * np.where(determinants < 0, -1, 1)[:, None]


def _check_symmetry(vertices: NDArray[np.int64]) -> None:
    rows = {tuple(row) for row in vertices.tolist()}
    if any(tuple(-x for x in row) not in rows for row in rows):
        raise CertificateRefused("the hull's vertices do not come in opposite pairs")


def _check_ridges(fan: Fan, determinants: NDArray[Any]) -> None:
    facets, dimension = fan.simplices.shape
    ridges = np.concatenate([np.delete(fan.simplices, place, axis=1) for place in range(dimension)])
    order = np.lexsort(ridges.T[::-1]) if dimension > 1 else np.arange(facets)
    ridges = ridges[order]
    four = np.any(np.all(ridges[1:-1:2] == ridges[2::2], axis=1))  # simplices at one ridge
    if len(ridges) % 2 or np.any(ridges[0::2] != ridges[1::2]) or four:
        raise CertificateRefused("a ridge of the hull does not belong to exactly two simplices: a facet is missing")
    place, facet = np.divmod(order, facets)
    apex = fan.simplices[facet, place]
    signs = np.where(determinants[facet] < 0, -1, 1) * np.where((dimension - 1 - place) % 2, -1, 1)
    if np.any(signs[0::2] == signs[1::2]):
        raise CertificateRefused("two simplices of the hull lie on the same side of their common ridge")
    one, other = facet[0::2], apex[1::2]
    heights = np.sum(fan.normals[one] * fan.vertices[other].astype(object), axis=1)
    if np.any(heights > fan.volumes[one]):
        raise CertificateRefused("the hull is not convex across one of its ridges")


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
    room = FITS // (dimension * largest)
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


_GAUGES_PER_BLOCK: Final = 4_000_000


def rounded_planes(fan: Fan) -> NDArray[np.float64]:
    """(F, m): normals over volumes, ``planes @ v ≤ 1`` on the fan's body, each entry correctly rounded."""
    return np.array(fan.normals / fan.volumes[:, None], dtype=np.float64)


def largest_gauge(fan: Fan, points: NDArray[np.float64]) -> float:
    """The largest gauge of ±points, *rounded up*.

    Errors relative to Σ|n||p|: 2⁻⁵³ for each normal, 2⁻⁵³ for each point (a rounded quotient), and m·2⁻⁵³ for the dot
    product; doubled for safety. By symmetry of the fan the sign of a point does not matter.
    """
    normals = rounded_planes(fan)
    dimension = normals.shape[1]
    steepest = np.max(np.abs(normals), axis=0)
    largest = 0.0
    size = max(1, _GAUGES_PER_BLOCK // len(normals))
    for start in range(0, len(points), size):
        here = points[start : start + size]
        slack = (np.abs(here) @ steepest) * (2 * (dimension + 3) * UNIT_ROUNDOFF)
        largest = max(largest, float(np.max(np.max(here @ normals.T, axis=1) + slack)))
    return math.nextafter(largest * (1 + 4 * UNIT_ROUNDOFF), math.inf)


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
