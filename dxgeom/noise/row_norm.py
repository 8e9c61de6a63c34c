"""Gauges as norms of linear forms: evaluated in float64 with a proved error, and in ball arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import final

import numpy as np
from flint import arb, fmpq, fmpq_mat
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.polytope import SymmetricPolytope
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid

_HEIGHTS_PER_BLOCK = 4_000_000


@final
@dataclass(frozen=True, eq=False)
class RowNorm:
    """v ↦ ‖rows·v‖_p. ``rows`` (r, m): exact rationals; ``exponent``: p, from 1 to infinity."""

    rows: fmpq_mat
    exponent: float

    def near(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values (B,) in float64 and bounds (B,) on how far they are off, for points (B, m) off by at most ``errors``.

        With A the rows, |‖A(v + δ)‖ − ‖Av‖| ≤ ‖ |A||δ| ‖. The rounded rows and products act like a δ of
        (m + 2)·2⁻⁵³·|v|, doubled here; powers, sum and root of non-negative numbers are allowed (r + 64)·2⁻⁵² relative,
        where libraries promise fewer than 4 units in the last place for each power.
        """
        rows, size = self._float_rows, max(1, _HEIGHTS_PER_BLOCK // len(self._float_rows))
        values, bounds = np.empty(len(points)), np.empty(len(points))
        for start in range(0, len(points), size):
            here = slice(start, start + size)
            heights = np.abs(points[here] @ rows.T)
            slack = errors[here] * (1 + 2.0**-40) + np.abs(points[here]) * ((rows.shape[1] + 2) * 2.0**-52)
            values[here] = _power_norm(heights, self.exponent)
            bounds[here] = self._largest_change(slack) + values[here] * (self._summed + 64) * 2.0**-52
        return values, bounds

    def _largest_change(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """A bound on ‖rows·δ‖ over |δ| ≤ slack."""
        sizes = np.abs(self._float_rows)
        if math.isinf(self.exponent):
            return np.asarray(slack @ sizes.max(axis=0)) * (1 + 2.0**-40)
        return _power_norm(slack @ sizes.T, self.exponent) * (1 + 2.0**-40)

    def exact(self, point: Sequence[arb]) -> arb:
        """The value at a point known as balls, as a ball that contains it."""
        return power_norm_of_balls([row_product(row, point) for row in self._ball_rows], self.exponent)

    @property
    def _ball_rows(self) -> list[list[arb]]:
        """At the precision in force."""
        return [[arb(entry) for entry in row] for row in self.rows.tolist()]

    @cached_property
    def _float_rows(self) -> NDArray[np.float64]:
        """(r, m), correctly rounded."""
        return np.array([[float(Fraction(int(x.p), int(x.q))) for x in row] for row in self.rows.tolist()])

    @property
    def _summed(self) -> int:
        return 0 if math.isinf(self.exponent) else len(self._float_rows)


def gauge_of(body: ConvexBody) -> RowNorm:
    """The body's gauge, exactly: lengths and axes are the rationals that float64 holds.

    Raises: UnsupportedCombination for a body that is only known up to the rounding of float64.
    """
    match body:
        case Box(half_widths=lengths):
            return RowNorm(_diagonal(lengths), math.inf)
        case CrossPolytope(radii=lengths):
            return RowNorm(_diagonal(lengths), 1)
        case Ellipsoid(axes=axes):
            return RowNorm(fmpq_mat([[rational(a) for a in row] for row in axes.tolist()]).inv(), 2)
        case SymmetricPolytope():
            return RowNorm(fmpq_mat(_planes(body)), math.inf)
    raise UnsupportedCombination(f"no exact gauge is known for {type(body).__name__}: its noise can only be simulated")


def rational(number: float) -> fmpq:
    """The number that float64 holds."""
    return fmpq(*number.as_integer_ratio())


def row_product(row: Sequence[arb], point: Sequence[arb]) -> arb:
    """Σ row[k]·point[k]."""
    return sum((a * x for a, x in zip(row, point, strict=True) if not a.is_zero()), arb(0))


def power_norm_of_balls(values: Sequence[arb], exponent: float) -> arb:
    """(Σ |value|^p)^(1/p), the largest |value| for infinite p, as a ball that contains it."""
    sizes = [abs(value) for value in values]
    if math.isinf(exponent):
        return reduce(lambda a, b: a.max(b), sizes)
    if exponent == 1:
        return sum(sizes, arb(0))
    if exponent == 2:
        return sum((size * size for size in sizes), arb(0)).sqrt()
    return sum((size ** arb(exponent) for size in sizes), arb(0)) ** (1 / arb(exponent))


def _diagonal(lengths: NDArray[np.float64]) -> fmpq_mat:
    size = len(lengths)
    return fmpq_mat(
        [[1 / rational(lengths[k].item()) if k == j else fmpq(0) for j in range(size)] for k in range(size)]
    )


def _planes(body: SymmetricPolytope) -> list[list[fmpq]]:
    """One row n/h for every pair of opposite facet planes n·v = ±h."""
    scales = [rational(unit) * rational(body.inflation) for unit in body.units.tolist()]
    planes = set()
    for normal, volume in zip(body.fan.normals.tolist(), body.fan.volumes.tolist(), strict=True):
        row = [Fraction(int(n), int(volume)) for n in normal]
        sign = 1 if next(x for x in row if x) > 0 else -1
        planes.add(tuple(sign * x for x in row))
    return [[fmpq(x.numerator, x.denominator) / scale for x, scale in zip(row, scales, strict=True)] for row in planes]


def _power_norm(lengths: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """The same of non-negative numbers along the last axis, divided by the longest first so that nothing overflows."""
    longest = np.max(lengths, axis=-1)
    if math.isinf(exponent):
        return np.asarray(longest)
    shares = lengths / np.where(longest > 0, longest, 1.0)[:, None]
    return np.asarray(longest * np.sum(shares**exponent, axis=-1) ** (1 / exponent))
