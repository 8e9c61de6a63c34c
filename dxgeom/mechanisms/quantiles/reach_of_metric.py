"""From a metric and the values of its records to what lengths are made of."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.quantiles.line_reach import LineReach
from dxgeom.mechanisms.quantiles.listed_reach import ListedReach
from dxgeom.mechanisms.quantiles.reach import FINEST, Reach, whole_units
from dxgeom.mechanisms.quantiles.values import OrderedValues
from dxgeom.metrics.combinations import CapMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.restriction import without_idle_attributes
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.shortest_paths import distances_from, edge_graph

MOST_KINDS = 2_000
"""Records between which all distances are listed."""


def reach_of(metric: Metric, values: OrderedValues, beside: float = 0.0, finest: int = FINEST) -> Reach:
    """What lengths are made of, in the simplest form that the metric has.

    Attributes that the values do not depend on are dropped first: records that differ in them alone need not move in
    them, and the bounds that are left are the same. What is left may be a line, a constant, a line under a ceiling, or
    a list of records with all their distances.
    Args: ``beside``: a distance that will be compared with these, so that units are no finer than it allows.
    ``finest``: about so many units the largest distance has at most.
    Guarantee: rests on ``generating_pairs`` only, whose bounds are rounded down to whole units; distances are their
    exact shortest paths, sums of integers below 2⁵³.
    Raises: TooLarge when more than 2,000 records would have to be listed.
    """
    if values.count == 1:
        return LineReach(Fraction(1), np.zeros(1, np.int64), None, values.places, 1)
    fewer, rows = without_idle_attributes(metric, values.places[None, : metric.size])
    kept = rows[0]
    alone = len(kept) == values.count and np.array_equal(kept, np.arange(values.count))
    inner, ceiling = _below_ceilings(fewer)
    if alone and isinstance(inner, LineMetric):
        return _on_a_line(inner, ceiling, values, beside, finest)
    if alone and isinstance(inner, DiscreteMetric):
        apart = min(round_down(inner.epsilon), ceiling)
        units, unit = whole_units(np.array([apart]), max(apart, beside), finest)
        return LineReach(unit, None, int(units[0]), values.places, values.count)
    one_each = len(kept) == values.count == len(np.unique(kept))
    if one_each:
        return _listed(fewer, values, np.argsort(kept)[values.places], kept, beside, finest)
    kinds = np.minimum(np.arange(len(values.places)), metric.size - 1)
    return _listed(metric, values, kinds, values.places[: metric.size], beside, finest)


def _below_ceilings(metric: Metric) -> tuple[Metric, float]:
    """The metric within ceilings, and the lowest of these; ∞ where there is none."""
    lowest = np.inf
    while isinstance(metric, CapMetric):
        lowest = min(lowest, round_down(metric.epsilon))
        metric = metric.inner
    return metric, float(lowest)


def _on_a_line(line: LineMetric, ceiling: float, values: OrderedValues, beside: float, finest: int) -> LineReach:
    """Shortest paths of consecutive bounds, or one step of the ceiling."""
    blocks = [pairs.bound for pairs in line.generating_pairs()]
    gaps = np.concatenate(blocks) if blocks else np.empty(0)
    length = math.fsum(gaps)
    # Only a ceiling that the whole line stays clearly below may be forgotten.
    capped = length * (1 + 2.0**-50) > ceiling
    bounds = np.append(gaps, ceiling) if capped else gaps
    units, unit = whole_units(bounds, max(min(length, ceiling), beside), finest)
    heights = np.concatenate([[0], np.cumsum(units[: len(gaps)])])
    return LineReach(unit, heights, int(units[-1]) if capped else None, values.places, values.count)


def _listed(
    metric: Metric,
    values: OrderedValues,
    kinds: NDArray[np.int64],
    places: NDArray[np.int64],
    beside: float,
    finest: int,
) -> ListedReach:
    size = metric.size
    if size > MOST_KINDS or size * values.count > MOST_KINDS**2:
        raise TooLarge(
            f"for a quantile under this metric the distances between {size:,} records would be listed; the limit is "
            f"{MOST_KINDS:,}: take a coarser step or fewer records, or a rule per unit of distance, which needs no list"
        )
    blocks = list(metric.generating_pairs())
    first = np.concatenate([pairs.first for pairs in blocks] or [np.empty(0, np.int64)])
    second = np.concatenate([pairs.second for pairs in blocks] or [np.empty(0, np.int64)])
    bounds = np.concatenate([pairs.bound for pairs in blocks] or [np.empty(0)])
    units, unit = whole_units(bounds, max(_diameter(metric), beside), finest)
    if not units.size:
        distances = np.where(np.eye(size, dtype=bool), 0.0, np.inf)
    else:
        graph = edge_graph(size, first, second, units.astype(np.float64))
        distances = distances_from(graph, np.arange(size))
    return ListedReach(unit, distances, kinds, places, values.count)


def _diameter(metric: Metric) -> float:
    apart = metric.distance(np.arange(metric.size)[:, None], np.arange(metric.size))
    return float(np.max(apart[np.isfinite(apart)], initial=0.0))
