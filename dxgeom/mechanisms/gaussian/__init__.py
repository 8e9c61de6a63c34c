"""Gaussian noise of the best covariance, its certificate, bounds that follow.

Touches ``mechanisms/linear``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.gaussian.design import (
        Centre as Centre,
        Curvature as Curvature,
        Design as Design,
        Fidelity as Fidelity,
        PairedShifts as PairedShifts,
        Problem as Problem,
        ScaledPoints as ScaledPoints,
        fidelity_at as fidelity_at,
        first_design as first_design,
        is_wide as is_wide,
        multiplied as multiplied,
        on_central_path as on_central_path,
    )
    from dxgeom.mechanisms.gaussian.jumps import (
        JumpShape as JumpShape,
        best_jump_shape as best_jump_shape,
        gaussian_with_jumps as gaussian_with_jumps,
        jump_law as jump_law,
        jump_shifts as jump_shifts,
    )
    from dxgeom.mechanisms.gaussian.mechanism import (
        BestGaussian as BestGaussian,
        ExactSpan as ExactSpan,
        GaussianSpace as GaussianSpace,
        best_gaussian as best_gaussian,
        exact_span_of as exact_span_of,
        gaussian_bound as gaussian_bound,
        gaussian_space as gaussian_space,
        hiding_gaussian as hiding_gaussian,
        unbiased_bound as unbiased_bound,
    )
    from dxgeom.mechanisms.gaussian.program import Covariance as Covariance, best_covariance as best_covariance

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
