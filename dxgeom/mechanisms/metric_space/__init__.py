"""Mechanisms on a line, on the plane, and on spaces of whole datasets.

Touches ``finite``, ``contract``, ``noise`` and everything below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.metric_space.dataset_space import (
        DatabasePolicy as DatabasePolicy,
        DatasetSpace as DatasetSpace,
        SmallGraphs as SmallGraphs,
        average as average,
        database_distance as database_distance,
        neighbouring_datasets as neighbouring_datasets,
        percentile as percentile,
        small_graphs as small_graphs,
        total as total,
    )
    from dxgeom.mechanisms.metric_space.layers import (
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
    from dxgeom.mechanisms.metric_space.line_noise import (
        LineNoise as LineNoise,
        layered_line as layered_line,
        staircase as staircase,
    )
    from dxgeom.mechanisms.metric_space.planar import (
        PlanarLaplace as PlanarLaplace,
        laplace_usefulness as laplace_usefulness,
        planar_laplace as planar_laplace,
        planar_usefulness as planar_usefulness,
        series_root_mean_square as series_root_mean_square,
    )
    from dxgeom.mechanisms.metric_space.time_series import (
        SeriesMechanism as SeriesMechanism,
        series_mechanism as series_mechanism,
        series_mechanism_under as series_mechanism_under,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
