"""Noise added to linear queries: the lattice, the sensitivity (where metric meets workload), and the containment check.

Touches ``contract``, ``noise``, ``geometry``, ``metrics``, ``universe``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear import bars as bars, biased as biased, gaussian as gaussian
    from dxgeom.mechanisms.linear import (
        boxes as boxes,
        kronecker as kronecker,
        marginals as marginals,
        shapes as shapes,
    )
    from dxgeom.mechanisms.linear.working_sets import (
        active_differences as active_differences,
        corner_places as corner_places,
    )
    from dxgeom.mechanisms.linear.additive import AdditiveMechanism as AdditiveMechanism, without_noise as without_noise
    from dxgeom.mechanisms.linear.containment import (
        heaviest_pairs as heaviest_pairs,
        hiding as hiding,
        largest_load as largest_load,
        load_of_changes as load_of_changes,
        require_hiding as require_hiding,
    )
    from dxgeom.mechanisms.linear.measured import (
        Block as Block,
        Classes as Classes,
        Cuts as Cuts,
        FirstLessSecond as FirstLessSecond,
        MeasuredNumbers as MeasuredNumbers,
        Siblings as Siblings,
        Summing as Summing,
        lattice_step as lattice_step,
    )
    from dxgeom.mechanisms.linear.mixing import (
        DiagonalMixing as DiagonalMixing,
        IntegerMixing as IntegerMixing,
        are_exact as are_exact,
    )
    from dxgeom.mechanisms.linear.laplace import (
        epsilon_dp_laplace as epsilon_dp_laplace,
        max_min_laplace as max_min_laplace,
        max_min_scales as max_min_scales,
        optimal_laplace as optimal_laplace,
        optimal_scales as optimal_scales,
        with_scales as with_scales,
    )
    from dxgeom.mechanisms.linear.laplace import (
        equal_shares as equal_shares,
        one_scale as one_scale,
        proportional_shares as proportional_shares,
    )
    from dxgeom.mechanisms.linear.lattice import LatticeQueries as LatticeQueries, on_lattice as on_lattice
    from dxgeom.mechanisms.linear.reciprocal_program import max_min_fair_rates as max_min_fair_rates
    from dxgeom.mechanisms.linear.query_changes import QueryChange as QueryChange
    from dxgeom.mechanisms.linear.reciprocal_program import (
        ReciprocalSolution as ReciprocalSolution,
        minimise_reciprocal_squares as minimise_reciprocal_squares,
        minimise_under_heaviest as minimise_under_heaviest,
    )
    from dxgeom.mechanisms.linear.rough_rates import rows_that_may_bind as rows_that_may_bind
    from dxgeom.mechanisms.linear.scale_groups import ScaleGroups as ScaleGroups, group_scales as group_scales
    from dxgeom.mechanisms.linear.score_sensitivities import (
        common_unit as common_unit,
        over_common_unit as over_common_unit,
        query_sensitivities as query_sensitivities,
        range_sensitivity as range_sensitivity,
    )
    from dxgeom.mechanisms.linear.sensitivity import (
        Sensitivity as Sensitivity,
        absent_record as absent_record,
        on_records_of as on_records_of,
        require_public_number as require_public_number,
        require_same_records as require_same_records,
        require_written_for as require_written_for,
        sensitivity_of as sensitivity_of,
    )
    from dxgeom.mechanisms.linear.witness import require_measured as require_measured

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
