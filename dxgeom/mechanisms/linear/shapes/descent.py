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

    ``_inverse``: of the triangle R, R_ij = s_i·y_j for i ≤ j. A further move is a further column of it, and without its
    first row and column it is that of the moves without the oldest: nothing is solved again.

    Source: Byrd, Nocedal and Schnabel 1994, the compact form of the same: a few products of matrices in the place of
    a loop over moves.
    """

    def __init__(self, size: int) -> None:
        # Twice as many places, so that moves stay in their order and are seldom shifted.
        self._kept = np.empty((2, 2 * _MEMORY, size))
        self._start = self._count = 0
        self._inverse, self._turns = np.zeros((_MEMORY, _MEMORY)), np.zeros((_MEMORY, _MEMORY))
        self._bends = np.zeros(_MEMORY)

    def __len__(self) -> int:
        return self._count

    def clear(self) -> None:
        """What was learnt is forgotten."""
        self._start = self._count = 0

    def append(self, moved: NDArray[np.float64], turned: NDArray[np.float64]) -> None:
        """One more, in the place of the oldest where there is no other."""
        if self._count == _MEMORY:
            self._forget_the_oldest()
        count, inverse = self._count, self._inverse
        before, last = self._known @ turned, self._start + count
        self._kept[0, last], self._kept[1, last] = moved, turned
        bend = float(moved @ turned)
        inverse[:count, count] = inverse[:count, :count] @ before[0] / -bend
        inverse[count, :count], inverse[count, count] = 0, 1 / bend
        self._turns[count, :count] = self._turns[:count, count] = before[1]
        self._turns[count, count], self._bends[count] = turned @ turned, bend
        self._count += 1

    @property
    def _known(self) -> NDArray[np.float64]:
        """(2, count, n): moves and turns, the oldest first."""
        return self._kept[:, self._start : self._start + self._count]

    def _forget_the_oldest(self) -> None:
        self._start, self._count = self._start + 1, self._count - 1
        for products in (self._inverse, self._turns):
            products[:-1, :-1] = products[1:, 1:].copy()
        self._bends[:-1] = self._bends[1:].copy()
        if self._start + _MEMORY > 2 * _MEMORY:
            self._kept[:, : self._count], self._start = self._known.copy(), 0

    def direction(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Downhill by what the moves told of how the slope turns."""
        count = self._count
        if not count:
            return -gradient / max(1.0, float(np.linalg.norm(gradient)))
        inverse, turns, bends = self._inverse[:count, :count], self._turns[:count, :count], self._bends[:count]
        size = bends[-1] / turns[-1, -1]
        known = self._known
        along, across = known @ gradient
        first = inverse @ along
        second = (bends * first + size * (turns @ first - across)) @ inverse
        return np.asarray((size * first) @ known[1] - second @ known[0] - size * gradient)


def _stepped(height: Height, here: _Place, way: NDArray[np.float64]) -> _Place | None:
    """A place along ``way`` that is enough lower, and where it falls less steeply; None where none is lower."""
    slope = float(here.gradient @ way)
    if not slope < 0:
        return None
    longest = float(np.abs(way).max())
    low, high, size = 0.0, np.inf, min(1.0, _LONGEST / longest)
    best = None
    for _ in range(_LOOKS):
        at = here.at + size * way
        there = _Place(at, *height(at))
        if not there.height <= here.height + _FALL * size * slope:
            high = size
        else:
            best = there
            if float(there.gradient @ way) >= _TURN * slope or size * longest >= _LONGEST:
                break
            low = size
        size = (low + high) / 2 if np.isfinite(high) else 2 * size
    return best
