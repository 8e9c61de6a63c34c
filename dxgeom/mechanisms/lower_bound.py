"""What no additive mechanism can beat."""

from __future__ import annotations

import math

import numpy as np

from dxgeom.mechanisms.hull import SensitivityHull
from dxgeom.mechanisms.sensitivity import Sensitivity

_CAUTION = 1 - 1e-9
"""The bounds below are computed in float64; this keeps them below the exact ones."""


def coordinate_bound(sensitivity: Sensitivity) -> float:
    """Σ_k 2·(g_k·max_e |Δ_e,k|/b_e)²: each answer alone needs at least Laplace noise of its own sensitivity."""
    own = sensitivity.of_each_query * sensitivity.queries.float_steps
    return float(np.sum(2 * own**2)) * _CAUTION


def volume_bound(hull: SensitivityHull) -> float:
    """m(m + 1)·(Vol K / ω_m)^(2/m), ω_m the volume of the unit ball, in answer units, within the span.

    Of all laws with the log-ratio ‖·‖_K the mean square of any is at least that of a body of the same volume that is
    as round as can be. The polytope's vertices were moved to a grid, so it may exceed the true hull K by that much: it
    is taken off. Inflation is not part of the true hull and is left out.
    """
    body, steps = hull.body, hull.sensitivity.queries.float_steps
    dimension = body.dimension
    spread = hull.span.spread.astype(np.float64) * steps[:, None]
    stretch = math.sqrt(max(float(np.linalg.det(spread.T @ spread)), 0.0))
    excess = float(np.max(np.abs(body.normals * body.inflation) @ (body.units * body.moved)))
    volume = body.volume * (1 / body.inflation / (1 + excess)) ** dimension * stretch
    ball = math.pi ** (dimension / 2) / math.gamma(dimension / 2 + 1)
    return float(dimension * (dimension + 1) * (volume / ball) ** (2 / dimension)) * _CAUTION
