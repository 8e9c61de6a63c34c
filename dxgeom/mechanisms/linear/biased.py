"""Answers to other queries than asked, with a known bias and less noise.

It pays where records are few: at the scale where a changed query's bias and noise together cost least, which follows
from the pairs that cause the bias.

A pair whose answers differ by ``rise`` and whose distance is ``run`` costs a bias of (rise − c·run)/2 at scale c. The
bias is the largest of these lines, so what is sought is the lowest point of a function of one variable whose shape
changes at finitely many breakpoints: all of them are looked at.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import minimise_reciprocal_squares, optimal_laplace
from dxgeom.mechanisms.linear.lattice import QueryChange
from dxgeom.mechanisms.linear.score_sensitivities import query_sensitivities
from dxgeom.mechanisms.linear.sensitivity import Sensitivity, sensitivity_of
from dxgeom.metrics.diameters import smallest_distance
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.lipschitz_maps import distances_to_all, lower_extension, upper_extension
from dxgeom.metrics.metric import Metric
from dxgeom.universe.queries import LinearQueries


@final
@dataclass
class BiasLines:
    """The lines found so far."""

    rises: list[float] = field(default_factory=list)
    runs: list[float] = field(default_factory=list)

    def add(self, rise: float, run: float) -> None:
        self.rises.append(rise)
        self.runs.append(run)

    def bias(self, scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest of the lines, at least 0, at each scale."""
        heights = np.array(self.rises) - scales[:, None] * np.array(self.runs)
        return np.asarray(np.maximum(heights.max(axis=1), 0.0) / 2)

    def breakpoints(self) -> NDArray[np.float64]:
        """The positive scales at which two lines meet, or one meets 0."""
        rises, runs = np.array([*self.rises, 0.0]), np.array([*self.runs, 0.0])
        first, second = np.triu_indices(len(rises), 1)
        steeper = runs[first] != runs[second]
        first, second = first[steeper], second[steeper]
        meetings = (rises[first] - rises[second]) / (runs[first] - runs[second])
        return np.asarray(meetings[meetings > 0])


class ScaleCost(ABC):
    """What a scale costs together with the bias that it leaves."""

    @abstractmethod
    def total(self, scales: NDArray[np.float64], biases: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cost of each scale with its bias."""

    @abstractmethod
    def lowest(self, rise: float, run: float) -> float:
        """The scale of least cost along one line while that is above 0, its end there apart."""


@final
@dataclass(frozen=True)
class SquaredError(ScaleCost):
    """(n·bias)² + 2·price·c²: the mean squared error of n records, with Laplace noise of scale c when price is 1."""

    records: int
    price: float = 1.0

    def total(self, scales: NDArray[np.float64], biases: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((self.records * biases) ** 2 + 2 * self.price * scales**2)

    def lowest(self, rise: float, run: float) -> float:
        slope = float(self.records) ** 2 * run
        return slope * rise / (slope * run + 8 * self.price)


@final
@dataclass(frozen=True)
class UniformBound(ScaleCost):
    """n·bias + per_scale·c, a bound on all answers' errors at once; c is at least ``least``, which is positive."""

    records: int
    per_scale: float
    least: float

    def total(self, scales: NDArray[np.float64], biases: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.records * biases + self.per_scale * np.maximum(scales, self.least))

    def lowest(self, rise: float, run: float) -> float:
        return self.least


def _cheapest_scale(lines: BiasLines, cost: ScaleCost) -> float:
    """The positive scale of least cost when there are no other lines; float64. 0 when no scale changes the bias."""
    own = np.array([cost.lowest(rise, run) for rise, run in zip(lines.rises, lines.runs, strict=True)])
    scales = np.concatenate([lines.breakpoints(), own[own > 0]])
    if not scales.size:
        return 0.0
    return float(scales[np.argmin(cost.total(scales, lines.bias(scales)))])


SWEEPS = 20
_LINES = 300
_EQUAL = 1e-12
_WORTH_A_SWEEP = 1e-3
_GAP = 1e-4
RANGE_BITS = 24
"""Changed weights have a unit of about so many bits below the widest range; scores multiply them by records."""
_LEAST = 2.0**-20
"""Scales below this part of the one without a bias are not tried: the answers would hardly depend on the data."""


def _best_scale(metric: Metric, rows: NDArray[np.float64], cost: ScaleCost, start: float) -> float:
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
        scale = _cheapest_scale(lines, cost) or start
    return scale if lines.rises else start


def _middle_map(metric: Metric, row: NDArray[np.float64], scale: float, *, whole: bool = False) -> NDArray[np.float64]:
    """Half-way between both extensions: no map that changes by at most scale·d has a smaller largest distance to the
    row.

    ``whole``: integers become integers, at most half a unit further off.
    """
    middle = (lower_extension(metric, row, scale, whole=whole) + upper_extension(metric, row, scale, whole=whole)) / 2
    # Sums that differ by at most 2m have halves, rounded down, that differ by at most m.
    return np.asarray(np.floor(middle) if whole else middle)


def closest_map(metric: Metric, row: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """As :func:`_middle_map` in integers, with the same largest distance to the row but nearer to it elsewhere.

    Every map between upper − b and lower + b is within b of the row, and both ends change slowly enough: so do the
    extensions of the row when it is clipped to them.
    """
    lower, upper = lower_extension(metric, row, scale, whole=True), upper_extension(metric, row, scale, whole=True)
    bias = np.ceil(float((upper - lower).max()) / 2)
    return _middle_map(metric, np.clip(row, upper - bias, lower + bias), scale, whole=True)


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
            _best_scale(metric, row[None, :], SquaredError(self.records, float(price)), float(scale))
            for metric, row, price, scale in zip(apart, self.rows, self.prices, own.max(axis=1) / shares, strict=True)
        ]
        rows = [_middle_map(metric, row, c) for metric, row, c in zip(apart, self.rows, chosen, strict=True)]
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
            scales[query] = _best_scale(left, asked, cost, float(scales[query]))
            rows[query] = _middle_map(left, asked[0], float(scales[query]))
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
    finer = max(0, RANGE_BITS - widest.bit_length())
    fine = rows << finer
    steepest = float(query_sensitivities(metric, fine).max())
    if steepest == 0:
        return CommonChange(rows, 0, 0)
    lowest = fine.min(axis=1, keepdims=True)
    values = (fine - lowest).astype(np.float64)
    cost = UniformBound(records, per_scale, steepest * _LEAST)
    scale = _best_scale(metric, values, cost, steepest)
    changed = np.array([closest_map(metric, row, scale) for row in values]).astype(np.int64) + lowest
    return CommonChange(changed, finer, int(np.abs(changed - fine).max()))


WEIGHT_LIMIT = 1 << 20
"""More weights than this are not changed one by one."""
LOAD_LIMIT = 1 << 19
"""Several queries are changed together up to so many generating pairs times queries."""
_LARGEST_RANGE_BITS = 40
_WIDEST_BITS = 51
_SCALE_BITS = 29
"""A noise scale has so many bits of its lattice: more would be rounded away again."""


def most_saved(sensitivity: Sensitivity, records: int) -> float:
    """No change of queries makes optimal Laplace noise's squared errors smaller than 1 − this times what they were.

    Definition: 1 − (1 + √8·K/(n·d_min))⁻², d_min the smallest positive distance. From any changed queries with biases
    n·b_k and scales c_k, the scales max((1 + η)·c_k, 2·b_k·K·(1 + η)/(η·d_min)) hide the unchanged queries; with η =
    √8·K/(n·d_min) no squared error grows by more than (1 + η)².
    """
    nearest = smallest_distance(sensitivity.metric.metric)
    growth = math.sqrt(8) * len(sensitivity.queries.names) / (records * nearest)
    return 1 - 1 / (1 + growth) ** 2


def changed(
    sensitivity: Sensitivity,
    records: int,
    factors: NDArray[np.float64] | None = None,
    prices: NDArray[np.float64] | None = None,
) -> tuple[Sensitivity, QueryChange]:
    """Other queries that need less noise, close enough to those asked for the total squared error to be small.

    Definition: minimise Σ ω_k·((n·b_k)² + 2·p_k·c_k²) over queries q' and scales c with |q'_k − q_k| ≤ b_k and
    Σ_k |Δ'_k|/c_k ≤ d. One query exactly: at a given c the best q' is half-way between McShane's two extensions, and
    the best c is one of finitely many breakpoints and valleys. Several, one after another: see :class:`JointSearch`.
    Args: ``records``: n, public; ``factors`` ω, ``prices`` p (K,): 1 for Laplace noise and equal importance.
    Guarantee: the sensitivity returned is that of the changed queries, by the same exact route as any other, so nothing
    that privacy rests on was optimised. Shifts are *exact*.
    Raises: TooLarge when the queries are too many to be changed weight by weight, or too fine.
    Source: Kamalaruban et al. 2020, §3.1, eq. (6); corrected: the bound there counts both terms twice, and the largest
    bias of one query is n·max_i |q'_i − q_i|.
    """
    noisy = np.flatnonzero(sensitivity.of_each_query > 0)
    if not noisy.size:
        raise TooLarge("no answer needs noise, so there is nothing to save by a bias")
    fine = _fine(sensitivity, noisy)
    ones = np.ones(len(sensitivity.queries.names))
    scale_factors = (ones if factors is None else factors) * fine.units**2
    search = _Search(sensitivity, fine, records, scale_factors[noisy], (ones if prices is None else prices)[noisy])
    rows, units = fine.matrix.copy(), list(sensitivity.queries.steps)
    shifts = list(sensitivity.queries.weight_errors)
    for place, (row, coarser) in enumerate(search.found()):
        query = int(noisy[place])
        rows[query], units[query], shift = fine.replaced(place, row, coarser)
        shifts[query] += shift
    answered = sensitivity_of(sensitivity.metric, LinearQueries(sensitivity.queries.names, rows, tuple(units)))
    if any(answered.queries.weight_errors):
        raise TooLarge("the changed weights are too fine for the lattice of their noise")
    return answered, QueryChange(sensitivity.queries, records, tuple(shifts))


def biased_mechanism(mechanism: AdditiveMechanism, change: QueryChange) -> AdditiveMechanism:
    """The same mechanism, made for changed queries, as one that answers what was asked, with a known bias."""
    return replace(mechanism, name="changed-queries", change=change)


@final
@dataclass(frozen=True, eq=False)
class _Fine:
    """The queries that change, on lattices fine enough for any change: row k is ``values[k]·unit + lowest·step``.

    ``values`` (k, N): integers below 2⁵¹ as float64, from 0; ``finer`` (k,): a unit is a step over 2^finer.
    """

    matrix: NDArray[np.int64]
    steps: tuple[Fraction, ...]
    places: NDArray[np.int64]
    values: NDArray[np.float64]
    finer: NDArray[np.int64]

    @property
    def units(self) -> NDArray[np.float64]:
        """(K,): of every query, in its answer's unit; its step where it does not change."""
        units = np.array([float(step) for step in self.steps])
        units[self.places] /= 2.0**self.finer
        return units

    def replaced(
        self, place: int, row: NDArray[np.float64], coarser: int
    ) -> tuple[NDArray[np.int64], Fraction, Fraction]:
        """The numerators and the unit of a row of integers in 2^coarser units, and how far it is from what was asked;
        *exact*."""
        query, finer = self.places[place], int(self.finer[place])
        step, lowest = self.steps[query], int(self.matrix[query].min())
        unit = step * Fraction(2) ** (coarser - finer)
        moved = round(Fraction(lowest) * step / unit)
        # A unit far wider than the row passes 64 bits.
        changes = row.astype(np.int64).astype(object) * 2**coarser - self.values[place].astype(np.int64)
        base = (moved * unit - lowest * step) / (step / 2**finer)
        shift = max(abs(int(changes.max()) + base), abs(int(changes.min()) + base)) * step / 2**finer
        return row.astype(np.int64) + moved, unit, shift


def _fine(sensitivity: Sensitivity, places: NDArray[np.int64]) -> _Fine:
    """Raises: TooLarge."""
    tables = sensitivity.queries.tables
    if tables.count * tables.size > WEIGHT_LIMIT:
        raise TooLarge(
            f"{tables.count * tables.size:,} weights would be changed one by one, at most {WEIGHT_LIMIT:,} are: ask "
            "fewer queries, or take coarser attributes"
        )
    matrix = tables.matrix()
    lowest = matrix[places].min(axis=1)
    finer = np.empty(len(places), dtype=np.int64)
    for place, query in enumerate(places.tolist()):
        extent = int(matrix[query].max()) - int(lowest[place])
        largest = max(int(matrix[query].max()), -int(lowest[place]))
        finer[place] = max(0, min(_LARGEST_RANGE_BITS - extent.bit_length(), _WIDEST_BITS - largest.bit_length()))
    values = (matrix[places] - lowest[:, None]).astype(np.float64) * 2.0 ** finer[:, None]
    if values.max() >= 2.0**_WIDEST_BITS:
        raise TooLarge("the weights are too fine to be changed")
    return _Fine(matrix, sensitivity.queries.steps, places, values, finer)


@final
@dataclass(frozen=True, eq=False)
class _Search:
    """What is sought: a row for every query that changes. ``factors``, ``prices``: one each."""

    sensitivity: Sensitivity
    fine: _Fine
    records: int
    factors: NDArray[np.float64]
    prices: NDArray[np.float64]

    def found(self) -> Iterator[tuple[NDArray[np.float64], int]]:
        """For each query integers in 2^coarser units, and coarser."""
        if len(self.fine.places) == 1:
            metric, rows = self.sensitivity.metric.metric, self.fine.values
            start = float(self.sensitivity.of_each_query[self.fine.places[0]]) * 2.0 ** int(self.fine.finer[0])
            cost = SquaredError(self.records, float(self.prices[0]))
            scale, coarser = _in_bits(_best_scale(metric, rows, cost, start))
            yield closest_map(metric, np.rint(rows[0] / 2.0**coarser), scale), coarser
        else:
            yield from self._together()

    def _together(self) -> Iterator[tuple[NDArray[np.float64], int]]:
        search = JointSearch(*self._pairs(), self.fine.values, self.factors, self.prices, self.records)
        law = optimal_laplace(self.sensitivity).law
        if law is None or law.laplace_scales is None:
            raise TooLarge("no answer needs noise, so there is nothing to save by a bias")
        scales, rows = search.best(law.laplace_scales * 2.0**self.fine.finer)
        loads = search.loads(rows, scales)
        for query, scale in enumerate(scales.tolist()):
            coarse, coarser = _in_bits(scale)
            steps = np.rint(self.fine.values[query] / 2.0**coarser)
            # Flat where it can be: what one query does not change by is left for the others, and for a hull's volume.
            row = _middle_map(search.left_for(query, loads), steps, coarse, whole=True)
            loads[query] = search.loads(row[None, :] * 2.0**coarser, scales[query : query + 1])[0]
            yield row, coarser

    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """All generating pairs. Raises: TooLarge."""
        blocks, count = [], 0
        for block in self.sensitivity.metric.metric.generating_pairs():
            blocks.append(block)
            count += block.bound.size
            if count * len(self.fine.places) > LOAD_LIMIT:
                raise TooLarge(
                    f"{len(self.fine.places):,} queries are changed together over more than "
                    f"{LOAD_LIMIT // len(self.fine.places):,} generating pairs, which are too many: ask fewer at once"
                )
        first, second, bounds = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return first, second, bounds


def _in_bits(scale: float) -> tuple[float, int]:
    """The scale in units 2^coarser as large as its lattice can do with, and coarser."""
    coarser = max(0, math.ceil(math.log2(scale)) - _SCALE_BITS)
    return scale / 2.0**coarser, coarser
