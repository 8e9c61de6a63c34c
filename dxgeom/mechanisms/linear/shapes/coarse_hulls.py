"""K-norm noise shaped by a coarsened hull: nearly the sensitivity hull's error, with as few facets as are asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.hulls.coarse_polytopes import coarse_polytope
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.shapes.round_spaces import RoundSpace
from dxgeom.noise.laws.facet_cones import FacetConeNoise

FACETS = 8_000
"""Set up in two or three seconds; ``benchmarks/coarse_hulls.py`` shows what more of them save."""


def coarse_hull(
    space: RoundSpace,
    strategy: NDArray[np.float64],
    facets: int = FACETS,
    progress: Callable[[int], None] | None = None,
) -> AdditiveMechanism:
    """d-private K-norm noise, K the hull of the differences that stick out of a shrunk cross-polytope, and of that.

    Definition: C the body of rotated Laplace noise, which holds all differences over their bounds; K the hull of t·C
    and the differences outside t·C, for the smallest t at which K has at most ``facets`` facets. t = 1 is rotated
    Laplace noise, t = 0 the sensitivity hull.

    Args: ``strategy`` B in round coordinates, from ``best_strategy``; the corners of C are the columns of B⁻¹.
    Guarantee: every generating difference is hidden: K is inflated by the largest gauge of any of them, with all
    rounding errors counted against it. The error is exact.
    Raises: TooLarge beyond ten dimensions, or where a cross-polytope has more facets; CertificateRefused when float64
    cannot show the guarantee.
    """
    body = coarse_polytope(space.points, np.asarray(np.linalg.inv(strategy).T), facets, progress)
    return space.mechanism("coarse-hull", FacetConeNoise(body), np.eye(space.dimension))
