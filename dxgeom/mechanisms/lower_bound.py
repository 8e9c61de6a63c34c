"""What no additive noise can beat that serves every spend by stretching, as all noise here does.

V/s has to hide s·b_e for every s ≤ 1. Small spends then force the log-density of V to be 1-Lipschitz in the hull's
norm, and both bounds follow. Noise made for one spend and one lattice of answers can do better: for a single count at
ε = 3 the geometric mechanism has half the error of any such noise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.hull import SensitivityHull
from dxgeom.mechanisms.sensitivity import Sensitivity

_CAUTION = 1 - 1e-9
"""The bounds below are computed in float64; this keeps them below the exact ones."""


def coordinate_bounds(sensitivity: Sensitivity) -> NDArray[np.float64]:
    """(K,): 2·(g_k·max_e |Δ_e,k|/b_e)²: each answer alone needs at least Laplace noise of its own sensitivity."""
    own = sensitivity.of_each_query * sensitivity.queries.float_steps
    return np.asarray(2 * own**2 * _CAUTION)


def coordinate_bound(sensitivity: Sensitivity) -> float:
    """The sum of :func:`coordinate_bounds`."""
    return float(coordinate_bounds(sensitivity).sum())


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
    spread = hull.span.spread.astype(np.float64) * steps[:, None]
    stretch = math.sqrt(max(float(np.linalg.det(spread.T @ spread)), 0.0))
    excess = float(np.max(np.abs(body.normals * body.inflation) @ (body.units * body.moved)))
    volume = body.volume * (max(0.0, 1 - excess) / body.inflation) ** dimension * stretch
    ball = math.pi ** (dimension / 2) / math.gamma(dimension / 2 + 1)
    return float(dimension * (dimension + 1) * (volume / ball) ** (2 / dimension)) * _CAUTION
