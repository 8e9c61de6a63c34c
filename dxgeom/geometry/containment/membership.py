"""Whether a body holds a point, and the least multiple of it that does, decided without rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import ctx, fmpq

from dxgeom.errors import NotANormBall
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.numeric.exact_numbers import at_most_one, rational, value_rounded_up

_PRECISION = 256


def contains_point(body: ConvexBody, point: Sequence[float | Fraction]) -> bool:
    """Whether ``‖point‖_K ≤ 1`` for a point whose coordinates are taken as exact rationals.

    Guarantee: True is *proved*; False is *exact* unless a ball of ℓp with p other than 1, 2, ∞ is involved. What 4,096
    bits cannot tell from the boundary of such a body counts as outside, but not where p is whole and the ball alone.
    """
    exact = _exact_point(body, point)
    return at_most_one(lambda: body.exact_gauge(exact)) is True


def gauge_rounded_up(body: ConvexBody, point: Sequence[float | Fraction]) -> float:
    """``‖point‖_K`` of a point whose coordinates are taken as exact rationals, *rounded up*."""
    with ctx.workprec(_PRECISION):
        return value_rounded_up(body.exact_gauge(_exact_point(body, point)))


def _exact_point(body: ConvexBody, point: Sequence[float | Fraction]) -> list[fmpq]:
    if len(point) != body.dimension or not all(math.isfinite(x) for x in point):
        raise NotANormBall(f"a point of this body has {body.dimension} finite coordinates, found {list(point)}")
    return [rational(Fraction(x)) for x in point]
