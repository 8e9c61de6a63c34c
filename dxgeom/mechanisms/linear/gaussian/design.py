"""Weights of differences and of answers, on a working set: what the search for a covariance walks through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.gaussian.fidelity import (
    Fidelity,
    fidelity_at,
    rough_roots,
    triangle_of,
)
from dxgeom.mechanisms.linear.gaussian.scaled_points import ScaledPoints
from dxgeom.numeric.qhull import far_apart

_SEEN: Final = 4
"""Differences for each dimension that the first ones are chosen from."""
_POWER: Final = 1.5
_SLOWER: Final = 0.5
"""Where costs move, too, weights follow them, and both would swing."""
_NEW: Final = 0.2
_LEAST: Final = 1e-6
_WIDE: Final = 128


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Points and answers (K, m) in units near 1; ``worst``: whether the worst answer counts, or their total."""

    points: ScaledPoints
    answers: NDArray[np.float64]
    worst: bool


@final
@dataclass(frozen=True, eq=False)
class Design:
    """``working`` (n,): places of differences; ``weights`` (n,) theirs; ``costs`` (K,) of the answers, of sum 1 where
    the worst counts, else ones. ``frame``: how many of the first differences are kept for good, since they span all
    dimensions."""

    working: NDArray[np.int64]
    weights: NDArray[np.float64]
    costs: NDArray[np.float64]
    frame: int

    def fidelity(self, problem: Problem, rough: bool = False) -> tuple[Fidelity, NDArray[np.float64]]:
        """Φ, and the matrix that takes a point to its place."""
        return fidelity_at(self.weights, problem.points.rows(self.working), self.costs, problem.answers, rough)

    def gap(self, problem: Problem, found: Fidelity, largest: float) -> float:
        """Relative, where the ``largest`` load is this: the covariance stretched by it, over the bound of Φ."""
        reach = float(found.variances.max()) * float(self.costs.sum()) if problem.worst else found.value
        return largest * reach * float(self.weights.sum()) / found.value**2 - 1

    def of(self, kept: NDArray[np.bool_], added: NDArray[np.int64]) -> Design:
        """Without those not kept, and with others, which are not among them, at a small weight."""
        kept = kept | (np.arange(len(kept)) < self.frame)
        mean = float(self.weights.mean())
        working = np.concatenate([self.working[kept], np.setdiff1d(added, self.working[kept])])
        weights = np.full(len(working), _NEW * mean)
        weights[: kept.sum()] = np.maximum(self.weights[kept], _LEAST * mean)
        return replace(self, working=working, weights=weights)


def first_design(problem: Problem, largest: NDArray[np.int64]) -> Design:
    """Equal weights on as many differences as dimensions, each far from the span of those before, of a part of all,
    and on those that are ``largest`` (m,) in some coordinate.

    Raises: CertificateRefused when float64 cannot tell that they span all dimensions.
    """
    points, size = problem.points, problem.points.width
    frame = np.empty(0, dtype=np.int64)
    for seen in (_SEEN, 5 * _SEEN):
        step = max(1, len(points) // (seen * size))
        part = np.unique(np.concatenate([largest, np.arange(0, len(points), step)]))
        frame = np.unique(part[far_apart(points.rows(part))])
        if len(frame) == size:
            break
    else:
        raise CertificateRefused("the differences do not span as many dimensions as are noisy, as float64 sees them")
    working = np.concatenate([frame, np.setdiff1d(largest, frame)])
    costs = np.full(len(problem.answers), 1 / len(problem.answers) if problem.worst else 1.0)
    return Design(working, np.ones(len(working)), costs, size)


def is_wide(problem: Problem) -> bool:
    """Whether a round takes long. Where it does not, rounds are what they were: recorded plans rest on their digits."""
    return problem.points.width >= _WIDE


def multiplied(problem: Problem, design: Design, times: int) -> Design:
    """Weights multiplied by powers of their loads, and costs by powers of their variances, some times: slow at the end,
    and soon near the optimum. Source: Titterington 1976; Yu 2010."""
    points = problem.points.rows(design.working)
    if is_wide(problem) and not problem.worst:
        return replace(design, weights=_weighed(points @ triangle_of(problem.answers).T, design.weights, times))
    weights, costs = design.weights, design.costs
    for _ in range(times):
        found, _ = fidelity_at(weights, points, costs, problem.answers, rough=True)
        weights = _raised(weights, found.loads, _SLOWER if problem.worst else _POWER)
        if problem.worst:
            costs = costs * found.variances**_SLOWER
            costs = costs / costs.sum()
    return replace(design, weights=weights, costs=costs)


def _weighed(turned: NDArray[np.float64], weights: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """Where costs stay: ``turned`` (n, m), the points in coordinates in which the answers are orthonormal."""
    for _ in range(times):
        roots, axes = rough_roots(turned * np.sqrt(weights)[:, None])
        weights = _raised(weights, ((turned @ axes) ** 2) @ (1 / roots), _POWER)
    return weights


def _raised(weights: NDArray[np.float64], loads: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    return np.asarray(weights * (loads * (weights.sum() / float(weights @ loads))) ** power)
