"""Distances between possible records, and the proof that they are metrics. ``metric`` is what every family offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.metrics.metric import MetricCertificate as MetricCertificate
    from dxgeom.metrics.matrices import Repair as Repair
    from dxgeom.metrics.matrices import DenseMetric as DenseMetric
    from dxgeom.metrics.edges import EdgeRepair as EdgeRepair, EdgeVerdict as EdgeVerdict
    from dxgeom.metrics.verification import verify as verify
    from dxgeom.metrics.combinations import CapMetric as CapMetric
    from dxgeom.metrics.combinations import Group as Group, GroupedMetric as GroupedMetric
    from dxgeom.metrics.combinations import MaxMetric as MaxMetric
    from dxgeom.metrics.combinations import PresenceMetric as PresenceMetric
    from dxgeom.metrics.combinations import SumMetric as SumMetric
    from dxgeom.metrics.combinations import ReorderedMetric as ReorderedMetric
    from dxgeom.metrics.families import DiscreteMetric as DiscreteMetric
    from dxgeom.metrics.graph import GraphMetric as GraphMetric
    from dxgeom.metrics.families import LineMetric as LineMetric
    from dxgeom.metrics.families import PartitionMetric as PartitionMetric
    from dxgeom.metrics.points import PointsMetric as PointsMetric
    from dxgeom.metrics.families import StarMetric as StarMetric
    from dxgeom.metrics.families import ValueSensitivityMetric as ValueSensitivityMetric
    from dxgeom.metrics.metric import Metric as Metric
    from dxgeom.metrics.components import SeparateBlocks as SeparateBlocks, separate_blocks as separate_blocks
    from dxgeom.metrics.diameters import l1_diameter as l1_diameter, smallest_distance as smallest_distance
    from dxgeom.metrics.differences import generating_differences as generating_differences
    from dxgeom.metrics.lipschitz_maps import (
        lower_extension as lower_extension,
        upper_extension as upper_extension,
    )
    from dxgeom.metrics.diameters import path_lengths as path_lengths

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
