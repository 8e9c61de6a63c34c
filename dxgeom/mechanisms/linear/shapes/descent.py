"""A quasi-Newton search for a local minimum of a smooth function, from its heights and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

Height: TypeAlias = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]
"""From a place (n,): how high it is, ∞ where it is none, and the gradient there."""
_MEMORY: Final = 30
_FLAT: Final = 1e-5
"""Where no entry of the gradient is larger, it is level,"""
_GAINED: Final = 2e-9
"""and so it is where a step gains no larger part of the height."""
_FALL, _TURN = 1e-4, 0.9
_LOOKS: Final = 30
_LONGEST: Final = 4.0
"""A step changes no entry by more: these are logarithms, or entries near 1."""


class _Place(NamedTuple):
    at: NDArray[np.float64]
    height: float
    gradient: NDArray[np.float64]


def descend(height: Height, start: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """The lowest place found in so many ``steps`` from ``start``. Deterministic; nothing is promised of it.

    Source: Nocedal 1980 (L-BFGS); each step by bisection, until the height falls and the slope flattens enough.
    """
    here = _Place(start, *height(start))
    moves = _Moves(len(start))
    for _ in range(steps):
        if not np.isfinite(here.height) or np.abs(here.gradient).max() <= _FLAT:
            break
        there = _stepped(height, here, moves.direction(here.gradient))
        if there is None:
            if not moves:
                break
            moves.clear()  # what was learnt misleads here: begin again downhill
            continue
        moved, turned = there.at - here.at, there.gradient - here.gradient
        if float(moved @ turned) > 1e-12 * float(turned @ turned):
            moves.append(moved, turned)
        gained, here = here.height - there.height, there
        if gained <= _GAINED * max(abs(here.height), abs(here.height + gained), 1.0):
            break
    return here.at


@final
class _Moves:
    """The last moves s_i and how the gradient turned along them, y_i, with the products that directions are made of.

    Source: Byrd, Nocedal and Schnabel 1994, the compact form of the same: a few products of matrices in the place of
    a loop over moves.
    """

    def __init__(self, size: int) -> None:
        self._moved, self._turned = np.empty((_MEMORY, size)), np.empty((_MEMORY, size))
        self._bent, self._both = np.zeros((_MEMORY, _MEMORY)), np.zeros((_MEMORY, _MEMORY))
        self._order: list[int] = []

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """What was learnt is forgotten."""
        self._order.clear()

    def append(self, moved: NDArray[np.float64], turned: NDArray[np.float64]) -> None:
        """One more, in the place of the oldest where there is no other."""
        place = self._order.pop(0) if len(self._order) == _MEMORY else len(self._order)
        self._order.append(place)
        self._moved[place], self._turned[place] = moved, turned
        known = max(self._order) + 1
        self._bent[place, :known] = self._turned[:known] @ moved
        self._bent[:known, place] = self._moved[:known] @ turned
        self._both[place, :known] = self._both[:known, place] = self._turned[:known] @ turned

    def direction(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Downhill by what the moves told of how the slope turns."""
        if not self._order:
            return -gradient / max(1.0, float(np.linalg.norm(gradient)))
        order = np.array(self._order)
        last, known = order[-1], int(order.max()) + 1
        moved, turned = self._moved[:known], self._turned[:known]
        size = self._bent[last, last] / self._both[last, last]
        triangle = np.triu(self._bent[np.ix_(order, order)])
        inner = size * self._both[np.ix_(order, order)]
        inner[np.diag_indices(len(order))] += np.diagonal(triangle)
        first = np.linalg.solve(triangle, (moved @ gradient)[order])
        second = np.linalg.solve(triangle.T, inner @ first - size * (turned @ gradient)[order])
        along, across = np.empty(known), np.empty(known)
        along[order], across[order] = second, size * first
        return np.asarray(across @ turned - along @ moved - size * gradient)


def _stepped(height: Height, here: _Place, way: NDArray[np.float64]) -> _Place | None:
    """A place along ``way`` that is enough lower, and where it falls less steeply; None where none is lower."""
    slope = float(here.gradient @ way)
    if not slope < 0:
        return None
    low, high, size = 0.0, np.inf, min(1.0, _LONGEST / float(np.abs(way).max()))
    best = None
    for _ in range(_LOOKS):
        there = _Place(here.at + size * way, *height(here.at + size * way))
        if not there.height <= here.height + _FALL * size * slope:
            high = size
        else:
            best = there
            if float(there.gradient @ way) >= _TURN * slope or size * float(np.abs(way).max()) >= _LONGEST:
                break
            low = size
        size = (low + high) / 2 if np.isfinite(high) else 2 * size
    return best
