"""Two bodies side by side: whether one holds the other, and whose noise is smaller."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.exact_forms import Rows, corners_of, facets_of, support_exactly
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.numeric.exact_numbers import at_most_one, rational


def contains(outer: ConvexBody, inner: ConvexBody) -> bool:
    """Whether every point of ``inner`` is in ``outer``.

    By the corners of an inner polytope and the outer gauge; else by the facets of an outer polytope and the inner
    support function; for two ellipsoids by the difference of their squares, which is positive semidefinite.

    Guarantee: True is *proved*; False is *exact* unless a ball of ℓp with p other than 1, 2, ∞ touches the boundary.
    Raises: UnsupportedCombination for two round bodies: compare with an outer polytope of the inner one; TooLarge or
    CertificateRefused when the corners of a body cannot be listed.
    """
    if outer.dimension != inner.dimension:
        raise UnsupportedCombination(
            f"bodies of {outer.dimension} and {inner.dimension} coordinates cannot contain each other"
        )
    corners = corners_of(inner)
    if corners is not None:
        return all(_holds(outer, corner) for corner in corners)
    facets = facets_of(outer)
    if facets is not None:
        return all(_lies_below(inner, facet) for facet in facets)
    match outer, inner:
        case Ellipsoid(axes=wide), Ellipsoid(axes=narrow):
            return _is_positive_semidefinite(_difference(_square(wide), _square(narrow)))
    raise UnsupportedCombination("neither body is a polytope: compare with an outer polytope of the inner one")


def noise_error(body: ConvexBody, spread: NDArray[np.float64] | None = None) -> float:
    """E‖spread·V‖² of the body's K-norm noise V, up to the rounding of float64; ``spread`` (K, m): identity if None."""
    moment = body.noise_second_moment
    return float(np.trace(moment if spread is None else spread @ moment @ spread.T))


def least_noise(bodies: Sequence[ConvexBody], spread: NDArray[np.float64] | None = None) -> ConvexBody:
    """The body whose noise has the smallest :func:`noise_error`; of equals the first.

    A smaller body need not have smaller noise: a thin rectangle loses to a larger hexagon around it.
    """
    return min(bodies, key=lambda body: noise_error(body, spread))


def _holds(outer: ConvexBody, corner: Sequence[fmpq]) -> bool:
    return at_most_one(lambda: outer.exact_gauge(corner))


def _lies_below(inner: ConvexBody, facet: Sequence[fmpq]) -> bool:
    return at_most_one(lambda: support_exactly(inner, facet))


def _square(axes: NDArray[np.float64]) -> Rows:
    rows = [[rational(entry) for entry in row] for row in axes.tolist()]
    return [[sum((a * b for a, b in zip(one, other, strict=True)), fmpq(0)) for other in rows] for one in rows]


def _difference(first: Rows, second: Rows) -> Rows:
    return [[a - b for a, b in zip(one, other, strict=True)] for one, other in zip(first, second, strict=True)]


def _is_positive_semidefinite(matrix: Rows) -> bool:
    """By elimination: a zero on the diagonal asks for zeros beside it, any other entry there is to be positive."""
    if not matrix:
        return True
    (pivot, *beside), *below = matrix
    if pivot < 0 or (pivot == 0 and any(beside)):
        return False
    if pivot == 0:
        return _is_positive_semidefinite([row[1:] for row in below])
    return _is_positive_semidefinite(
        [[row[k + 1] - row[0] * beside[k] / pivot for k in range(len(beside))] for row in below]
    )
