"""Measuring a whole workload at once, where selecting would not pay."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import fairest_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.synthetic.box_workload import BoxGroup, BoxWorkload
from dxgeom.mechanisms.synthetic.matrix_workload import MatrixWorkload
from dxgeom.mechanisms.synthetic.workload import Workload
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.weight_tables import WeightTable, WeightTables

MOST_QUERIES = 5000
"""More queries than this are not measured at once: to find their noise takes minutes."""
MOST_WEIGHTS = 20_000_000


def outright(metric: VerifiedMetric, workload: Workload) -> AdditiveMechanism:
    """All queries of the workload at once, with the Laplace scales that make the worst answer as good as possible.

    Under a metric that is a sum over attributes, a record that changes one of them leaves most marginals alone; so the
    noise is far below that of as many rounds.
    Guarantee: the mechanism's. Answers are *exact* sums plus noise.
    Raises: TooLarge when the queries are too many, or their weights would have to be rounded; UnboundedLoss.
    """
    if workload.count > MOST_QUERIES:
        raise TooLarge(f"at most {MOST_QUERIES:,} queries are measured at once, found {workload.count:,}: give rounds")
    mechanism = fairest_laplace(sensitivity_of(metric, _queries(workload)))
    if any(mechanism.sensitivity.queries.weight_errors):
        raise TooLarge("the queries' weights are too fine next to their noise; round them to fewer digits")
    return mechanism


def _queries(workload: Workload) -> LinearQueries:
    match workload:
        case MatrixWorkload(queries=queries):
            return queries
        case BoxWorkload(names=names, shape=shape, groups=groups, unit=unit):
            tables, first = [], 0
            for group in groups:
                tables.append(_table(group, first))
                first += len(group.low)
            return LinearQueries(names, WeightTables(shape, tuple(tables)), (Fraction(unit),) * len(names))
        case _:
            raise UnsupportedCombination(f"a {type(workload).__name__} has no form in which it is measured at once")


def _table(group: BoxGroup, first: int) -> WeightTable:
    rows = len(group.low)
    if rows * math.prod(group.sizes) > MOST_WEIGHTS:
        raise TooLarge(f"boxes that are measured at once have at most {MOST_WEIGHTS:,} weights: give rounds")
    classes = tuple(np.arange(size) for size in group.sizes)
    weights = np.stack([group.indicator(row) for row in range(rows)])
    return WeightTable(np.arange(first, first + rows), group.axes, classes, weights)
