"""How far apart two records are at most: paths along the bounds that mechanisms hide, never shorter than they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.metric import Metric, gathered
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.shortest_paths import distances_from, edge_graph

MOST_PAIRS = 5_000_000


def path_lengths(metric: Metric, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """(S, E): the shortest path from each start to each end over the generating pairs' float bounds, *rounded up*.

    What every mechanism here bounds is the loss along these very pairs; :meth:`Metric.distance` is rounded down, and so
    may state a little less than their sum.
    Raises: TooLarge when a metric that is no sum has more than five million generating pairs.
    """
    if isinstance(metric, SumMetric):
        shape = metric.shape
        lengths = np.zeros((len(starts), len(ends)))
        for part, i, j in zip(
            metric.parts, np.unravel_index(starts, shape), np.unravel_index(ends, shape), strict=True
        ):
            lengths = (lengths + _between_codes(part, i, j)) * (1 + 2 * UNIT_ROUNDOFF)
        return lengths
    refusal = f"paths are sought over at most {MOST_PAIRS:,} generating pairs"
    pairs = gathered(metric.generating_pairs(), MOST_PAIRS, refusal)
    lengths = distances_from(edge_graph(metric.size, *pairs), starts)[:, ends]
    return np.asarray(lengths * (1 + (metric.size + 4) * 2 * UNIT_ROUNDOFF))


def _between_codes(part: Metric, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
    """Codes repeat among records, so each is looked up once."""
    starts, from_start = np.unique(i, return_inverse=True)
    ends, from_end = np.unique(j, return_inverse=True)
    return path_lengths(part, starts, ends)[np.ix_(from_start, from_end)]
