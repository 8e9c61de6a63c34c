"""Laplace noise with optimal scales, and the ordinary ε-differentially private baseline."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.additive import AdditiveMechanism, identity_spread
from dxgeom.mechanisms.sensitivity import Sensitivity
from dxgeom.metrics.extent import l1_diameter, smallest_distance
from dxgeom.noise.laplace import LaplaceNoise
from dxgeom.numeric.reciprocal_program import minimise_reciprocal_squares
from dxgeom.numeric.rounding import UNIT_ROUNDOFF

_DIFFERENCES_PER_BLOCK = 1 << 16


def optimal_laplace(sensitivity: Sensitivity) -> AdditiveMechanism:
    """Independent Laplace noise with the scales of least total mean squared error.

    Definition: minimise Σ 2c_k² subject to Σ_k |Δ_e,k|/c_k ≤ b_e on all generating pairs; convex in 1/c.
    Guarantee: optimal to 1e-9 relative; feasibility re-established with all rounding errors counted against it.
    Source: Kamalaruban et al. 2020, §3.1; corrected: the problem is convex, so no heuristic is needed.
    """
    noisy = sensitivity.of_each_query > 0
    if not np.any(noisy):
        return AdditiveMechanism("laplace", sensitivity, None, identity_spread(noisy))
    rows = np.abs(sensitivity.differences[:, noisy]) / sensitivity.bounds[:, None]
    steps = sensitivity.queries.float_steps[noisy]
    rates = minimise_reciprocal_squares(rows, (steps / steps.max()) ** 2).rates
    return with_scales("laplace", sensitivity, noisy, 1 / rates)


def epsilon_dp_laplace(sensitivity: Sensitivity) -> AdditiveMechanism:
    """The baseline: ordinary ε-differential privacy with ε the smallest distance of any two records.

    Every query's scale is its range times Δ₁/ε, with Δ₁ the largest ℓ₁ change over *all* pairs of records of the
    queries divided by their ranges; for counts that is the textbook's Δ₁/ε. It protects the closest pair as well as
    the metric asks, and all others more than it asks.
    """
    noisy = sensitivity.of_each_query > 0
    queries = sensitivity.queries
    ranges = np.ptp(queries.numerators, axis=1).astype(np.float64)
    varying = ranges > 0
    epsilon = smallest_distance(sensitivity.metric.metric)
    if not np.any(varying) or not np.isfinite(epsilon):
        return AdditiveMechanism("epsilon-dp", sensitivity, None, identity_spread(noisy & False))
    spread = l1_diameter(queries.numerators[varying], 1 / ranges[varying])
    return with_scales("epsilon-dp", sensitivity, varying, ranges[varying] * spread / epsilon)


def with_scales(
    name: str, sensitivity: Sensitivity, noisy: NDArray[np.bool_], scales: NDArray[np.float64]
) -> AdditiveMechanism:
    """The mechanism with these scales, enlarged until every load is at most 1 in exact arithmetic.

    The two products below lose at most 2⁻⁵³ each, which the factor 1 + 4·2⁻⁵³ more than makes up for.
    """
    load = _largest_load(sensitivity.differences[:, noisy], sensitivity.bounds, scales)
    scales = scales * max(1.0, load) * (1 + 4 * UNIT_ROUNDOFF)
    if not np.all(np.isfinite(scales)):
        raise CertificateRefused("no finite Laplace scales are large enough for the metric")
    return AdditiveMechanism(name, sensitivity, LaplaceNoise(scales), identity_spread(noisy))


def _largest_load(differences: NDArray[np.int64], bounds: NDArray[np.float64], scales: NDArray[np.float64]) -> float:
    """max_e Σ_k |Δ_e,k|/(c_k·b_e), *rounded up*: all terms are positive, so K + 3 roundings cost (K + 3)·2⁻⁵³."""
    largest = 0.0
    for start in range(0, len(bounds), _DIFFERENCES_PER_BLOCK):
        block = slice(start, start + _DIFFERENCES_PER_BLOCK)
        loads = (np.abs(differences[block]) @ (1 / scales)) / bounds[block]
        largest = max(largest, float(loads.max()))
    return math.nextafter(largest * (1 + 2 * (len(scales) + 3) * UNIT_ROUNDOFF), math.inf)
