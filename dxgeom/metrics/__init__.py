"""Distances between possible records, and the proof that they are metrics. ``metric`` is what every family offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.metrics.edges import repair_edges as repair_edges
    from dxgeom.metrics.lipschitz_maps import lipschitz as lipschitz
    from dxgeom.metrics.verification import verify as verify
    from dxgeom.metrics.graph import GraphMetric as GraphMetric
    from dxgeom.metrics.families import LineMetric as LineMetric
    from dxgeom.metrics.points import PointsMetric as PointsMetric
    from dxgeom.metrics.metric import Metric as Metric
    from dxgeom.metrics.components import separate_blocks as separate_blocks
    from dxgeom.metrics.diameters import smallest_distance as smallest_distance

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
