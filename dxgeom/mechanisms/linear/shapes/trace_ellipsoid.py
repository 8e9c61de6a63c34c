"""The ellipsoid of least trace around given points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 2000
_WORK = 2e10
"""Multiplications to spend at most, the same on every machine."""
_CLOSE = 1e-4
"""Relative distance from the optimum at which to stop; the mean squared error of the noise is that much too large."""


def least_trace_ellipsoid(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """A positive definite M (m, m) with pᵀM⁻¹p ≤ 1 for all points, up to rounding, and tr M nearly least.

    Weights μ_e on the points, with C = Σ μ_e p pᵀ, give M = tr(C^½)·C^½; raising the weights of points outside and
    lowering those inside, in proportion to pᵀM⁻¹p, converges to the optimum, where none is outside.
    For every μ, tr(C^½)² is a lower bound of the least trace, which tells when to stop.

    Args: ``points`` (E, m), of rank m.
    """
    weights = np.full(len(points), 1 / len(points))
    size = points.shape[1]
    rounds = int(min(_ROUNDS, max(20, _WORK / (2 * len(points) * size * size))))
    best, least = np.eye(size), np.inf
    for _ in range(rounds):
        values, axes = np.linalg.eigh((points * weights[:, None]).T @ points)
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-300))
        bound = float(roots.sum()) ** 2
        places = points @ (axes / np.sqrt(roots * roots.sum()))
        gauges = np.einsum("ek,ek->e", places, places)
        furthest = float(gauges.max())
        if bound * furthest < least:
            best, least = (axes * (roots * (roots.sum() * furthest))) @ axes.T, bound * furthest
        if furthest <= 1 + _CLOSE:
            break
        weights = weights * gauges
        weights /= weights.sum()
    return best
