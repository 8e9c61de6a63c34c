"""Error bars: how far the truth is from a released answer, at a stated confidence."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.mixing import DiagonalMixing

SIMULATED = 1 << 19
"""Draws behind a simulated quantile, fewer where there are many queries."""
_ENTRIES = 1 << 25
_ROUNDING = 1e-12
_CAUTION = 1e-9
_MISSED = 5.2
"""Standard deviations of caution: the chance that a simulated quantile is too small is below 1e-7."""


def half_widths(
    mechanism: AdditiveMechanism,
    level: float,
    spend: Fraction,
    records: int | None,
    rounding: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """(K,): w_k such that answer k's error is at most w_k with probability *at least* ``level``, each on its own.

    Laplace and Gaussian: exact. Others: the quantile of a fixed simulation, taken at an order statistic so far out that
    it is too small with a chance below 1e-7, or, where the level leaves no such, what the law proves of itself. All
    widened by the lattice's half steps and, given ``records``, by what rounding the weights can have changed. A known
    bias, that of changed queries and ``rounding`` (K,), is counted at its worst: exactly for Laplace noise from level ½
    on, else by widening.
    Raises: UnsupportedCombination unless 0 < level < 1.
    """
    require_level(level)
    biases = mechanism.biases if rounding is None else mechanism.biases + rounding
    half_steps, drift = _lattice_errors(mechanism, records)
    return np.asarray(_error_quantiles(mechanism, level, spend, biases) + half_steps + drift)


def widening(
    mechanism: AdditiveMechanism, records: int | None, rounding: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """(K,): how far each answer can be from the truth beside its ideal noise: half steps of the lattice, rounded
    weights of so many ``records``, changed queries, and ``rounding`` of values."""
    half_steps, drift = _lattice_errors(mechanism, records)
    return np.asarray(half_steps + drift + mechanism.biases + (0.0 if rounding is None else rounding))


def _lattice_errors(
    mechanism: AdditiveMechanism, records: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    drift = np.array([float(error) for error in mechanism.sensitivity.queries.weight_errors]) * (records or 0)
    return mechanism.lattice_widths / 2, drift


def _error_quantiles(
    mechanism: AdditiveMechanism, level: float, spend: Fraction, biases: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(K,): what noise and bias together exceed with probability 1 − level at most.

    For Laplace noise of scale c and a bias β the chance of more than w ≥ β is e^(−w/c)·cosh(β/c), rising with |β|; from
    level ½ on, the w with that chance 1 − level is at least β.
    """
    noise = _noise_quantiles(mechanism, level) / float(spend)
    if not np.any(biases):
        return noise
    widened = noise + biases
    if not is_independent_laplace(mechanism) or level < 0.5:
        return np.asarray(widened)
    scales = np.sqrt(mechanism.ideal_variances / 2) / float(spend)
    noisy = (scales > 0) & (biases > 0)
    share = biases[noisy] / scales[noisy]
    # ln cosh x = x + ln(1 + e^−2x) − ln 2, which does not overflow.
    exact = share + np.log1p(np.exp(-2 * share)) - math.log(2) - math.log1p(-level)
    widened[noisy] = np.minimum(widened[noisy], scales[noisy] * exact * (1 + _ROUNDING))
    return np.asarray(widened)


@lru_cache(maxsize=16)
def _noise_quantiles(mechanism: AdditiveMechanism, level: float) -> NDArray[np.float64]:
    """(K,): quantiles of the ideal noise at spend 1. Kept, because a simulation takes half a second."""
    law = mechanism.law
    if law is None:
        return np.zeros(len(mechanism.ideal_variances))
    if is_independent_laplace(mechanism):
        # A Laplace scale is the root of half the variance.
        return np.asarray(np.sqrt(mechanism.ideal_variances / 2) * -math.log1p(-level))
    if law.normal:
        return np.asarray(np.sqrt(mechanism.ideal_variances) * normal_quantile(level))
    draws = simulated_noise(mechanism)
    try:
        rank = safe_rank(len(draws), level)
    except UnsupportedCombination:
        proved = law.widths_along(mechanism.float_mixing, 1 - level)
        if proved is None:
            raise
        return proved
    return np.array([np.partition(errors, rank - 1)[rank - 1] for errors in draws.T.copy()])


def normal_quantile(level: float) -> float:
    """What the size of a standard normal number exceeds with probability 1 − level: *rounded up*, to within 1e-9."""
    return -NormalDist().inv_cdf((1 - level) / 2) * (1 + _CAUTION)


def simulated_noise(mechanism: AdditiveMechanism) -> NDArray[np.float64]:
    """(draws, K): the size of the ideal noise at spend 1 in a fixed simulation."""
    law, mixing_matrix = mechanism.law, mechanism.float_mixing
    if law is None:
        return np.zeros((1, len(mixing_matrix)))
    count = min(SIMULATED, _ENTRIES // max(mixing_matrix.shape))
    noise = law.simulate(count, np.random.default_rng(0)) @ mixing_matrix.T
    return np.asarray(np.abs(noise, out=noise))


def safe_rank(count: int, level: float) -> int:
    """Which of so many simulated draws in rising order is below the quantile with a chance below 1e-7.

    Raises: UnsupportedCombination where that would be beyond the last one.
    """
    rank = math.ceil(count * level + _MISSED * math.sqrt(count * level * (1 - level)))
    if rank > count - 1:
        raise UnsupportedCombination(f"level {level} is too close to 1 for {count:,} simulated draws")
    return rank


def is_independent_laplace(mechanism: AdditiveMechanism) -> bool:
    """Whether every answer has Laplace noise of its own."""
    law = mechanism.law
    return law is not None and law.laplace_scales is not None and isinstance(mechanism.mixing, DiagonalMixing)
