"""Error bars: how far the truth is from a released answer, at a stated confidence.

Of answers one by one; of all answers at once; and of what is computed from answers: of one combination of them, and of
two in every direction at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final, final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.sealed import cached_property

SIMULATED = 1 << 19
"""Draws behind a simulated quantile, fewer where there are many queries."""
_ENTRIES = 1 << 25
_AT_ONCE: Final = 1 << 12
"""Draws of all answers are mixed in the processor's cache."""
_TAIL: Final = 16
_FROM_TAIL: Final = 0.95 - 1e-9
"""The quantiles of higher levels, which most are, lie among the largest sixteenth of errors."""
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

    Laplace and Gaussian noise: exact. Sums of Laplace noise, and noise with jumps: rounded up, within 1e-9 of that
    probability. Others: the quantile of a fixed simulation, taken at an order statistic so far out that it is too
    small with a chance below 1e-7, or, where the level leaves no such, what the law proves of itself. All
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


@lru_cache(maxsize=16)
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
    if not _is_independent_laplace(mechanism) or level < 0.5:
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
    if _is_independent_laplace(mechanism):
        # A Laplace scale is the root of half the variance.
        return np.asarray(np.sqrt(mechanism.ideal_variances / 2) * -math.log1p(-level))
    if law.normal:
        return np.asarray(np.sqrt(mechanism.ideal_variances) * normal_quantile(level))
    known = law.quantiles_along(mechanism.float_mixing, 1 - level)
    if known is not None:
        return known
    count = _simulated_count(mechanism)
    try:
        rank = _safe_rank(count, level)
    except UnsupportedCombination:
        proved = law.widths_along(mechanism.float_mixing, 1 - level)
        if proved is None:
            raise
        return proved
    largest = _simulated_tails(mechanism) if level > _FROM_TAIL else _simulated_noise(mechanism).T
    place = rank - 1 - (count - largest.shape[1])
    return np.array([np.partition(errors, place)[place] for errors in largest])


@lru_cache(maxsize=1)
def _simulated_tails(mechanism: AdditiveMechanism) -> NDArray[np.float64]:
    """(K, n): the largest of each answer's simulated errors. A release has bars of two levels."""
    draws = _simulated_noise(mechanism)
    least = len(draws) - len(draws) // _TAIL
    return np.array([np.partition(errors, least)[least:] for errors in draws.T])


def normal_quantile(level: float) -> float:
    """What the size of a standard normal number exceeds with probability 1 − level: *rounded up*, to within 1e-9."""
    return -NormalDist().inv_cdf((1 - level) / 2) * (1 + _CAUTION)


def _simulated_noise(mechanism: AdditiveMechanism) -> NDArray[np.float64]:
    """(draws, K): the size of the ideal noise at spend 1 in a fixed simulation."""
    law, mixing_matrix = mechanism.law, mechanism.float_mixing
    if law is None:
        return np.zeros((1, len(mixing_matrix)))
    noise = law.simulate(_simulated_count(mechanism), np.random.default_rng(0))
    found = np.empty((len(noise), len(mixing_matrix)))
    for start in range(0, len(noise), _AT_ONCE):
        rows = found[start : start + _AT_ONCE]
        np.abs(np.matmul(noise[start : start + _AT_ONCE], mixing_matrix.T, out=rows), out=rows)
    return found


def _simulated_count(mechanism: AdditiveMechanism) -> int:
    return min(SIMULATED, _ENTRIES // int(max(mechanism.float_mixing.shape)))


def _safe_rank(count: int, level: float) -> int:
    """Which of so many simulated draws in rising order is below the quantile with a chance below 1e-7.

    Raises: UnsupportedCombination where that would be beyond the last one.
    """
    rank = math.ceil(count * level + _MISSED * math.sqrt(count * level * (1 - level)))
    if rank > count - 1:
        raise UnsupportedCombination(f"level {level} is too close to 1 for {count:,} simulated draws")
    return rank


def _is_independent_laplace(mechanism: AdditiveMechanism) -> bool:
    """Whether every answer has Laplace noise of its own."""
    law = mechanism.law
    return law is not None and law.laplace_scales is not None and isinstance(mechanism.mixing, DiagonalMixing)


_OUTWARD = 1 + 1e-12
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
    if _is_independent_laplace(mechanism):
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
    draws = _simulated_noise(mechanism)
    try:
        rank = _safe_rank(len(draws), 1 - (1 - level) / noisy)
        yield np.asarray(np.partition(draws, rank - 1, axis=0)[rank - 1])
    except UnsupportedCombination:
        proved = law.widths_along(mechanism.float_mixing, (1 - level) / noisy)
        if proved is not None:
            yield proved
    deviations = np.sqrt(mechanism.ideal_variances)
    seen = deviations > 0
    with suppress(UnsupportedCombination):
        rank = _safe_rank(len(draws), level)
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


_DIRECTIONS: Final = 64
_ENTRIES_OF_DIRECTIONS: Final = 1 << 24


@final
@dataclass(frozen=True, eq=False)
class CombinedNoise:
    """The errors of combinations of a mechanism's answers at a spend.

    ``rows`` (c, K): the combinations; ``records``: their public number, None where it is not known; ``rounding`` (K,):
    how far rounding of values can move each answer, where that is to be counted here.
    """

    mechanism: AdditiveMechanism
    spend: Fraction
    rows: NDArray[np.float64] = field(repr=False)
    records: int | None
    rounding: NDArray[np.float64] = field(repr=False)

    @cached_property
    def beside(self) -> NDArray[np.float64]:
        """(c,): how far each combination can be off beside its ideal noise."""
        each = widening(self.mechanism, self.records, self.rounding)
        sizes = np.abs(self.rows)
        # Nothing of an answer is nothing, however far it may be off.
        return np.asarray(np.where(sizes > 0, sizes * np.where(sizes > 0, each, 0.0), 0.0).sum(axis=1))

    def half_width(self, level: float) -> float:
        """The error of the only combination is at most this with probability *at least* ``level``."""
        require_level(level)
        return float(self.quantiles(np.ones((1, 1)), level)[0] + self.beside[0])

    def quantiles(self, directions: NDArray[np.float64], level: float) -> NDArray[np.float64]:
        """(n,): what |a·V| of the combinations' ideal noise V exceeds with probability 1 − ``level`` at most, for each
        a of ``directions`` (n, c).

        Gaussian and Laplace noise, and noise with jumps: exact, or within 1e-9 of that probability. Otherwise the
        quantile of a fixed simulation, so far out that it is too small with a chance below 1e-7, or, where the level
        leaves no such, the bound by the norm of the noise.
        """
        law, mixed = self.mechanism.law, self._mixed
        used = np.flatnonzero(np.any(mixed != 0, axis=0))
        if law is None or not used.size:
            return np.zeros(len(directions))
        if law.normal:
            squares = np.einsum("nc,cd,nd->n", directions, self.covariance(), directions)
            found = np.sqrt(np.maximum(squares, 0.0)) * normal_quantile(level)
        else:
            found = self._simulated(law, directions, level, used)
        return np.asarray(found * _OUTWARD / float(self.spend))

    def _simulated(
        self, law: NoiseLaw, directions: NDArray[np.float64], level: float, used: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        columns = self._mixed
        known = law.quantiles_along(directions @ columns, 1 - level)
        if known is not None:
            return known
        if law.laplace_scales is not None:
            law, columns = LaplaceNoise(law.laplace_scales[used]), columns[:, used]
        count = min(SIMULATED, _ENTRIES_OF_DIRECTIONS // max(columns.shape[1], 1))
        try:
            rank = _safe_rank(count, level)
        except UnsupportedCombination:
            proved = law.widths_along(directions @ columns, 1 - level)
            if proved is not None:
                return proved
            supports = supports_of(law, directions @ columns)
            if supports is None:
                raise
            return supports[0] * gamma_quantile(supports[1], level)
        noise = (
            _last_simulated(law, count) if law is self.mechanism.law else law.simulate(count, np.random.default_rng(0))
        )
        draws = noise @ columns.T
        return np.array([np.partition(np.abs(draws @ one), rank - 1)[rank - 1] for one in directions])

    def covariance(self) -> NDArray[np.float64]:
        """(c, c): of the ideal noise at spend 1."""
        law = self.mechanism.law
        if law is None:
            return np.zeros((len(self.rows), len(self.rows)))
        return np.asarray(self._mixed @ law.second_moment @ self._mixed.T)

    @cached_property
    def _mixed(self) -> NDArray[np.float64]:
        return np.asarray(self.rows @ self.mechanism.float_mixing)


@lru_cache(maxsize=1)
def _last_simulated(law: NoiseLaw, count: int) -> NDArray[np.float64]:
    """(count, m): the fixed simulation of a law. The last is kept, since all ratios of a release have one; it takes
    128 MB at most."""
    return law.simulate(count, np.random.default_rng(0))


@final
@dataclass(frozen=True, eq=False)
class ErrorNorm:
    """A bound b(ρ) for the error of N − ρ·D, for every ρ: piecewise linear, from the quantiles in some directions.

    ``ratios`` (n,): rising; ``bounds`` (n,): b there; ``slope``: at most b grows by this per unit of |ρ| beyond them.
    ``beside`` (2,): what N and D can be off beside noise, which is counted at |ρ|'s own.

    The quantile of |a·V| is a norm of a where V is symmetric and log-concave; noise that is not, that with jumps, gives
    Chernoff's bound, inf (c + Λ(θa))/θ with Λ convex, which is a norm of a for any V. So between two directions it is
    at most what lies on the chord, and beyond the last ones at most q(1, −ρ₀) + |ρ − ρ₀|·q(0, 1).
    Source: Meyer & Reisner 1991 (floating bodies of symmetric bodies); Bobkov 2010 (log-concave measures).
    """

    ratios: NDArray[np.float64]
    bounds: NDArray[np.float64]
    slope: float
    beside: NDArray[np.float64]

    def not_excluded(self, above: float, below: float) -> list[tuple[float, float]]:
        """All ρ with |above − ρ·below| ≤ b(ρ), as intervals from the lowest on; ends may be infinite."""
        ends = np.unique(np.concatenate([self.ratios, [0.0]]))
        found: list[tuple[float, float]] = []
        for piece in zip(*self._lines(ends), [-math.inf, *ends.tolist()], [*ends.tolist(), math.inf], strict=True):
            for part in _satisfied(above, below, *piece):
                if found and part[0] <= found[-1][1]:
                    found[-1] = (found[-1][0], max(found[-1][1], part[1]))
                else:
                    found.append(part)
        return found

    def at(self, ratios: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,): b(ρ)."""
        inside = np.interp(ratios, self.ratios, self.bounds)
        beyond = np.maximum(np.maximum(self.ratios[0] - ratios, ratios - self.ratios[-1]), 0.0)
        return np.asarray(inside + beyond * self.slope + self.beside[0] + np.abs(ratios) * self.beside[1])

    def _lines(self, ends: NDArray[np.float64]) -> tuple[list[float], list[float]]:
        """Constants and slopes of b below the first end, between each two, and above the last."""
        with np.errstate(all="ignore"):
            heights, beyond = self.at(ends), self.slope + float(self.beside[1])
            slopes = np.concatenate([[-beyond], np.diff(heights) / np.diff(ends), [beyond]])
            places = np.concatenate([[0], np.arange(len(ends))])
            return (heights[places] - slopes * ends[places]).tolist(), slopes.tolist()


def _satisfied(
    above: float, below: float, constant: float, slope: float, low: float, high: float
) -> list[tuple[float, float]]:
    """Where, from low to high, −(c + s·ρ) ≤ above − ρ·below ≤ c + s·ρ; the widest such, ends rounded outwards."""
    for value, change in ((constant - above, slope + below), (constant + above, slope - below)):
        if change == 0:
            if value < 0:
                return []
            continue
        root = -value / change
        root += abs(root) * 1e-12 * (1 if change < 0 else -1)
        low, high = (max(low, root), high) if change > 0 else (low, min(high, root))
    return [(low, high)] if low <= high else []


def error_norm(noise: CombinedNoise, level: float) -> ErrorNorm:
    """The bound for two combinations, numerator and denominator.

    Raises: UnsupportedCombination unless 0 < level < 1.
    """
    require_level(level)
    ratios, quantiles = _quantiles(noise.mechanism, noise.rows.shape, noise.rows.tobytes(), level)
    at_spend = quantiles * _OUTWARD / float(noise.spend)
    return ErrorNorm(ratios, at_spend[:-1], float(at_spend[-1]), noise.beside)


@lru_cache(maxsize=4096)
def _quantiles(
    mechanism: AdditiveMechanism, shape: tuple[int, int], rows: bytes, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n,) ratios ρ, rising, and (n + 1,) quantiles at spend 1 in the directions (1, −ρ) and (0, 1). Kept, because a
    simulation takes a second, for as many ratios as a release shows more than once."""
    combined = np.frombuffer(rows).reshape(shape)
    noise = CombinedNoise(mechanism, Fraction(1), combined, None, np.zeros(shape[1]))
    covariance = noise.covariance()
    deviations = np.sqrt(np.diag(covariance))
    sizes = np.where(deviations > 0, deviations, 1.0)
    angles = (np.arange(_DIRECTIONS) + 0.5) * np.pi / _DIRECTIONS - np.pi / 2
    if deviations[1] == 0:
        ratios = np.array([0.0])
    else:
        # Even angles after the noise is made round: a·V has unit variance there.
        slant = covariance[0, 1] / covariance[1, 1]
        rest = np.sqrt(max(covariance[0, 0] - slant * covariance[0, 1], 0.0)) / sizes[1]
        ratios = slant + (rest if rest > 0 else sizes[0] / sizes[1]) * np.tan(angles)
        ratios = np.unique(np.append(ratios, slant))
    directions = np.vstack([np.column_stack([np.ones(len(ratios)), -ratios]), [0.0, 1.0]])
    law = mechanism.law
    proved = None if law is None else law.widths_along(directions @ combined @ mechanism.float_mixing, 1 - level)
    return ratios, noise.quantiles(directions, level) if proved is None else proved
