"""K-norm noise of the balls of ℓ∞, ℓ₁ and ℓ₂, stretched."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid
from dxgeom.noise.gaussian import exact_normals, float_normals, pairs_for
from dxgeom.noise.inversion import BEYOND, quantile_of_laplace, quantiles_of_two_laplace
from dxgeom.noise.law import NoiseLaw, mean_sizes_of_laplace
from dxgeom.noise.rounding import FLOAT_ERROR, WORD, IdealDraws, exponential_sums, exponentials, legible, sums_of
from dxgeom.numeric.randomness import Randomness, fair_bits
from dxgeom.numeric.sealed import cached_property, freeze_arrays

_MOST_ADDED = 256
"""Laplace numbers in a sum whose mean size is worked out: it takes the square of that."""


@final
@dataclass(frozen=True, eq=False)
class BoxNoise(NoiseLaw):
    """V = R·U with R ~ Gamma(m + 1) and U uniform in the box: density ∝ exp(−max_k |v_k|/half_widths[k]).

    R is the sum of m + 1 exponentials, U_k = half_widths[k]·(2u_k − 1).
    Source: Awan & Slavković 2020, Prop. 4.13.
    """

    body: Box

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> BoxNoise | None:
        if body.powers is None or body.powers.exponent != math.inf:
            return None
        return cls(Box(body.powers.radii))

    @property
    def amplitude(self) -> float:
        return float(self.body.half_widths.max()) * (self.body.dimension + 1)

    def mean_sizes_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """E R = m + 1 and E|U_k| is half a width; of sums of coordinates nothing is said."""
        if np.count_nonzero(rows, axis=1).max(initial=0) > 1:
            return None
        return np.asarray(np.abs(rows) @ self.body.half_widths * ((self.dimension + 1) / 2))

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        radius = generator.standard_gamma(self.dimension + 1, (count, 1))
        return np.asarray(radius * generator.uniform(-1, 1, (count, self.dimension)) * self.body.half_widths)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size, widths = self.dimension, self.body.half_widths
        words = randomness.words(count * (2 * size + 1)).reshape(count, 2 * size + 1)
        radius = exponentials(words[:, : size + 1]).sum(axis=1, keepdims=True)
        places = words[:, size + 1 :].astype(np.float64) * 2.0 ** (1 - WORD) - 1
        # |places| ≤ 1 is off by less than 2⁻⁵¹, which the radius' own allowance of 2⁻⁴³(m + 1 + R) covers as well.
        errors = (size + 1 + radius) * widths * FLOAT_ERROR
        return IdealDraws(
            radius * places * widths, errors, legible(words[:, : size + 1]), words, lambda _: self._evaluate
        )

    def _evaluate(self, uniforms: list[arb]) -> list[arb]:
        size, widths = self.dimension, self.body.half_widths.tolist()
        radius = sum((-uniform.log() for uniform in uniforms[: size + 1]), arb(0))
        return [radius * (2 * uniform - 1) * width for uniform, width in zip(uniforms[size + 1 :], widths, strict=True)]


@final
@dataclass(frozen=True, eq=False)
class LaplaceNoise(NoiseLaw):
    """V_k = ±scales[k]·E_k: density ∝ exp(−Σ |v_k| / scales[k]). ``scales`` (m,): positive float64, lattice steps."""

    scales: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self, "scales")
        if self.scales.ndim != 1 or not np.all((self.scales > 0) & np.isfinite(self.scales)):
            raise NotANormBall(f"Laplace scales are positive and finite, found {self.scales}")

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> LaplaceNoise | None:
        if body.powers is None or body.powers.exponent != 1:
            return None
        return cls(body.powers.radii)

    @cached_property
    def body(self) -> CrossPolytope:
        return CrossPolytope(self.scales)

    @property
    def laplace_scales(self) -> NDArray[np.float64]:
        return self.scales

    def size_in_words(self, hidden: str) -> str:
        return f"{len(self.scales):,} scales from {hidden}"

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.diag(2 * self.scales**2)

    def variances_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((rows**2) @ (2 * self.scales**2))

    def quantiles_along(self, rows: NDArray[np.float64], missed: float) -> NDArray[np.float64] | None:
        each = np.abs(rows) * self.scales
        if np.count_nonzero(each, axis=1).max(initial=0) <= 2:
            return quantiles_of_two_laplace(np.sort(each, axis=1)[:, -2:], missed)
        if missed < BEYOND:
            return None
        found = []
        for scales in each:
            least = quantile_of_laplace(scales[scales > 0], missed)
            if least is None:
                return None
            found.append(least)
        return np.array(found)

    def mean_sizes_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        each = np.sort(np.abs(rows) * self.scales, axis=1)
        most = int(np.count_nonzero(each, axis=1).max(initial=0))
        return None if most > _MOST_ADDED else mean_sizes_of_laplace(each[:, each.shape[1] - most :])

    @property
    def dimension(self) -> int:
        return len(self.scales)

    @property
    def amplitude(self) -> float:
        return float(self.scales.max())

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return generator.laplace(size=(count, self.scales.size)) * self.scales

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        words, axes, values, errors = self._drawn(count, randomness)
        return IdealDraws(
            values, errors, legible(words), words, lambda row: exponential_sums(np.diag(axes[row]).tolist())
        )

    @property
    def made_of(self) -> Literal["laplace"]:
        return "laplace"

    @property
    def dependence(self) -> NDArray[np.bool_]:
        return np.eye(self.dimension, dtype=bool)

    def among(self, rows: NDArray[np.int64]) -> LaplaceNoise:
        return LaplaceNoise(self.scales[rows].copy())

    def image(self, numbers: Sequence[arb], rows: Sequence[int]) -> list[arb]:
        return [numbers[row] * arb(float(self.scales[row])) for row in rows]

    def apart(self, count: int, randomness: Randomness) -> IdealDraws:
        words, axes, values, errors = self._drawn(count, randomness)
        alone, signed = words.reshape(-1, 1), axes.reshape(-1, 1)
        return IdealDraws(
            values.reshape(-1, 1),
            errors.reshape(-1, 1),
            legible(alone),
            alone,
            lambda row: exponential_sums([signed[row].tolist()]),
        )

    def _drawn(
        self, count: int, randomness: Randomness
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """(count, m) each: words, signed scales, values and bounds on their errors."""
        size = self.scales.size
        words = randomness.words(count * size).reshape(count, size)
        axes = np.where(fair_bits(count * size, randomness).reshape(count, size), 1.0, -1.0) * self.scales
        sizes = exponentials(words)
        return words, axes, axes * sizes, self.scales * (1 + sizes) * FLOAT_ERROR


_ELLIPSOID_ERROR = 2.0**-29
"""Bound on the float64 error of one coordinate, relative to Σ_j |a_kj|·(m + R), given the two conditions below.

A normal N = √(2E)·cos 2πu is off by at most 2⁻³³: √E loses 2⁻⁴⁵/(2·2⁻¹⁰) where E ≥ 2⁻²⁰, the cosine 2⁻⁴⁸·√(2E).
Dividing by a length of at least 2⁻³ √m gives a direction within 2⁻³⁰·(1 + |D|)/2, and the radius adds 2⁻⁴³(m + R)."""
_SMALLEST_EXPONENTIAL = 2.0**-20
_SHORTEST = 2.0**-3


@final
@dataclass(frozen=True, eq=False)
class EllipsoidNoise(NoiseLaw):
    """V = axes·(R·D) with R ~ Gamma(m), D uniform on the unit sphere: density ∝ exp(−‖axes⁻¹v‖₂).

    D is the direction of m normals, two from each pair of uniforms (Box and Muller); of an odd number the last is left.
    """

    body: Ellipsoid

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> EllipsoidNoise | None:
        return None if body.axes_of_ball is None else cls(Ellipsoid(body.axes_of_ball))

    @property
    def amplitude(self) -> float:
        return float(np.abs(self.body.axes).sum(axis=1).max()) * self.body.dimension

    def mean_sizes_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """E R = m, and a coordinate of D has the mean size Γ(m/2)/(√π·Γ((m + 1)/2))."""
        half = self.dimension / 2
        of_direction = math.exp(math.lgamma(half) - math.lgamma(half + 0.5)) / math.sqrt(math.pi)
        return np.asarray(np.linalg.norm(rows @ self.body.axes, axis=1) * (self.dimension * of_direction))

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        drawn = generator.standard_normal((count, self.dimension))
        directions = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        radius = generator.standard_gamma(self.dimension, (count, 1))
        return np.asarray((radius * directions) @ self.body.axes.T)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size, pairs = self.dimension, pairs_for(self.dimension)
        words = randomness.words(count * (size + 2 * pairs)).reshape(count, size + 2 * pairs)
        radius = exponentials(words[:, :size]).sum(axis=1, keepdims=True)
        further, drawn = float_normals(words[:, size:], size)
        length = np.linalg.norm(drawn, axis=1, keepdims=True)
        values = (radius * drawn / np.where(length > 0, length, 1)) @ self.body.axes.T
        errors = (size + radius) * np.abs(self.body.axes).sum(axis=1) * _ELLIPSOID_ERROR
        tame = np.all(further >= _SMALLEST_EXPONENTIAL, axis=1) & (length[:, 0] >= _SHORTEST * size**0.5)
        return IdealDraws(values, errors, legible(words[:, : size + pairs]) & tame, words, lambda _: self._evaluate)

    def _evaluate(self, uniforms: list[arb]) -> list[arb]:
        size = self.dimension
        drawn = exact_normals(uniforms[size:], size)
        radius = sum((-uniform.log() for uniform in uniforms[:size]), arb(0))
        scale = radius / sum((normal * normal for normal in drawn), arb(0)).sqrt()
        return [value * scale for value in sums_of(self.body.axes.tolist(), drawn)]
