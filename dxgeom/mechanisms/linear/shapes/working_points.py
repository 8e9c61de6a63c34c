"""Strategies that are sought on some differences of very many: those that they load too much join, and again."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.shapes.round_spaces import RoundSpace
from dxgeom.mechanisms.linear.shapes.strategy_program import improved_strategy, loads_of, spread_of
from dxgeom.metrics.changes import largest_first
from dxgeom.metrics.paired_changes import PairedChanges

_WORK: Final = 4e9
"""Multiplications to look at all differences: so many rounds there are, a few at least."""
_ROUNDS: Final = (3, 8)
_JOINING: Final = 20
"""Differences for each dimension that join at once."""
_ENOUGH: Final = 1.003
"""A largest load of all differences next to that of those in hand that no search would gain on,"""
_GAINED: Final = 0.01
"""and so is a round that gained no larger part."""


def refined(
    space: RoundSpace, strategy: NDArray[np.float64], work: float, most: int = _ROUNDS[1]
) -> NDArray[np.float64]:
    """A strategy as good as the one given, or better, when it is scaled to *all* differences, as nearly all need not
    be looked at to find it.

    Args: ``work``: multiplications to spend on each round, about; ``most``: rounds.
    Returns: scaled such that no difference has a load above 1, up to rounding. Deterministic.
    """
    changes = space.sensitivity.proved
    if not isinstance(changes, PairedChanges):
        return strategy
    rounds = min(most, max(_ROUNDS[0], int(_WORK / (changes.count * strategy.size / 8))))
    points, best, least = space.points, strategy, np.inf
    for turn in range(1, rounds + 1):
        largest, joining = _most_loaded(space, changes, strategy)
        fits = strategy / largest
        spread = spread_of(fits)
        gained = spread < least * (1 - _GAINED)
        if spread < least:
            best, least = fits, spread
        if turn == rounds or (not gained and largest <= _ENOUGH * loads_of(points, strategy).max()):
            break
        points = np.vstack([points, joining])
        strategy = improved_strategy(points, fits, work)
    return best


def _most_loaded(
    space: RoundSpace, changes: PairedChanges, strategy: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The largest load of any difference, and the points (n, m) of those with the largest ones."""
    kinds = changes.kinds.columns[:, space.noisy] / space.scales
    turned = kinds @ (strategy @ space.back).T
    loads = np.concatenate([np.abs(rows).sum(axis=1) / bounds for rows, bounds in changes.steps(turned)])
    top = largest_first(loads, _JOINING * space.dimension)
    rows = changes.rows(top)[:, space.noisy] / changes.bounds[top, None] / space.scales
    return float(loads.max()), np.asarray(rows @ space.back.T)
