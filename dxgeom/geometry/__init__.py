"""Convex bodies: symmetric norm balls, their corners and facets, and proofs that one holds another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.geometry.body import ConvexBody as ConvexBody
    from dxgeom.geometry.composed_bodies import (
        CartesianProduct as CartesianProduct,
        FreeSum as FreeSum,
        LinearImage as LinearImage,
    )
    from dxgeom.geometry.containment import (
        conditional_variances as conditional_variances,
        contains as contains,
        contains_point as contains_point,
        gauge_rounded_up as gauge_rounded_up,
        least_noise as least_noise,
        noise_error as noise_error,
    )
    from dxgeom.geometry.enclosing import (
        EnclosingPolytope as EnclosingPolytope,
        EnclosureLimits as EnclosureLimits,
        StatedSupport as StatedSupport,
        SupportOracle as SupportOracle,
        enclosing_polytope as enclosing_polytope,
    )
    from dxgeom.geometry.halfspaces import (
        Cylinder as Cylinder,
        ExactPolytope as ExactPolytope,
        HalfspacePolytope as HalfspacePolytope,
        intersection_of_cylinders as intersection_of_cylinders,
        polytope_of_halfspaces as polytope_of_halfspaces,
        polytope_of_points as polytope_of_points,
    )
    from dxgeom.geometry.hulls import coarse_polytope as coarse_polytope, integer_hull as integer_hull
    from dxgeom.geometry.polytope import (
        SymmetricPolytope as SymmetricPolytope,
        hull_of_corners as hull_of_corners,
        hull_of_differences as hull_of_differences,
        hull_of_points as hull_of_points,
    )
    from dxgeom.geometry.round_bodies import (
        Box as Box,
        CrossPolytope as CrossPolytope,
        Ellipsoid as Ellipsoid,
        PowerBall as PowerBall,
    )
    from dxgeom.numeric.qhull import HullLimits as HullLimits

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
