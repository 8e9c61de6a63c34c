"""Noise for whole tables of counts, in closed form: normal in residuals, or Laplace in tables, put together exactly.

Touches ``mechanisms/linear``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.marginals.table_measurement import (
        TableMeasurement as TableMeasurement,
        require_same_attributes as require_same_attributes,
    )
    from dxgeom.mechanisms.linear.marginals.assembly import (
        centred as centred,
        measured_shape as measured_shape,
        measurement_shares as measurement_shares,
        put_together as put_together,
        residual_table as residual_table,
        spread_of_residual as spread_of_residual,
        spread_of_table as spread_of_table,
        subsets as subsets,
        summed_to as summed_to,
    )
    from dxgeom.mechanisms.linear.marginals.counts_with_noise import (
        CellErrors as CellErrors,
        CountsWithNoise as CountsWithNoise,
        LatticeNoise as LatticeNoise,
        NoisyTables as NoisyTables,
        packed as packed,
        unpacked as unpacked,
    )
    from dxgeom.mechanisms.linear.marginals.exact_loads import (
        enlarged as enlarged,
        hides_everything as hides_everything,
        moved as moved,
        within_budgets as within_budgets,
    )
    from dxgeom.mechanisms.linear.marginals.gaussian_scales import (
        GaussianScales as GaussianScales,
        best_gaussian_scales as best_gaussian_scales,
        cell_variances as cell_variances,
    )
    from dxgeom.mechanisms.linear.marginals.joint_promise import joint_promise_of as joint_promise_of
    from dxgeom.mechanisms.linear.marginals.laplace_scales import (
        LaplaceScales as LaplaceScales,
        MeasuredTables as MeasuredTables,
        best_laplace_scales as best_laplace_scales,
        rates_of_tables as rates_of_tables,
    )
    from dxgeom.mechanisms.linear.marginals.mechanism import (
        MarginalSpace as MarginalSpace,
        scales_of_laplace as scales_of_laplace,
        marginal_gaussian as marginal_gaussian,
        marginal_laplace as marginal_laplace,
        marginal_space as marginal_space,
        of_residuals as of_residuals,
        proved as proved,
        residual_variances as residual_variances,
        unbiased_tables_bound as unbiased_tables_bound,
        with_marginal_scales as with_marginal_scales,
    )
    from dxgeom.mechanisms.linear.marginals.program import (
        BudgetedRates as BudgetedRates,
        Budgets as Budgets,
        least_cost_rates as least_cost_rates,
    )
    from dxgeom.mechanisms.linear.marginals.promise import (
        Promise as Promise,
        parts_of as parts_of,
        promise_of as promise_of,
    )
    from dxgeom.mechanisms.linear.marginals.question import (
        MarginalQuestion as MarginalQuestion,
    )
    from dxgeom.mechanisms.linear.marginals.recognised import (
        CountTables as CountTables,
        count_tables as count_tables,
        tables_over as tables_over,
    )
    from dxgeom.mechanisms.linear.marginals.set_family import (
        SetFamily as SetFamily,
        family_of as family_of,
        members as members,
    )
    from dxgeom.mechanisms.linear.marginals.table_mechanism import (
        TableMechanism as TableMechanism,
    )
    from dxgeom.mechanisms.linear.marginals.volumes import (
        log_mean_section as log_mean_section,
        log_volume_of_hull as log_volume_of_hull,
        tables_volume_bound as tables_volume_bound,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
