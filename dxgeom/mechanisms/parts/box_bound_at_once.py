"""Bounds on the error of boxes that are known at once: of each box alone, and in closed form of prefixes and ranges."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.bounds.lines import prefixes_bound, ranges_bound
from dxgeom.mechanisms.linear.distance_bounds import distance_bounds_of
from dxgeom.mechanisms.parts.box_scales import line_gaps
from dxgeom.mechanisms.parts.totals_by_category import asked_by_category, category_bound, category_bounds
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.universe.workloads.box_queries import BoxQueries

UPWARD: Final = 1 + 2.0**-20
"""Distances are rounded down, a bound needs them rounded up; and sums in float64."""


def bound_at_once(metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]) -> float:
    """Total squared error, each times its cost, that no normal noise is below: a closed form for each attribute that
    has one, and each other box alone."""
    boxes = boxes.merged
    if found := of_prefixes_by_category(metric, boxes, costs):
        return found / UPWARD
    alone, total, left = costs * each_alone(metric, boxes), 0.0, np.arange(boxes.count)
    for place in range(len(boxes.columns)):
        alike = of_all_prefixes(metric, boxes, costs, place, 1)
        own, among = max(alike, where_records_go(metric, boxes, costs, place, left), key=lambda one: one[0])
        if own > float(alone[among].sum()):
            total, left = total + own, np.setdiff1d(left, among)
    return (total + float(alone[left].sum())) / UPWARD


def of_prefixes_by_category(metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]) -> float:
    """The same of prefixes along one column, which are asked alike for every combination of values of others, where
    records come and go; by weights of changes. 0 of others."""
    if len(boxes.columns) < 2 or not isinstance(metric.metric, PresenceMetric):
        return 0.0
    try:
        asked = asked_by_category(boxes, costs)
        bounds = category_bounds(metric, boxes, asked.line)
    except TooLarge:
        return 0.0
    if not asked.alike:
        return 0.0
    presence, others = metric.metric.epsilon, [place for place in range(len(boxes.columns)) if place != asked.line]
    each = [most_of(metric, boxes, place) for place in others]
    farthest = min(2 * presence, sum((2 * presence if one is None else one for one in each), Fraction(0)))
    return category_bound(float(presence), line_gaps(metric, boxes)[asked.line], float(farthest), bounds, asked.costs)


def each_alone(metric: VerifiedMetric, boxes: BoxQueries) -> NDArray[np.float64]:
    """(K,): the least error of each box alone, with normal noise: from the closest pair of which it counts one."""
    inverse, gaps = np.zeros(boxes.count), line_gaps(metric, boxes)
    for place, (line, size) in enumerate(zip(gaps, boxes.sizes, strict=True)):
        lower, upper = boxes.lower[:, place], boxes.upper[:, place]
        if line is not None:
            ends = np.concatenate([[np.inf], line * UPWARD, [np.inf]])
            nearest = np.minimum(ends[lower], ends[upper])
        else:
            most = most_of(metric, boxes, place)
            nearest = np.where((lower > 0) | (upper < size), np.inf if most is None else float(most), np.inf)
        inverse = np.maximum(inverse, 1 / nearest)
    if isinstance(metric.metric, PresenceMetric):
        inverse = np.maximum(inverse, 1 / float(metric.metric.epsilon))
    return np.asarray(inverse**2)


def most_of(metric: VerifiedMetric, boxes: BoxQueries, place: int) -> Fraction | None:
    """No two values that are told apart of this column are further apart; None where some are at no distance."""
    column = boxes.columns[place]
    return distance_bounds_of(metric.metric, boxes.universe.shape, {column.axis: column.codes}).most[0]


def of_all_prefixes(
    metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64], place: int, fewest: int
) -> tuple[float, NDArray[np.int64]]:
    """Where more than ``fewest`` boxes are every prefix of a column whose values are all at one distance, these boxes
    and their bound: the centred sums are the inverse of differences, whose singular values are 2·sin(πj/2n)."""
    whole = np.array(boxes.sizes)
    alone = [columns for columns, _ in boxes.supports].index((place,)) if _alone(boxes, place) else -1
    among = boxes.supports[alone][1] if alone >= 0 else np.zeros(0, dtype=np.int64)
    among = among[boxes.lower[among, place] == 0]
    ends, first = np.unique(boxes.upper[among, place], return_index=True)
    size = int(whole[place])
    nothing = 0.0, np.zeros(0, dtype=np.int64)
    if len(ends) < size - 1 or len(ends) <= fewest or line_gaps(metric, boxes)[place] is not None:
        return nothing
    most = most_of(metric, boxes, place)
    if most is None:
        return nothing
    lengths = float((0.5 / np.sin(np.pi * np.arange(1, size) / (2 * size))).sum())
    return float(costs[among[first]].min()) * lengths**2 * spread(size) / size / float(most) ** 2, among[first]


def of_whole_products(
    metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]
) -> tuple[float, NDArray[np.int64]]:
    """Where records come and go: boxes of several columns that are every combination of single values, or of ranges,
    along these; and what they err at the least. Polar factors of products are products, and so are their diagonals;
    bounds of different boxes add up."""
    total, among = 0.0, [np.zeros(0, dtype=np.int64)]
    if not isinstance(metric.metric, PresenceMetric):
        return total, among[0]
    for columns, places in boxes.supports:
        wide = [bool(np.any(boxes.upper[places, one] - boxes.lower[places, one] > 1)) for one in columns]
        if len(columns) < 2 or not any(wide):
            continue
        own, bound, needed, code = places, 1.0, 1, np.zeros(boxes.count, dtype=np.int64)
        for place, along in zip(columns, wide, strict=True):
            # The whole line restricts nothing: below the last value all ranges are here.
            told = int(boxes.sizes[place]) - along
            own = own[boxes.upper[own, place] <= told]
            needed *= told * (told + 1) // 2 if along else told
            code = code * told**2 + boxes.lower[:, place] * told + boxes.upper[:, place] - 1
            bound *= ranges_bound(told) if along else told
        first = np.unique(code[own], return_index=True)[1]
        if len(first) == needed:
            total, among = total + float(costs[own[first]].min()) * bound, [*among, own[first]]
    return total / float(metric.metric.epsilon) ** 2, np.concatenate(among)


def where_records_go(
    metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64], place: int, left: NDArray[np.int64]
) -> tuple[float, NDArray[np.int64]]:
    """Where records come and go, and boxes that are ``left`` are every range of a column, or every prefix: these, and
    their bound."""
    nothing = 0.0, np.zeros(0, dtype=np.int64)
    if not isinstance(metric.metric, PresenceMetric) or not _alone(boxes, place):
        return nothing
    supports, size = dict(boxes.supports), int(boxes.sizes[place])
    among = np.concatenate([supports[(place,)], supports.get((), np.zeros(0, dtype=np.int64))])
    among = np.intersect1d(among, left)
    ends = boxes.lower[among, place] * (size + 1) + boxes.upper[among, place]
    ends, first = np.unique(ends, return_index=True)
    found = []
    for bound, asked in ((ranges_bound, ends), (prefixes_bound, ends[ends <= size])):
        # Without the whole line the last value is in none.
        for told in (size, size - 1):
            needed = told * (told + 1) // 2 if bound is ranges_bound else told
            inside = asked[(asked % (size + 1) <= told) & (asked // (size + 1) < told)]
            if len(inside) == needed > 1:
                own = among[first[np.searchsorted(ends, inside)]]
                found.append((float(costs[own].min()) * bound(told), own))
    best, own = max(found, key=lambda one: one[0], default=nothing)
    return best / float(metric.metric.epsilon) ** 2, own


def _alone(boxes: BoxQueries, place: int) -> bool:
    return any(columns == (place,) for columns, _ in boxes.supports)


def spread(size: int) -> float:
    """What the average of squared differences of two of so many values is over their variance."""
    return 2 * size / (size - 1)
