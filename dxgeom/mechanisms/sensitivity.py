"""Where a metric meets a workload: the differences that noise has to hide. The only place that knows both."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.lattice import LatticeQueries, on_lattice
from dxgeom.metrics.differences import generating_differences
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.rounding import quotient_round_up
from dxgeom.universe.queries import LinearQueries


@final
@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The generating differences Δ_e of a workload on its lattice, each with the distance b_e it has to honour.

    A norm ball K hides them iff ``‖differences[e]‖_K ≤ bounds[e]`` for all e. Only :func:`sensitivity_of` makes one.

    ``differences`` (E, K): int64, in lattice steps, without zeros, one of each pair ±Δ; ``bounds`` (E,): rounded down.
    """

    metric: VerifiedMetric = field(repr=False)
    queries: LatticeQueries = field(repr=False)
    differences: NDArray[np.int64] = field(repr=False)
    bounds: NDArray[np.float64] = field(repr=False)

    @cached_property
    def of_each_query(self) -> NDArray[np.float64]:
        """(K,): max_e |Δ_e,k|/b_e in lattice steps, *rounded up*; 0 where a query never changes."""
        return _of_each_query(self.differences, self.bounds)


def sensitivity_of(metric: VerifiedMetric, queries: LinearQueries) -> Sensitivity:
    """Put the queries on a lattice and collect their differences along the metric's generating pairs.

    Guarantee: differences *exact*, of the very integers that a release multiplies with the histogram.
    Raises: UnsupportedCombination when they are not about the same records; UnboundedLoss when no finite noise
    can honour the metric.
    """
    require_same_records(metric, queries)
    differences, bounds = generating_differences(metric.metric, queries.numerators)
    lattice = on_lattice(queries, _of_each_query(differences, bounds))
    if any(lattice.weight_errors):
        differences, bounds = generating_differences(metric.metric, lattice.numerators)
    else:
        finer = [unit / step for unit, step in zip(queries.units, lattice.steps, strict=True)]
        differences = differences * np.array([int(factor) for factor in finer], dtype=np.int64)
    return Sensitivity(metric, lattice, differences, bounds)


def require_same_records(metric: VerifiedMetric, queries: LinearQueries) -> None:
    """Raises: UnsupportedCombination unless the metric is verified and on the records that the queries weigh."""
    if not isinstance(metric, VerifiedMetric):
        raise UnsupportedCombination("mechanisms accept verified metrics only: use verify_metric, or compile a policy")
    if metric.size != queries.size:
        raise UnsupportedCombination(
            f"the metric is on {metric.size:,} record types, the queries on {queries.size:,}; they must be the same"
        )
    apart = metric.universe and queries.universe and not metric.universe.lists_the_same_records(queries.universe)
    if apart:
        raise UnsupportedCombination(
            "the metric and the queries are about different universes: load both from one policy"
        )


def _of_each_query(differences: NDArray[np.int64], bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = np.zeros(differences.shape[1])
    for query, column in enumerate(differences.T):
        largest[query] = np.max(quotient_round_up(np.abs(column).astype(np.float64), bounds), initial=0.0)
    return largest
