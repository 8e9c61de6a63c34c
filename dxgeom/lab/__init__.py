"""The papers' laboratory, beside the core: exact tables, noise on lines and in the plane, spaces of data sets, sums
of polynomials; and answers about one secret, from a policy and a task in a file.

Touches all below ``cli``; nothing but ``cli`` touches it, and what is behind a name is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.lab.answers import (
        ANSWERS as ANSWERS,
        answer as answer,
        plan_answer as plan_answer,
    )
    from dxgeom.lab.data_sets import (
        data_set_policy_from_dict as data_set_policy_from_dict,
    )
    from dxgeom.lab.dataset_space import (
        DatasetSpace as DatasetSpace,
        average as average,
        database_distance as database_distance,
        neighbouring_datasets as neighbouring_datasets,
        percentile as percentile,
        small_graphs as small_graphs,
        total as total,
    )
    from dxgeom.lab.finite_mechanism import (
        PrivacyLevel as PrivacyLevel,
        is_private as is_private,
        most_hidden as most_hidden,
        most_learned as most_learned,
        posterior as posterior,
        privacy_level as privacy_level,
    )
    from dxgeom.lab.finite_mechanism import (
        FiniteMechanism as FiniteMechanism,
        LikelihoodRatioBounds as LikelihoodRatioBounds,
        PrivateTable as PrivateTable,
        bayes_remap as bayes_remap,
        likelihood_ratio_bounds as likelihood_ratio_bounds,
        likelihood_ratio_bounds_of_table as likelihood_ratio_bounds_of_table,
        ratio as ratio,
        remapped_loss as remapped_loss,
        repaired as repaired,
    )
    from dxgeom.lab.laplace_tables import (
        BandedTable as BandedTable,
        banded_geometric as banded_geometric,
        banded_laplace as banded_laplace,
        finite_laplace as finite_laplace,
        halved_exponential as halved_exponential,
        truncated_geometric as truncated_geometric,
        truncated_geometric_law as truncated_geometric_law,
    )
    from dxgeom.lab.layers import (
        calibrated_table as calibrated_table,
        composed_layers as composed_layers,
        global_sensitivity as global_sensitivity,
        ladder_layers as ladder_layers,
        layered_law as layered_law,
        layered_table as layered_table,
        penalised_layers as penalised_layers,
        privacy_first_layers as privacy_first_layers,
        staircase_layers as staircase_layers,
        tuned_composed_table as tuned_composed_table,
        utility_first_layers as utility_first_layers,
    )
    from dxgeom.lab.line_noise import LineNoise as LineNoise, layered_line as layered_line, staircase as staircase
    from dxgeom.lab.optimal_tables import (
        Bracket as Bracket,
        bracketed_table as bracketed_table,
        greedy_spanner as greedy_spanner,
        least_cost_rows as least_cost_rows,
        optimal_table as optimal_table,
    )
    from dxgeom.lab.line_noise import (
        PlanarLaplace as PlanarLaplace,
        laplace_usefulness as laplace_usefulness,
        planar_laplace as planar_laplace,
        planar_usefulness as planar_usefulness,
    )
    from dxgeom.lab.product_space import joined_values as joined_values, neighbouring_points as neighbouring_points
    from dxgeom.lab.statistic_pictures import adjacent_outputs_picture as adjacent_outputs_picture
    from dxgeom.lab.statistic_release import (
        CornerStructure as CornerStructure,
        NormSensitivities as NormSensitivities,
        StatisticMechanism as StatisticMechanism,
        corner_structure as corner_structure,
        cylinder_noise as cylinder_noise,
        entry_blocks as entry_blocks,
        norm_sensitivities as norm_sensitivities,
        statistic_mechanism as statistic_mechanism,
    )
    from dxgeom.lab.task import load_task as load_task, task_from_dict as task_from_dict
    from dxgeom.learning.adjacent_outputs import (
        HalvingLimits as HalvingLimits,
        ListedOutputs as ListedOutputs,
        PolynomialOutputs as PolynomialOutputs,
        polynomial_maxima as polynomial_maxima,
        quadratic_maxima as quadratic_maxima,
    )
    from dxgeom.learning.polynomials import (
        PolynomialStatistic as PolynomialStatistic,
        bounded_column as bounded_column,
        moments as moments,
        polynomial_statistic as polynomial_statistic,
        regression_statistic as regression_statistic,
    )
    from dxgeom.mechanisms.linear.time_series import (
        SeriesMechanism as SeriesMechanism,
        series_mechanism as series_mechanism,
        series_mechanism_under as series_mechanism_under,
        series_root_mean_square as series_root_mean_square,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
