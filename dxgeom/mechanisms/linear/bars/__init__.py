"""Error bars: of each answer, of all at once, and of what is computed from two of them.

Touches ``mechanisms/linear``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.bars.directions import (
        CombinedNoise as CombinedNoise,
        ErrorNorm as ErrorNorm,
        error_norm as error_norm,
    )
    from dxgeom.mechanisms.linear.bars.intervals import (
        half_widths as half_widths,
        is_independent_laplace as is_independent_laplace,
        normal_quantile as normal_quantile,
        safe_rank as safe_rank,
        simulated_noise as simulated_noise,
        widening as widening,
    )
    from dxgeom.mechanisms.linear.bars.joint import (
        gamma_quantile as gamma_quantile,
        joint_half_widths as joint_half_widths,
        supports_of as supports_of,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
