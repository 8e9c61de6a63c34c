"""Measuring a whole workload at once, where selecting would not pay."""

from __future__ import annotations

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import max_min_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.universe.queries import LinearQueries

MOST_QUERIES = 5000
"""More queries than this are not measured at once: to find their noise takes minutes."""
MOST_WEIGHTS = 20_000_000


def measured_at_once(metric: VerifiedMetric, queries: LinearQueries) -> AdditiveMechanism:
    """All queries at once, with the Laplace scales that make the worst answer as good as possible.

    Under a metric that is a sum over attributes, a record that changes one of them leaves most marginals alone; so the
    noise is far below that of as many rounds.
    Guarantee: the mechanism's. Answers are *exact* sums plus noise.
    Raises: TooLarge when the queries are too many, or their weights would have to be rounded; UnboundedLoss.
    """
    if queries.count > MOST_QUERIES:
        raise TooLarge(f"at most {MOST_QUERIES:,} queries are measured at once, found {queries.count:,}: give rounds")
    tables = () if queries.tables.is_matrix else queries.tables.tables
    if any(len(table.queries) * table.cells > MOST_WEIGHTS for table in tables):
        raise TooLarge(f"tables that are measured at once have at most {MOST_WEIGHTS:,} weights: give rounds")
    mechanism = max_min_laplace(sensitivity_of(metric, queries))
    if any(mechanism.sensitivity.queries.weight_errors):
        raise TooLarge("the queries' weights are too fine next to their noise; round them to fewer digits")
    return mechanism
