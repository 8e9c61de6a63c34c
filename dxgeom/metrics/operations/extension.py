"""The nearest maps that change no faster than a metric: the lower and the upper extension of McShane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.families.graph import GraphMetric
from dxgeom.metrics.families.line import LineMetric
from dxgeom.metrics.families.star import StarMetric
from dxgeom.metrics.kernels.axis_reductions import lowest_along_line
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.shortest_paths import edge_graph, lowest_arrivals

PAIR_LIMIT = 100_000_000
"""Where a metric has no structure all pairs are compared, up to so many."""
_ENTRIES_PER_BLOCK = 1 << 22


def lower_extension(
    metric: Metric, values: NDArray[np.float64], scale: float, *, whole: bool = False
) -> NDArray[np.float64]:
    """(N,): the largest map below ``values`` (N,) that changes by at most scale·d.

    Definition: min_j (v_j + scale·d(i, j)), over *all* j: an excess builds up along a path, so generating pairs alone
    would show too little of it. Sums go axis by axis, lines in two passes, graphs by one shortest-path search, ceilings
    and constants by a minimum; other metrics compare all pairs.
    Args: ``whole``: for integer values, the largest *integer* map that changes by at most ⌊scale·b_e⌋ along every
    generating pair e.
    Guarantee: *exact* with ``whole`` for values below 2⁵¹, but that an allowance next to an integer may count as one
    less; else within float64's rounding.
    Raises: TooLarge beyond the stated number of pairs.
    """
    grid = np.asarray(values, dtype=np.float64).reshape(1, -1, 1)
    return _along(metric, grid, _Allowance(scale, whole, float(np.ptp(grid)) + 2)).reshape(-1)


def upper_extension(
    metric: Metric, values: NDArray[np.float64], scale: float, *, whole: bool = False
) -> NDArray[np.float64]:
    """(N,): the smallest map above ``values`` that changes by at most scale·d, in the same sense."""
    return -lower_extension(metric, -np.asarray(values, dtype=np.float64), scale, whole=whole)


def distances_to_all(metric: Metric, record: int, most: float) -> NDArray[np.float64]:
    """(N,): min(d(record, j), most) for every j."""
    if isinstance(metric, GraphMetric):
        # One search instead of one from each record of a lower index, as symmetric rounding asks for.
        elsewhere = np.where(np.arange(metric.size) == record, 0.0, most)
        return lower_extension(metric, elsewhere, 1.0)
    return np.minimum(metric.distance(record, np.arange(metric.size)), most)


@final
@dataclass(frozen=True)
class _Allowance:
    """How far a map may change over a distance; more than ``most`` it never does."""

    scale: float
    whole: bool
    most: float

    def over(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        allowed = np.minimum(self.scale * distances, self.most)
        # A product that rounding lifted to the next integer must not be allowed more than the exact one.
        return np.asarray(np.floor(allowed * (1 - 2.0**-52)) if self.whole else allowed)

    def over_one(self, epsilon: float) -> float:
        return float(self.over(np.array([epsilon]))[0])


def _along(metric: Metric, grid: NDArray[np.float64], allowed: _Allowance) -> NDArray[np.float64]:
    """The extension of every fibre ``grid[o, :, i]``, each a map on the metric's records."""
    match metric:
        case DiscreteMetric(epsilon=epsilon):
            return _under_ceiling(grid, grid, allowed.over_one(round_down(epsilon)))
        case CapMetric(inner=inner, epsilon=epsilon):
            return _under_ceiling(_along(inner, grid, allowed), grid, allowed.over_one(round_down(epsilon)))
        case LineMetric():
            return lowest_along_line(np.ascontiguousarray(grid), allowed.over(metric.gaps))
        case StarMetric():
            # Through the centre; two arms rounded down allow no more than their sum rounded down.
            arms = allowed.over(metric.rounded)[:, None]
            return _under_ceiling(grid, grid + arms, arms)
        case SumMetric(parts=parts):
            for axis, part in enumerate(parts):
                grid = _along(part, metric.grid_along(grid, axis), allowed).reshape(grid.shape)
            return grid
        case GraphMetric() if grid.size == metric.size:
            graph = edge_graph(metric.count, metric.first, metric.second, allowed.over(metric.bounds))
            return lowest_arrivals(graph, grid.reshape(-1)).reshape(grid.shape)
        case _:
            return _by_pairs(metric, grid, allowed)


def _under_ceiling(
    inner: NDArray[np.float64], grid: NDArray[np.float64], ceiling: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """No further above the lowest of the fibre's other entries than the ceiling."""
    return np.asarray(np.minimum(inner, grid.min(axis=1, keepdims=True) + ceiling))


def _by_pairs(metric: Metric, grid: NDArray[np.float64], allowed: _Allowance) -> NDArray[np.float64]:
    size, fibres = metric.size, grid.size // metric.size
    if size * size * fibres > PAIR_LIMIT:
        raise TooLarge(
            f"{size:,} records in {fibres:,} rows would be compared pair by pair; at most {PAIR_LIMIT:,} comparisons "
            "are made to find the best change of a query: coarsen the universe"
        )
    maps = np.moveaxis(grid, 1, 2).reshape(fibres, size)
    lowered = _one_pass(metric, maps, allowed)
    # Rounded allowances need not obey the triangle inequality, so a path of several steps may allow less than one.
    while allowed.whole and not np.array_equal(lowered, maps):
        maps, lowered = lowered, _one_pass(metric, lowered, allowed)
    return np.moveaxis(lowered.reshape(len(grid), -1, size), 2, 1)


def _one_pass(metric: Metric, maps: NDArray[np.float64], allowed: _Allowance) -> NDArray[np.float64]:
    lowered = np.empty_like(maps)
    everywhere = np.arange(metric.size)
    rows = max(1, _ENTRIES_PER_BLOCK // metric.size)
    for start in range(0, metric.size, rows):
        here = everywhere[start : start + rows]
        reach = allowed.over(metric.distance(here[:, None], everywhere[None, :]))
        for place, values in enumerate(maps):
            lowered[place, here] = (reach + values).min(axis=1)
    return lowered
