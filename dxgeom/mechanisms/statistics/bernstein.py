"""Maxima of polynomials over the unit box, enclosed by Bernstein coefficients and halving.

On a box a polynomial lies between its least and its largest Bernstein coefficient, and takes the corner coefficients as
values. Halving a box halves the distance to the polynomial at least, so boxes that cannot hold the maximum drop out.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.statistics.polynomials import BoxPolynomials
from dxgeom.numeric.rounding import UNIT_ROUNDOFF

MOST_COEFFICIENTS = 20_000
"""A polynomial with more Bernstein coefficients is refused."""
_BLOCK = 4_000_000


@final
@dataclass(frozen=True)
class HalvingLimits:
    """When to stop halving: a stop leaves a wider enclosure, never a wrong one."""

    tolerance: float = 1e-10
    rounds: int = 240
    coefficients: int = 12_000_000


class Maximum(NamedTuple):
    """``lower ≤ the maximum ≤ upper``, exact rationals."""

    lower: Fraction
    upper: Fraction


def polynomial_maxima(polynomials: BoxPolynomials, limits: HalvingLimits | None = None) -> list[Maximum]:
    """An enclosure of each polynomial's largest value on [0, 1]ᵖ.

    Guarantee: *rounded outward*, about ``tolerance`` of the largest coefficient wide unless a limit was met.
    Raises: TooLarge for more than 20,000 Bernstein coefficients.
    Source: J. Garloff, Convergent bounds for the range of multivariate polynomials, 1986.
    """
    limits = limits or HalvingLimits()
    tensors, sizes = bernstein_coefficients(polynomials)
    per_block = max(1, _BLOCK // math.prod(tensors.shape[1:]))
    found: list[Maximum] = []
    for start in range(0, len(tensors), per_block):
        block = slice(start, start + per_block)
        bounds = _halved(tensors[block], limits)
        found += [
            Maximum(Fraction(float(low)) * size, Fraction(float(high)) * size)
            for low, high, size in zip(*bounds, sizes[block], strict=True)
        ]
    return found


def bernstein_coefficients(polynomials: BoxPolynomials) -> tuple[NDArray[np.float64], list[Fraction]]:
    """Bernstein coefficients (R, d₁ + 1, …, d_p + 1) over their largest magnitude, correctly rounded; and those."""
    degrees = [int(d) for d in polynomials.exponents.max(axis=0)]
    count = math.prod(d + 1 for d in degrees)
    if count > MOST_COEFFICIENTS:
        raise TooLarge(f"a polynomial with {count:,} Bernstein coefficients passes {MOST_COEFFICIENTS:,}")
    common = math.prod(math.lcm(*(math.comb(d, i) for i in range(d + 1))) for d in degrees)
    table = np.zeros((count, len(polynomials.exponents)), dtype=object)
    for row, place in enumerate(itertools.product(*(range(d + 1) for d in degrees))):
        for column, powers in enumerate(polynomials.exponents.tolist()):
            above = math.prod(math.comb(i, e) for i, e in zip(place, powers, strict=True))
            below = math.prod(math.comb(d, e) for d, e in zip(degrees, powers, strict=True))
            table[row, column] = common * above // below
    exact: NDArray[Any] = polynomials.coefficients @ table.T
    largest = [max(1, *(abs(int(entry)) for entry in row)) for row in exact]
    scaled = np.array(exact / np.array(largest, dtype=object)[:, None], dtype=np.float64)
    return scaled.reshape(len(exact), *(d + 1 for d in degrees)), [Fraction(size, common) for size in largest]


def _halved(tensors: NDArray[np.float64], limits: HalvingLimits) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper bounds (R,) of the largest values, for coefficients of magnitude at most 1."""
    rows = np.arange(len(tensors))
    lower, upper = np.full(len(tensors), -np.inf), np.full(len(tensors), -np.inf)
    error = 2 * UNIT_ROUNDOFF
    for _ in range(limits.rounds):
        tops = _tops(tensors)
        np.maximum.at(lower, rows, _corners(tensors) - error)
        settled = tops + error <= lower[rows] + limits.tolerance
        np.maximum.at(upper, rows[settled], tops[settled] + error)
        tensors, rows = tensors[~settled], rows[~settled]
        if len(tensors) == 0 or 2 * tensors.size > limits.coefficients:
            break
        tensors, rows = _halves(tensors, rows)
        # Every mean of two numbers of magnitude at most 1 + error is off by 2⁻⁵³ of that; doubled.
        error += 2 * max(tensors.shape[1:]) * UNIT_ROUNDOFF
    np.maximum.at(upper, rows, _tops(tensors) + error)
    upper = np.maximum(upper, lower)
    return np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)


def _corners(tensors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest corner coefficient (B,): a value that the polynomial takes."""
    ends = tensors
    for axis in range(1, tensors.ndim):
        ends = np.take(ends, [0, -1], axis=axis)
    return _tops(ends)


def _tops(tensors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest coefficient (B,) of each tensor."""
    return np.asarray(tensors.max(axis=tuple(range(1, tensors.ndim))))


def _halves(tensors: NDArray[np.float64], rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Both halves of every box, each cut across the axis along which its coefficients change most."""
    axes = range(1, tensors.ndim)
    changes = [np.abs(np.diff(tensors, axis=axis)).reshape(len(tensors), -1).max(axis=1, initial=0.0) for axis in axes]
    steepest = 1 + np.argmax(changes, axis=0)
    cut = [(_split(tensors[steepest == axis], axis), np.tile(rows[steepest == axis], 2)) for axis in axes]
    return np.concatenate([boxes for boxes, _ in cut]), np.concatenate([owners for _, owners in cut])


def _split(tensors: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Coefficients on both halves along an axis, by de Casteljau's repeated means."""
    work = np.moveaxis(tensors, axis, 0).copy()
    left, right = np.empty_like(work), np.empty_like(work)
    degree = len(work) - 1
    for level in range(degree + 1):
        left[level], right[degree - level] = work[0], work[degree - level]
        work[: degree - level] = (work[: degree - level] + work[1 : degree - level + 1]) / 2
    return np.concatenate([np.moveaxis(left, 0, axis), np.moveaxis(right, 0, axis)])
