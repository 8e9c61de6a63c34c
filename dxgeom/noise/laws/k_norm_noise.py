"""The noise that belongs to a body: a law fit for release where there is one, a float simulation for every body."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.geometry.bodies.composed_bodies import FreeSum, LinearImage
from dxgeom.geometry.bodies.halfspaces import HalfspacePolytope
from dxgeom.geometry.bodies.polytope import SymmetricPolytope
from dxgeom.geometry.bodies.power_ball import PowerBall
from dxgeom.geometry.bodies.round_bodies import Box, CrossPolytope, Ellipsoid
from dxgeom.noise.laws.box import BoxNoise
from dxgeom.noise.laws.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.laws.ellipsoid import EllipsoidNoise
from dxgeom.noise.laws.envelope import tightest_rejection
from dxgeom.noise.laws.facet_cones import FacetConeNoise
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.rejection import RejectionNoise


def noise_law_of(body: ConvexBody) -> NoiseLaw:
    """The law with density ∝ exp(−‖v‖_K), drawn exactly when released: without rejection where that is known.

    The noise of halfspaces is drawn from that of their hull, which hardly ever rejects.
    Raises: UnsupportedCombination, TooLarge or CertificateRefused when no envelope is proved to hold the body, or
    rejection would hardly ever accept.
    """
    match body:
        case Box() | PowerBall(exponent=math.inf):
            return BoxNoise(body if isinstance(body, Box) else Box(body.radii))
        case CrossPolytope(radii=radii) | PowerBall(radii=radii, exponent=1):
            return LaplaceNoise(radii)
        case Ellipsoid():
            return EllipsoidNoise(body)
        case PowerBall(radii=radii, exponent=2):
            return EllipsoidNoise(Ellipsoid(np.diag(radii)))
        case SymmetricPolytope():
            return FacetConeNoise(body)
        case FreeSum(parts=parts):
            return ProductNoise(tuple(noise_law_of(part) for part in parts))
        case LinearImage(inner=inner, map=matrix):
            return LinearImageNoise(noise_law_of(inner), matrix)
        case HalfspacePolytope():
            return RejectionNoise(body, FacetConeNoise(body.hull))
    return tightest_rejection(body)


def simulate_noise(body: ConvexBody, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """``count`` float draws (count, m) of any body's noise, for predictions and plots. **Never release these.**

    Definition: V = R·U with R ~ Gamma(m + 1) and U uniform in K.
    Source: Hardt & Talwar 2010; Awan & Slavković 2020, Algorithm 8, corrected: as printed it drops the radius.
    """
    radius = generator.standard_gamma(body.dimension + 1, (count, 1))
    return np.asarray(radius * body.simulate_uniform(count, generator))
