"""Laplace noise with optimal scales, and the baselines: ordinary ε-differential privacy, and the literature's rules.

The variables of the programme for Laplace scales: one rate for each query, or for many queries that are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.reciprocal_program import max_min_fair_rates, minimise_under_largest_loads
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.diameters import l1_diameter_of_tables, smallest_distance
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.rounding import UNIT_ROUNDOFF

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
