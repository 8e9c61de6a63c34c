"""A strategy through which independent Laplace noise is small: a local minimum of a programme that is not convex.

Minimise ‖A⁺‖² (Frobenius) under ‖A x_e‖₁ ≤ 1 for given points x_e (E, m). A strategy A (p, m) of rank m has p ≥ m rows,
and A⁺ is its left inverse of least squares. Nothing here is a promise: whoever uses the result has to check that the
points are inside, and pays in accuracy only for a poor one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.shapes.descent import descend

_SHARPNESS = (50.0, 200.0, 800.0)
"""Powers in which the loads are averaged instead of taking the largest: first smooth, then near the truth."""
_MOST_STEPS = 200
_FEWEST_STEPS = 5
WORK = 1e10
"""Multiplications to spend: some seconds at most, the same on every machine."""
MOST_POINTS = 4_000
_MOST_NUMBERS = 300_000
"""A round looks at the points of largest load, so many of them, and with so many numbers in all."""
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


def spread_of(strategy: NDArray[np.float64]) -> float:
    """‖A⁺‖² (Frobenius), half the total squared error of Laplace noise at scale 1 on A; ∞ below rank m."""
    try:
        return float(np.sum(np.linalg.inv(np.linalg.qr(strategy, mode="r")) ** 2))
    except np.linalg.LinAlgError:
        return np.inf


def heaviest_points(points: NDArray[np.float64], strategy: NDArray[np.float64]) -> NDArray[np.float64]:
    """The points of largest load, 4 000 at most, and fewer in more than thirty dimensions."""
    count = min(MOST_POINTS, max(_MOST_NUMBERS // points.shape[1], 4 * points.shape[1]))
    return np.asarray(points[np.argsort(-loads_of(points, strategy), kind="stable")[:count]])


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

    steps = int(work / (4 * count * size * (size + len(points))))
    found = descend(height, columns.ravel(), max(_FEWEST_STEPS, min(steps, most)))
    return np.asarray(found.reshape(count, size) @ triangle)
