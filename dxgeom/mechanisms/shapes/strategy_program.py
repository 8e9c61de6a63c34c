"""A strategy through which independent Laplace noise is small: a local minimum of a programme that is not convex.

A quasi-Newton search for a local minimum of a smooth function, from its heights and gradients.

Minimise ‖A⁺‖² (Frobenius) under ‖A x_e‖₁ ≤ 1 for given points x_e (E, m). A strategy A (p, m) of rank m has p ≥ m rows,
and A⁺ is its left inverse of least squares. Nothing here is a promise: whoever uses the result has to check that the
points are inside, and pays in accuracy only for a poor one.
"""

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


_SHARPNESS = (50.0, 200.0, 800.0)
"""Powers in which the loads are averaged instead of taking the largest: first smooth, then near the truth."""
_MOST_STEPS = 200
_FEWEST_STEPS = 5
WORK = 1e10
"""Multiplications to spend: some seconds at most, the same on every machine."""
MOST_POINTS = 4_000
_MOST_NUMBERS = 300_000
"""A round fits the points of largest load, so many, and with so many numbers in all: what it finds is checked on
all, and lighter ones join in the next."""
_ENTRIES_PER_BLOCK = 4_000_000


def longest_first(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """An orthonormal basis (m, m), row by row along the longest point that is left after projecting out the others.

    Args: ``points`` (E, m), of rank m.
    """
    squares = np.einsum("ek,ek->e", points, points)
    rows: list[NDArray[np.float64]] = []
    for _ in range(points.shape[1]):
        direction = points[int(squares.argmax())]
        # Twice is enough: the second time takes off what rounding left of the first.
        for row in (*rows, *rows):
            direction = direction - row * (row @ direction)
        direction = direction / np.linalg.norm(direction)
        rows.append(direction)
        squares = squares - (points @ direction) ** 2
    return np.array(rows)


def principal_axes(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """An orthonormal basis (m, m) along which the points spread most."""
    _, axes = np.linalg.eigh(points.T @ points)
    return np.asarray(axes.T[::-1])


def improved_strategy(
    points: NDArray[np.float64], strategy: NDArray[np.float64], work: float = WORK, steps: int = _MOST_STEPS
) -> NDArray[np.float64]:
    """A strategy A (p, m) at least as good as the one given, found by a quasi-Newton method from it.

    Args: ``points`` (E, m); ``strategy`` (p, m), of rank m; ``work``: multiplications to spend, about; ``steps``: at
    most so many at each sharpness.
    Returns: scaled such that max_e ‖A x_e‖₁ is 1 up to rounding. Deterministic.
    """
    best = strategy / loads_of(points, strategy).max()
    best_value = spread_of(best)
    for sharpness in _SHARPNESS:
        fresh = _quasi_newton(heaviest_points(points, best), best, sharpness, work / len(_SHARPNESS), steps)
        fresh = fresh / loads_of(points, fresh).max()
        value = spread_of(fresh)
        if np.isfinite(value) and value < best_value:
            best, best_value = fresh, value
    return np.asarray(best)


def loads_of(points: NDArray[np.float64], strategy: NDArray[np.float64]) -> NDArray[np.float64]:
    """(E,): ‖A x_e‖₁."""
    loads = np.empty(len(points))
    rows = max(1, _ENTRIES_PER_BLOCK // len(strategy))
    for start in range(0, len(points), rows):
        loads[start : start + rows] = np.abs(points[start : start + rows] @ strategy.T).sum(axis=1)
    return loads


_ROUNDING = 2.0**-40
"""Relative, of the length of a column."""


def spread_of(strategy: NDArray[np.float64]) -> float:
    """‖A⁺‖² (Frobenius), half the total squared error of Laplace noise at scale 1 on A; ∞ below rank m.

    A column of which rounding alone is left beside the ones before it counts as none: what is left, machines differ in.
    """
    triangle = np.asarray(np.linalg.qr(strategy, mode="r"))
    least = _ROUNDING * np.linalg.norm(strategy, axis=0)
    if len(triangle) < strategy.shape[1] or not (np.abs(triangle.diagonal()) > least).all():
        return np.inf
    return float(np.sum(np.linalg.inv(triangle) ** 2))


def heaviest_points(points: NDArray[np.float64], strategy: NDArray[np.float64]) -> NDArray[np.float64]:
    """The points of largest load, 4 000 at most, and fewer in more than thirty dimensions."""
    count = points_looked_at(points.shape[1])
    return np.asarray(points[np.argsort(-loads_of(points, strategy), kind="stable")[:count]])


def points_looked_at(dimension: int) -> int:
    """How many of the points a round looks at; the others are turned once, and join where they are heavier."""
    return min(MOST_POINTS, max(_MOST_NUMBERS // max(dimension, 1), 4 * dimension))


def fewest_steps_work(rows: int, dimension: int) -> float:
    """Multiplications of :func:`improved_strategy` for so many rows where its work is spent at once."""
    return len(_SHARPNESS) * _FEWEST_STEPS * _of_a_step(rows, dimension, points_looked_at(dimension))


def outgrows_a_search(answers: int) -> bool:
    """Whether a search for a shape of so many answers spends all of its work on its fewest steps: then noise in parts
    that answers share may be better, and it is looked whether they are tables or boxes."""
    return fewest_steps_work(answers, answers) > WORK


def _of_a_step(rows: int, dimension: int, points: int) -> float:
    return 4.0 * rows * dimension * (dimension + points)


def _quasi_newton(
    points: NDArray[np.float64], strategy: NDArray[np.float64], sharpness: float, work: float, most: int
) -> NDArray[np.float64]:
    """Steps in H with A = H·T, where H starts with orthonormal columns, so that rows of very different length do no
    harm.

    With G = HᵀH the spread is tr(G⁻¹N), N = (TTᵀ)⁻¹, and its gradient −2·H·G⁻¹NG⁻¹.
    """
    count, size = strategy.shape
    columns, triangle = np.linalg.qr(strategy)
    back = np.linalg.inv(triangle)
    metric = back.T @ back
    here = points @ triangle.T
    blunt = 0.5 / (count * sharpness)

    def height(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        turned = flat.reshape(count, size)
        try:
            inverse = np.linalg.inv(turned.T @ turned)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(flat)
        moved = inverse @ metric
        spread = float(np.trace(moved))
        if not spread > 0:
            return np.inf, np.zeros_like(flat)
        values = here @ turned.T
        smooth = np.sqrt(values**2 + blunt**2)
        loads = smooth.sum(axis=1)
        top = float(loads.max())
        powers = (loads / top) ** sharpness
        total = float(powers.sum())
        pull = -2 * turned @ (moved @ inverse) / spread
        push = (values / smooth * (2 * powers / loads / total)[:, None]).T @ here
        return np.log(spread) + 2 * (np.log(top) + np.log(total) / sharpness), (pull + push).ravel()

    steps = int(work / _of_a_step(count, size, len(points)))
    found = descend(height, columns.ravel(), max(_FEWEST_STEPS, min(steps, most)))
    return np.asarray(found.reshape(count, size) @ triangle)
