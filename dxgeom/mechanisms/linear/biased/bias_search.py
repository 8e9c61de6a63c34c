"""How much bias pays: the scale at which a changed query's bias and noise together cost least."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.biased.bias_lines import BiasLines, ScaleCost, SquaredError, UniformBound, cheapest_scale
from dxgeom.mechanisms.linear.reciprocal_program import minimise_reciprocal_squares
from dxgeom.mechanisms.linear.score_sensitivities import query_sensitivities
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.lipschitz_maps import distances_to_all, lower_extension, upper_extension
from dxgeom.metrics.metric import Metric

SWEEPS = 20
_LINES = 300
_EQUAL = 1e-12
_WORTH_A_SWEEP = 1e-3
_GAP = 1e-4
_RANGE_BITS = 24
"""Changed weights have a unit of about so many bits below the widest range; scores multiply them by records."""
_LEAST = 2.0**-20
"""Scales below this part of the one without a bias are not tried: the answers would hardly depend on the data."""


def best_scale(metric: Metric, rows: NDArray[np.float64], cost: ScaleCost, start: float) -> float:
    """The scale c of least cost when every query is changed as little as makes it change by at most c·d.

    Definition: the bias that c needs is max (|v_i − v_j| − c·d(i, j))/2 over all rows v and *all* pairs, 0 at least: a
    convex function of c. Only pairs that are worst at some c that was tried become lines.
    Args: ``rows`` (K, N); ``start``: about the smallest scale without a bias.
    Guarantee: best for the metric as it is rounded, *approximate within* 1e-12 of the rows' range in the bias. Where no
    scale changes a bias, ``start``.
    """
    lines, scale = BiasLines(), start / 2
    tolerance = _EQUAL * float(np.ptp(rows, axis=1).max())
    for _ in range(_LINES):
        rise, run = max((_worst_pair(metric, row, scale) for row in rows), key=lambda pair: pair[0] - scale * pair[1])
        bias = (rise - scale * run) / 2
        if bias <= tolerance and not lines.rises:
            scale /= 2
            continue
        if lines.rises and bias <= float(lines.bias(np.array([scale]))[0]) + tolerance:
            break
        lines.add(rise, run)
        scale = cheapest_scale(lines, cost) or start
    return scale if lines.rises else start


def middle_map(metric: Metric, row: NDArray[np.float64], scale: float, *, whole: bool = False) -> NDArray[np.float64]:
    """Half-way between both extensions: no map that changes by at most scale·d has a smaller largest distance to the
    row.

    ``whole``: integers become integers, at most half a unit further off.
    """
    middle = (lower_extension(metric, row, scale, whole=whole) + upper_extension(metric, row, scale, whole=whole)) / 2
    # Sums that differ by at most 2m have halves, rounded down, that differ by at most m.
    return np.asarray(np.floor(middle) if whole else middle)


def closest_map(metric: Metric, row: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """As :func:`middle_map` in integers, with the same largest distance to the row but nearer to it elsewhere.

    Every map between upper − b and lower + b is within b of the row, and both ends change slowly enough: so do the
    extensions of the row when it is clipped to them.
    """
    lower, upper = lower_extension(metric, row, scale, whole=True), upper_extension(metric, row, scale, whole=True)
    bias = np.ceil(float((upper - lower).max()) / 2)
    return middle_map(metric, np.clip(row, upper - bias, lower + bias), scale, whole=True)


def _worst_pair(metric: Metric, values: NDArray[np.float64], scale: float) -> tuple[float, float]:
    """Rise and run of the pair with the largest v_i − v_j − scale·d(i, j)."""
    excess = values - lower_extension(metric, values, scale)
    one = int(excess.argmax())
    # No pair further apart than this has an excess, and infinity times nothing is not a number.
    distances = distances_to_all(metric, one, 2 * (float(np.ptp(values)) + 1) / scale)
    other = int((values + scale * distances).argmin())
    return float(values[one] - values[other]), float(distances[other])


@final
@dataclass(frozen=True, eq=False)
class JointSearch:
    """Several queries that share a metric, listed by its generating pairs.

    ``first``, ``second``, ``bounds``: (E,); ``rows`` (K, N): what was asked; ``factors`` (K,): what the squared error
    of each costs; ``prices`` (K,): its noise's variance over 2c².
    """

    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)
    bounds: NDArray[np.float64] = field(repr=False)
    rows: NDArray[np.float64] = field(repr=False)
    factors: NDArray[np.float64]
    prices: NDArray[np.float64]
    records: int

    def best(self, scales: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scales (K,) and rows (K, N) of a small total of factor·((n·bias)² + 2·price·c²).

        Query after query is changed in the best way for what the others leave of the metric, the closure of
        d − Σ |Δ_l|/c_l over generating pairs; then all scales are chosen anew together, as for unbiased answers. This
        is begun from the queries as they are, and from each changed on its own for a share of the metric.
        Guarantee: never worse than ``scales``, which must hide the rows as they are, nor than such shares; each step
        lowers the total, but together they may miss the least one, because the problem is not convex.
        """
        descents = [self._descent(*start) for start in ((scales, self.rows), self._by_shares(scales))]
        return min(descents, key=lambda found: self._total(*found))

    def _by_shares(self, scales: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Each query changed for its share of the metric: those that would make Σ factor·price·(c_k/share_k)² least,
        c_k the scale that the query needs for itself."""
        own = self.loads(self.rows, np.ones(len(scales)))[:, self.bounds > 0] / self.bounds[self.bounds > 0]
        shares = np.cbrt(self.factors * self.prices * own.max(axis=1) ** 2)
        shares /= shares.sum()
        apart = [GraphMetric(self.rows.shape[1], self.first, self.second, self.bounds * share) for share in shares]
        chosen = [
            best_scale(metric, row[None, :], SquaredError(self.records, float(price)), float(scale))
            for metric, row, price, scale in zip(apart, self.rows, self.prices, own.max(axis=1) / shares, strict=True)
        ]
        rows = [middle_map(metric, row, c) for metric, row, c in zip(apart, self.rows, chosen, strict=True)]
        return np.array(chosen), np.array(rows)

    def _descent(
        self, scales: NDArray[np.float64], rows: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found, least = (scales, rows), self._total(scales, rows)
        for _ in range(SWEEPS):
            rows, scales = self._swept(rows.copy(), scales.copy())
            # Where float64 fails, the scales from before hide these rows as well.
            with suppress(CertificateRefused):
                scales = self._shared_anew(rows, scales)
            total = self._total(scales, rows)
            worthwhile = total < least * (1 - _WORTH_A_SWEEP)
            if total < least:
                found, least = (scales, rows), total
            if not worthwhile:
                break
        return found

    def left_for(self, query: int, loads: NDArray[np.float64]) -> GraphMetric:
        """What the other queries' ``loads`` (K, E) leave of the metric, as edges whose closure it is."""
        others = loads.sum(axis=0) - loads[query]
        return GraphMetric(self.rows.shape[1], self.first, self.second, np.maximum(self.bounds - others, 0.0))

    def loads(self, rows: NDArray[np.float64], scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K, E): |Δ_k|/c_k."""
        return np.asarray(np.abs(rows[:, self.first] - rows[:, self.second]) / scales[:, None])

    def _swept(
        self, rows: NDArray[np.float64], scales: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        loads = self.loads(rows, scales)
        for query in range(len(rows)):
            left, asked = self.left_for(query, loads), self.rows[query : query + 1]
            cost = SquaredError(self.records, float(self.prices[query]))
            scales[query] = best_scale(left, asked, cost, float(scales[query]))
            rows[query] = middle_map(left, asked[0], float(scales[query]))
            loads[query] = self.loads(rows[query : query + 1], scales[query : query + 1])[0]
        return rows, scales

    def _shared_anew(self, rows: NDArray[np.float64], scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """The best scales for these rows; a constant row keeps its own."""
        changes = np.abs(rows[:, self.first] - rows[:, self.second])
        felt = self.bounds > 0
        loads = changes[:, felt] / self.bounds[felt]
        moving = loads.max(axis=1) > 0
        if not np.any(moving):
            return scales
        loads = loads[moving]
        loads = loads[:, loads.max(axis=0) > 0]
        renewed = scales.copy()
        weights = (self.factors * self.prices)[moving]
        renewed[moving] = 1 / minimise_reciprocal_squares(loads.T, weights / weights.max(), _GAP).rates
        return renewed

    def _total(self, scales: NDArray[np.float64], rows: NDArray[np.float64]) -> float:
        biases = np.abs(rows - self.rows).max(axis=1)
        return float(np.sum(self.factors * ((self.records * biases) ** 2 + 2 * self.prices * scales**2)))


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
