"""Normal noise in running totals: through the inverse of a triangular Toeplitz matrix, in O(n log n)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, NamedTuple, final

import numpy as np
from flint import arb, arb_series, ctx, fmpz_poly
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid, lengths_rounded_up
from dxgeom.noise.gaussian import GaussianNoise, NormalsOfTables, normals, words_of_normals
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rounding import IdealDraws
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, freeze_arrays, frozen_integers

ONE: Final = 2**60
"""Coefficients are whole multiples of one over this."""
LONGEST: Final = 1 << 20
_LAID_OUT: Final = 4096
_ROWS_AT_ONCE: Final = 1 << 20
_UNIT: Final = 2.0**-53
_CORRECTIONS: Final = 2
_NEGLIGIBLE: Final = 2.0**-40
"""What an inverse is off by, of noise some thousand steps wide: below what normal numbers in float64 are off by."""
_DOUBTFUL: Final = 2.0**-20
_WELL_TOLD: Final = 192
_PLACES: Final = 100
"""While balls have at most so many bits, normal numbers are taken as whole multiples of 2⁻¹⁰⁰."""


class _Inverse(NamedTuple):
    """``values`` (n,): h, of 1/((1 − x)·c(x)) nearly; ``off``: the sum of |coefficients| of 1 − (1 − x)·c·h."""

    values: NDArray[np.float64]
    off: float


class _FinerInverse(NamedTuple):
    """``series``: h in parts of 2¹²⁰; the sum of its sizes; and that of 1 − (1 − x)·c·h, in parts of 2¹⁸⁰."""

    series: fmpz_poly
    size: int
    off: int


@final
@dataclass(frozen=True, eq=False)
class ToeplitzNormals(NormalsOfTables):
    """V = P·diag(lengths)·C⁻¹·N, N standard normal in ℝⁿ, P the matrix of running totals.

    ``series`` (n,) int64: the first column of C, lower triangular and Toeplitz, times 2⁶⁰. A shift w is hidden as
    ‖w‖ = ‖C·diag(1/lengths)·P⁻¹·w‖₂, in the concentrated sense.

    Guarantee: ``draw`` rounds the ideal numbers *exactly*. The matrix is what these very integers are. What float64
    takes for its inverse is held against them in integers, once; how far that is off, and the rounding of the fast
    Fourier transform, are in the interval that decides whether a number is settled. What is not is found in balls.
    Source: Bun & Steinke 2016, Lemma 2.4; Fichtenberger, Henzinger & Upadhyay 2023 for square roots of running totals.
    """

    series: NDArray[np.int64]
    lengths: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self, "lengths")
        object.__setattr__(self, "series", frozen_integers(self.series))
        formed = self.series.ndim == 1 and 0 < len(self.series) <= LONGEST and self.lengths.shape == self.series.shape
        proper = formed and bool(np.all(np.isfinite(self.lengths) & (self.lengths > 0)))
        if not (proper and self.series[0] >= ONE // 2**20 and np.all(self.series <= 4 * ONE - 1)):
            raise NotANormBall(
                f"noise in up to {LONGEST:,} running totals has a first coefficient and positive lengths"
            )
        if np.any(self.series < -4 * ONE):
            raise NotANormBall("coefficients are below 4")

    @property
    def inner(self) -> GaussianNoise:
        return GaussianNoise(Ellipsoid(np.eye(self.dimension)))

    @property
    def dimension(self) -> int:
        return len(self.series)

    @cached_property
    def _falls(self) -> NDArray[np.float64]:
        """(n,): by how much each length is above the next; 0 for the last."""
        return np.append(self.lengths[:-1] - self.lengths[1:], 0.0)

    @cached_property
    def _inverse(self) -> _Inverse:
        """Raises: TooLarge where float64 does not tell it."""
        steps = np.diff(self.series, prepend=np.int64(0))
        found = _reciprocal(steps.astype(np.float64) / ONE)
        off, left = math.inf, np.zeros(0)
        for _ in range(_CORRECTIONS):
            found = np.rint((found + convolved(found, left) if left.size else found) * ONE) / ONE
            if not np.all(np.abs(found) < 4):
                break
            left = _left_of(steps, (found * ONE).astype(np.int64))
            off = float(np.abs(left).sum() * (1 + 2.0**-30))
            if off < _NEGLIGIBLE:
                break
        if not off < _DOUBTFUL:
            raise TooLarge("these coefficients have an inverse that float64 does not tell")
        return _Inverse(found, off)

    @property
    def amplitude(self) -> float:
        """√(2E) ≤ √2·E for exponentials from 1 on; the sum of n entries is at most √n times the root of their
        squares'."""
        widest = float(self.lengths.max() + np.abs(self._falls).sum())
        return widest * math.sqrt(2 * self.dimension * float(np.sum(self._inverse.values**2))) * (1 + 2.0**-20)

    @property
    def map(self) -> NDArray[np.float64]:
        """(n, n): P·diag(lengths)·C⁻¹, up to the rounding of float64. Raises: TooLarge."""
        size, inverse = self.dimension, self._inverse.values
        if size > _LAID_OUT:
            raise TooLarge(f"the matrix of {size:,} running totals is not laid out; of at most {_LAID_OUT:,} it is")
        found, shared = np.zeros((size, size)), np.zeros(size)
        for row in range(size):
            own = inverse[row::-1]
            found[row, : row + 1] = shared[: row + 1] + self.lengths[row] * own
            shared[: row + 1] += self._falls[row] * own
        return found

    @property
    def second_moment(self) -> NDArray[np.float64]:
        laid_out = self.map
        return np.asarray(laid_out @ laid_out.T)

    def variances_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        own = np.diff(self._inverse.values, prepend=0.0)
        found, at_once = np.empty(len(rows)), max(1, _ROWS_AT_ONCE // self.dimension)
        for start in range(0, len(rows), at_once):
            # Both sums run from the last coordinate on.
            later = np.cumsum(rows[start : start + at_once, ::-1], axis=1) * self.lengths[::-1]
            found[start : start + at_once] = np.sum(convolved(own, later) ** 2, axis=1)
        return found

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        series = self.series / ONE
        steps = np.diff(shifts, axis=1, prepend=0.0) / self.lengths
        loose = errors + np.concatenate([np.zeros_like(errors[:, :1]), errors[:, :-1]], axis=1)
        # A difference, a quotient, and a coefficient are each off by 2⁻⁵³ relative; doubled.
        loose = loose / self.lengths * (1 + 2.0**-50) + np.abs(steps) * (8 * _UNIT)
        turned, slack = _bounded(series, steps)
        return lengths_rounded_up(turned, (slack + sum(_bounded(np.abs(series), loose))) * (1 + 2.0**-40))

    @property
    def inverse(self) -> NDArray[np.float64]:
        """(n,): h = 1/((1 − x)·c(x)), so that V = h∗N where all lengths are 1; off by what :meth:`ideal` takes into
        account. Raises: TooLarge where float64 does not tell it."""
        return self._inverse.values

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return self._of_totals(convolved(self._inverse.values, generator.standard_normal((count, self.dimension))))

    def _of_totals(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """V (B, n) of the running totals G = P·C⁻¹·N: V_k = l_k·G_k + Σ_{i<k} (l_i − l_{i+1})·G_i."""
        before = np.cumsum(totals * self._falls, axis=1)
        earlier = np.concatenate([np.zeros_like(before[:, :1]), before[:, :-1]], axis=1)
        return np.asarray(totals * self.lengths + earlier)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size, (inverse, off) = self.dimension, self._inverse
        words = words_of_normals(count, size, randomness)
        found = normals(words, size)
        totals, loose = _bounded(inverse, found.values)
        loose = loose + sum(_bounded(np.abs(inverse), found.errors))
        # G = h∗N + e∗G, e what the inverse lacks: no entry of e∗G is more than ‖e‖₁ times the largest of G.
        most = np.max(np.abs(totals) + loose, axis=1, keepdims=True)
        loose = loose + most * (off / (1 - off)) * (1 + 2.0**-20)
        falls, sizes = np.abs(self._falls), np.abs(totals)
        spread = sizes * self.lengths + np.cumsum(sizes * falls, axis=1)
        # Zeros are added exactly.
        rounding = spread * ((np.count_nonzero(falls) + 6) * 2.0**-52)
        errors = (loose * self.lengths + np.cumsum(loose * falls, axis=1)) * (1 + 2.0**-20) + rounding * (1 + 2.0**-20)
        return IdealDraws(self._of_totals(totals), errors, found.legible, words, lambda _: self._evaluate)

    @cached_property
    def _finer(self) -> _FinerInverse:
        """h + h·(1 − b·h), of b = (1 − x)·c: what it is off by is about the square of what h is."""
        size, first = self.dimension, fmpz_poly([int(one) for one in (self._inverse.values * ONE).tolist()])
        steps = fmpz_poly(np.diff(self.series, prepend=np.int64(0)).tolist())
        left = fmpz_poly((ONE**2 - steps * first).coeffs()[:size])
        more = [int(one) // ONE for one in (first * left).coeffs()[:size]]
        finer = first * ONE + fmpz_poly(more)
        off = sum(abs(int(one)) for one in (ONE**3 - steps * finer).coeffs()[:size])
        return _FinerInverse(finer, sum(abs(int(one)) for one in finer.coeffs()), off)

    def _totals(self, drawn: list[arb]) -> list[arb]:
        """G = N/((1 − x)·c): from whole numbers near N, by a product of integers, while that tells it well; else by
        division of balls, which takes far longer.

        With h for 1/b and ν for N, G = h·ν + h·(N − ν) + e·G, e = 1 − b·h: entries of the last two are at most the sum
        of the coefficients' sizes times the largest entry that they are multiplied with.
        """
        size = self.dimension
        if ctx.prec > _WELL_TOLD or not all(one.is_finite() for one in drawn):
            return _quotient(drawn, np.diff(self.series, prepend=np.int64(0)).tolist())
        inverse, most, off = self._finer
        whole = [(one.mid() * 2**_PLACES).floor().unique_fmpz() for one in drawn]
        widest = max(one.rad() for one in drawn) + arb(2) ** -_PLACES
        product = (inverse * fmpz_poly(whole)).coeffs()[:size]
        found = [arb(one) / (ONE**2 * 2**_PLACES) for one in product] + [arb(0)] * (size - len(product))
        loose = widest * arb(most) / ONE**2
        share = arb(off) / ONE**3
        loose += (max(abs(one).upper() for one in found) + loose) * share / (1 - share)
        around = arb(0, loose.abs_upper())
        return [one + around for one in found]

    @property
    def made_of(self) -> Literal["normal"]:
        return "normal"

    @property
    def dependence(self) -> NDArray[np.bool_]:
        if self.dimension > _LAID_OUT:
            raise TooLarge(f"which of {self.dimension:,} numbers reach which is not laid out; of {_LAID_OUT:,} it is")
        return np.tri(self.dimension, dtype=bool)

    def among(self, rows: NDArray[np.int64]) -> NoiseLaw:
        if not np.array_equal(rows, np.arange(len(rows))):
            raise self.no_image
        return ToeplitzNormals(self.series[: len(rows)].copy(), self.lengths[: len(rows)].copy())

    def image(self, numbers: Sequence[arb], rows: Sequence[int]) -> list[arb]:
        before, found = arb(0), []
        for length, fall, total in zip(self.lengths.tolist(), self._exact_falls, self._totals([*numbers]), strict=True):
            found.append(total * arb(length) + before)
            before = before + total * fall
        return [found[row] for row in rows]

    @property
    def _exact_falls(self) -> list[arb]:
        own = [arb(one) for one in self.lengths.tolist()]
        return [*(one - other for one, other in pairwise(own)), arb(0)]


def _quotient(normal: Sequence[arb], steps: Sequence[int]) -> list[arb]:
    """(n,): 2⁶⁰·N(x)/b(x), b of these coefficients, modulo xⁿ."""
    size, kept = len(steps), ctx.cap
    try:
        ctx.cap = size
        found = arb_series([*normal], size) / arb_series([*steps], size)
    finally:
        ctx.cap = kept
    return [found[place] * ONE for place in range(size)]


def _transform_length(size: int) -> int:
    return 1 << (2 * size - 1).bit_length()


def _whole_product(series: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    length = _transform_length(series.shape[-1])
    turned = np.fft.rfft(series, length) * np.fft.rfft(rows, length, axis=-1)
    return np.asarray(np.fft.irfft(turned, length, axis=-1))


def convolved(series: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first n coefficients of a series (n,) times each row, (n,) or (B, n), by the fast Fourier transform."""
    return _whole_product(series, rows)[..., : series.shape[-1]]


def _bounded(series: NDArray[np.float64], rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same of rows (B, n), and (B, 1) how far an entry is off at most.

    A transform of length N = 2^m is off by at most m·(μ + γ₄(√2 + μ)) < 7·m·2⁻⁵³ of its vector's length, μ ≤ 2⁻⁵³ the
    error of its roots of unity. Of the two transforms, by Cauchy and Schwarz, an entry is off by twice that of
    ‖series‖·‖row‖; of the third by that of the whole product's length, all of its 2n entries. Eight times that.
    Source: Higham 2002, Theorem 24.2.
    """
    size = series.shape[-1]
    whole = _whole_product(series, rows)
    each = 8 * 7 * _transform_length(size).bit_length() * _UNIT
    parts = 2 * np.linalg.norm(series) * np.linalg.norm(rows, axis=1) + np.linalg.norm(whole, axis=1)
    return whole[:, :size], np.asarray(each * parts[:, None] + 2.0**-900)


def _reciprocal(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/series modulo xⁿ, by Newton's steps, each for twice as many coefficients; up to rounding."""
    found, size = np.array([1 / series[0]]), len(series)
    while len(found) < size:
        longer = np.zeros(min(2 * len(found), size))
        longer[: len(found)] = found
        left = -convolved(longer, series[: len(longer)])
        left[0] += 2
        found = convolved(longer, left)
    return found


def _left_of(steps: NDArray[np.int64], inverse: NDArray[np.int64]) -> NDArray[np.float64]:
    """(n,): the coefficients of 1 − b·h, both in parts of 2⁶⁰; the product in integers, each rounded once."""
    product = (fmpz_poly(steps.tolist()) * fmpz_poly(inverse.tolist())).coeffs()[: len(steps)]
    left = [-int(one) for one in product] + [0] * (len(steps) - len(product))
    left[0] += ONE * ONE
    return np.array(left, dtype=object).astype(np.float64) / float(ONE * ONE)
