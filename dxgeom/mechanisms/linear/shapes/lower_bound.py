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
from dxgeom.privacy.currencies import currency_of

_CAUTION = 1 - 1e-9
"""The bounds below are computed in float64; this keeps them below the exact ones."""


def coordinate_bounds(sensitivity: Sensitivity) -> NDArray[np.float64]:
    """(K,): 2·(g_k·max_e |Δ_e,k|/b_e)²: each answer alone needs at least Laplace noise of its own sensitivity."""
    own = sensitivity.of_each_query * sensitivity.queries.float_steps
    return np.asarray(2 * own**2 * _CAUTION)


def coordinate_bound(sensitivity: Sensitivity) -> float:
    """The sum of :func:`coordinate_bounds`."""
    return float(coordinate_bounds(sensitivity).sum())


def covariance_bound(space: RoundSpace) -> float:
    """What the trace of no covariance Σ with x_eᵀΣ⁻¹x_e ≤ 1 for all points is below. Any weights of the points give a
    bound."""
    return space.least_trace * _CAUTION * space.unit**2


def second_moment_bound(space: RoundSpace) -> float:
    """The same for S = E[V Vᵀ] of any noise V, times ``least_mean_square`` of the currency: 2 for pure privacy.

    Along every direction u the noise's shadow u·V hides the shadows u·x_e of all points, each at distance 1, so
    uᵀSu ≥ 2·(u·x_e)² for every u and e, which is S ⪰ 2·x_e·x_eᵀ, or x_eᵀ(S/2)⁻¹x_e ≤ 1: S/2 is one of those
    covariances. *Attained* by Laplace noise where the points are an orthogonal basis. No sum of Laplace errors over
    orthogonal lines is larger, nor the volume bound of a cross-polytope with its corners among the points.
    """
    return covariance_bound(space) * currency_of(space.sensitivity.metric.privacy).least_mean_square


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
