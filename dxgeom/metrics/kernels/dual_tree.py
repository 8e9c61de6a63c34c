"""The steepest pair of a map on many places, without looking at every pair: two walks through one k-d tree."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray

_LEAF = 16
_MARGIN = 2e-14
"""Distances are lowered by this relative amount: more than they and the box distances are rounded by."""
_LINEAR_BELOW = 1e140
"""Beyond, squares overflow; the ranges alone then bound a pair of nodes."""
Floats: TypeAlias = NDArray[np.float64]
Law: TypeAlias = tuple[float, float, float, float]


class Separation(NamedTuple):
    """How far a pair is kept apart: max(floor, rate·(D·(1 − 2·10⁻¹⁴) − error)), never negative.

    D: the distance in space when ``radius`` is 0, else radius times the angle between two unit vectors.
    """

    rate: float
    floor: float
    error: float
    radius: float


@numba.njit(cache=True)
def _split(points: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Order of the places, [start, stop) of each node of a complete tree (root 1, children 2k, 2k + 1), its box."""
    count, dimensions = points.shape
    inner = 1
    while count > inner * _LEAF:
        inner *= 2
    order = np.arange(count)
    ends = np.zeros((2 * inner, 2), np.int64)
    ends[1, 1] = count
    low, high = np.empty((2 * inner, dimensions)), np.empty((2 * inner, dimensions))
    for node in range(1, 2 * inner):
        start, stop = ends[node]
        for axis in range(dimensions):
            coordinates = points[order[start:stop], axis]
            low[node, axis], high[node, axis] = coordinates.min(), coordinates.max()
        if node < inner:
            widest = np.argmax(high[node] - low[node])
            here = order[start:stop].copy()
            order[start:stop] = here[np.argsort(points[here, widest])]
            middle = (start + stop) // 2
            ends[2 * node, 0], ends[2 * node, 1] = start, middle
            ends[2 * node + 1, 0], ends[2 * node + 1, 1] = middle, stop
    return order, ends, low, high


@numba.njit(cache=True)
def _kept_apart(distance: float, law: Law) -> float:
    rate, floor, error, _ = law
    return max(floor, rate * max(distance * (1 - _MARGIN) - error, 0.0))


@numba.njit(cache=True)
def _at_least(chord: float, law: Law) -> float:
    """The separation of any pair whose chord is not shorter; the arcsine's argument is lowered by what rounding,
    also of the unit vectors, can raise it."""
    radius = law[3]
    distance = radius * 2 * math.asin(min(chord / 2 * (1 - _MARGIN), 1.0)) * (1 - _MARGIN) if radius > 0 else chord
    return _kept_apart(distance, law)


@numba.njit(cache=True)
def _exactly(one: Floats, other: Floats, chord: float, law: Law) -> float:
    """The separation of one pair; chord and antichord together are accurate for near places and antipodes alike."""
    radius, distance = law[3], chord
    if radius > 0:
        square = 0.0
        for axis in range(one.size):
            square += (one[axis] + other[axis]) ** 2
        distance = radius * 2 * math.atan2(chord, math.sqrt(square))
    return _kept_apart(distance, law)


@numba.njit(cache=True)
def _best_in(
    first: tuple[int, int],
    second: tuple[int, int],
    points: Floats,
    values: Floats,
    law: Law,
    best: float,
) -> float:
    """The largest quotient between two runs of places, or within one."""
    floor, straight = law[1], (law[0], law[1], law[2], 0.0)
    scale = law[3] * (1 - 10 * _MARGIN) if law[3] > 0 else 1.0
    for i in range(first[0], first[1]):
        for j in range(max(second[0], i + 1), second[1]):
            change = abs(values[i] - values[j])
            if change == 0 or change <= best * floor:
                continue
            square = 0.0
            for axis in range(points.shape[1]):
                square += (points[i, axis] - points[j, axis]) ** 2
            chord = math.sqrt(square)
            # An arc is not shorter than its chord, and the chord is cheap.
            if change > best * _kept_apart(scale * chord, straight):
                apart = _exactly(points[i], points[j], chord, law)
                best = max(best, change / apart if apart > 0 else np.inf)
    return best


@numba.njit(cache=True)
def _bound(
    one: int,
    other: int,
    boxes: tuple[Floats, Floats],
    ranges: tuple[Floats, Floats, Floats, Floats],
    slope: float,
    law: Law,
) -> float:
    """No pair between two nodes has a larger quotient: ranges over the boxes' distance, or slope and what it leaves."""
    low, high = boxes
    square = 0.0
    for axis in range(low.shape[1]):
        gap = max(0.0, low[one, axis] - high[other, axis], low[other, axis] - high[one, axis])
        square += gap**2
    chord = math.sqrt(square)
    apart = _at_least(chord, law)
    change = max(ranges[1][one] - ranges[0][other], ranges[1][other] - ranges[0][one])
    if change <= 0:
        return 0.0
    if apart <= 0:
        return np.inf
    if apart > law[1]:
        left = max(ranges[3][one] - ranges[2][other], ranges[3][other] - ranges[2][one])
        change = min(change, (slope * chord + left) * (1 + 1e-13))
    return float(change / apart)


@numba.njit(cache=True)
def _walk(
    ends: NDArray[np.int64],
    boxes: tuple[Floats, Floats],
    points: Floats,
    values: Floats,
    ranges: tuple[Floats, Floats, Floats, Floats],
    slope: float,
    law: Law,
    best: float,
    slack: float,
) -> float:
    leaves = len(ends) // 2
    for node in range(leaves, 2 * leaves):
        here = (ends[node, 0], ends[node, 1])
        best = _best_in(here, here, points, values, law, best)
    stack = [(1, 1, np.inf)]
    while len(stack) > 0:
        one, other, bound = stack.pop()
        if bound <= best * slack:
            continue
        if one >= leaves:
            if one != other:
                runs = (ends[one, 0], ends[one, 1]), (ends[other, 0], ends[other, 1])
                best = _best_in(runs[0], runs[1], points, values, law, best)
            continue
        fresh = []
        for left in (2 * one, 2 * one + 1):
            for right in (2 * other, 2 * other + 1):
                if one == other and left > right:
                    continue
                above = np.inf if left == right else _bound(left, right, boxes, ranges, slope, law)
                if above > best * slack:
                    fresh.append((above, left, right))
        fresh.sort()
        for above, left, right in fresh:
            stack.append((left, right, above))
    return best


def steepest_quotient(points: Floats, values: Floats, separation: Separation, tolerance: float = 0.0) -> float:
    """max |v_i − v_j| / (separation of i and j) over all pairs, *rounded up* by a relative tolerance + 10⁻¹³ at most.

    Args: ``points`` (n, dims), on the unit sphere when ``separation.radius`` is positive; ``values`` (n,) finite.
    Guarantee: never below the exact maximum; ∞ when places that nothing separates have different values.
    A tolerance saves most of the work on maps that are linear up to small remainders.
    """
    order, ends, low, high = _split(points)
    points, values = np.ascontiguousarray(points[order]), np.ascontiguousarray(values[order])
    slopes, remainder, doubt = _linear_part(points, values)
    starts = ends[len(ends) // 2 :, 0]
    extremes = (np.minimum, values), (np.maximum, values), (np.minimum, remainder), (np.maximum, remainder)
    ranges = [_up_the_tree(choose, choose.reduceat(of, starts)) for choose, of in extremes]
    slope = float(np.sqrt(np.sum(slopes**2))) * (1 + 1e-14)
    law = (separation.rate, separation.floor, separation.error, separation.radius)
    held = (ranges[0], ranges[1], ranges[2] - doubt, ranges[3] + doubt)
    best = float(_walk(ends, (low, high), points, values, held, slope, law, 0.0, 1 + tolerance))
    return float(np.nextafter(best * (1 + tolerance) * (1 + 1e-14), np.inf)) if best > 0 else 0.0


def _linear_part(points: Floats, values: Floats) -> tuple[Floats, Floats, float]:
    """A linear map close to the values, what it leaves of them, and how far rounding may have moved the remainder."""
    reach = float(np.abs(values).max())
    if not reach < _LINEAR_BELOW or not np.abs(points).max() < _LINEAR_BELOW:
        return np.zeros(points.shape[1]), values, 0.0
    slopes = np.linalg.lstsq(points - points.mean(axis=0), values - values.mean(), rcond=None)[0]
    heights = float(np.abs(points * slopes).sum(axis=1).max())
    return slopes, values - points @ slopes, 16 * 2.0**-53 * (reach + heights)


def _up_the_tree(choose: np.ufunc, leaves: Floats) -> Floats:
    nodes = np.concatenate([np.empty(len(leaves)), leaves])
    for node in range(len(leaves) - 1, 0, -1):
        nodes[node] = choose(nodes[2 * node], nodes[2 * node + 1])
    return nodes
