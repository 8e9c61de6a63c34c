"""Whether a body holds a point or another body, decided without rounding, and whose noise is smaller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal

import numpy as np
from flint import ctx, fmpq
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.geometry.bodies.exact_rows import diagonal
from dxgeom.geometry.containment.linear_images import contains_image
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


def contains(outer: ConvexBody, inner: ConvexBody, *, as_stated: bool = True) -> bool:
    """Whether every point of ``inner`` is in ``outer``.

    Args: ``as_stated``: a hull inside counts as that of the points that it was made around; otherwise as the body that
    noise is drawn by, which was rounded outward by a few units in the last place.
    Guarantee: True and False are *proved*, by the rules of :func:`contains_image`.
    Raises: TooLarge when neither is found: where round bodies touch, or a search takes too long; TooLarge or
    CertificateRefused when the corners of a body cannot be listed; UnsupportedCombination for different dimensions.
    """
    if outer.dimension != inner.dimension:
        raise UnsupportedCombination(
            f"bodies of {outer.dimension} and {inner.dimension} coordinates cannot contain each other"
        )
    verdict = contains_image(outer, diagonal([fmpq(1)] * outer.dimension), inner, as_stated)
    if verdict is None:
        raise TooLarge(
            f"whether this {type(outer).__name__} holds this {type(inner).__name__} of {inner.dimension} coordinates "
            "was not found within the limits: compare with a body that leaves more room, or fewer coordinates at once"
        )
    return verdict


def noise_error(body: ConvexBody, image: NDArray[np.float64] | None = None) -> float:
    """E‖image·V‖² of the body's K-norm noise V, up to the rounding of float64; ``image`` (K, m): identity if None."""
    moment = body.noise_second_moment
    return float(np.trace(moment if image is None else image @ moment @ image.T))


def conditional_variances(body: ConvexBody, directions: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """(n,): the variance of the body's K-norm noise along each direction, given that it falls on that line.

    Definition: 2·|e|²/‖e‖_K², the variance of a Laplace law of scale |e|/‖e‖_K. A body inside another has the smaller
    one along every line; one that has it along every line lies inside.
    Args: ``directions`` (n, m), not 0; the axes if None. *Approximate within* float64.
    Source: Awan & Slavković 2020, Lemma 4.4, Theorem 4.5 and Corollary 4.9.
    """
    along = np.eye(body.dimension) if directions is None else np.asarray(directions, dtype=np.float64)
    if along.ndim != 2 or along.shape[1] != body.dimension or not np.all(np.any(along != 0, axis=1)):
        raise NotANormBall(f"directions here are rows of {body.dimension} coordinates, not all of them 0")
    return np.asarray(2 * np.sum(along**2, axis=1) / body.gauge(along) ** 2)


def least_noise(
    bodies: Sequence[ConvexBody],
    image: NDArray[np.float64] | None = None,
    *,
    by: Literal["mean square", "conditional variance"] = "mean square",
) -> ConvexBody:
    """The body whose noise is smallest; of equals the first.

    By "mean square" that is :func:`noise_error`: a smaller body need not have smaller noise then, a thin rectangle
    loses to a larger hexagon around it. By "conditional variance" it is the sum of :func:`conditional_variances` along
    the axes, as seen through ``image``: then a body inside another is never behind it.
    Raises: UnsupportedCombination for another criterion.
    """
    if by not in _CRITERIA:
        raise UnsupportedCombination(f"bodies are compared by {' or by '.join(_CRITERIA)}, found {by!r}")
    return min(bodies, key=lambda body: _CRITERIA[by](body, image))


def _along_axes(body: ConvexBody, image: NDArray[np.float64] | None) -> float:
    seen = np.ones(body.dimension) if image is None else np.sum(np.asarray(image) ** 2, axis=0)
    return float(conditional_variances(body) @ seen)


_CRITERIA: Final = {"mean square": noise_error, "conditional variance": _along_axes}
