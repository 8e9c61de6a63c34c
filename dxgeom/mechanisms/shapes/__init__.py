"""The shapes a plan may choose from, and bounds that none can beat.

Touches ``mechanisms/linear``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.shapes.hulls import (
        SensitivityHull as SensitivityHull,
        block_hulls as block_hulls,
        body_mechanism as body_mechanism,
        coarse_hull as coarse_hull,
        coordinate_bound as coordinate_bound,
        coordinate_bounds as coordinate_bounds,
        covariance_bound as covariance_bound,
        hull_by_rejection as hull_by_rejection,
        hull_mechanism as hull_mechanism,
        require_norm_ball as require_norm_ball,
        second_moment_bound as second_moment_bound,
        sensitivity_hull as sensitivity_hull,
        volume_bound as volume_bound,
    )
    from dxgeom.mechanisms.shapes.rotated_axes import (
        Effort as Effort,
        best_start as best_start,
        best_strategy as best_strategy,
        box_image as box_image,
        box_mechanism as box_mechanism,
        box_moment as box_moment,
        ellipsoid_mechanism as ellipsoid_mechanism,
        rotated_laplace as rotated_laplace,
    )
    from dxgeom.mechanisms.shapes.round_spaces import (
        RoundSpace as RoundSpace,
        least_trace_ellipsoid as least_trace_ellipsoid,
        round_space as round_space,
        trace_bound as trace_bound,
    )
    from dxgeom.mechanisms.shapes.strategy import (
        best_sums as best_sums,
        determined_rows as determined_rows,
        quickly_estimated_sums as quickly_estimated_sums,
        refined as refined,
        strategy_mechanism as strategy_mechanism,
        weighted_rows as weighted_rows,
    )
    from dxgeom.mechanisms.shapes.strategy_program import (
        descend as descend,
        heaviest_points as heaviest_points,
        improved_strategy as improved_strategy,
        loads_of as loads_of,
        longest_first as longest_first,
        principal_axes as principal_axes,
        spread_of as spread_of,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
