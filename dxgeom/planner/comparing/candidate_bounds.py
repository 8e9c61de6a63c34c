"""What a candidate's objective cannot be below, found much sooner than the candidate is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.shapes.hulls import covariance_bound
from dxgeom.mechanisms.shapes.strategy import QUICK_EFFORT, best_strategy, box_image, box_moment, quickly_estimated_sums
from dxgeom.mechanisms.shapes.strategy_program import loads_of
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges

if TYPE_CHECKING:
    from dxgeom.planner.candidate_builder import CandidateBuilder

_LARGE: Final = 2_000_000
"""Multiplications: a turn of all differences that takes more is worth asking first whether it can pay."""
CAUTION: Final = 1 - 1e-6
_MANY: Final = 64
PRUNING_FACTOR: Final = 5.0
"""Times the best: a long search was seen to find a fourth of what a short one does, and mostly two thirds."""


def is_large(shared: CandidateBuilder) -> bool:
    """Whether building a shape takes seconds, so that one that cannot be the best is better left out."""
    if shared.objective.size is not None:
        return False  # what is left out is told by squared errors
    dimension = int(np.sum(shared.sensitivity.of_each_query > 0))
    changes = shared.sensitivity.changes
    return isinstance(changes, ListedChanges | PairedChanges) and float(changes.count) * dimension**2 > _LARGE


def box_bound(shared: CandidateBuilder) -> float:
    """The objective of the box's noise before any of it is proved, which makes it no smaller."""
    space = shared.search_space
    return shared.objective.loss(space.variances_of(box_image(space)) * box_moment(space.dimension)) * CAUTION


def ellipsoid_bound(shared: CandidateBuilder) -> float:
    """(m + 1) times what the trace of no ellipsoid around the differences is below."""
    space = shared.space
    if space is None:
        return 0.0
    if shared.has_best_covariance:
        return (space.dimension + 1) * shared.bound_of_tables * CAUTION  # the best trace itself, with no search
    share = len(shared.sensitivity.queries.names) if shared.objective.name == "max" else 1
    return (space.dimension + 1) * covariance_bound(space) / share * CAUTION


def rotated_bound(shared: CandidateBuilder) -> float:
    """The objective of rotated Laplace noise before any of it is proved."""
    return unproved(shared, shared.strategy)


def strategy_bound(shared: CandidateBuilder) -> float:
    """The objective of noise on more sums than dimensions before any of it is proved."""
    return unproved(shared, shared.sums)


def quick_estimates(shared: CandidateBuilder) -> dict[str, float]:
    """Of which order the objectives of candidates are that are sought for long in many dimensions: what a short search
    finds, which is no bound. Empty in fewer dimensions, where nobody waits for the long one."""
    space = shared.search_space
    if space.dimension < _MANY:
        return {}
    square = best_strategy(space, QUICK_EFFORT)
    return {
        "rotated-laplace": unproved(shared, square),
        "strategy": unproved(shared, quickly_estimated_sums(space, square)),
    }


def unproved(shared: CandidateBuilder, rows: NDArray[np.float64]) -> float:
    """The objective of independent Laplace noise on these sums (p, m), before any of it is proved."""
    space = shared.search_space
    image = np.asarray(np.linalg.pinv(rows)) * loads_of(space.points, rows).max()
    return shared.objective.loss(space.variances_of(image) * 2) * CAUTION
