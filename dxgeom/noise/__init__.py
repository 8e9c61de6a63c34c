"""Random vectors and numbers shaped by a body or a table of odds, drawn exactly. Knows shapes, never metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.noise.discrete.discrete_cones import (
        DiscreteConeNoise as DiscreteConeNoise,
        discrete_hull_noise as discrete_hull_noise,
    )
    from dxgeom.noise.discrete.discrete_laplace import DiscreteLaplaceNoise as DiscreteLaplaceNoise
    from dxgeom.noise.discrete.law import DiscreteNoise as DiscreteNoise
    from dxgeom.noise.discrete.integer_runs import IntegerRuns as IntegerRuns, runs_of as runs_of
    from dxgeom.noise.discrete.layered_integers import (
        LayeredIntegerNoise as LayeredIntegerNoise,
        staircase_noise as staircase_noise,
    )
    from dxgeom.noise.discrete.layered_line import (
        LayeredLineNoise as LayeredLineNoise,
        staircase_mean_absolute as staircase_mean_absolute,
    )
    from dxgeom.noise.discrete.noisy_maximum import noisy_largest as noisy_largest
    from dxgeom.noise.laws.box import BoxNoise as BoxNoise
    from dxgeom.noise.laws.composed import LinearImageNoise as LinearImageNoise, ProductNoise as ProductNoise
    from dxgeom.noise.laws.ellipsoid import EllipsoidNoise as EllipsoidNoise
    from dxgeom.noise.laws.envelope import tightest_rejection as tightest_rejection
    from dxgeom.noise.laws.facet_cones import FacetConeNoise as FacetConeNoise
    from dxgeom.noise.laws.gaussian import GaussianNoise as GaussianNoise
    from dxgeom.noise.laws.jumps.law import GaussianWithJumps as GaussianWithJumps
    from dxgeom.noise.laws.jumps.shifts import JumpShifts as JumpShifts
    from dxgeom.noise.laws.k_norm import k_norm_noise as k_norm_noise, simulate_noise as simulate_noise
    from dxgeom.noise.laws.laplace import LaplaceNoise as LaplaceNoise
    from dxgeom.noise.laws.law import NoiseLaw as NoiseLaw
    from dxgeom.noise.laws.rejection import RejectionNoise as RejectionNoise
    from dxgeom.numeric.randomness import (
        InsecureSeededRandomness as InsecureSeededRandomness,
        Randomness as Randomness,
        SystemRandomness as SystemRandomness,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
