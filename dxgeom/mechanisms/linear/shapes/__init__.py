"""The shapes of noise a plan may choose from, and the bounds that no shape can beat.

Touches ``linear`` and everything below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.shapes.coarse_hulls import coarse_hull as coarse_hull
    from dxgeom.mechanisms.linear.shapes.descent import descend as descend
    from dxgeom.mechanisms.linear.shapes.hull import (
        SensitivityHull as SensitivityHull,
        hull_by_rejection as hull_by_rejection,
        hull_mechanism as hull_mechanism,
        sensitivity_hull as sensitivity_hull,
    )
    from dxgeom.mechanisms.linear.shapes.coarse_hulls import block_hulls as block_hulls
    from dxgeom.mechanisms.linear.shapes.lower_bound import (
        coordinate_bound as coordinate_bound,
        coordinate_bounds as coordinate_bounds,
        covariance_bound as covariance_bound,
        second_moment_bound as second_moment_bound,
        volume_bound as volume_bound,
    )
    from dxgeom.mechanisms.linear.shapes.own_body import (
        body_mechanism as body_mechanism,
        require_norm_ball as require_norm_ball,
    )
    from dxgeom.mechanisms.linear.shapes.rotated_axes import (
        Effort as Effort,
        best_start as best_start,
        best_strategy as best_strategy,
        rotated_laplace as rotated_laplace,
    )
    from dxgeom.mechanisms.linear.shapes.round_shapes import (
        box_image as box_image,
        box_mechanism as box_mechanism,
        box_moment as box_moment,
        ellipsoid_mechanism as ellipsoid_mechanism,
    )
    from dxgeom.mechanisms.linear.shapes.round_spaces import RoundSpace as RoundSpace, round_space as round_space
    from dxgeom.mechanisms.linear.shapes.row_weights import weighted_rows as weighted_rows
    from dxgeom.mechanisms.linear.shapes.strategy import (
        best_of as best_of,
        best_sums as best_sums,
        glimpsed_sums as glimpsed_sums,
        row_sets as row_sets,
        strategy_mechanism as strategy_mechanism,
    )
    from dxgeom.mechanisms.linear.shapes.strategy_program import (
        heaviest_points as heaviest_points,
        improved_strategy as improved_strategy,
        loads_of as loads_of,
        longest_first as longest_first,
        principal_axes as principal_axes,
        spread_of as spread_of,
    )
    from dxgeom.mechanisms.linear.shapes.strategy_rows import determined_rows as determined_rows
    from dxgeom.mechanisms.linear.shapes.working_points import refined as refined
    from dxgeom.mechanisms.linear.shapes.least_traces import (
        least_trace_ellipsoid as least_trace_ellipsoid,
        trace_bound as trace_bound,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
