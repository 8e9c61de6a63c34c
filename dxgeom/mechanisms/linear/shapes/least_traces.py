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

_ROUNDS_OF_ALL = (4, 40)
_WORK_OF_BOUND = 1e10
_ROUNDS_OF_SOME = 15
_STRIDE = 1.5
"""The power of the gauges by which a bound's weights are raised; beyond 2 they may swing."""
_MOST_ENTRIES = 2_000_000
_NEAR = 1e-3
_NOTHING = 1e-3
_NEW = 0.3
_FLAT = 1e-10

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


def trace_bound(points: NDArray[np.float64]) -> float:
    """What the trace of no such M is below, to within a few percent; *rounded down*, as far as eigenvalues go.

    Some rounds on all points, then more on those that weigh most; whatever is furthest outside joins them.
    """
    count, size = points.shape
    weights, best = np.full(count, 1 / count), 0.0
    rounds = int(min(_ROUNDS_OF_ALL[1], max(_ROUNDS_OF_ALL[0], _WORK_OF_BOUND / (4.0 * count * size * size))))
    for _ in range(rounds):
        bound, gauges = _weighed(points, weights)
        best, weights = max(best, bound), _raised(weights, gauges**_STRIDE)
    most = min(count, max(4 * size, min(40 * size, _MOST_ENTRIES // size)))
    active = np.argpartition(-weights, most - 1)[:most]
    weights = _raised(weights[active], 1.0)
    for _ in range(rounds):
        own = points[active]
        for _ in range(_ROUNDS_OF_SOME):
            bound, gauges = _weighed(own, weights)
            best, weights = max(best, bound), _raised(weights, gauges**_STRIDE)
        gauges = _weighed(points, weights, active)[1]
        if gauges.max() <= 1 + _NEAR:
            break
        kept = weights > _NOTHING / len(weights)
        active, weights = active[kept], weights[kept]
        gauges[active] = 0
        outside = np.argpartition(-gauges, min(count, most // 5) - 1)[: most // 5]
        outside = outside[gauges[outside] > 1]
        active = np.concatenate([active, outside])
        weights = _raised(np.concatenate([weights, np.full(len(outside), _NEW / len(active))]), 1.0)
    return best


def _weighed(
    points: NDArray[np.float64], weights: NDArray[np.float64], places: NDArray[np.int64] | slice = slice(None)
) -> tuple[float, NDArray[np.float64]]:
    """tr(C^½)² of the weights at these places, *rounded down*, and pᵀM⁻¹p of all points.

    An eigenvalue of C in float64 is off by some m·2⁻⁵³ of the largest, and so it is by what C is off.
    """
    own = points[places]
    values, axes = np.linalg.eigh((own * weights[:, None]).T @ own)
    sure = np.sqrt(np.maximum(values - values[-1] * ((len(values) + 64) * 2.0**-44), 0.0))
    roots = np.sqrt(np.maximum(values, values[-1] * _FLAT))
    steps = points @ (axes / np.sqrt(roots * roots.sum()))
    return float(sure.sum()) ** 2, np.asarray(np.einsum("ek,ek->e", steps, steps))


def _raised(weights: NDArray[np.float64], factors: NDArray[np.float64] | float) -> NDArray[np.float64]:
    weights = weights * factors
    return np.asarray(weights / weights.sum())


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
