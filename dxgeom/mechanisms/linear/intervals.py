"""Error bars: how far the truth is from a released answer, at a stated confidence."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.diagonal_mixing import DiagonalMixing

SIMULATED = 1 << 19
"""Draws behind a simulated quantile, fewer where there are many queries."""
_ENTRIES = 1 << 25
_ROUNDING = 1e-12
_MISSED = 5.2
"""Standard deviations of caution: the chance that a simulated quantile is too small is below 1e-7."""


def half_widths(
    mechanism: AdditiveMechanism, level: float, spend: Fraction, records: int | None
) -> NDArray[np.float64]:
    """(K,): w_k such that answer k's error is at most w_k with probability *at least* ``level``, each on its own.

    Laplace: exact. Hull: the quantile of a fixed simulation, taken at an order statistic so far out that it is too
    small with a chance below 1e-7. Both widened by the lattice's half steps and, given ``records``, by what rounding
    the weights can have changed. A known bias is counted at its worst: exactly for Laplace noise from level ½ on, else
    by widening.
    Raises: UnsupportedCombination unless 0 < level < 1.
    """
    require_level(level)
    half_steps = mechanism.lattice_widths / 2
    drift = np.array([float(error) for error in mechanism.sensitivity.queries.weight_errors]) * (records or 0)
    return np.asarray(_error_quantiles(mechanism, level, spend) + half_steps + drift)


def _error_quantiles(mechanism: AdditiveMechanism, level: float, spend: Fraction) -> NDArray[np.float64]:
    """(K,): what noise and bias together exceed with probability 1 − level at most.

    For Laplace noise of scale c and a bias β the chance of more than w ≥ β is e^(−w/c)·cosh(β/c), rising with |β|; from
    level ½ on, the w with that chance 1 − level is at least β.
    """
    noise = _noise_quantiles(mechanism, level) / float(spend)
    if mechanism.change is None:
        return noise
    widened = noise + mechanism.biases
    if not _is_independent_laplace(mechanism) or level < 0.5:
        return np.asarray(widened)
    scales = np.sqrt(mechanism.ideal_variances / 2) / float(spend)
    noisy = scales > 0
    share = mechanism.biases[noisy] / scales[noisy]
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
    if _is_independent_laplace(mechanism):
        # A Laplace scale is the root of half the variance.
        return np.asarray(np.sqrt(mechanism.ideal_variances / 2) * -math.log1p(-level))
    mixing_matrix = mechanism.float_mixing
    count = min(SIMULATED, _ENTRIES // max(mixing_matrix.shape))
    draws = np.abs(law.simulate(count, np.random.default_rng(0)) @ mixing_matrix.T).T.copy()
    rank = math.ceil(count * level + _MISSED * math.sqrt(count * level * (1 - level)))
    if rank > count - 1:
        raise UnsupportedCombination(f"level {level} is too close to 1 for {count:,} simulated draws")
    return np.array([np.partition(errors, rank - 1)[rank - 1] for errors in draws])


def _is_independent_laplace(mechanism: AdditiveMechanism) -> bool:
    law = mechanism.law
    return law is not None and law.laplace_scales is not None and isinstance(mechanism.mixing, DiagonalMixing)
