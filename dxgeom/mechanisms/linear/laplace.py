"""Laplace noise with optimal scales, and the baselines: ordinary ε-differential privacy, and the literature's rules.

The variables of the programme for Laplace scales: one rate for each query, or for many queries that are alike.

Minimise Σ ω_k/w_k² under A w ≤ 1, w > 0: the convex programme behind optimal Laplace scales.

Which rows of the programme for Laplace scales are likely to bind: found by rough solutions; nothing rests on it.

Of the rows of A, often hundreds of thousands, only a handful bind. So a small programme on a few rows is solved by an
interior point method, the rows that its solution violates most are added, and so on until none is violated. The rows
need not be listed: whoever can name the heaviest one at given w will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.diameters import l1_diameter_of_tables, smallest_distance
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.rounding import UNIT_ROUNDOFF

FROM: Final = 64
"""So many rates: for fewer a fine solution takes no longer than a rough one."""
_ROUGH_ROUNDS: Final = 8
_ROUGH_STEPS: Final = 60
_FIRST_ROWS: Final = 2
"""For each rate."""
_ROUGHLY: Final = 1.05


def _rows_that_may_bind(largest_loads: LargestLoads, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows (n, K) that the optimum is likely to fill, of those that can be named; the fine search adds what is missing.

    Deterministic.
    """
    count = len(weights)
    _, rows = largest_loads(np.ones(count), _FIRST_ROWS * count)
    for _ in range(_ROUGH_ROUNDS):
        rates = _rough_rates(rows, weights)
        loads, found = largest_loads(rates, count)
        if loads.max() <= _ROUGHLY:
            break
        rows = np.concatenate([rows, found[loads > 1]])
    return np.asarray(rows[rows @ rates > 1 / _ROUGHLY])


def _rough_rates(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rates at which no row is above 1, by multipliers of the dual that follow the loads of their rows."""
    rows = np.concatenate([rows, np.eye(len(weights))[~np.any(rows > 0, axis=0)]])
    multipliers = np.full(len(rows), 1 / len(rows))
    for _ in range(_ROUGH_STEPS):
        rates = (2 * weights / (multipliers @ rows)) ** (1 / 3)
        loads = rows @ rates
        multipliers = np.maximum(multipliers * loads / loads.max(), 1e-300)
    return np.asarray(rates / loads.max())


GAP = 1e-9
_LAST_GAP = 1e-7
"""Where float64 tells no better: with many rows at their limits the slacks lose their digits."""
_TOLERANCE = 1e-10
_ROUNDS = 400
_STEPS = 80
_ADDED_PER_ROUND = 32
_LEAST_AIM = 1e-4
_SHY = 0.97
"""Of the way to where a slack or a multiplier is 0, and of that to where a rate is."""
_SHYER = 0.8

LargestLoads: TypeAlias = Callable[[NDArray[np.float64], int], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""From w (K,) and a number n: the loads A w of the heaviest row and of up to n − 1 others, and these rows."""
_TIGHT = 1e-10
_LOOKS = 200
"""Looks for the row that stops a rise; each names a steeper one, and a handful is enough."""
_NAMED = 64


@final
@dataclass(frozen=True)
class ReciprocalSolution:
    """``rates`` w (K,), feasible up to rounding; ``value`` there; ``dual_bound`` ≤ optimum; ``active``: rows kept."""

    rates: NDArray[np.float64]
    value: float
    dual_bound: float
    active: int

    @property
    def gap(self) -> float:
        """How far the value can be above the optimum, relative."""
        return self.value / self.dual_bound - 1


def minimise_reciprocal_squares(
    rows: NDArray[np.float64], weights: NDArray[np.float64], gap: float = GAP
) -> ReciprocalSolution:
    """The programme above, with all rows listed.

    Args: ``rows`` A (E, K), non-negative, every column with a positive entry; ``weights`` ω (K,), positive.
    Guarantee: duality gap *at most* ``gap``, relative, or 1e-7 where float64 cannot tell a smaller one; feasible up to
    rounding (the caller rescales exactly).
    Raises: CertificateRefused when the gap is not reached.
    """
    largest = rows.max(axis=0)
    scaled = rows / largest

    def heaviest(rates: NDArray[np.float64], most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        loads = scaled @ rates
        worst = np.argpartition(loads, len(loads) - most)[-most:] if len(loads) > most else np.arange(len(loads))
        return loads[worst], scaled[worst]

    solution = minimise_under_largest_loads(heaviest, weights * largest**2, gap)
    return ReciprocalSolution(solution.rates / largest, solution.value, solution.dual_bound, solution.active)


def minimise_under_largest_loads(
    largest_loads: LargestLoads, weights: NDArray[np.float64], gap: float = GAP
) -> ReciprocalSolution:
    """The programme above for rows that are only known through the heaviest one; each column's largest entry is 1.

    Guarantee, Raises: as above.
    """
    try:
        return _by_constraint_generation(largest_loads, weights, gap)
    except np.linalg.LinAlgError as error:
        raise CertificateRefused("the programme for optimal scales is too badly scaled for float64") from error


def _by_constraint_generation(
    largest_loads: LargestLoads, weights: NDArray[np.float64], gap: float
) -> ReciprocalSolution:
    """While rows are being found the working ones are solved a little more exactly each time; in the end fully."""
    count = len(weights)
    size = float(weights.max())
    weights = weights / size
    working = largest_loads(np.ones(count), 1)[1] if count < FROM else _rows_that_may_bind(largest_loads, weights)
    tolerance = 1e-3
    best = 0.0
    for _ in range(_ROUNDS):
        # No rate exceeds 1 in any case; where no row is about one yet, that is its row.
        alone = ~np.any(working > 0, axis=0)
        rates, dual = _interior_point(np.concatenate([working, np.eye(count)[alone]]), weights, tolerance)
        best = max(best, dual)
        loads, rows = largest_loads(rates, max(_ADDED_PER_ROUND, count))
        feasible = rates / max(float(loads.max()), 1.0)
        value = float(np.sum(weights / feasible**2))
        if value <= best * (1 + gap):
            return ReciprocalSolution(feasible, value * size, best * size, len(working))
        fresh = loads > 1 + _TOLERANCE / 10
        if not np.any(fresh) and tolerance <= _TOLERANCE:
            if value <= best * (1 + _LAST_GAP):
                return ReciprocalSolution(feasible, value * size, best * size, len(working))
            break
        working = np.concatenate([working, rows[fresh]])
        tolerance = max(tolerance / 10, _TOLERANCE) if np.any(fresh) else _TOLERANCE
    raise CertificateRefused("the programme for optimal scales did not reach its duality gap")


class _Iterate(NamedTuple):
    """Rates w > 0 with slacks s = 1 − A w > 0, and multipliers λ > 0 with prices y = Aᵀλ."""

    rates: NDArray[np.float64]
    slacks: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    prices: NDArray[np.float64]

    @property
    def complementarity(self) -> float:
        """Σ sλ, over the number of rows."""
        return float(self.slacks @ self.multipliers) / len(self.slacks)


def _interior_point(
    rows: NDArray[np.float64], weights: NDArray[np.float64], tolerance: float
) -> tuple[NDArray[np.float64], float]:
    """Mehrotra's predictor and corrector for few rows: strictly feasible rates and a lower bound, apart by
    ``tolerance``, relative, or as near as float64 brings them.

    At the optimum w³·y = 2ω. In logarithms this bends much less than the gradient −2ω/w³ + y = 0 itself, so Newton's
    steps are taken on 3·log w + log y = log 2ω, A w + s = 1 and sλ = μ. It starts where the first two hold, with the
    fullest row at half of what it allows, and only μ is left to lose.

    Source: Mehrotra 1992, for linear programmes.
    """
    iterate = _start(rows, weights)
    best, bound = iterate.rates, 0.0
    value = np.inf
    for _ in range(_STEPS):
        here = float(np.sum(weights / iterate.rates**2))
        if here < value:
            best, value = iterate.rates, here
        bound = max(bound, _dual_bound(weights, iterate))
        if value <= bound * (1 + tolerance):
            break
        try:
            iterate = _stepped(rows, weights, iterate)
        except np.linalg.LinAlgError:
            break
        if not np.all(np.isfinite(iterate.rates) & (iterate.rates > 0)):
            break
    return best, bound


def _start(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> _Iterate:
    prices = rows.sum(axis=0)
    rates = (2 * weights / prices) ** (1 / 3)
    shrunk = 0.5 / float((rows @ rates).max())
    rates, multipliers = rates * shrunk, np.full(len(rows), shrunk**-3)
    return _Iterate(rates, 1 - rows @ rates, multipliers, prices * shrunk**-3)


def _stepped(rows: NDArray[np.float64], weights: NDArray[np.float64], at: _Iterate) -> _Iterate:
    """One step: first as if straight to μ = 0, which tells how far to aim and what bends on the way."""
    newton = _newton(rows, at.multipliers / at.slacks, 3 * at.prices / at.rates)
    missed = at.prices * np.log(2 * weights / (at.rates**3 * at.prices))
    straight = newton(missed, -at.multipliers)
    reach = min(1.0, _longest(at.slacks, straight.slacks), _longest(at.multipliers, straight.multipliers))
    mean = at.complementarity
    left = float((at.slacks + reach * straight.slacks) @ (at.multipliers + reach * straight.multipliers)) / len(rows)
    aim = min(1.0, max((left / mean) ** 3, _LEAST_AIM)) * mean
    step = newton(missed, (aim - straight.slacks * straight.multipliers) / at.slacks - at.multipliers)
    longest = min(_longest(at.slacks, step.slacks), _longest(at.multipliers, step.multipliers))
    size = min(1.0, _SHY * longest, _SHYER * _longest(at.rates, step.rates))
    multipliers = at.multipliers + size * step.multipliers
    return _Iterate(at.rates + size * step.rates, at.slacks + size * step.slacks, multipliers, rows.T @ multipliers)


class _Step(NamedTuple):
    rates: NDArray[np.float64]
    slacks: NDArray[np.float64]
    multipliers: NDArray[np.float64]


def _newton(
    rows: NDArray[np.float64], ratio: NDArray[np.float64], diagonal: NDArray[np.float64]
) -> Callable[[NDArray[np.float64], NDArray[np.float64]], _Step]:
    """From m and c the step with diag·dw + Aᵀdλ = m, ds = −A dw and dλ = c − ratio·ds; by whichever of rates and
    multipliers are fewer."""
    if len(rows) >= len(diagonal):
        root = np.sqrt(diagonal)
        scaled = rows * (np.sqrt(ratio)[:, None] / root)
        inverse = np.linalg.inv(np.eye(len(root)) + scaled.T @ scaled)

        def by_rates(missed: NDArray[np.float64], change: NDArray[np.float64]) -> _Step:
            rates = inverse @ ((missed - rows.T @ change) / root) / root
            slacks = -(rows @ rates)
            return _Step(rates, slacks, change - ratio * slacks)

        return by_rates
    spread = rows / diagonal
    matrix = np.diag(1 / ratio) + spread @ rows.T
    scale = 1 / np.sqrt(np.diag(matrix))
    inverse = np.linalg.inv(matrix * scale[:, None] * scale)

    def by_multipliers(missed: NDArray[np.float64], change: NDArray[np.float64]) -> _Step:
        multipliers = scale * (inverse @ (scale * (change / ratio + spread @ missed)))
        rates = (missed - rows.T @ multipliers) / diagonal
        return _Step(rates, -(rows @ rates), multipliers)

    return by_multipliers


def _longest(numbers: NDArray[np.float64], change: NDArray[np.float64]) -> float:
    """The step at which the first of the positive ``numbers`` is 0."""
    falling = change < 0
    return float(np.min(-numbers[falling] / change[falling], initial=np.inf))


def _dual_bound(weights: NDArray[np.float64], at: _Iterate) -> float:
    """min over w > 0 of Σ ω/w² + λᵀ(A w − 1), attained at w_k = (2ω_k/y_k)^⅓, best over scalings of λ."""
    gain = 3 * float(np.sum(weights ** (1 / 3) * (at.prices / 2) ** (2 / 3)))
    # With λ scaled by t the bound is t^⅔·gain − t·Σλ, largest at t^⅓ = 2·gain/(3·Σλ).
    return 4 * gain**3 / (27 * float(at.multipliers.sum()) ** 2)


def max_min_fair_rates(largest_loads: LargestLoads, shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """w ≥ 0 that is largest in its smallest w_k/shape_k, then in the next smallest among those still free, and so on.

    Args: ``largest_loads``: as in :func:`dxgeom.mechanisms.linear.laplace.minimise_under_largest_loads`;
    ``shape`` (K,): positive.
    Guarantee: rows are kept up to a relative 1e-10 (the caller rescales exactly), every w_k/shape_k is optimal up to
    that.
    Raises: CertificateRefused when the rows cannot be told apart in float64.
    """
    rates = np.zeros(len(shape))
    free = np.ones(len(shape), dtype=bool)
    height = 0.0
    while np.any(free):
        height, rows = _rise(largest_loads, rates, np.where(free, shape, 0.0), height)
        stopped = free & np.any(rows > 0, axis=0)
        rates[stopped] = height * shape[stopped]
        free &= ~stopped
    return rates


def _rise(
    largest_loads: LargestLoads, fixed: NDArray[np.float64], rising: NDArray[np.float64], least: float
) -> tuple[float, NDArray[np.float64]]:
    """The largest h with A(fixed + h·rising) ≤ 1, found from above, and the rows (1, K) that stop it.

    Each look takes the height at which the row that stops earliest, of those that it finds too heavy, would be just
    full.
    """
    height, stopping = 1 / float(rising.max()), (rising == rising.max()).astype(np.float64)
    for _ in range(_LOOKS):
        loads, rows = largest_loads(fixed + height * rising, _NAMED)
        slope = rows @ rising
        over = (loads > 1 + _TIGHT) & (slope > 0)
        if not np.any(over):
            return height, stopping[None]
        full = (1 - rows[over] @ fixed) / slope[over]
        stopping = rows[over][np.argmin(full)]
        if full.min() <= least:
            return least, stopping[None]
        height = float(full.min())
    raise CertificateRefused("the rows of the programme for fair rates did not settle")


MOST_FREE = 600
"""More noisy queries than this share rates where they are alike."""


@final
@dataclass(frozen=True, eq=False)
class ScaleGroups:
    """A variable v_t stands for the rates v_t·alone_k of its queries; ``alone`` is what each could have by itself.

    ``noisy`` (K,): the queries with noise, k of them; ``tie`` (k,): the variable of each; ``alone`` (k,); ``costs``
    (k,): what 1/v_t² costs for each.
    """

    sensitivity: Sensitivity = field(repr=False)
    noisy: NDArray[np.bool_]
    tie: NDArray[np.int64]
    alone: NDArray[np.float64]
    costs: NDArray[np.float64]

    @property
    def count(self) -> int:
        """The number of variables."""
        return int(self.tie.max()) + 1

    @property
    def cost(self) -> NDArray[np.float64]:
        """What 1/v_t² costs: its queries together."""
        total = np.zeros(self.count)
        np.add.at(total, self.tie, self.costs)
        return total

    @property
    def worst_cost(self) -> NDArray[np.float64]:
        """What 1/v_t² costs: the worst of its queries."""
        worst = np.zeros(self.count)
        np.maximum.at(worst, self.tie, self.costs)
        return worst

    def of_each(self, variables: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rates of the noisy queries."""
        return np.asarray(variables[self.tie] * self.alone)

    def largest_loads(
        self, variables: NDArray[np.float64], most: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The heaviest changes, in terms of the variables."""
        rates = np.zeros(len(self.noisy))
        rates[self.noisy] = self.of_each(variables)
        loads, rows = self.sensitivity.changes.largest_loads(rates, most)
        scaled = rows[:, self.noisy] * self.alone
        if self.count == scaled.shape[1]:
            return loads, scaled[:, np.argsort(self.tie)]
        tied = np.zeros((len(rows), self.count))
        np.add.at(tied.T, self.tie, scaled.T)
        return loads, tied


def _group_scales(sensitivity: Sensitivity, weights: NDArray[np.float64]) -> ScaleGroups:
    """A variable for each noisy query; beyond 600 queries one for all of a table with the same sensitivity and
    weight."""
    noisy = sensitivity.of_each_query > 0
    own, weights = sensitivity.of_each_query[noisy], weights[noisy]
    tie = np.arange(len(own))
    if len(own) > MOST_FREE:
        alike = np.stack([sensitivity.queries.tables.table_of_each[noisy], own, weights], axis=1)
        tie = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1)
    alone = 1 / own
    return ScaleGroups(sensitivity, noisy, tie, alone, weights / alone**2)


_SPENT = 1e-12
"""A difference that has this part of its bound left has nothing left."""


def optimal_laplace(sensitivity: Sensitivity, importance: NDArray[np.float64] | None = None) -> AdditiveMechanism:
    """Independent Laplace noise with the scales of least total mean squared error, each answer's times its importance.

    Definition: minimise Σ ω_k·2c_k² subject to Σ_k |Δ_e,k|/c_k ≤ b_e on all generating pairs; convex in 1/c.
    Guarantee: optimal to 1e-9 relative, to 1e-7 where float64 cannot tell a smaller gap; feasibility re-established
    with all rounding errors counted against it. Beyond 600 queries, queries of one table with the same sensitivity and
    importance get the same scale.
    Source: Kamalaruban et al. 2020, §3.1; corrected: the problem is convex, so no heuristic is needed.
    """
    return _laplace(sensitivity, optimal_scales, importance)


def max_min_laplace(sensitivity: Sensitivity, importance: NDArray[np.float64] | None = None) -> AdditiveMechanism:
    """Independent Laplace noise whose worst answer is as good as possible, counting squared errors by importance.

    Definition: minimise max_k ω_k·2c_k² subject to Σ_k |Δ_e,k|/c_k ≤ b_e on all generating pairs; then the worst of
    those that can still be improved, and so on.
    Guarantee: optimal up to 1e-9 relative; feasibility as in :func:`optimal_laplace`, and the same ties.
    """
    return _laplace(sensitivity, max_min_scales, importance)


def optimal_scales(sensitivity: Sensitivity, importance: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """(n,): those of :func:`optimal_laplace` for the n queries that change, before any of it is proved."""
    rates = _group_scales(sensitivity, _weights(sensitivity, importance))
    return np.asarray(1 / rates.of_each(minimise_under_largest_loads(rates.largest_loads, rates.cost).rates))


def max_min_scales(sensitivity: Sensitivity, importance: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """(n,): those of :func:`max_min_laplace` for the n queries that change, before any of it is proved."""
    rates = _group_scales(sensitivity, _weights(sensitivity, importance))
    return np.asarray(1 / rates.of_each(max_min_fair_rates(rates.largest_loads, np.sqrt(rates.worst_cost))))


def _laplace(
    sensitivity: Sensitivity,
    scales_of: Callable[[Sensitivity, NDArray[np.float64] | None], NDArray[np.float64]],
    importance: NDArray[np.float64] | None,
) -> AdditiveMechanism:
    noisy = sensitivity.of_each_query > 0
    if not np.any(noisy):
        return without_noise("laplace", sensitivity)
    return with_scales("laplace", sensitivity, noisy, scales_of(sensitivity, importance))


def epsilon_dp_laplace(sensitivity: Sensitivity) -> AdditiveMechanism:
    """The baseline: ordinary ε-differential privacy with ε the smallest distance of any two records.

    Every query's scale is its range times Δ₁/ε, with Δ₁ the largest ℓ₁ change over *all* pairs of records of the
    queries divided by their ranges; for counts that is the textbook's Δ₁/ε. It protects the closest pair as well as
    the metric asks, and all others more than it asks.
    """
    tables = sensitivity.queries.tables
    low, high = tables.extremes
    ranges = (high - low).astype(np.float64)
    varying = ranges > 0
    epsilon = smallest_distance(sensitivity.metric.metric)
    if not np.any(varying) or not np.isfinite(epsilon):
        return without_noise("epsilon-dp", sensitivity)
    spread = l1_diameter_of_tables(tables, np.where(varying, 1 / np.where(varying, ranges, 1), 0.0))
    return with_scales("epsilon-dp", sensitivity, varying, ranges[varying] * spread / epsilon)


def _weights(sensitivity: Sensitivity, importance: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """(K,): what a squared scale in lattice steps costs, up to a common factor."""
    steps = sensitivity.queries.float_steps
    return np.asarray((steps / steps.max()) ** 2 * (1.0 if importance is None else importance))


def with_scales(
    name: str, sensitivity: Sensitivity, noisy: NDArray[np.bool_], scales: NDArray[np.float64]
) -> AdditiveMechanism:
    """The mechanism with these scales, enlarged until every load is at most 1 in exact arithmetic.

    The two products below lose at most 2⁻⁵³ each, which the factor 1 + 4·2⁻⁵³ more than makes up for.
    """
    if not np.any(noisy):
        return without_noise(name, sensitivity)
    rates = np.zeros(len(noisy))
    rates[noisy] = 1 / scales
    load = sensitivity.changes.largest_load(rates)
    scales = scales * max(1.0, load) * (1 + 4 * UNIT_ROUNDOFF)
    if not (math.isfinite(load) and np.all(np.isfinite(scales))):
        raise CertificateRefused("no finite Laplace scales are large enough for the metric")
    return AdditiveMechanism(name, sensitivity, LaplaceNoise(scales), DiagonalMixing(noisy))


def equal_shares(sensitivity: Sensitivity) -> AdditiveMechanism:
    """Every query gets 1/K of the metric.

    Definition: c_k = K·max_e |Δ_e,k|/b_e, with K the number of queries that need noise.
    Guarantee: feasibility re-established with all rounding errors counted against it.
    Source: Kamalaruban et al. 2020, §4.2, strategy 1; corrected: constant queries use up no share.
    """
    noisy = sensitivity.of_each_query > 0
    scales = sensitivity.of_each_query[noisy] * np.sum(noisy)
    return with_scales("laplace-equal-shares", sensitivity, noisy, scales)


def one_scale(sensitivity: Sensitivity) -> AdditiveMechanism:
    """Every answer gets noise of the same scale, in its own unit.

    Definition: c = max_e ‖Δ_e‖₁/b_e, Δ_e in answer units.
    Guarantee: feasibility re-established with all rounding errors counted against it.
    Source: Kamalaruban et al. 2020, §4.2, strategy 2; corrected: constant queries are answered exactly.
    """
    noisy, steps = sensitivity.of_each_query > 0, sensitivity.queries.float_steps
    scales = sensitivity.changes.largest_load(steps) / steps[noisy]
    return with_scales("laplace-one-scale", sensitivity, noisy, scales)


def proportional_shares(sensitivity: Sensitivity) -> AdditiveMechanism:
    """Every pair's budget is shared in proportion to what each query alone would use of it, again and again.

    Definition: rates w start at 0, bounds r_e at b_e. A round takes c'_k = max_e |Δ_e,k|/r_e over the queries that are
    not finished and the load l_e = Σ_k |Δ_e,k|/c'_k, and adds to w_k the least r_e/(l_e·c'_k) of the e that k changes;
    what that uses of r_e is taken off. A query is finished when a difference of its own has nothing left; each round
    finishes one at least. In the end c_k = 1/w_k.
    Raises: TooLarge where differences are too many to list.
    Guarantee: feasibility re-established with all rounding errors counted against it; at most K rounds.
    Source: Kamalaruban et al. 2020, Algorithm 3; corrected: as printed it divides 0 by 0 where a budget is used up and
    then overspends; here it runs on generating pairs, which hold every finite bound, and finished queries are left out.
    """
    noisy = sensitivity.of_each_query > 0
    changes = np.abs(sensitivity.differences[:, noisy]).astype(np.float64)
    left = sensitivity.bounds.copy()
    rates, open_queries = np.zeros(changes.shape[1]), np.ones(changes.shape[1], dtype=bool)
    while np.any(open_queries):
        share = _round(changes[:, open_queries], left)
        rates[open_queries] += share
        left = left - changes[:, open_queries] @ share
        used_up = left <= _SPENT * sensitivity.bounds
        finished = np.any(changes[used_up] > 0, axis=0)
        open_queries = open_queries & ~finished if np.any(finished & open_queries) else np.zeros_like(open_queries)
    return with_scales("laplace-proportional-shares", sensitivity, noisy, 1 / rates)


def _round(changes: NDArray[np.float64], left: NDArray[np.float64]) -> NDArray[np.float64]:
    """What one round adds to the rates of the queries that are not finished; none of them changes a used-up pair."""
    moved = np.any(changes > 0, axis=1)
    changes, left = changes[moved], left[moved]
    alone = (changes / left[:, None]).max(axis=0)
    crowding = (changes @ (1 / alone)) / left
    return np.asarray(1 / (alone * np.where(changes > 0, crowding[:, None], 0.0).max(axis=0)))
