"""The hull of integer vectors as it is: nothing is rounded, nothing inflated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.geometry.bodies.polytope import proved_fan
from dxgeom.geometry.facets.fan import Fan
from dxgeom.geometry.facets.hull_growth import extreme_points
from dxgeom.numeric.qhull import HullLimits

LARGEST_COORDINATE = 2**26


def integer_hull(points: NDArray[np.int64], limits: HullLimits | None = None) -> Fan:
    """The proved fan of conv(±points), ``points`` (E, m) with coordinates up to 2²⁶.

    Guarantee: *exact*: its vertices are points or their opposites, and every point is inside.
    Raises: TooLarge beyond ``limits`` or 2²⁶; NotANormBall when the points lie in a subspace; CertificateRefused
    when float64 proposes no boundary that can be proved.
    """
    limits = limits or HullLimits()
    if np.abs(points).max(initial=0) > LARGEST_COORDINATE:
        raise TooLarge(f"integer vertices have coordinates up to 2^26, found {np.abs(points).max():,}")
    if np.linalg.matrix_rank(points) < points.shape[1]:
        raise NotANormBall("the points lie in a subspace: reduce to their span first")
    leading = points[np.arange(len(points)), np.argmax(points != 0, axis=1)]
    half = np.unique((points * np.sign(leading)[:, None])[leading != 0], axis=0)
    corners = half[extreme_points(half.astype(np.float64), limits)]
    fan = proved_fan(np.vstack([corners, -corners]), limits)
    if not fan.holds(half):
        raise CertificateRefused("a point lies outside the hull that was found of it")
    return fan
