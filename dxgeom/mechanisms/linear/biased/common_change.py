"""Queries changed with one scale for all of them, where a selection's error grows with the steepest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.biased.bias_lines import UniformBound
from dxgeom.mechanisms.linear.biased.bias_search import best_scale, closest_map
from dxgeom.mechanisms.linear.score_sensitivities import query_sensitivities
from dxgeom.metrics.metric import Metric

_RANGE_BITS = 24
"""Changed weights have a unit of about so many bits below the widest range; scores multiply them by records."""
_LEAST = 2.0**-20
"""Scales below this part of the one without a bias are not tried: the answers would hardly depend on the data."""


@final
@dataclass(frozen=True, eq=False)
class CommonChange:
    """Rows (K, N) of integers in units over 2^``finer``; ``shift``: the furthest from what was asked, in such units."""

    rows: NDArray[np.int64]
    finer: int
    shift: int


def changed_alike(metric: Metric, rows: NDArray[np.int64], records: int, per_scale: float) -> CommonChange:
    """The rows (K, N) changed as little as makes each change by at most c·d, where n·bias + per_scale·c is least.

    Definition: the bias of c is max (|v_i − v_j| − c·d(i, j))/2 over all rows and all pairs, 0 at least; so the best c
    is one of its breakpoints, or next to 0, where the answers hardly depend on the data.
    Guarantee: the shift is *exact*; the changed rows have no larger sensitivity than c but for rounding, and whoever
    rests a promise on it computes it anew.
    Raises: TooLarge for metrics without structure on too many records; UnboundedLoss when a row separates records at
    distance 0.
    """
    widest = int(np.ptp(rows, axis=1).max())
    finer = max(0, _RANGE_BITS - widest.bit_length())
    fine = rows << finer
    steepest = float(query_sensitivities(metric, fine).max())
    if steepest == 0:
        return CommonChange(rows, 0, 0)
    lowest = fine.min(axis=1, keepdims=True)
    values = (fine - lowest).astype(np.float64)
    cost = UniformBound(records, per_scale, steepest * _LEAST)
    scale = best_scale(metric, values, cost, steepest)
    changed = np.array([closest_map(metric, row, scale) for row in values]).astype(np.int64) + lowest
    return CommonChange(changed, finer, int(np.abs(changed - fine).max()))
