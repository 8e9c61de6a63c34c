"""Which rows of the programme for Laplace scales are likely to bind: found by rough solutions; nothing rests on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.reciprocal_program import Heaviest

FROM: Final = 64
"""So many rates: for fewer a fine solution takes no longer than a rough one."""
_ROUNDS: Final = 8
_STEPS: Final = 60
_FIRST_ROWS: Final = 2
"""For each rate."""
_ROUGHLY: Final = 1.05


def rows_that_may_bind(heaviest: Heaviest, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows (n, K) that the optimum is likely to fill, of those that can be named; the fine search adds what is missing.

    Deterministic.
    """
    count = len(weights)
    _, rows = heaviest(np.ones(count), _FIRST_ROWS * count)
    for _ in range(_ROUNDS):
        rates = _rough_rates(rows, weights)
        loads, found = heaviest(rates, count)
        if loads.max() <= _ROUGHLY:
            break
        rows = np.concatenate([rows, found[loads > 1]])
    return np.asarray(rows[rows @ rates > 1 / _ROUGHLY])


def _rough_rates(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rates at which no row is above 1, by multipliers of the dual that follow the loads of their rows."""
    rows = np.concatenate([rows, np.eye(len(weights))[~np.any(rows > 0, axis=0)]])
    multipliers = np.full(len(rows), 1 / len(rows))
    for _ in range(_STEPS):
        rates = (2 * weights / (multipliers @ rows)) ** (1 / 3)
        loads = rows @ rates
        multipliers = np.maximum(multipliers * loads / loads.max(), 1e-300)
    return np.asarray(rates / loads.max())
