"""The noise that belongs to a body: a law fit for release where there is one, a float simulation for every body."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.geometry.body import ConvexBody
from dxgeom.noise.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.in_categories import CategoryNormals
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rejection import CutNoise, RejectionNoise, tightest_rejection
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.noise.toeplitz import ToeplitzNormals
from dxgeom.noise.triangular import DifferencedNormals, KroneckerNormals, TriangularNormals

LAWS: Final[tuple[type[NoiseLaw], ...]] = (
    BoxNoise,
    LaplaceNoise,
    EllipsoidNoise,
    GaussianNoise,
    DifferencedNormals,
    KroneckerNormals,
    ToeplitzNormals,
    TriangularNormals,
    CategoryNormals,
    GaussianWithJumps,
    FacetConeNoise,
    ProductNoise,
    LinearImageNoise,
    RejectionNoise,
    CutNoise,
)
"""Every kind of law, in the order in which a body's noise is offered to them."""


def k_norm_noise(body: ConvexBody) -> NoiseLaw:
    """The law with density ∝ exp(−‖v‖_K), drawn exactly when released: without rejection where that is known.

    Boxes, cross-polytopes, ellipsoids and polytopes with a proved boundary have laws of their own; hulls of bodies over
    blocks of coordinates have independent noise of each, linear images the image of the noise. All other bodies' noise
    is drawn by rejection: from a polytope around them, where they know one, else from the tightest box, cross-polytope
    or ellipsoid that is proved to contain them.

    Guarantee: adding w to a draw changes the odds of any set by at most e^‖w‖_K, ‖w‖_K = ``body.gauge(w)``; draws
    rounded to integers have *exactly* the law of the rounded ideal noise.
    Raises: WrongArgument for what is no body; UnsupportedCombination, TooLarge or CertificateRefused when no
    envelope is proved to hold the body, or rejection would hardly ever accept.
    Source: Hardt & Talwar 2010; Awan & Slavković 2020, Algorithm 8, corrected: see :class:`RejectionNoise`.
    """
    require(body, ConvexBody, "body", "take one of dxgeom.geometry, as Box, Ellipsoid or HalfspacePolytope")
    for kind in LAWS:
        law = kind.for_body(body, k_norm_noise)
        if law is not None:
            return law
    return tightest_rejection(body)


def simulate_noise(body: ConvexBody, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """``count`` float draws (count, m) of any body's noise, for predictions and plots. **Never release these.**

    Definition: V = R·U with R ~ Gamma(m + 1) and U uniform in K.
    Source: Hardt & Talwar 2010; Awan & Slavković 2020, Algorithm 8, corrected: as printed it drops the radius.
    """
    radius = generator.standard_gamma(body.dimension + 1, (count, 1))
    return np.asarray(radius * body.simulate_uniform(count, generator))
