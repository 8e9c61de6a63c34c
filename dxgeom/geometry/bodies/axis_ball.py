"""What all balls of ℓp along the axes say alike, from their radii and their exponent."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.bodies.body import ConvexBody, Powers
from dxgeom.geometry.bodies.exact_rows import Rows, every_sign, on_the_axes, rationals, reciprocals
from dxgeom.geometry.bodies.gauge import RowNorm, power_norm
from dxgeom.numeric.exact_numbers import ExactNumber, largest, power, total
from dxgeom.numeric.sealed import cached_property


class AxisBall(ConvexBody):
    """Σ_k (|v_k|/radii[k])^p ≤ 1, and |v_k| ≤ radii[k] where p is infinite; its corners are known for p = 1 and ∞."""

    @property
    @abstractmethod
    def powers(self) -> Powers: ...

    @property
    def dimension(self) -> int:
        return len(self.powers.radii)

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        radii, p = self.powers
        return power_norm(np.abs(np.asarray(points)) / radii, p)

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        radii, p = self.powers
        dual = math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)
        return power_norm(np.abs(np.asarray(directions)) * radii, dual)

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        radii, exponent = self.powers
        shares = [abs(x) / radius for x, radius in zip(point, rationals(radii), strict=True)]
        if math.isinf(exponent):
            return largest(shares)
        p = Fraction(exponent)
        return power(total(power(share, p) for share in shares), 1 / p)

    @cached_property
    def certified_gauge(self) -> RowNorm:
        return RowNorm(reciprocals(self.powers.radii), self.powers.exponent)

    def exact_corners(self) -> Rows | None:
        radii = rationals(self.powers.radii)
        match self.powers.exponent:
            case 1:
                return on_the_axes(radii)
            case math.inf:
                return every_sign(radii)
            case _:
                return None

    def exact_facets(self) -> Rows | None:
        rates = [1 / radius for radius in rationals(self.powers.radii)]
        match self.powers.exponent:
            case 1:
                return every_sign(rates)
            case math.inf:
                return on_the_axes(rates)
            case _:
                return None


def check_lengths(lengths: NDArray[np.float64]) -> None:
    """Refuse lengths (m,) that make no body. Raises: NotANormBall."""
    if lengths.ndim != 1 or lengths.size == 0 or not np.all((lengths > 0) & np.isfinite(lengths)):
        raise NotANormBall(f"a body's lengths are positive and finite, found {lengths}")
