"""Convex bodies: symmetric norm balls, their corners and facets, and proofs that one holds another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.geometry.body import ConvexBody as ConvexBody
    from dxgeom.geometry.round_bodies import (
        CartesianProduct as CartesianProduct,
        FreeSum as FreeSum,
        LinearImage as LinearImage,
    )
    from dxgeom.geometry.containment import (
        conditional_variances as conditional_variances,
        contains as contains,
        least_noise as least_noise,
    )
    from dxgeom.geometry.hulls import (
        EnclosureLimits as EnclosureLimits,
        StatedSupport as StatedSupport,
        enclosing_polytope as enclosing_polytope,
    )
    from dxgeom.geometry.halfspaces import HalfspacePolytope as HalfspacePolytope
    from dxgeom.geometry.polytope import SymmetricPolytope as SymmetricPolytope, hull_of_points as hull_of_points
    from dxgeom.geometry.round_bodies import (
        Box as Box,
        CrossPolytope as CrossPolytope,
        Ellipsoid as Ellipsoid,
        PowerBall as PowerBall,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
