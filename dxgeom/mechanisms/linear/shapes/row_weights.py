"""How much each row of a strategy counts: positive weights w with little error, found by gradient.

Minimise ‖(diag(w)·A)⁺‖² under Σ_k w_k·|A_k x_e| ≤ 1. With as many rows as dimensions this is convex in w; with more it
is not: two rows in the same direction share 1/(w₁² + w₂²), whose level sets are hollow, and in w² loads are concave.
So this is a local minimum from where it starts, with no promise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.shapes.descent import descend
from dxgeom.mechanisms.linear.shapes.strategy_program import heaviest_points, loads_of, spread_of

_SHARPNESS = (50.0, 400.0)
STEPS = 100
_IDLE = 1e-3
"""A row that uses less than this of every bound is left out, where the error stays as it is."""
_HARMLESS = 1 + 1e-4


def weighted_rows(points: NDArray[np.float64], rows: NDArray[np.float64], steps: int = STEPS) -> NDArray[np.float64]:
    """diag(w)·rows with w as above, without the rows that hardly count.

    Args: ``points`` (E, m); ``rows`` (p, m), of rank m, none zero; ``steps``: at most so many at each sharpness.
    Returns: (p' ≤ p, m), scaled such that max_e ‖A x_e‖₁ is 1 up to rounding. Deterministic.
    """
    best = rows / loads_of(points, rows).max()
    for sharpness in _SHARPNESS:
        fresh = _descended(heaviest_points(points, best), best, sharpness, steps)
        fresh = fresh / loads_of(points, fresh).max()
        if spread_of(fresh) < spread_of(best):
            best = fresh
    return _without_idle(points, best)


def _descended(
    points: NDArray[np.float64], rows: NDArray[np.float64], sharpness: float, steps: int
) -> NDArray[np.float64]:
    """Quasi-Newton steps in log w, for rows = Q·T with orthonormal columns Q: with G = Qᵀ·diag(w²)·Q and N = (TTᵀ)⁻¹
    the spread is tr(G⁻¹N)."""
    columns, triangle = np.linalg.qr(rows)
    back = np.linalg.inv(triangle)
    metric = back.T @ back
    sizes = np.abs(points @ rows.T)

    def height(logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = np.exp(logs)
        heavy = columns * weights[:, None]
        try:
            inverse = np.linalg.inv(heavy.T @ heavy)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(logs)
        moved = inverse @ metric
        spread = float(np.trace(moved))
        if not spread > 0:  # an inverse that is nearly none has lost its sign
            return np.inf, np.zeros_like(logs)
        loads = sizes @ weights
        top = float(loads.max())
        powers = (loads / top) ** sharpness
        total = float(powers.sum())
        pull = -2 * np.sum(heavy @ (moved @ inverse) * heavy, axis=1) / spread
        push = 2 * weights * ((powers / loads) @ sizes) / total
        return np.log(spread) + 2 * (np.log(top) + np.log(total) / sharpness), pull + push

    return np.asarray(rows * np.exp(descend(height, np.zeros(len(rows)), steps))[:, None])


def _without_idle(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    used = np.abs(heaviest_points(points, rows) @ rows.T).max(axis=0)
    kept = rows[used > _IDLE]
    if len(kept) < rows.shape[1]:
        return rows
    kept = kept / loads_of(points, kept).max()
    return kept if spread_of(kept) <= spread_of(rows) * _HARMLESS else rows
