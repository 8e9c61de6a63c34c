"""Mechanisms on a line, on the plane, and on spaces of whole datasets.

Touches ``finite``, ``contract``, ``noise`` and everything below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.metric_space.database_queries import (
        DatabasePolicy as DatabasePolicy,
        average as average,
        database_distance as database_distance,
        percentile as percentile,
        total as total,
    )
    from dxgeom.mechanisms.metric_space.dataset_space import (
        DatasetSpace as DatasetSpace,
        neighbouring_datasets as neighbouring_datasets,
    )
    from dxgeom.mechanisms.metric_space.graph_classes import SmallGraphs as SmallGraphs, small_graphs as small_graphs
    from dxgeom.mechanisms.metric_space.layered import (
        calibrated_table as calibrated_table,
        layered_law as layered_law,
        layered_table as layered_table,
        tuned_composed_table as tuned_composed_table,
    )
    from dxgeom.mechanisms.metric_space.layers import (
        composed_layers as composed_layers,
        global_sensitivity as global_sensitivity,
        ladder_layers as ladder_layers,
        penalised_layers as penalised_layers,
        privacy_first_layers as privacy_first_layers,
        staircase_layers as staircase_layers,
        utility_first_layers as utility_first_layers,
    )
    from dxgeom.mechanisms.metric_space.line_noise import (
        LineNoise as LineNoise,
        layered_line as layered_line,
        staircase as staircase,
    )
    from dxgeom.mechanisms.metric_space.planar import PlanarLaplace as PlanarLaplace, planar_laplace as planar_laplace
    from dxgeom.mechanisms.metric_space.time_series import (
        SeriesMechanism as SeriesMechanism,
        series_mechanism as series_mechanism,
        series_mechanism_under as series_mechanism_under,
    )
    from dxgeom.mechanisms.metric_space.usefulness import (
        laplace_usefulness as laplace_usefulness,
        planar_usefulness as planar_usefulness,
        series_root_mean_square as series_root_mean_square,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
