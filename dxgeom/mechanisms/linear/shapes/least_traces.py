"""The ellipsoid of least trace around points, and what its trace cannot be below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 2000
_WORK = 2e10
"""Multiplications to spend at most, the same on every machine."""
_CLOSE = 1e-4
"""Relative distance from the optimum at which to stop; the mean squared error of the noise is that much too large."""

_Ellipsoid: TypeAlias = tuple[float, float, NDArray[np.float64], NDArray[np.float64]]


def least_trace_ellipsoid(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """A positive definite M (m, m) with pᵀM⁻¹p ≤ 1 for all points, up to rounding, and tr M nearly least.

    Weights μ_e on the points, with C = Σ μ_e p pᵀ, give M = tr(C^½)·C^½; raising the weights of points outside and
    lowering those inside, in proportion to pᵀM⁻¹p, converges to the optimum, where none is outside.
    For every μ, tr(C^½)² is a lower bound of the least trace, which tells when to stop.

    Args: ``points`` (E, m), of rank m.
    """
    size = points.shape[1]
    rounds = int(min(_ROUNDS, max(20, _WORK / (2 * len(points) * size * size))))
    best, least = np.eye(size), np.inf
    for bound, furthest, roots, axes in _ellipsoids(points, rounds):
        if bound * furthest < least:
            best, least = (axes * (roots * (roots.sum() * furthest))) @ axes.T, bound * furthest
        if furthest <= 1 + _CLOSE:
            break
    return best


def trace_bound(points: NDArray[np.float64], rounds: int) -> float:
    """What the trace of no such M is below, up to the rounding of float64; higher after more rounds."""
    return max(bound for bound, _, _, _ in _ellipsoids(points, rounds))


def _ellipsoids(points: NDArray[np.float64], rounds: int) -> Iterator[_Ellipsoid]:
    """Round by round: tr(C^½)², the largest pᵀM⁻¹p, and the roots and axes of C."""
    weights = np.full(len(points), 1 / len(points))
    for _ in range(rounds):
        values, axes = np.linalg.eigh((points * weights[:, None]).T @ points)
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-300))
        places = points @ (axes / np.sqrt(roots * roots.sum()))
        gauges = np.einsum("ek,ek->e", places, places)
        yield float(roots.sum()) ** 2, float(gauges.max()), roots, axes
        weights = weights * gauges
        weights /= weights.sum()
