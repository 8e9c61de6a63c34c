"""Which of very many places are near: of two kinds the nearest, and the pairs that no shorter ones stand for.

Let B be K differences Δ_f of near places that span all. Whatever norm hides them, ‖Δ_f‖ ≤ b_f, has
‖Δ‖ ≤ Σ_f |(B⁻¹Δ)_f|·b_f for every Δ. A pair that is further apart than this is hidden as well, and need not be looked
at; with g_i = Σ_f |(B⁻¹(q_i − c))_f|·b_f none is needed that is further apart than the two largest g together.

The steepest pair of a map on many places, without looking at every pair: two walks through one k-d tree.

Kernel: SciPy's k-d tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.metric import PairBlock
from dxgeom.metrics.points import EARTH_RADIUS_KM, PointsMetric, absolute_error, on_the_unit_sphere
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, round_down

_LEAF = 16
_MARGIN = 2e-14
"""Distances are lowered by this relative amount: more than they and the box distances are rounded by."""
_LINEAR_BELOW = 1e140
"""Beyond, squares overflow; the ranges alone then bound a pair of nodes."""
_FARTHEST = 1e150
"""Places further apart, whose distance could overflow, count as this far apart."""
_MOST_APART = float(np.finfo(np.float64).max)
"""So does what is kept further apart: a quotient by ∞ would be 0."""
_AT_ONCE = 2048
"""Pairs of nodes that are looked at together, the most promising of those at hand."""
_LEAVES_AT_ONCE = 64
Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]


class Separation(NamedTuple):
    """How far a pair is kept apart: max(floor, rate·(D·(1 − 2·10⁻¹⁴) − error)), never negative.

    D: the distance in space when ``radius`` is 0, else radius times the angle between two unit vectors.
    """

    rate: float
    floor: float
    error: float
    radius: float

    def of(self, distances: Floats) -> Floats:
        """The separation of pairs at these distances."""
        kept = np.maximum(self.floor, self.rate * np.maximum(distances * (1 - _MARGIN) - self.error, 0.0))
        return np.minimum(kept, _MOST_APART)

    def at_least(self, chords: Floats) -> Floats:
        """The separation of any pair whose chord is not shorter; the arcsine's argument is lowered by what rounding,
        also of the unit vectors, can raise it."""
        if self.radius == 0:
            return self.of(chords)
        halves = np.minimum(chords / 2 * (1 - _MARGIN), 1.0)
        return self.of(self.radius * 2 * np.arcsin(halves) * (1 - _MARGIN))

    def exactly(self, ones: Floats, others: Floats, chords: Floats) -> Floats:
        """The separation of pairs; chord and antichord together are accurate for near places and antipodes alike."""
        if self.radius == 0:
            return self.of(chords)
        antichords = _length(ones + others)
        return self.of(self.radius * 2 * np.arctan2(chords, antichords))


@final
@dataclass(frozen=True)
class _Tree:
    """A complete tree over the places: root 1, children 2k and 2k + 1; index 0 is no node.

    ``order``: the places, as they lie in the leaves; ``starts``, ``stops``: each node's part of it; ``low``, ``high``:
    its box.
    """

    order: Places
    starts: Places
    stops: Places
    low: Floats
    high: Floats

    @property
    def leaves(self) -> int:
        """How many, which is also the first of them."""
        return len(self.starts) // 2


def _split(points: Floats) -> _Tree:
    """Halves of as many places each, along the axis in which a node is widest."""
    count, dimensions = points.shape
    levels = 0
    while count > _LEAF << levels:
        levels += 1
    ends, box = np.zeros((2, 2 << levels), np.int64), np.empty((2, 2 << levels, dimensions))
    tree = _Tree(np.arange(count), ends[0], ends[1], box[0], box[1])
    tree.stops[1] = count
    for level in range(levels + 1):
        nodes = np.arange(1 << level, 2 << level)
        starts, stops = tree.starts[nodes], tree.stops[nodes]
        for choose, corners in ((np.minimum, tree.low), (np.maximum, tree.high)):
            corners[nodes] = choose.reduceat(points[tree.order], starts)
        if level < levels:
            within = np.repeat(nodes, stops - starts)
            widest = np.repeat(np.argmax(tree.high[nodes] - tree.low[nodes], axis=1), stops - starts)
            tree.order[:] = tree.order[np.lexsort((points[tree.order, widest], within))]
            middles = (starts + stops) // 2
            tree.starts[2 * nodes], tree.stops[2 * nodes] = starts, middles
            tree.starts[2 * nodes + 1], tree.stops[2 * nodes + 1] = middles, stops
    return tree


@final
@dataclass(frozen=True)
class _Map:
    """A map on the places of a tree, in its order, and what bounds its changes between two nodes.

    ``ranges``: each node's least and largest value; ``left``: those of what a linear map of steepness ``slope`` leaves.
    """

    tree: _Tree
    points: Floats
    values: Floats
    ranges: tuple[Floats, Floats]
    left: tuple[Floats, Floats]
    slope: float
    separation: Separation

    def bounds(self, ones: Places, others: Places) -> Floats:
        """No pair between two nodes has a larger quotient: ranges over the boxes' distance, or slope and what it
        leaves."""
        low, high = self.tree.low, self.tree.high
        gaps = np.maximum(low[ones] - high[others], low[others] - high[ones])
        chords = _length(np.maximum(gaps, 0.0))
        apart = self.separation.at_least(chords)
        changes = _largest_change(self.ranges, ones, others)
        lines = (self.slope * chords + _largest_change(self.left, ones, others)) * (1 + 1e-13)
        least = np.where(apart > self.separation.floor, np.minimum(changes, lines), changes)
        return np.where(changes <= 0, 0.0, _quotients(least, apart))

    def best_between(self, ones: Places, others: Places, best: float) -> float:
        """The largest quotient between the places of leaves, or within one leaf, or the best so far."""
        scale = self.separation.radius * (1 - 10 * _MARGIN) or 1.0
        first, second = self._pairs(ones, others)
        changes = np.abs(self.values[first] - self.values[second])
        more = np.flatnonzero(changes > best * self.separation.floor)
        first, second, changes = first[more], second[more], changes[more]
        chords = _length(self.points[first] - self.points[second])
        # An arc is not shorter than its chord, and the chord is cheap.
        more = np.flatnonzero(changes > best * self.separation.of(scale * chords))
        first, second, changes, chords = first[more], second[more], changes[more], chords[more]
        apart = self.separation.exactly(self.points[first], self.points[second], chords)
        return float(np.max(_quotients(changes, apart), initial=best))

    def _pairs(self, ones: Places, others: Places) -> tuple[Places, Places]:
        sizes = [self.tree.stops[leaves] - self.tree.starts[leaves] for leaves in (ones, others)]
        across = np.arange(int(max(size.max() for size in sizes)))
        # Shorter leaves list their last place more than once.
        first, second = (
            self.tree.starts[leaves][:, None] + np.minimum(across, size[:, None] - 1)
            for leaves, size in zip((ones, others), sizes, strict=True)
        )
        pairs = np.broadcast_arrays(first[:, :, None], second[:, None, :])
        return pairs[0].reshape(-1), pairs[1].reshape(-1)


def _length(steps: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(np.minimum((steps * steps).sum(axis=-1), _FARTHEST**2)))


def _largest_change(ranges: tuple[Floats, Floats], ones: Places, others: Places) -> Floats:
    least, largest = ranges
    return np.maximum(largest[ones] - least[others], largest[others] - least[ones])


def _quotients(changes: Floats, apart: Floats) -> Floats:
    """0 where nothing changes, ∞ where nothing separates."""
    return np.where(changes > 0, np.divide(changes, apart, out=np.full(apart.shape, np.inf), where=apart > 0), 0.0)


def _walk(on: _Map, slack: float) -> float:
    """The largest quotient of all pairs, but for a factor ``slack``."""
    leaves = np.arange(on.tree.leaves, 2 * on.tree.leaves)
    best = 0.0
    for some in _batches(leaves):
        best = on.best_between(some, some, best)
    root = np.array([1])
    waiting = [(root, root, np.array([np.inf]))]
    while waiting:
        ones, others, bounds = waiting.pop()
        order = np.argsort(-bounds, kind="stable")[: np.count_nonzero(bounds > best * slack)]
        now, later = order[:_AT_ONCE], order[_AT_ONCE:]
        if later.size:
            waiting.append((ones[later], others[later], bounds[later]))
        ones, others, bounds = ones[now], others[now], bounds[now]
        if now.size and ones[0] < leaves[0]:
            waiting.append(_children(on, ones, others))
            continue
        for some in _batches(np.flatnonzero(ones != others)):
            if bounds[some[0]] > best * slack:
                best = on.best_between(ones[some], others[some], best)
    return best


def _batches(places: Places) -> Iterator[Places]:
    for start in range(0, places.size, _LEAVES_AT_ONCE):
        yield places[start : start + _LEAVES_AT_ONCE]


def _children(on: _Map, ones: Places, others: Places) -> tuple[Places, Places, Floats]:
    """All pairs of children of pairs of nodes of one level, and what bounds their quotients."""
    left, right = np.concatenate([2 * ones, 2 * ones, 2 * ones + 1, 2 * ones + 1]), np.tile(2 * others, 4)
    right[others.size : 2 * others.size] += 1
    right[3 * others.size :] += 1
    once = left <= right
    left, right = left[once], right[once]
    return left, right, np.where(left == right, np.inf, on.bounds(left, right))


def steepest_quotient(points: Floats, values: Floats, separation: Separation, tolerance: float = 0.0) -> float:
    """max |v_i − v_j| / (separation of i and j) over all pairs, *rounded up* by a relative tolerance + 10⁻¹³ at most.

    Args: ``points`` (n, dims), on the unit sphere when ``separation.radius`` is positive; ``values`` (n,) finite.
    Guarantee: never below the exact maximum; ∞ when places that nothing separates have different values.
    A tolerance saves most of the work on maps that are linear up to small remainders.
    """
    # Once a quotient is ∞, ∞·0 selects no further pair.
    with np.errstate(over="ignore", invalid="ignore"):
        best = _walk(_map(points, values, separation), 1 + tolerance)
    changes = values.min() < values.max()
    return float(np.nextafter(best * (1 + tolerance) * (1 + 1e-14), np.inf)) if changes else 0.0


def _map(points: Floats, values: Floats, separation: Separation) -> _Map:
    tree = _split(points)
    points, values = np.ascontiguousarray(points[tree.order]), np.ascontiguousarray(values[tree.order])
    slopes, remainder, doubt = _linear_part(points, values)
    left = _ranges(tree, remainder)
    slope = float(np.sqrt(np.sum(slopes**2))) * (1 + 1e-14)
    held = (left[0] - doubt, left[1] + doubt)
    return _Map(tree, points, values, _ranges(tree, values), held, slope, separation)


def _linear_part(points: Floats, values: Floats) -> tuple[Floats, Floats, float]:
    """A linear map close to the values, what it leaves of them, and how far rounding may have moved the remainder."""
    none = np.zeros(points.shape[1]), values, 0.0
    reach = float(np.abs(values).max())
    if not reach < _LINEAR_BELOW or not np.abs(points).max() < _LINEAR_BELOW:
        return none
    slopes = np.linalg.lstsq(points - points.mean(axis=0), values - values.mean(), rcond=None)[0]
    heights = float(np.abs(points * slopes).sum(axis=1).max())
    if not heights < _LINEAR_BELOW or not np.abs(slopes).max() < _LINEAR_BELOW:
        return none
    return slopes, values - points @ slopes, 16 * 2.0**-53 * (reach + heights)


def _ranges(tree: _Tree, values: Floats) -> tuple[Floats, Floats]:
    """The least and the largest value in each node."""
    starts = tree.starts[tree.leaves :]
    least, largest = (_up_the_tree(choose, choose.reduceat(values, starts)) for choose in (np.minimum, np.maximum))
    return least, largest


def _up_the_tree(choose: np.ufunc, leaves: Floats) -> Floats:
    nodes = np.concatenate([np.empty(len(leaves)), leaves])
    for node in range(len(leaves) - 1, 0, -1):
        nodes[node] = choose(nodes[2 * node], nodes[2 * node + 1])
    return nodes


TREE_FROM: Final = 3000
"""Fewer places are compared pair by pair."""
_KINDS: Final = 256
_ROUNDING_OF_A_PRODUCT: Final = 2.0**-51
_ROUNDING_OF_A_CHORD: Final = 1e-14
"""Relative: more than a tree's distance of two points is rounded by."""

_NEIGHBOURS: Final = 8
_TRIED: Final = 20_000
"""Short differences that a basis is looked for among."""
_MOST_QUERIES: Final = 128
_NEW: Final = 1e-6
_CAUTION: Final = 1 + 1e-12
"""More than what sums and products of a few hundred terms round."""
_STEP: Final = 1.05
_ENTRIES_PER_BLOCK: Final = 1 << 20


def separation_of(metric: PointsMetric) -> tuple[NDArray[np.float64], Separation]:
    """The places as points in space, and how far their distance there keeps them apart at least; *rounded down*."""
    points, radius = metric.coordinates, 0.0
    if metric.geometry == "great circle":
        points, radius = on_the_unit_sphere(points), EARTH_RADIUS_KM
    error = absolute_error(metric.coordinates, metric.geometry)
    rate = round_down(metric.rate) * (1 - _ROUNDING_OF_A_PRODUCT)
    return points, Separation(rate, round_down(metric.floor), error, radius)


def few_kinds(metric: PointsMetric, which: NDArray[np.int64]) -> bool:
    """Whether places are so many, and of so few kinds, that trees are the way."""
    return metric.size >= TREE_FROM and int(which.max()) < _KINDS


def nearest_of_kinds(metric: PointsMetric, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Every pair of kinds that occur, once, with a bound *not above* the distance of any two places of these kinds.

    Below the least of these by a relative 10⁻¹³ at most, and what the rounding of coordinates can do.
    """
    from scipy.spatial import cKDTree  # not before there are many places: most metrics have none

    points, separation = separation_of(metric)
    order = np.argsort(which, kind="stable")
    kinds, starts = np.unique(which[order], return_index=True)
    members = np.split(points[order], starts[1:])
    for place, kind in enumerate(kinds[:-1].tolist()):
        tree, others = cKDTree(members[place]), points[order][starts[place + 1] :]
        nearest = np.minimum.reduceat(tree.query(others)[0], starts[place + 1 :] - starts[place + 1])
        bounds = separation.at_least(nearest * (1 - _ROUNDING_OF_A_CHORD))
        yield PairBlock(np.full(len(bounds), kind), kinds[place + 1 :].astype(np.int64), bounds)


def nearest_at_all(metric: PointsMetric) -> float:
    """Not above the smallest positive distance of two places, by as little; ∞ where all are at one spot."""
    from scipy.spatial import cKDTree

    points, separation = separation_of(metric)
    floor = float(separation.floor)
    spots = np.unique(points, axis=0)
    if floor > 0 and len(spots) < len(points):
        return floor
    if len(spots) < 2:
        return np.inf
    nearest = cKDTree(spots).query(spots, k=2)[0][:, 1].min()
    return float(separation.at_least(np.array([nearest * (1 - _ROUNDING_OF_A_CHORD)]))[0])


class NearPairs(NamedTuple):
    """Pairs of places ``first``, ``second`` (E,)."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]


class _Basis(NamedTuple):
    """``pairs``: K of them, with ``bounds`` (K,); ``inverse`` (K, K): B⁻¹, each entry rounded to the nearest."""

    pairs: NearPairs
    bounds: NDArray[np.float64]
    inverse: NDArray[np.float64]

    def sizes(self, values: NDArray[np.float64], centre: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """(E,): Σ_f |(B⁻¹v)_f − centre_f|·b_f of values (E, K) that are whole, *rounded up*."""
        doubt = (np.abs(values) @ np.abs(self.inverse).T) * ((values.shape[1] + 4) * 2 * UNIT_ROUNDOFF)
        return np.asarray((np.abs(self.places(values) - centre) * _CAUTION + doubt) @ self.bounds * _CAUTION)

    def places(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """B⁻¹v, rounded."""
        return np.asarray(values @ self.inverse.T)


def near_pairs(metric: PointsMetric, values: NDArray[np.int64], most: int) -> NearPairs | None:
    """Pairs of places such that noise that hides theirs hides all differences of ``values`` (N, K) between places.

    None where no short differences span all, or more than ``most`` pairs would be left to look at.
    Guarantee: whatever norm keeps ‖Δ_e‖ at most the distance of these pairs keeps it so for all.
    """
    from scipy.spatial import cKDTree

    points, separation = separation_of(metric)
    tree = cKDTree(points)
    moved = (values - values[:1]).astype(np.float64)
    basis = _basis(metric, values, tree.query(points, k=min(_NEIGHBOURS, len(points)))[1])
    if basis is None:
        return None
    centre = np.median(basis.places(moved), axis=0)
    furthest = 2 * float(basis.sizes(moved, centre).max()) * _CAUTION
    reach, whole = float(np.finfo(np.float64).tiny), 2 * float(np.abs(points).max()) * np.sqrt(points.shape[1])
    if float(separation.at_least(np.array([0.0]))[0]) < furthest:
        reach = whole
        while float(separation.at_least(np.array([reach / _STEP]))[0]) >= furthest:
            reach /= _STEP
    reach *= 1 + 1e-9
    if (tree.count_neighbors(tree, reach) - len(points)) // 2 > most:
        return None
    pairs = tree.query_pairs(reach, output_type="ndarray").astype(np.int64)
    needed = _needed(metric, moved, basis, pairs)
    kept = np.concatenate([pairs[needed], np.stack(basis.pairs, axis=1)])
    return NearPairs(kept[:, 0], kept[:, 1])


def _needed(
    metric: PointsMetric, moved: NDArray[np.float64], basis: _Basis, pairs: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which pairs are nearer than what is known of their difference."""
    needed = np.ones(len(pairs), dtype=bool)
    at_once = max(1, _ENTRIES_PER_BLOCK // moved.shape[1])
    for start in range(0, len(pairs), at_once):
        first, second = pairs[start : start + at_once].T
        sizes = basis.sizes(moved[first] - moved[second])
        needed[start : start + at_once] = metric.distance(first, second) < sizes
    return needed


def _basis(metric: PointsMetric, values: NDArray[np.int64], neighbours: NDArray[np.int64]) -> _Basis | None:
    """Short differences, as many as there are queries and independent; None where too few are."""
    from flint import fmpz_mat

    count = values.shape[1]
    if count > _MOST_QUERIES:
        return None
    first, second = np.repeat(np.arange(len(values)), neighbours.shape[1]), neighbours.ravel().astype(np.int64)
    bounds = metric.distance(first, second)
    moving = np.flatnonzero((bounds > 0) & np.any(values[first] != values[second], axis=1))
    order = moving[np.argsort(bounds[moving], kind="stable")][:_TRIED]
    spanned, chosen = np.zeros((0, count)), []
    for place in order.tolist():
        difference = (values[first[place]] - values[second[place]]).astype(np.float64)
        left = difference - spanned.T @ (spanned @ difference)
        left = left - spanned.T @ (spanned @ left)
        length = float(np.linalg.norm(left))
        if length > _NEW * float(np.linalg.norm(difference)):
            spanned = np.vstack([spanned, left / length])
            chosen.append(place)
        if len(chosen) == count:
            break
    if len(chosen) < count:
        return None
    columns = (values[first[chosen]] - values[second[chosen]]).T
    inverse = fmpz_mat(columns.tolist()).inv()
    # Python divides whole numbers to the nearest float64.
    entries = [[int(entry.p) / int(entry.q) for entry in row] for row in inverse.tolist()]
    return _Basis(NearPairs(first[chosen], second[chosen]), bounds[chosen], np.array(entries))
