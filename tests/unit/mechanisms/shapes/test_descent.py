"""The search for a lower place: it goes down, ends where it is level, and keeps to where there is a height."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.shapes.strategy_program import descend


def valley(place: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Rosenbrock's, in pairs of entries: lowest, 0, where all are 1."""
    x, y = place[::2], place[1::2]
    slope = np.empty_like(place)
    slope[::2], slope[1::2] = -400 * x * (y - x**2) - 2 * (1 - x), 200 * (y - x**2)
    return float(np.sum(100 * (y - x**2) ** 2 + (1 - x) ** 2)), slope


def test_the_end_of_a_bent_valley_is_found() -> None:
    assert np.allclose(descend(valley, np.full(10, -1.2), 400), 1, atol=1e-4)


def test_more_steps_never_end_higher() -> None:
    ends = [valley(descend(valley, np.full(6, -1.2), steps))[0] for steps in (0, 1, 5, 20, 80)]
    assert ends == sorted(ends, reverse=True)


def test_it_stays_where_there_is_a_height() -> None:
    def walled(place: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        if np.any(place <= 0):
            return np.inf, np.zeros_like(place)
        return float(np.sum(place - np.log(place))), 1 - 1 / place

    assert np.allclose(descend(walled, np.array([5.0, 0.01, 2.0]), 100), 1, atol=1e-4)


def test_a_start_without_a_height_is_returned() -> None:
    start = np.array([1.0, 2.0])
    assert np.array_equal(descend(lambda place: (np.inf, np.zeros_like(place)), start, 50), start)
