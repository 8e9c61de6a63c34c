"""How far one record can move a statistic: in each entry, in ℓ₁, ℓ₂ and ℓ∞, and into which corners."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.statistics.adjacent_outputs import AdjacentOutputs
from dxgeom.mechanisms.statistics.bernstein import Maximum

MOST_SIGNED_ENTRIES = 14
"""ℓ₁ looks at 2^(m − 1) sign vectors."""


class NormSensitivities(NamedTuple):
    """Δ_p(T) = sup over the adjacent output space of ‖u‖_p, in the entries' own units: ``lower ≤ Δ_p ≤ upper``.

    Noise uses the upper ends. ``l2`` holds Δ₂², which is rational where Δ₂ is not.
    """

    l1: Maximum
    l2_squared: Maximum
    linf: Maximum

    @property
    def l2(self) -> tuple[float, float]:
        """Δ₂, rounded outward."""
        low, high = math.sqrt(self.l2_squared.lower), math.sqrt(self.l2_squared.upper)
        return math.nextafter(low * (1 - 2.0**-50), 0.0), math.nextafter(high * (1 + 2.0**-50), math.inf)


class CornerStructure(NamedTuple):
    """How many of the 2ᵐ corners of the box around S_T are in S_T.

    The box has the half-widths Δ(T_k). All corners: *negligible structure*, and the box is the hull. At least one:
    Δ_p = (Σ Δ(T_k)^p)^(1/p), so nothing is lost by adding up entries' own sensitivities.
    Source: Awan & Slavković 2020, Def. 3.2 and Prop. 3.3, there for equal Δ(T_k).
    """

    reached: int
    corners: int

    @property
    def negligible(self) -> bool:
        """Whether every corner is reached."""
        return self.reached == self.corners

    @property
    def norms_add_up(self) -> bool:
        """Whether some corner is reached."""
        return self.reached > 0


def entry_sensitivities(outputs: AdjacentOutputs) -> list[Maximum]:
    """Δ(T_k) of each entry, in its own unit."""
    reaches = outputs.reaches(np.eye(outputs.dimension, dtype=np.int64).astype(object))
    return [_times(reach, step) for reach, step in zip(reaches, outputs.steps, strict=True)]


def norm_sensitivities(outputs: AdjacentOutputs) -> NormSensitivities:
    """Δ₁, Δ₂ and Δ∞ of a statistic.

    Definition: Δ₁ is the largest support function over all sign vectors, Δ∞ that over the axes.
    Guarantee: *rounded outward*; Δ₁ and Δ∞ are exact where support functions are.
    Raises: TooLarge beyond 14 entries, or when Δ₂ has too many Bernstein coefficients.
    """
    single = entry_sensitivities(outputs)
    return NormSensitivities(signed_reach(outputs, list(outputs.steps)), outputs.longest_square(), _largest(single))


def signed_reach(outputs: AdjacentOutputs, weights: list[Fraction]) -> Maximum:
    """sup over S_T of Σ_k weights[k]·|u_k|, u in lattice steps, enclosed. Raises: TooLarge beyond 14 entries."""
    directions, denominator = _signed(outputs, weights)
    return _times(_largest(outputs.reaches(directions)), Fraction(1, denominator))


def corner_structure(outputs: AdjacentOutputs) -> CornerStructure:
    """Which corners of its box the adjacent output space reaches, by Σ s_k u_k/Δ(T_k) = m for signs s.

    Guarantee: *exact*. Raises: UnsupportedCombination when support functions are only enclosed; TooLarge beyond 14
    entries.
    """
    single = _exactly(entry_sensitivities(outputs))
    weights = [step / each for step, each in zip(outputs.steps, single, strict=True)]
    directions, denominator = _signed(outputs, weights)
    full = outputs.dimension * denominator
    reached = sum(reach == full for reach in _exactly(outputs.reaches(directions)))
    return CornerStructure(2 * reached, 2 * len(directions))


def _exactly(maxima: list[Maximum]) -> list[Fraction]:
    if any(each.lower != each.upper for each in maxima):
        raise UnsupportedCombination("whether corners are reached is told for exact support functions only")
    return [each.upper for each in maxima]


def _signed(outputs: AdjacentOutputs, weights: list[Fraction]) -> tuple[NDArray[Any], int]:
    """Integer directions (2^(m − 1), m): ±weights over a common denominator, the first sign positive."""
    if outputs.dimension > MOST_SIGNED_ENTRIES:
        raise TooLarge(f"2^m sign vectors are looked at for m ≤ {MOST_SIGNED_ENTRIES}, found m = {outputs.dimension}")
    denominator = math.lcm(*(weight.denominator for weight in weights))
    whole = [int(weight * denominator) for weight in weights]
    choices = itertools.product([1], *[[1, -1]] * (outputs.dimension - 1))
    rows = [[sign * size for sign, size in zip(signs, whole, strict=True)] for signs in choices]
    return np.array(rows, dtype=object), denominator


def _times(maximum: Maximum, factor: Fraction) -> Maximum:
    return Maximum(maximum.lower * factor, maximum.upper * factor)


def _largest(maxima: list[Maximum]) -> Maximum:
    return Maximum(max(each.lower for each in maxima), max(each.upper for each in maxima))
