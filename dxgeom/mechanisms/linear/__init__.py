"""Noise on linear queries: lattice, sensitivity, Laplace, containment, error bars, answers to changed queries.

Touches ``noise``, ``geometry`` and ``metrics``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.additive import AdditiveMechanism as AdditiveMechanism, without_noise as without_noise
    from dxgeom.mechanisms.linear.bars import (
        CombinedNoise as CombinedNoise,
        ErrorNorm as ErrorNorm,
        error_norm as error_norm,
        gamma_quantile as gamma_quantile,
        half_widths as half_widths,
        joint_half_widths as joint_half_widths,
        normal_quantile as normal_quantile,
        widening as widening,
    )
    from dxgeom.mechanisms.linear.biased import (
        BiasLines as BiasLines,
        CommonChange as CommonChange,
        JointSearch as JointSearch,
        ScaleCost as ScaleCost,
        SquaredError as SquaredError,
        UniformBound as UniformBound,
        biased_mechanism as biased_mechanism,
        changed as changed,
        changed_alike as changed_alike,
        most_saved as most_saved,
    )
    from dxgeom.mechanisms.linear.containment import (
        heaviest_pairs as heaviest_pairs,
        hiding as hiding,
        largest_load as largest_load,
        load_of_changes as load_of_changes,
        require_hiding as require_hiding,
        require_measured as require_measured,
    )
    from dxgeom.mechanisms.linear.laplace import (
        ScaleGroups as ScaleGroups,
        epsilon_dp_laplace as epsilon_dp_laplace,
        equal_shares as equal_shares,
        max_min_laplace as max_min_laplace,
        max_min_scales as max_min_scales,
        one_scale as one_scale,
        optimal_laplace as optimal_laplace,
        optimal_scales as optimal_scales,
        proportional_shares as proportional_shares,
        with_scales as with_scales,
    )
    from dxgeom.mechanisms.linear.lattice import (
        LatticeQueries as LatticeQueries,
        QueryChange as QueryChange,
        on_lattice as on_lattice,
        tables_over as tables_over,
    )
    from dxgeom.mechanisms.linear.mixing import (
        Block as Block,
        Classes as Classes,
        Cuts as Cuts,
        DiagonalMixing as DiagonalMixing,
        FirstLessSecond as FirstLessSecond,
        IntegerMixing as IntegerMixing,
        MeasuredNumbers as MeasuredNumbers,
        Siblings as Siblings,
        Summing as Summing,
        are_exact as are_exact,
        lattice_step as lattice_step,
    )
    from dxgeom.mechanisms.linear.distance_bounds import (
        DistanceBounds as DistanceBounds,
        joint_distance_bounds_of as joint_distance_bounds_of,
        parts_of as parts_of,
        distance_bounds_of as distance_bounds_of,
    )
    from dxgeom.mechanisms.linear.reciprocal_program import (
        ReciprocalSolution as ReciprocalSolution,
        max_min_fair_rates as max_min_fair_rates,
        minimise_reciprocal_squares as minimise_reciprocal_squares,
        minimise_under_largest_loads as minimise_under_largest_loads,
    )
    from dxgeom.mechanisms.linear.score_sensitivities import (
        common_unit as common_unit,
        over_common_unit as over_common_unit,
        query_sensitivities as query_sensitivities,
        range_sensitivity as range_sensitivity,
    )
    from dxgeom.mechanisms.linear.sensitivity import (
        Sensitivity as Sensitivity,
        active_differences as active_differences,
        corner_places as corner_places,
        on_records_of as on_records_of,
        require_public_number as require_public_number,
        require_written_for as require_written_for,
        sensitivity_of as sensitivity_of,
    )
    from dxgeom.mechanisms.linear.time_series import (
        SeriesMechanism as SeriesMechanism,
        series_mechanism as series_mechanism,
        series_mechanism_under as series_mechanism_under,
        series_root_mean_square as series_root_mean_square,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
