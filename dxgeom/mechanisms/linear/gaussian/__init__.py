"""Gaussian noise of the best covariance for a workload, with its certificate, and what bounds follow from it.

Touches ``mechanisms/linear``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.gaussian.design import (
        Design as Design,
        Problem as Problem,
        first_design as first_design,
        is_wide as is_wide,
        multiplied as multiplied,
    )
    from dxgeom.mechanisms.linear.gaussian.exact_span import (
        ExactSpan as ExactSpan,
        exact_span_of as exact_span_of,
        whole_span_of as whole_span_of,
    )
    from dxgeom.mechanisms.linear.gaussian.fidelity import (
        Curvature as Curvature,
        Fidelity as Fidelity,
        fidelity_at as fidelity_at,
        rough_roots as rough_roots,
        triangle_of as triangle_of,
    )
    from dxgeom.mechanisms.linear.gaussian.interior_point import (
        Centre as Centre,
        on_central_path as on_central_path,
    )
    from dxgeom.mechanisms.linear.gaussian.jump_search import (
        JumpShape as JumpShape,
        best_jump_shape as best_jump_shape,
        best_widening as best_widening,
    )
    from dxgeom.mechanisms.linear.gaussian.jumps import (
        gaussian_with_jumps as gaussian_with_jumps,
        jump_law as jump_law,
        jump_shifts as jump_shifts,
    )
    from dxgeom.mechanisms.linear.gaussian.mechanism import (
        BestGaussian as BestGaussian,
        GaussianSpace as GaussianSpace,
        best_gaussian as best_gaussian,
        gaussian_bound as gaussian_bound,
        gaussian_space as gaussian_space,
        hiding_gaussian as hiding_gaussian,
        unbiased_bound as unbiased_bound,
    )
    from dxgeom.mechanisms.linear.gaussian.program import (
        Covariance as Covariance,
        best_covariance as best_covariance,
    )
    from dxgeom.mechanisms.linear.gaussian.scaled_points import (
        PairedShifts as PairedShifts,
        ScaledPoints as ScaledPoints,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
