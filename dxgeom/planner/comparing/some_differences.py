"""What some of very many differences already tell of candidates, long before all have been looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from dxgeom.mechanisms.linear.laplace import max_min_scales, optimal_scales
from dxgeom.mechanisms.shapes.rotated_axes import best_start
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.planner.comparing.candidate_bounds import CAUTION, is_large, unproved

if TYPE_CHECKING:
    from dxgeom.planner.candidate_builder import CandidateBuilder

_SOME: Final = 1_000
_OF_EACH: Final = 10
"""Differences, for each query at the least."""


def with_some(shared: CandidateBuilder) -> CandidateBuilder:
    """For the same queries with some of the differences, at regular places: whatever hides all hides these, so no noise
    for them needs more. The same where there are few."""
    changes = shared.sensitivity.changes
    if not (is_large(shared) and isinstance(changes, ListedChanges | PairedChanges)):
        return shared
    most = max(_SOME, _OF_EACH * len(shared.sensitivity.queries.names))
    places = np.unique(np.linspace(0, changes.count - 1, min(changes.count, most)).astype(np.int64))
    return replace(shared, sensitivity=shared.sensitivity.quick_estimate(places))


def laplace_bound(some: CandidateBuilder) -> float:
    """What the objective of Laplace noise cannot be below: its least for some of the differences."""
    noisy, objective = some.sensitivity.of_each_query > 0, some.objective
    scales_of = max_min_scales if objective.name == "max" else optimal_scales
    variances = np.zeros(len(noisy))
    variances[noisy] = (
        2 * (scales_of(some.sensitivity, objective.factors) * some.sensitivity.queries.float_steps[noisy]) ** 2
    )
    return objective.loss(variances) * CAUTION


def quick_estimate_of_rotated_laplace(some: CandidateBuilder) -> float:
    """Of which order the objective of rotated Laplace noise is: the best basis that its search begins from, for some of
    the differences. No bound."""
    return unproved(some, best_start(some.search_space))
