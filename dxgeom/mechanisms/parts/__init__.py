"""Noise in parts: for whole tables of counts in residuals, in tables or along bases, for boxes along trees and lines.

Touches ``mechanisms/linear`` and ``mechanisms/gaussian``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.parts.bases import (
        Blocks as Blocks,
        TurnedShifts as TurnedShifts,
        ValueDistances as ValueDistances,
        WeighedPairs as WeighedPairs,
        cell_errors as cell_errors,
        uneven_distances as uneven_distances,
        weighed_pairs as weighed_pairs,
    )
    from dxgeom.mechanisms.parts.basis_loads import Loads as Loads
    from dxgeom.mechanisms.parts.basis_mechanism import (
        KroneckerMechanism as KroneckerMechanism,
        has_uneven_attributes as has_uneven_attributes,
        kronecker_gaussian as kronecker_gaussian,
        maps_of as maps_of,
        proved_along as proved_along,
    )
    from dxgeom.mechanisms.parts.basis_program import FoundNoise as FoundNoise, KroneckerQuestion as KroneckerQuestion
    from dxgeom.mechanisms.parts.box_bound import (
        BoundedGauge as BoundedGauge,
        BoxChanges as BoxChanges,
        Pairs as Pairs,
        boxes_bound as boxes_bound,
        every_pair as every_pair,
        neighbours as neighbours,
        random_volume_bound as random_volume_bound,
        worst_alone as worst_alone,
    )
    from dxgeom.mechanisms.parts.box_candidates import counted_boxes as counted_boxes, in_answers as in_answers
    from dxgeom.mechanisms.parts.box_mechanism import (
        BoxMechanism as BoxMechanism,
        below as below,
        centred_sums as centred_sums,
    )
    from dxgeom.mechanisms.parts.box_scales import (
        BlockTables as BlockTables,
        BoxQuestion as BoxQuestion,
        WorstScales as WorstScales,
        best_scales as best_scales,
        block_variances as block_variances,
        costs_of as costs_of,
        line_gaps as line_gaps,
        promised_of as promised_of,
        require_enough as require_enough,
        worst_scales as worst_scales,
    )
    from dxgeom.mechanisms.parts.counts_with_noise import (
        CellErrors as CellErrors,
        CountsWithNoise as CountsWithNoise,
        NoisyTables as NoisyTables,
        centred as centred,
        measured_shape as measured_shape,
        packed as packed,
        put_together as put_together,
        subsets as subsets,
        unpacked as unpacked,
    )
    from dxgeom.mechanisms.parts.factors import Factor as Factor, Path as Path, Tree as Tree, trees as trees
    from dxgeom.mechanisms.parts.lattice_noise import LatticeNoise as LatticeNoise, interleaved as interleaved
    from dxgeom.mechanisms.parts.loads import (
        Load as Load,
        ChangeBounds as ChangeBounds,
        enlarged as enlarged,
        enlarged_until as enlarged_until,
        hides_everything as hides_everything,
        loads_in as loads_in,
        moved as moved,
        within_budgets as within_budgets,
        within_limits as within_limits,
    )
    from dxgeom.mechanisms.parts.measured_parts import (
        AskedBoxes as AskedBoxes,
        PartsMeasurement as PartsMeasurement,
        parts_in_answers as parts_in_answers,
    )
    from dxgeom.mechanisms.parts.program import (
        BudgetedRates as BudgetedRates,
        Budgets as Budgets,
        least_cost_rates as least_cost_rates,
    )
    from dxgeom.mechanisms.parts.scales import (
        GaussianScales as GaussianScales,
        LaplaceScales as LaplaceScales,
        MeasuredTables as MeasuredTables,
        best_gaussian_scales as best_gaussian_scales,
        best_laplace_scales as best_laplace_scales,
        cell_variances as cell_variances,
        inverse as inverse,
        measurement_shares as measurement_shares,
        only_taken as only_taken,
        rates_of_tables as rates_of_tables,
        residual_variances as residual_variances,
        scales_of_laplace as scales_of_laplace,
    )
    from dxgeom.mechanisms.parts.table_candidates import (
        CountTables as CountTables,
        MarginalSpace as MarginalSpace,
        marginal_gaussian as marginal_gaussian,
        marginal_laplace as marginal_laplace,
        marginal_space as marginal_space,
        proved as proved,
        unbiased_tables_bound as unbiased_tables_bound,
    )
    from dxgeom.mechanisms.parts.table_mechanism import TableMechanism as TableMechanism
    from dxgeom.mechanisms.parts.tables import (
        MarginalQuestion as MarginalQuestion,
        SetFamily as SetFamily,
        family_of as family_of,
        members as members,
    )
    from dxgeom.mechanisms.parts.volumes import tables_volume_bound as tables_volume_bound

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
