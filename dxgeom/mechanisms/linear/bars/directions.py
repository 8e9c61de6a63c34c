"""Error bars of what is computed from answers: of one combination of them, and of two in every direction at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.bars.intervals import SIMULATED, normal_quantile, safe_rank, widening
from dxgeom.mechanisms.linear.bars.joint import gamma_quantile, supports_of
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.sealed import cached_property

_DIRECTIONS: Final = 64
_ENTRIES: Final = 1 << 24
_OUTWARD: Final = 1 + 1e-12


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

        Two independent Laplace coordinates, and Gaussian noise: exact. Otherwise the quantile of a fixed simulation, so
        far out that it is too small with a chance below 1e-7, or, where the level leaves no such, the bound by the norm
        of the noise.
        """
        law, mixed = self.mechanism.law, self._mixed
        used = np.flatnonzero(np.any(mixed != 0, axis=0))
        if law is None or not used.size:
            return np.zeros(len(directions))
        scales = law.laplace_scales
        if scales is not None and used.size <= 2:
            found = _two_laplace(np.abs(directions @ mixed[:, used]) * scales[used], level)
        elif law.normal:
            squares = np.einsum("nc,cd,nd->n", directions, self.covariance(), directions)
            found = np.sqrt(np.maximum(squares, 0.0)) * normal_quantile(level)
        else:
            found = self._simulated(law, directions, level, used)
        return np.asarray(found * _OUTWARD / float(self.spend))

    def _simulated(
        self, law: NoiseLaw, directions: NDArray[np.float64], level: float, used: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        columns = self._mixed
        if law.laplace_scales is not None:
            law, columns = LaplaceNoise(law.laplace_scales[used]), columns[:, used]
        count = min(SIMULATED, _ENTRIES // max(columns.shape[1], 1))
        try:
            rank = safe_rank(count, level)
        except UnsupportedCombination:
            proved = law.widths_along(directions @ columns, 1 - level)
            if proved is not None:
                return proved
            supports = supports_of(law, directions @ columns)
            if supports is None:
                raise
            return supports[0] * gamma_quantile(supports[1], level)
        draws = law.simulate(count, np.random.default_rng(0)) @ columns.T
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


def _two_laplace(scales: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """(n,): t with P[|X + Y| > t] ≤ 1 − level for independent Laplace X, Y of scales (n, 1 or 2); *rounded up*.

    With a ≥ b: P[|X + Y| > t] = (a²e^{−t/a} − b²e^{−t/b})/(a² − b²) = e^{−t/a}·(1 + t·b/(a(a + b))·φ), where
    φ = (1 − e^{−d})/d and d = t(a − b)/(ab).
    """
    large, small = scales.max(axis=1), scales.min(axis=1) if scales.shape[1] > 1 else np.zeros(len(scales))
    quiet = large == 0
    a, b = np.where(quiet, 1.0, large), np.where(quiet, 0.0, small)

    def missed(t: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            d = np.where(b > 0, t * (a - b) / (a * b), np.inf)
            share = np.where(d > 0, np.where(np.isinf(d), 0.0, -np.expm1(-d) / d), 1.0)
        return np.asarray(np.exp(-t / a) * (1 + t * b / (a * (a + b)) * share))

    low, high = np.zeros(len(a)), 4 * a * (5 - np.log1p(-level))
    for _ in range(80):
        middle = (low + high) / 2
        enough = missed(middle) <= 1 - level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(quiet, 0.0, high * (1 + 1e-9))


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
        pieces = [(-np.inf, ends[0]), *pairwise(ends), (ends[-1], np.inf)]
        for low, high in pieces:
            left, right = self._line(float(low), float(high))
            for part in _satisfied(above, below, left, right, float(low), float(high)):
                if found and part[0] <= found[-1][1]:
                    found[-1] = (found[-1][0], max(found[-1][1], part[1]))
                else:
                    found.append(part)
        return found

    def at(self, ratio: float) -> float:
        """b(ρ)."""
        inside = float(np.interp(ratio, self.ratios, self.bounds))
        beyond = max(float(self.ratios[0]) - ratio, ratio - float(self.ratios[-1]), 0.0)
        return inside + beyond * self.slope + float(self.beside[0]) + abs(ratio) * float(self.beside[1])

    def _line(self, low: float, high: float) -> tuple[float, float]:
        """Constant and slope of b on a piece."""
        if np.isinf(low):
            slope = -(self.slope + float(self.beside[1]))
            return self.at(high) - slope * high, slope
        slope = self.slope + float(self.beside[1]) if np.isinf(high) else (self.at(high) - self.at(low)) / (high - low)
        return self.at(low) - slope * low, slope


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


@lru_cache(maxsize=64)
def _quantiles(
    mechanism: AdditiveMechanism, shape: tuple[int, int], rows: bytes, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n,) ratios ρ, rising, and (n + 1,) quantiles at spend 1 in the directions (1, −ρ) and (0, 1). Kept, because a
    simulation takes a second."""
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
