"""Laplace noise with optimal scales, and the ordinary ε-differentially private baseline."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.diagonal_mixing import DiagonalMixing
from dxgeom.mechanisms.linear.max_min_rates import max_min_fair_rates
from dxgeom.mechanisms.linear.reciprocal_program import minimise_under_heaviest
from dxgeom.mechanisms.linear.scale_groups import group_scales
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.operations.diameters import l1_diameter_of_tables, smallest_distance
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.numeric.rounding import UNIT_ROUNDOFF


def optimal_laplace(sensitivity: Sensitivity, importance: NDArray[np.float64] | None = None) -> AdditiveMechanism:
    """Independent Laplace noise with the scales of least total mean squared error, each answer's times its importance.

    Definition: minimise Σ ω_k·2c_k² subject to Σ_k |Δ_e,k|/c_k ≤ b_e on all generating pairs; convex in 1/c.
    Guarantee: optimal to 1e-9 relative; feasibility re-established with all rounding errors counted against it. Beyond
    600 queries, queries of one table with the same sensitivity and importance get the same scale.
    Source: Kamalaruban et al. 2020, §3.1; corrected: the problem is convex, so no heuristic is needed.
    """
    noisy = sensitivity.of_each_query > 0
    if not np.any(noisy):
        return AdditiveMechanism("laplace", sensitivity, None, DiagonalMixing(noisy))
    rates = group_scales(sensitivity, _weights(sensitivity, importance))
    found = minimise_under_heaviest(rates.heaviest, rates.cost)
    return with_scales("laplace", sensitivity, noisy, 1 / rates.of_each(found.rates))


def max_min_laplace(sensitivity: Sensitivity, importance: NDArray[np.float64] | None = None) -> AdditiveMechanism:
    """Independent Laplace noise whose worst answer is as good as possible, counting squared errors by importance.

    Definition: minimise max_k ω_k·2c_k² subject to Σ_k |Δ_e,k|/c_k ≤ b_e on all generating pairs; then the worst of
    those that can still be improved, and so on.
    Guarantee: optimal up to 1e-9 relative; feasibility as in :func:`optimal_laplace`, and the same ties.
    """
    noisy = sensitivity.of_each_query > 0
    if not np.any(noisy):
        return AdditiveMechanism("laplace", sensitivity, None, DiagonalMixing(noisy))
    rates = group_scales(sensitivity, _weights(sensitivity, importance))
    found = max_min_fair_rates(rates.heaviest, np.sqrt(rates.worst_cost))
    return with_scales("laplace", sensitivity, noisy, 1 / rates.of_each(found))


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
        return AdditiveMechanism("epsilon-dp", sensitivity, None, DiagonalMixing(varying & False))
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
    rates = np.zeros(len(noisy))
    rates[noisy] = 1 / scales
    load = sensitivity.changes.largest_load(rates)
    scales = scales * max(1.0, load) * (1 + 4 * UNIT_ROUNDOFF)
    if not (math.isfinite(load) and np.all(np.isfinite(scales))):
        raise CertificateRefused("no finite Laplace scales are large enough for the metric")
    return AdditiveMechanism(name, sensitivity, LaplaceNoise(scales), DiagonalMixing(noisy))
