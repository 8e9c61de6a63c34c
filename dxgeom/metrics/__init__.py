"""Distances between record types, and the proof that they are metrics. ``metric`` is what every family offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.metrics.certificate import MetricCertificate as MetricCertificate
    from dxgeom.metrics.checking.closure import Repair as Repair
    from dxgeom.metrics.checking.dense import DenseMetric as DenseMetric
    from dxgeom.metrics.checking.edge_check import EdgeRepair as EdgeRepair, EdgeVerdict as EdgeVerdict
    from dxgeom.metrics.checking.verification import verify as verify
    from dxgeom.metrics.combinations.cap import CapMetric as CapMetric
    from dxgeom.metrics.combinations.groups import Group as Group, GroupedMetric as GroupedMetric
    from dxgeom.metrics.combinations.largest_change import MaxMetric as MaxMetric
    from dxgeom.metrics.combinations.presence import PresenceMetric as PresenceMetric
    from dxgeom.metrics.combinations.product import SumMetric as SumMetric
    from dxgeom.metrics.combinations.reordered import ReorderedMetric as ReorderedMetric
    from dxgeom.metrics.families.discrete import DiscreteMetric as DiscreteMetric
    from dxgeom.metrics.families.graph import GraphMetric as GraphMetric
    from dxgeom.metrics.families.line import LineMetric as LineMetric
    from dxgeom.metrics.families.partition import PartitionMetric as PartitionMetric
    from dxgeom.metrics.families.points import PointsMetric as PointsMetric
    from dxgeom.metrics.families.star import StarMetric as StarMetric
    from dxgeom.metrics.families.values import ValueSensitivityMetric as ValueSensitivityMetric
    from dxgeom.metrics.metric import Metric as Metric
    from dxgeom.metrics.operations.blocks import SeparateBlocks as SeparateBlocks, separate_blocks as separate_blocks
    from dxgeom.metrics.operations.diameters import l1_diameter as l1_diameter, smallest_distance as smallest_distance
    from dxgeom.metrics.operations.differences import generating_differences as generating_differences
    from dxgeom.metrics.operations.extension import (
        lower_extension as lower_extension,
        upper_extension as upper_extension,
    )
    from dxgeom.metrics.operations.upper_distances import path_lengths as path_lengths

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
