"""A quasi-Newton search for a local minimum of a smooth function, from its heights and gradients."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

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
    moves: deque[tuple[NDArray[np.float64], NDArray[np.float64], float]] = deque(maxlen=_MEMORY)
    for _ in range(steps):
        if not np.isfinite(here.height) or np.abs(here.gradient).max() <= _FLAT:
            break
        there = _stepped(height, here, _direction(here.gradient, moves))
        if there is None:
            if not moves:
                break
            moves.clear()  # what was learnt misleads here: begin again downhill
            continue
        moved, turned = there.at - here.at, there.gradient - here.gradient
        bent = float(moved @ turned)
        if bent > 1e-12 * float(turned @ turned):
            moves.append((moved, turned, bent))
        gained, here = here.height - there.height, there
        if gained <= _GAINED * max(abs(here.height), abs(here.height + gained), 1.0):
            break
    return here.at


def _direction(
    gradient: NDArray[np.float64], moves: deque[tuple[NDArray[np.float64], NDArray[np.float64], float]]
) -> NDArray[np.float64]:
    """Downhill by what the last moves told of how the slope turns."""
    way = -gradient
    if not moves:
        return way / max(1.0, float(np.linalg.norm(gradient)))
    parts = []
    for moved, turned, bent in reversed(moves):
        part = float(moved @ way) / bent
        way = way - part * turned
        parts.append(part)
    _, turned, bent = moves[-1]
    way = way * (bent / float(turned @ turned))
    for (moved, turned, bent), part in zip(moves, reversed(parts), strict=True):
        way = way + (part - float(turned @ way) / bent) * moved
    return way


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
