"""Error bars that hold for all answers at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.bars.intervals import (
    half_widths,
    is_independent_laplace,
    normal_quantile,
    safe_rank,
    simulated_noise,
    widening,
)
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.law import NoiseLaw

_OUTWARD = 1 + 1e-12
_CAUTION = 1e-9
_PRECISION = 128


def joint_half_widths(
    mechanism: AdditiveMechanism,
    level: float,
    spend: Fraction,
    records: int | None,
    rounding: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """(K,): w_k such that with probability *at least* ``level`` every answer's error is at most its w_k.

    Independent Laplace noise: exactly, each answer at the m-th root of the level, which is enough for Gaussian noise of
    any covariance, too (Šidák 1967). Any other noise: the narrowest on
    average of three bounds that do not look at data. Each answer at a level that makes up for all (the union bound);
    the norm ‖V‖_K, which is Gamma(m) and bounds every |a·V| by ‖V‖_K·h_K(a) with the support function h_K; and the
    quantile of max |a_k·V|/σ_k in a fixed simulation, so far out that it is too small with a chance below 1e-7.
    Widened as :func:`half_widths` is.
    Raises: UnsupportedCombination unless 0 < level < 1.
    """
    require_level(level)
    noisy = int(np.sum(mechanism.ideal_variances > 0))
    if noisy < 2:
        return half_widths(mechanism, level, spend, records, rounding)
    if is_independent_laplace(mechanism):
        missed = -math.expm1(math.log(level) / noisy) * (1 - _CAUTION)
        return half_widths(mechanism, 1 - missed, spend, records, rounding)
    noise = min(_bounds(mechanism, level, noisy), key=lambda widths: _mean_width(mechanism, widths))
    return np.asarray(noise / float(spend) + widening(mechanism, records, rounding))


def _mean_width(mechanism: AdditiveMechanism, widths: NDArray[np.float64]) -> float:
    noisy = mechanism.ideal_variances > 0
    return float(np.mean(widths[noisy] / np.sqrt(mechanism.ideal_variances[noisy])))


@lru_cache(maxsize=16)
def _bounds(mechanism: AdditiveMechanism, level: float, noisy: int) -> tuple[NDArray[np.float64], ...]:
    """Bounds on the ideal noise at spend 1, (K,) each."""
    return tuple(_each_bound(mechanism, level, noisy))


def _each_bound(mechanism: AdditiveMechanism, level: float, noisy: int) -> Iterator[NDArray[np.float64]]:
    law = mechanism.law
    if law is None:
        return
    if law.normal:
        missed = -math.expm1(math.log(level) / noisy) * (1 - _CAUTION)
        yield np.sqrt(mechanism.ideal_variances) * normal_quantile(1 - missed)
    supports = supports_of(law, mechanism.float_mixing)
    if supports is not None:
        values, dimension = supports
        yield values * gamma_quantile(dimension, level) * _OUTWARD
    draws = simulated_noise(mechanism)
    try:
        rank = safe_rank(len(draws), 1 - (1 - level) / noisy)
        yield np.asarray(np.partition(draws, rank - 1, axis=0)[rank - 1])
    except UnsupportedCombination:
        proved = law.widths_along(mechanism.float_mixing, (1 - level) / noisy)
        if proved is not None:
            yield proved
    deviations = np.sqrt(mechanism.ideal_variances)
    seen = deviations > 0
    with suppress(UnsupportedCombination):
        rank = safe_rank(len(draws), level)
        largest = np.partition((draws[:, seen] / deviations[seen]).max(axis=1), rank - 1)[rank - 1]
        yield deviations * largest


def supports_of(law: NoiseLaw, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], int] | None:
    """(n,): h_K of each of the ``rows`` (n, m), and the dimension of K; of what the noise is the image of, where K is
    known as that only; None where it is not known, or the noise is not ∝ exp(−‖v‖_K) and so its norm no Gamma."""
    if law.concentrated:
        return None
    if law.body is not None:
        return law.body.support_function(rows), law.dimension
    if isinstance(law, LinearImageNoise):
        return supports_of(law.inner, rows @ law.map)
    return None


def gamma_quantile(shape: int, level: float) -> float:
    """A q that a Gamma variable of this whole ``shape`` exceeds with probability 1 − level at most: *rounded up*, to
    within 1e-9 of the least."""

    stated = Fraction(level)

    def holds(number: float) -> bool:
        with ctx.workprec(_PRECISION):
            return bool(arb(number).gamma_upper(shape, 1) <= 1 - arb(fmpq(stated.numerator, stated.denominator)))

    low, high = 0.0, 2.0 * shape + 40.0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
