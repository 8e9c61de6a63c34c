"""The steepest pair of a map on many places, without looking at every pair: two walks through one k-d tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

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
