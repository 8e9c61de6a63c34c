"""A basis in which independent Laplace noise is small: a local minimum of a programme that is not convex.

Minimise ‖B⁻¹‖² (Frobenius) under ‖B p_e‖₁ ≤ 1 for given points p_e. Nothing here is a promise: whoever uses the result
has to check that the points are inside, and pays in accuracy only for a poor one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

_SHARPNESS = (50.0, 200.0, 800.0)
"""Powers in which the loads are averaged instead of taking the largest: first smooth, then near the truth."""
_MOST_STEPS = 200
_FEWEST_STEPS = 5
_WORK = 1.5e11
"""Multiplications to spend: about a minute at most, the same on every machine."""
_MEMORY = 30
_MOST_POINTS = 10_000
"""The points of largest load that a round looks at."""


def longest_first(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """An orthonormal basis (m, m), row by row along the longest point that is left after projecting out the others.

    Args: ``points`` (E, m), of rank m.
    """
    left = points.copy()
    rows: list[NDArray[np.float64]] = []
    for _ in range(points.shape[1]):
        lengths = np.linalg.norm(left, axis=1)
        longest = int(lengths.argmax())
        direction = left[longest] / lengths[longest]
        # Twice is enough: the second projection takes off what rounding left of the first.
        for row in rows:
            direction = direction - row * (row @ direction)
        direction /= np.linalg.norm(direction)
        rows.append(direction)
        left -= np.outer(left @ direction, direction)
    return np.array(rows)


def principal_axes(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """An orthonormal basis (m, m) along which the points spread most."""
    _, axes = np.linalg.eigh(points.T @ points)
    return np.asarray(axes.T[::-1])


def improved_strategy(points: NDArray[np.float64], strategy: NDArray[np.float64]) -> NDArray[np.float64]:
    """A strategy B (m, m) at least as good as the one given, found by a quasi-Newton method from it.

    Args: ``points`` (E, m); ``strategy`` (m, m), invertible.
    Returns: scaled such that max_e ‖B p_e‖₁ is 1 up to rounding. Deterministic.
    """
    best = strategy / _largest_load(points, strategy)
    best_value = spread_of(best)
    for sharpness in _SHARPNESS:
        fresh = _quasi_newton(_heavy(points, best), best, sharpness)
        fresh = fresh / _largest_load(points, fresh)
        value = spread_of(fresh)
        if np.isfinite(value) and value < best_value:
            best, best_value = fresh, value
    return best


def _largest_load(points: NDArray[np.float64], strategy: NDArray[np.float64]) -> float:
    return float(np.abs(points @ strategy.T).sum(axis=1).max())


def spread_of(strategy: NDArray[np.float64]) -> float:
    """‖B⁻¹‖² (Frobenius), half the total squared error of Laplace noise at scale 1 in this basis; ∞ if singular."""
    try:
        return float(np.sum(np.linalg.inv(strategy) ** 2))
    except np.linalg.LinAlgError:
        return np.inf


def _heavy(points: NDArray[np.float64], strategy: NDArray[np.float64]) -> NDArray[np.float64]:
    loads = np.abs(points @ strategy.T).sum(axis=1)
    return points[np.argsort(-loads, kind="stable")[:_MOST_POINTS]]


def _quasi_newton(points: NDArray[np.float64], strategy: NDArray[np.float64], sharpness: float) -> NDArray[np.float64]:
    """Steps in G with B = G·strategy, so that rows of very different length do no harm."""
    size = len(strategy)
    here = points @ strategy.T
    blunt = 0.5 / (size * sharpness)

    def height(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        mixing = flat.reshape(size, size)
        try:
            inverse = np.linalg.inv(mixing @ strategy)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(flat)
        spread = float(np.sum(inverse**2))
        values = here @ mixing.T
        smooth = np.sqrt(values**2 + blunt**2)
        loads = smooth.sum(axis=1)
        top = float(loads.max())
        powers = (loads / top) ** sharpness
        total = float(powers.sum())
        pull = -2 * (inverse.T @ inverse @ inverse.T) @ strategy.T / spread
        push = (values / smooth * (2 * powers / loads / total)[:, None]).T @ here
        return np.log(spread) + 2 * (np.log(top) + np.log(total) / sharpness), (pull + push).ravel()

    steps = int(_WORK / (len(_SHARPNESS) * 4 * size * size * (size + len(points))))
    options = {"maxiter": max(_FEWEST_STEPS, min(steps, _MOST_STEPS)), "maxcor": _MEMORY}
    found = minimize(height, np.eye(size).ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(size, size) @ strategy)
