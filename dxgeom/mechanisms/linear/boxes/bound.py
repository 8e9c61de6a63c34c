"""What no noise for boxes has a smaller total error than: by duality, on pairs of which an average is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.boxes.changes import BoxChanges, Pairs, every_pair, neighbours
from dxgeom.mechanisms.linear.boxes.promises import line_gaps
from dxgeom.mechanisms.linear.boxes.random_volumes import MOST_ENTRIES, random_volume_bound
from dxgeom.mechanisms.linear.marginals.promise import promise_of
from dxgeom.mechanisms.linear.marginals.set_family import family_of
from dxgeom.mechanisms.linear.marginals.volumes import tables_volume_bound
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.privacy.currencies import PURE, currency_of
from dxgeom.universe.workloads.box_queries import BoxQueries

_TOGETHER: Final = ((1_600, 1_600), (20_000, 800), (math.inf, 200))
"""Up to so many boxes, groups of so many have one bound; the groups' bounds add up."""
_STEPS: Final = 4
_UPWARD: Final = 1 + 2.0**-20
"""Distances are rounded down, a bound needs them rounded up; and sums in float64."""


def boxes_bound(metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]) -> float:
    """Total squared error, each times its cost (K,), that no additive noise which stretches to every spend is below.

    Definition: v_e = √c·Δ_e/d_e; for weights p of some pairs e, Σ p = 1, every Gaussian covariance has
    tr(C·Σ) ≥ (tr A^{1/2})², A = Σ p_e v_e v_eᵀ, and other noise ``least_mean_square`` times that. The
    pairs: of each attribute neighbours on its line, or all values, with every value of the others alike; and a record
    and none. Of all values the average of (u_i − u_j)² is 2n/(n−1) times the variance of u. More than 1,600 boxes are
    taken in groups, whose bounds add up; very many prefixes in closed form. Each box alone needs the variance of noise
    of its own or more; where these add up to more than a group's bound, they are taken. For pure privacy boxes that are
    whole tables, or restrict one attribute or two, have the bounds of volumes, if these and the others' add up to more.
    Guarantee: up to the rounding of float64 in eigenvalues, for which it is made smaller by 2⁻²⁰; and for pure privacy
    up to a chance of 10⁻⁹ in drawing directions, see :func:`random_volume_bound`.
    """
    boxes, least = boxes.merged, currency_of(metric.privacy).least_mean_square
    alone = costs * _each_alone(metric, boxes)
    every = np.arange(boxes.count)
    found = _by_duality(metric, boxes, costs, alone, every) * least
    if metric.privacy == PURE:
        for known, among in (_of_whole_tables(metric, boxes, costs), _by_directions(metric, boxes, costs)):
            if known:
                rest = _by_duality(metric, boxes, costs, alone, np.setdiff1d(every, among))
                found = max(found, known + rest * least)
    return found / _UPWARD


def _by_duality(
    metric: VerifiedMetric,
    boxes: BoxQueries,
    costs: NDArray[np.float64],
    alone: NDArray[np.float64],
    among: NDArray[np.int64],
) -> float:
    """Of some of the boxes, with normal noise."""
    total, left = 0.0, among
    for place in range(len(boxes.columns) if len(among) == boxes.count else 0):
        known, own = _of_all_prefixes(metric, boxes, costs, place)
        total, left = total + known, np.setdiff1d(left, own)
    size = next(together for most, together in _TOGETHER if len(among) <= most)
    groups = -(-len(left) // size)
    for start in range(groups):
        own = left[start::groups]
        total += max(_of_group(_moments(metric, boxes, own), np.sqrt(costs[own])), float(alone[own].sum()))
    return max(total, float(alone[among].sum()))


def _of_whole_tables(
    metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]
) -> tuple[float, NDArray[np.int64]]:
    """The boxes that are every cell of tables of one attribute or two, and the bound that pure noise for tables has."""
    asked, least, among = [], [], []
    for columns, places in boxes.supports:
        sizes = [boxes.sizes[place] for place in columns]
        lower, upper = boxes.lower[places][:, list(columns)], boxes.upper[places][:, list(columns)]
        cells = np.flatnonzero(np.all(upper - lower == 1, axis=1))
        if not 1 <= len(columns) <= 2 or len(cells) < math.prod(sizes):
            continue
        _, first = np.unique(np.ravel_multi_index(tuple(lower[cells].T), sizes), return_index=True)
        if len(first) == math.prod(sizes):
            own = places[cells[first]]
            asked.append(columns)
            least.append(float(costs[own].min()))
            among.append(own)
    if not asked:
        return 0.0, np.zeros(0, dtype=np.int64)
    most = [_most(metric, boxes, place) for place in range(len(boxes.columns))]
    constants = np.array([math.inf if one is None else float(one) for one in most])
    bound = tables_volume_bound(family_of(boxes.sizes, asked), constants, np.array(least), worst=False)
    return bound, np.concatenate(among)


def _by_directions(
    metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]
) -> tuple[float, NDArray[np.int64]]:
    """The boxes that restrict one attribute or two, and the bound by the volume of all that changes do to them."""
    few = [places for columns, places in boxes.supports if 1 <= len(columns) <= 2]
    among = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *few]))
    if not 0 < len(among) <= _TOGETHER[0][0]:
        return 0.0, among
    own = replace(boxes, lower=boxes.lower[among], upper=boxes.upper[among], importance=None, errors=()).merged
    values = [np.arange(size) for size in own.sizes]
    ends = zip(values, own.lower.T, own.upper.T, strict=True)
    inside = tuple(((low[:, None] <= one) & (one < high[:, None])).astype(np.float64) for one, low, high in ends)
    pairs: list[Pairs | None] = []
    for place, (line, size) in enumerate(zip(line_gaps(metric, own), own.sizes, strict=True)):
        if line is not None:
            pairs.append(neighbours(line * _UPWARD))
        else:
            most = _most(metric, own, place)
            pairs.append(None if most is None or size**2 > MOST_ENTRIES else every_pair(size, float(most) * _UPWARD))
    supports = tuple((columns, places) for columns, places in own.supports if columns)
    return random_volume_bound(BoxChanges(inside, supports, tuple(pairs), np.sqrt(costs[among]))), among


def worst_alone(metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]) -> float:
    """The largest of all squared errors, each times its cost, that no such noise is below: of some box alone."""
    alone = float((costs * _each_alone(metric, boxes.merged)).max())
    return alone * currency_of(metric.privacy).least_mean_square / _UPWARD


def _each_alone(metric: VerifiedMetric, boxes: BoxQueries) -> NDArray[np.float64]:
    """(K,): the least error of each box alone, with normal noise: from the closest pair of which it counts one."""
    inverse, gaps = np.zeros(boxes.count), line_gaps(metric, boxes)
    for place, (line, size) in enumerate(zip(gaps, boxes.sizes, strict=True)):
        lower, upper = boxes.lower[:, place], boxes.upper[:, place]
        if line is not None:
            ends = np.concatenate([[np.inf], line * _UPWARD, [np.inf]])
            nearest = np.minimum(ends[lower], ends[upper])
        else:
            most = _most(metric, boxes, place)
            nearest = np.where((lower > 0) | (upper < size), np.inf if most is None else float(most), np.inf)
        inverse = np.maximum(inverse, 1 / nearest)
    if isinstance(metric.metric, PresenceMetric):
        inverse = np.maximum(inverse, 1 / float(metric.metric.epsilon))
    return np.asarray(inverse**2)


def _most(metric: VerifiedMetric, boxes: BoxQueries, place: int) -> Fraction | None:
    """No two values that are told apart of this column are further apart; None where some are at no distance."""
    column = boxes.columns[place]
    return promise_of(metric.metric, boxes.universe.shape, {column.axis: column.codes}).most[0]


def _of_all_prefixes(
    metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64], place: int
) -> tuple[float, NDArray[np.int64]]:
    """Where very many boxes are every prefix of a column whose values are all at one distance, these boxes and their
    bound: the centred sums are the inverse of differences, whose singular values are 2·sin(πj/2n)."""
    whole = np.array(boxes.sizes)
    alone = [columns for columns, _ in boxes.supports].index((place,)) if _alone(boxes, place) else -1
    among = boxes.supports[alone][1] if alone >= 0 else np.zeros(0, dtype=np.int64)
    among = among[boxes.lower[among, place] == 0]
    ends, first = np.unique(boxes.upper[among, place], return_index=True)
    size = int(whole[place])
    nothing = 0.0, np.zeros(0, dtype=np.int64)
    if len(ends) < size - 1 or len(ends) <= _TOGETHER[0][1] or line_gaps(metric, boxes)[place] is not None:
        return nothing
    most = _most(metric, boxes, place)
    if most is None:
        return nothing
    lengths = float((0.5 / np.sin(np.pi * np.arange(1, size) / (2 * size))).sum())
    spread = _spread(size) / size
    return float(costs[among[first]].min()) * lengths**2 * spread / float(most) ** 2, among[first]


def _alone(boxes: BoxQueries, place: int) -> bool:
    return any(columns == (place,) for columns, _ in boxes.supports)


def _of_group(moments: Sequence[NDArray[np.float64]], roots: NDArray[np.float64]) -> float:
    """The best of some weights of the kinds of pairs, which are shifted to those that are worth more."""
    kinds = [roots[:, None] * one * roots for one in moments]
    shares, best = np.full(len(kinds), 1 / max(1, len(kinds))), 0.0
    for _ in range(_STEPS if len(kinds) > 1 else 1):
        whole = sum((share * one for share, one in zip(shares, kinds, strict=True)), np.zeros((len(roots),) * 2))
        values, vectors = np.linalg.eigh(whole)
        lengths = np.sqrt(np.maximum(values, 0.0))
        best = max(best, float(lengths.sum()) ** 2)
        inverse = np.where(lengths > lengths.max(initial=0) * 1e-6, 1 / np.where(lengths > 0, lengths, 1.0), 0.0)
        worth = np.array([float(((vectors.T @ one) * vectors.T).sum(axis=1) @ inverse) for one in kinds])
        if worth.max(initial=0) <= 0:
            break
        shares = shares * worth / (shares @ worth)
    return best


def _moments(metric: VerifiedMetric, boxes: BoxQueries, own: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Of each kind of pairs the average of Δ·Δᵀ/d² over boxes; kinds without a finite distance left out."""
    lower, upper = boxes.lower[own], boxes.upper[own]
    alike = [_both(lower[:, place], upper[:, place]) / size for place, size in enumerate(boxes.sizes)]
    gaps, found = line_gaps(metric, boxes), []
    for place, size in enumerate(boxes.sizes):
        line = gaps[place]
        if line is None:
            change = _among_all(lower[:, place], upper[:, place], size, _most(metric, boxes, place))
        else:
            change = _among_neighbours(lower[:, place], upper[:, place], line)
        if change is not None:
            others = [one for number, one in enumerate(alike) if number != place]
            found.append(np.asarray(math.prod(others, start=change)))
    if isinstance(metric.metric, PresenceMetric):
        found.append(math.prod(alike, start=np.full((len(own),) * 2, 1 / float(metric.metric.epsilon) ** 2)))
    return found


def _both(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.float64]:
    """(K, K): how many values lie in both intervals."""
    shared = np.minimum(upper[:, None], upper) - np.maximum(lower[:, None], lower)
    return np.asarray(np.maximum(shared, 0), dtype=np.float64)


def _among_all(
    lower: NDArray[np.int64], upper: NDArray[np.int64], size: int, most: Fraction | None
) -> NDArray[np.float64] | None:
    """Of every two different values alike: 2n/(n−1)·(shared/n − own·other/n²)/d²."""
    if most is None:
        return None
    lengths = (upper - lower) / size
    average = _both(lower, upper) / size - lengths[:, None] * lengths
    return np.asarray(_spread(size) * average / float(most) ** 2)


def _spread(size: int) -> float:
    """What the average of squared differences of two of so many values is over their variance."""
    return 2 * size / (size - 1)


def _among_neighbours(
    lower: NDArray[np.int64], upper: NDArray[np.int64], gaps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of neighbours on a line: a step over a box's lower end takes a record into it, over its upper end out of it. Each
    cut that is some box's end has the weight that is best for a count below it: as 1/d is to the others'."""
    size = len(gaps) + 1
    worth = np.zeros(len(gaps))
    used = np.unique(np.concatenate([lower[lower > 0], upper[upper < size]])) - 1
    if not used.size:
        return np.zeros((len(lower), len(lower)))
    worth[used] = gaps.min() / gaps[used]
    worth = np.concatenate([[0.0], worth / worth.sum() / (gaps * _UPWARD) ** 2, [0.0]])
    change = np.zeros((len(lower), len(lower)))
    for ends, others, sign in ((lower, lower, 1), (upper, upper, 1), (lower, upper, -1), (upper, lower, -1)):
        change += sign * np.where(ends[:, None] == others, worth[np.where(ends < size, ends, 0)][:, None], 0.0)
    return change
