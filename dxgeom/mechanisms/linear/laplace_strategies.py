"""Laplace noise with the literature's rules for sharing the budget among queries: baselines for the optimal scales."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.diagonal_mixing import DiagonalMixing
from dxgeom.mechanisms.linear.laplace import with_scales
from dxgeom.mechanisms.linear.sensitivity import Sensitivity

_SPENT = 1e-12
"""A difference that has this part of its bound left has nothing left."""


def equal_shares(sensitivity: Sensitivity) -> AdditiveMechanism:
    """Every query gets 1/K of the metric.

    Definition: c_k = K·max_e |Δ_e,k|/b_e, with K the number of queries that need noise.
    Guarantee: feasibility re-established with all rounding errors counted against it.
    Source: Kamalaruban et al. 2020, §4.2, strategy 1; corrected: constant queries use up no share.
    """
    noisy = sensitivity.of_each_query > 0
    scales = sensitivity.of_each_query[noisy] * np.sum(noisy)
    return _with("laplace-equal-shares", sensitivity, scales)


def one_scale(sensitivity: Sensitivity) -> AdditiveMechanism:
    """Every answer gets noise of the same scale, in its own unit.

    Definition: c = max_e ‖Δ_e‖₁/b_e, Δ_e in answer units.
    Guarantee: feasibility re-established with all rounding errors counted against it.
    Source: Kamalaruban et al. 2020, §4.2, strategy 2; corrected: constant queries are answered exactly.
    """
    noisy, steps = sensitivity.of_each_query > 0, sensitivity.queries.float_steps
    return _with("laplace-one-scale", sensitivity, sensitivity.changes.largest_load(steps) / steps[noisy])


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
    return _with("laplace-proportional-shares", sensitivity, 1 / rates)


def _round(changes: NDArray[np.float64], left: NDArray[np.float64]) -> NDArray[np.float64]:
    """What one round adds to the rates of the queries that are not finished; none of them changes a used-up pair."""
    moved = np.any(changes > 0, axis=1)
    changes, left = changes[moved], left[moved]
    alone = (changes / left[:, None]).max(axis=0)
    crowding = (changes @ (1 / alone)) / left
    return np.asarray(1 / (alone * np.where(changes > 0, crowding[:, None], 0.0).max(axis=0)))


def _with(name: str, sensitivity: Sensitivity, scales: NDArray[np.float64]) -> AdditiveMechanism:
    noisy = sensitivity.of_each_query > 0
    if not np.any(noisy):
        return AdditiveMechanism(name, sensitivity, None, DiagonalMixing(noisy))
    return with_scales(name, sensitivity, noisy, scales)
