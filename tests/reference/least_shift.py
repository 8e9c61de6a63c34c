"""What a release shows of two records, found by driving it: with unit noise, and no noise, and one record at a time.

Nothing of how a mechanism was made or proved is used, only ``drawn`` and its law.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.linalg import null_space, solve_triangular
from scipy.optimize import linprog

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.numeric.randomness import InsecureSeededRandomness
from reference.forged import forged

TOLERANCE = 1e-6


class UnitNoise:
    """Of several draws, every unit vector once, and then nothing; of a single one, nothing."""

    def __init__(self, dimension):
        self.dimension = dimension
        self.concentrated = False

    def draw_whole(self, count, randomness, factor):
        units = np.eye(self.dimension, dtype=int)
        return np.vstack([units[: count - 1], np.zeros((1, self.dimension), dtype=int)]).tolist()


def driven(mechanism: AdditiveMechanism):
    """(K, m) and (K, N), exactly: what answers take of the noise, and what one record of each type adds to them."""
    size, dimension = mechanism.metric.size, 0 if mechanism.law is None else mechanism.law.dimension
    driven = forged(mechanism, law=UnitNoise(dimension))
    nobody = np.zeros(size, dtype=np.int64)

    def answers(counts, times=1):
        return np.array(driven.drawn(counts, Fraction(1), times, InsecureSeededRandomness(0)), dtype=object)

    base = answers(nobody, dimension + 1)
    taken = np.array(base[:dimension] - base[dimension], dtype=object).reshape(dimension, len(base[dimension])).T
    weights = np.stack([answers(np.eye(size, dtype=np.int64)[i])[0] - base[dimension] for i in range(size)], 1)
    return taken, weights


def least_shift(law, taken, change):
    """The smallest norm, in which the law hides shifts, of any shift of the noise that moves answers as the change."""
    matrix, change = taken.astype(float), change.astype(float)
    scale = max(np.abs(matrix).max(initial=0), 1e-300)
    matrix, change = matrix / scale, change / scale
    if law.concentrated:
        return _least_normal(law.second_moment, matrix, change)
    if law.laplace_scales is not None:
        width, rates = law.dimension, 1 / law.laplace_scales
        found = linprog(
            np.concatenate([rates, rates]),
            A_eq=np.hstack([matrix, -matrix]),
            b_eq=change,
            bounds=[(0, None)] * (2 * width),
        )
        return found.fun if found.status == 0 else np.inf
    shift, *_ = np.linalg.lstsq(matrix, change, rcond=1e-12)
    if np.linalg.matrix_rank(matrix) < law.dimension:
        raise AssertionError("noise that is not told by the answers wants a programme of its own")
    if np.abs(matrix @ shift - change).max(initial=0) > 1e-7 * max(np.abs(change).max(), 1):
        return np.inf
    shift = np.round(shift, 6) + 0.0
    return float(law.loss_upper_bounds(shift[None], np.zeros_like(shift)[None])[0])


def _least_normal(second_moment, matrix, change):
    """The smallest Mahalanobis norm: of a shift that does it, less what others do that leave answers where they are.

    Solved in shifts, not in answers, so that noise of very different widths is no matter of rounding.
    """
    shift, *_ = np.linalg.lstsq(matrix, change, rcond=1e-12)
    if np.abs(matrix @ shift - change).max(initial=0) > 1e-7 * max(np.abs(change).max(), 1):
        return np.inf
    both = np.column_stack([shift, null_space(matrix, rcond=1e-12)])
    own = solve_triangular(np.linalg.cholesky(second_moment), both, lower=True)
    return np.linalg.norm(own[:, 0] - own[:, 1:] @ np.linalg.lstsq(own[:, 1:], own[:, 0], rcond=None)[0])


def judged_pairs(mechanism: AdditiveMechanism, generator=None, most=None):
    """All pairs of possible records with their distances, or some; of noise with jumps, which is hidden by no norm, the
    generating pairs with their bounds, of which all distances are made."""
    metric = mechanism.metric.metric
    if mechanism.name == "gaussian-with-jumps":
        blocks = [(one.first, one.second, one.bound) for one in metric.generating_pairs()]
        first, second, allowed = map(np.concatenate, zip(*blocks, strict=True))
    else:
        first, second = np.triu_indices(metric.size, 1)
        allowed = metric.distance(first, second)
    order = np.arange(len(first)) if generator is None else generator.permutation(len(first))[:most]
    return [*zip(first[order].tolist(), second[order].tolist(), allowed[order].tolist(), strict=True)]


def worst_excess(mechanism: AdditiveMechanism, pairs=None):
    """The largest least shift over distance, over pairs of possible records at finite distance; at most 1: private."""
    taken, weights = driven(mechanism)
    found = 0.0
    for i, j, distance in judged_pairs(mechanism) if pairs is None else pairs:
        change = weights[:, i] - weights[:, j]
        if np.isfinite(distance) and any(change):
            if mechanism.law is None:
                return np.inf
            least = least_shift(mechanism.law, taken, change)
            found = max(found, least / distance if distance else np.inf)
    return found
