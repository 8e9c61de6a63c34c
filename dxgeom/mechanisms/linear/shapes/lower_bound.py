"""What no additive noise can beat that serves every spend by stretching, as all noise here does.

V/s has to hide s·b_e for every s ≤ 1. Small spends then force the log-density of V to be 1-Lipschitz in the hull's
norm, and both bounds follow. Noise made for one spend and one lattice of answers can do better: for a single count at
ε = 3 the geometric mechanism has half the error of any such noise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.linear.shapes.hull import SensitivityHull
from dxgeom.mechanisms.linear.shapes.round_spaces import RoundSpace
from dxgeom.mechanisms.linear.shapes.strategy_program import longest_first, principal_axes
from dxgeom.metrics.operations.changes import largest_first
from dxgeom.numeric.qhull import far_apart

_TURNS = 200
_ENTRIES = 2_000_000
"""Of the points that a bound looks at."""
_FLAT = 1e-6
_CAUTION = 1 - 1e-9
"""The bounds below are computed in float64; this keeps them below the exact ones."""


def coordinate_bounds(sensitivity: Sensitivity) -> NDArray[np.float64]:
    """(K,): 2·(g_k·max_e |Δ_e,k|/b_e)²: each answer alone needs at least Laplace noise of its own sensitivity."""
    own = sensitivity.of_each_query * sensitivity.queries.float_steps
    return np.asarray(2 * own**2 * _CAUTION)


def coordinate_bound(sensitivity: Sensitivity) -> float:
    """The sum of :func:`coordinate_bounds`."""
    return float(coordinate_bounds(sensitivity).sum())


def rotation_bound(space: RoundSpace) -> float:
    """Σ_r 2·h(q_r)² over an orthonormal basis q_r of the round space, h(q) = max_e |q·x_e|.

    The noise's shadow on a line hides the shadows of all differences, so it needs at least Laplace noise of the
    longest; and in round coordinates the weighted error is the sum over orthogonal lines. Every basis gives a bound.
    Two are tried, each then turned towards the points that are furthest along it as long as the bound rises.
    """
    points = _longest(space)
    bases = (longest_first(points), principal_axes(points))
    return max(2 * float(np.sum(_turned(points, basis))) for basis in bases) * _CAUTION * space.unit**2


def _turned(points: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """h(q_r)² (m,) of the best basis found: the orthogonal matrix nearest to (q_r·x_r)·x_r, x_r furthest along q_r, has
    a larger sum, because the sum of the convex functions h² lies above its tangent."""
    best = np.zeros(len(basis))
    for _ in range(_TURNS):
        heights = points @ basis.T
        furthest = np.abs(heights).argmax(axis=0)
        tops = heights[furthest, np.arange(len(basis))]
        if not float(np.sum(tops**2)) > float(best.sum()) * (1 + 1e-9):
            break
        best = tops**2
        left, _, right = np.linalg.svd(tops[:, None] * points[furthest])
        basis = left @ right
    return best


def determinant_bound(space: RoundSpace) -> float:
    """Σ_b m_b(m_b + 1)·(Vol C_b / ω_{m_b})^(2/m_b) over orthogonal blocks of the round space, best of several sizes.

    As :func:`volume_bound` for the shadow of all differences on each block; instead of the shadow's own volume, that of
    a cross-polytope C_b with its corners among them: (2^m/m!)·|det|, the corners chosen greedily far from each other.
    """
    points = _longest(space)
    basis = longest_first(points)
    sizes = sorted({min(2**power, space.dimension) for power in range(1, 10)})
    return max((_by_blocks(points, basis, size) for size in sizes), default=0.0) * _CAUTION * space.unit**2


def _longest(space: RoundSpace) -> NDArray[np.float64]:
    """The points, or the longest of very many, where these span all: what some of them need, all need."""
    points = space.points
    count = max(_ENTRIES // space.dimension, 4 * space.dimension)
    if len(points) <= count:
        return points
    longest = points[largest_first(np.einsum("ek,ek->e", points, points), count)]
    reach = np.abs(np.diag(np.linalg.qr(longest, mode="r")))
    return np.asarray(longest) if reach.min() > _FLAT * reach.max() else points


def covariance_bound(space: RoundSpace) -> float:
    """What the trace of no covariance Σ with x_eᵀΣ⁻¹x_e ≤ 1 is below: for small spends such noise has to have that.

    Any weights of the points give a bound.
    """
    return space.least_trace * _CAUTION * space.unit**2


def _by_blocks(points: NDArray[np.float64], basis: NDArray[np.float64], size: int) -> float:
    total = 0.0
    for start in range(0, len(basis), size):
        shadow = points @ basis[start : start + size].T
        dimension = shadow.shape[1]
        corners = shadow[far_apart(shadow)]
        log_determinant = float(np.linalg.slogdet(corners).logabsdet)
        log_volume = dimension * math.log(2) - math.lgamma(dimension + 1) + log_determinant
        log_ball = dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2 + 1)
        total += dimension * (dimension + 1) * math.exp(2 / dimension * (log_volume - log_ball))
    return total


def volume_bound(hull: SensitivityHull, importance: NDArray[np.float64] | None = None) -> float:
    """m(m + 1)·(Vol K / ω_m)^(2/m), ω_m the volume of the unit ball, in answer units, within the span.

    A density that is log-Lipschitz in ‖·‖_K is at most 1/(m!·Vol K) everywhere and falls no faster than exp(−‖·‖_K);
    its mean square is at least that of a ball of K's volume. The polytope's vertices were moved to a grid, so it may
    exceed the true hull K by that much: it is taken off. Inflation is not part of the true hull and is left out.
    With ``importance`` (K,) each answer's squared error counts so many times: its unit is stretched by the root.
    """
    body, steps = hull.body, hull.sensitivity.queries.float_steps
    if importance is not None:
        steps = steps * np.sqrt(importance)
    dimension = body.dimension
    combinations = hull.span.combinations.astype(np.float64) * steps[:, None]
    stretch = math.sqrt(max(float(np.linalg.det(combinations.T @ combinations)), 0.0))
    excess = float(np.max(np.abs(body.normals * body.inflation) @ (body.units * body.moved)))
    volume = body.volume * (max(0.0, 1 - excess) / body.inflation) ** dimension * stretch
    ball = math.pi ** (dimension / 2) / math.gamma(dimension / 2 + 1)
    return float(dimension * (dimension + 1) * (volume / ball) ** (2 / dimension)) * _CAUTION
