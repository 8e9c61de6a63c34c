"""How much each answer's error counts while shapes are sought: none is lost sight of, the worst are looked at most."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.shapes.rotated_axes import Effort, best_strategy, rotated_laplace
from dxgeom.mechanisms.shapes.round_spaces import round_space

_SMALL_WEIGHT: Final = 1e-3
_LEAST_SHIFT: Final = 1e-2


def error_weights(
    sensitivity: Sensitivity, weights: NDArray[np.float64] | None, effort: Effort, *, worst: bool
) -> NDArray[np.float64]:
    """(K,): the ``weights`` of squared errors, with a thousandth of the attention for every query's error next to its
    own sensitivity.

    A query in tiny units counts nothing in the total; without this its noise would be whatever suits the others.
    Where the ``worst`` answer counts, the answers' attention is shifted to those that come out worst.
    """
    factors = np.ones(len(sensitivity.queries.names)) if weights is None else weights
    own = factors * (sensitivity.of_each_query * sensitivity.queries.float_steps) ** 2
    found = np.asarray(factors * (1 + _SMALL_WEIGHT * own.mean() / np.where(own > 0, own, 1)))
    return _to_the_worst(sensitivity, found, factors, effort) if worst else found


def _to_the_worst(
    sensitivity: Sensitivity, found: NDArray[np.float64], factors: NDArray[np.float64], effort: Effort
) -> NDArray[np.float64]:
    """Multiplicative steps towards the weights at which all weighted errors are alike; the best of them."""
    best, least = found, np.inf
    for _ in range(effort.shifts):
        space = round_space(sensitivity, found)
        if space is None or space.dimension == 1:
            break
        errors = factors * rotated_laplace(space, best_strategy(space, effort)).variances()
        if errors.max() < least:
            best, least = found, float(errors.max())
        found = found * np.maximum(errors / errors.max(), _LEAST_SHIFT)
    return best
