"""Minimise Σ ω_k/w_k² under A w ≤ 1, w > 0: the convex programme behind optimal Laplace scales.

Of the rows of A, often hundreds of thousands, only a handful bind. So a small programme on a few rows is solved by a
log-barrier method, the rows that its solution violates most are added, and so on until none is violated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused

GAP = 1e-9
_TOLERANCE = 1e-10
_ROUNDS = 200
_NEWTON_STEPS = 100
_ADDED_PER_ROUND = 32
_CENTRED = 1e-10
_SHARPEST = 1e18
_LONGEST_STEP = 4.0
"""In log w: a step changes no rate by more than a factor e⁴, so nothing overflows."""


@dataclass(frozen=True)
class ReciprocalSolution:
    """``rates`` w (K,), feasible up to rounding; ``value`` there; ``dual_bound`` ≤ optimum; ``active``: rows kept."""

    rates: NDArray[np.float64]
    value: float
    dual_bound: float
    active: int

    @property
    def gap(self) -> float:
        """How far the value can be above the optimum, relative."""
        return self.value / self.dual_bound - 1


def minimise_reciprocal_squares(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> ReciprocalSolution:
    """The programme above.

    Args: ``rows`` A (E, K), non-negative, every column with a positive entry; ``weights`` ω (K,), positive.
    Guarantee: duality gap *at most* 1e-9 relative; feasible up to rounding (the caller rescales exactly).
    Raises: CertificateRefused when the gap is not reached.
    """
    try:
        return _by_constraint_generation(rows, weights)
    except np.linalg.LinAlgError as error:
        raise CertificateRefused("the programme for optimal scales is too badly scaled for float64") from error


def _by_constraint_generation(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> ReciprocalSolution:
    largest = rows.max(axis=0)
    scaled = rows / largest
    size = float((weights * largest**2).max())
    weights = weights * largest**2 / size
    working = np.unique(np.append(scaled.argmax(axis=0), scaled.sum(axis=1).argmax()))
    rates = np.full(len(weights), 0.5 / len(weights))
    for _ in range(_ROUNDS):
        rates, dual = _barrier(scaled[working], weights, rates)
        loads = scaled @ rates
        worst = float(loads.max())
        feasible = rates / max(worst, 1.0)
        value = float(np.sum(weights / feasible**2))
        if value <= dual * (1 + GAP):
            return ReciprocalSolution(feasible / largest, value * size, dual * size, len(working))
        fresh = np.setdiff1d(np.flatnonzero(loads > 1 + _TOLERANCE / 10), working)
        if fresh.size == 0:
            break
        order = np.argsort(loads[fresh])[::-1][:_ADDED_PER_ROUND]
        working = np.concatenate([working, fresh[order]])
        rates = 0.9 * feasible
    raise CertificateRefused("the programme for optimal scales did not reach its duality gap")


def _barrier(
    rows: NDArray[np.float64], weights: NDArray[np.float64], start: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Path following from a strictly feasible start; the point and a dual lower bound within ``_TOLERANCE``."""
    rates = start / max(1.0, float((rows @ start).max()) * 1.05)
    sharpness = len(rows) / float(np.sum(weights / rates**2))
    best = 0.0
    for _ in range(_ROUNDS):
        rates = _centre(rows, weights, rates, sharpness)
        value = float(np.sum(weights / rates**2))
        multipliers = 1 / (sharpness * (1 - rows @ rates))
        best = max(best, _dual_bound(rows, weights, multipliers))
        if value <= best * (1 + _TOLERANCE) or sharpness > _SHARPEST:
            break
        sharpness *= 8
    return rates, best


def _dual_bound(rows: NDArray[np.float64], weights: NDArray[np.float64], multipliers: NDArray[np.float64]) -> float:
    """min over w > 0 of Σ ω/w² + λᵀ(A w − 1), attained at w_k = (2ω_k/(Aᵀλ)_k)^⅓, best over scalings of λ."""
    prices = rows.T @ multipliers
    gain = 3 * float(np.sum(weights ** (1 / 3) * (prices / 2) ** (2 / 3)))
    # With λ scaled by s the bound is s^⅔·gain − s·Σλ, largest at s^⅓ = 2·gain/(3·Σλ).
    total = float(multipliers.sum())
    return 4 * gain**3 / (27 * total**2)


def _centre(
    rows: NDArray[np.float64], weights: NDArray[np.float64], rates: NDArray[np.float64], sharpness: float
) -> NDArray[np.float64]:
    """Damped Newton steps on sharpness·Σ ω/w² − Σ log(1 − A w) in z = log w.

    In z the programme stays convex, and weights of very different size do no harm.
    """
    for _ in range(_NEWTON_STEPS):
        loads = rows * rates / (1 - rows @ rates)[:, None]
        pull, push = loads.sum(axis=0), 2 * sharpness * weights / rates**2
        gradient = pull - push
        step = np.asarray(-np.linalg.solve(np.diag(2 * push + pull) + loads.T @ loads, gradient), dtype=np.float64)
        decrement = -float(gradient @ step)
        if not decrement > _CENTRED:
            return rates
        step /= max(1.0, float(np.abs(step).max()) / _LONGEST_STEP)
        rates = rates * np.exp(_step_size(rows, weights, rates, step, sharpness, decrement) * step)
    return rates


def _step_size(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    rates: NDArray[np.float64],
    step: NDArray[np.float64],
    sharpness: float,
    decrement: float,
) -> float:
    """Backtracking from a full step. Near the centre the height falls by less than its rounding error, and Newton's
    full step is safe, so only feasibility counts there."""

    def height(at: NDArray[np.float64]) -> float:
        slack = 1 - rows @ at
        if np.any(slack <= 0):
            return np.inf
        return float(sharpness * np.sum(weights / at**2) - np.sum(np.log(slack)))

    here, size = height(rates), 1.0
    while size > 1e-14:
        there = height(rates * np.exp(size * step))
        if there < np.inf and (decrement < 0.1 or there <= here - 1e-4 * size * decrement):
            return size
        size /= 2
    return 0.0
