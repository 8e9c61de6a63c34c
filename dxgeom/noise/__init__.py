"""Random vectors and numbers shaped by a body or a table of odds, drawn exactly. Knows shapes, never metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.noise.composed import LinearImageNoise as LinearImageNoise, ProductNoise as ProductNoise
    from dxgeom.noise.facet_cones import FacetConeNoise as FacetConeNoise
    from dxgeom.noise.gaussian import GaussianNoise as GaussianNoise
    from dxgeom.noise.jumps import GaussianWithJumps as GaussianWithJumps
    from dxgeom.noise.k_norm import k_norm_noise as k_norm_noise, simulate_noise as simulate_noise
    from dxgeom.noise.lattice_laws import (
        DiscreteLaplaceNoise as DiscreteLaplaceNoise,
        discrete_hull_noise as discrete_hull_noise,
    )
    from dxgeom.noise.law import NoiseLaw as NoiseLaw
    from dxgeom.noise.layered_line import (
        LayeredLineNoise as LayeredLineNoise,
        staircase_mean_absolute as staircase_mean_absolute,
    )
    from dxgeom.noise.layers import (
        LayeredIntegerNoise as LayeredIntegerNoise,
        runs_of as runs_of,
        staircase_noise as staircase_noise,
    )
    from dxgeom.noise.rejection import RejectionNoise as RejectionNoise, tightest_rejection as tightest_rejection
    from dxgeom.noise.round_laws import (
        BoxNoise as BoxNoise,
        EllipsoidNoise as EllipsoidNoise,
        LaplaceNoise as LaplaceNoise,
    )
    from dxgeom.numeric.randomness import (
        InsecureSeededRandomness as InsecureSeededRandomness,
        Randomness as Randomness,
        SystemRandomness as SystemRandomness,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
