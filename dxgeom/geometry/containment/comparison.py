"""Two bodies side by side: whether one holds the other, and whose noise is smaller."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.geometry.bodies.exact_rows import diagonal
from dxgeom.geometry.containment.linear_images import contains_image


def contains(outer: ConvexBody, inner: ConvexBody) -> bool:
    """Whether every point of ``inner`` is in ``outer``.

    Guarantee: True and False are *proved*, by the rules of :func:`contains_image`.
    Raises: TooLarge when neither is found: where round bodies touch, or a search takes too long; TooLarge or
    CertificateRefused when the corners of a body cannot be listed; UnsupportedCombination for different dimensions.
    """
    if outer.dimension != inner.dimension:
        raise UnsupportedCombination(
            f"bodies of {outer.dimension} and {inner.dimension} coordinates cannot contain each other"
        )
    verdict = contains_image(outer, diagonal([fmpq(1)] * outer.dimension), inner)
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


def least_noise(bodies: Sequence[ConvexBody], image: NDArray[np.float64] | None = None) -> ConvexBody:
    """The body whose noise has the smallest :func:`noise_error`; of equals the first.

    A smaller body need not have smaller noise: a thin rectangle loses to a larger hexagon around it.
    """
    return min(bodies, key=lambda body: noise_error(body, image))
