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
    from dxgeom.geometry.halfspaces import (
        Cylinder as Cylinder,
        intersection_of_cylinders as intersection_of_cylinders,
    )
    from dxgeom.geometry.halfspaces import (
        ExactPolytope as ExactPolytope,
        polytope_of_halfspaces as polytope_of_halfspaces,
        polytope_of_points as polytope_of_points,
    )
    from dxgeom.geometry.halfspaces import (
        HalfspacePolytope as HalfspacePolytope,
    )
    from dxgeom.geometry.polytope import (
        SymmetricPolytope as SymmetricPolytope,
        hull_of_corners as hull_of_corners,
        hull_of_differences as hull_of_differences,
        hull_of_points as hull_of_points,
    )
    from dxgeom.geometry.round_bodies import PowerBall as PowerBall
    from dxgeom.geometry.round_bodies import Box as Box, CrossPolytope as CrossPolytope, Ellipsoid as Ellipsoid
    from dxgeom.geometry.containment import (
        conditional_variances as conditional_variances,
        contains as contains,
        least_noise as least_noise,
        noise_error as noise_error,
    )
    from dxgeom.geometry.containment import (
        contains_point as contains_point,
        gauge_rounded_up as gauge_rounded_up,
    )
    from dxgeom.geometry.hulls import coarse_polytope as coarse_polytope
    from dxgeom.geometry.enclosing import (
        EnclosingPolytope as EnclosingPolytope,
        EnclosureLimits as EnclosureLimits,
        enclosing_polytope as enclosing_polytope,
    )
    from dxgeom.geometry.hulls import integer_hull as integer_hull
    from dxgeom.geometry.enclosing import StatedSupport as StatedSupport, SupportOracle as SupportOracle
    from dxgeom.numeric.qhull import HullLimits as HullLimits

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
