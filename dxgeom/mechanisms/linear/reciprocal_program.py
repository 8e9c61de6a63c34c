"""Minimise Σ ω_k/w_k² under A w ≤ 1, w > 0: the convex programme behind optimal Laplace scales.

Of the rows of A, often hundreds of thousands, only a handful bind. So a small programme on a few rows is solved by a
log-barrier method, the rows that its solution violates most are added, and so on until none is violated. The rows need
not be listed: whoever can name the heaviest one at given w will do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused

GAP = 1e-9
_LAST_GAP = 1e-7
"""Where float64 tells no better: with many rows at their limits the slacks lose their digits."""
_TOLERANCE = 1e-10
_ROUNDS = 400
_NEWTON_STEPS = 100
_ADDED_PER_ROUND = 32
_CENTRED = 1e-10
_SHARPEST = 1e18
_LONGEST_STEP = 4.0
"""In log w: a step changes no rate by more than a factor e⁴, so nothing overflows."""

Heaviest: TypeAlias = Callable[[NDArray[np.float64], int], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""From w (K,) and a number n: the loads A w of the heaviest row and of up to n − 1 others, and these rows."""
_TIGHT = 1e-10
_LOOKS = 200
"""Looks for the row that stops a rise; each names a steeper one, and a handful is enough."""
_NAMED = 64


@final
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


def minimise_reciprocal_squares(
    rows: NDArray[np.float64], weights: NDArray[np.float64], gap: float = GAP
) -> ReciprocalSolution:
    """The programme above, with all rows listed.

    Args: ``rows`` A (E, K), non-negative, every column with a positive entry; ``weights`` ω (K,), positive.
    Guarantee: duality gap *at most* ``gap``, relative, or 1e-7 where float64 cannot tell a smaller one; feasible up to
    rounding (the caller rescales exactly).
    Raises: CertificateRefused when the gap is not reached.
    """
    largest = rows.max(axis=0)
    scaled = rows / largest

    def heaviest(rates: NDArray[np.float64], most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        loads = scaled @ rates
        worst = np.argpartition(loads, len(loads) - most)[-most:] if len(loads) > most else np.arange(len(loads))
        return loads[worst], scaled[worst]

    solution = minimise_under_heaviest(heaviest, weights * largest**2, gap)
    return ReciprocalSolution(solution.rates / largest, solution.value, solution.dual_bound, solution.active)


def minimise_under_heaviest(heaviest: Heaviest, weights: NDArray[np.float64], gap: float = GAP) -> ReciprocalSolution:
    """The programme above for rows that are only known through the heaviest one; each column's largest entry is 1.

    Guarantee, Raises: as above.
    """
    try:
        return _by_constraint_generation(heaviest, weights, gap)
    except np.linalg.LinAlgError as error:
        raise CertificateRefused("the programme for optimal scales is too badly scaled for float64") from error


def _by_constraint_generation(heaviest: Heaviest, weights: NDArray[np.float64], gap: float) -> ReciprocalSolution:
    """While rows are being found the working ones are solved a little more exactly each time; in the end fully."""
    count = len(weights)
    size = float(weights.max())
    weights = weights / size
    _, working = heaviest(np.ones(count), 1)
    rates, tolerance = np.full(count, 0.5 / count), 1e-3
    best = 0.0
    for _ in range(_ROUNDS):
        alone = ~np.any(working > 0, axis=0)
        rates, dual = _barrier(_Programme(working, weights, alone), rates, tolerance)
        best = max(best, dual)
        loads, rows = heaviest(rates, max(_ADDED_PER_ROUND, count))
        feasible = rates / max(float(loads.max()), 1.0)
        value = float(np.sum(weights / feasible**2))
        if value <= best * (1 + gap):
            return ReciprocalSolution(feasible, value * size, best * size, len(working))
        fresh = loads > 1 + _TOLERANCE / 10
        if not np.any(fresh) and tolerance <= _TOLERANCE:
            if value <= best * (1 + _LAST_GAP):
                return ReciprocalSolution(feasible, value * size, best * size, len(working))
            break
        working = np.concatenate([working, rows[fresh]])
        rates = 0.9 * feasible
        tolerance = max(tolerance / 10, _TOLERANCE) if np.any(fresh) else _TOLERANCE
    raise CertificateRefused("the programme for optimal scales did not reach its duality gap")


class _Programme(NamedTuple):
    """Minimise Σ ω/w² under ``rows`` w ≤ 1, and w_k ≤ 1, which holds anyway, for columns that no row is about yet."""

    rows: NDArray[np.float64]
    weights: NDArray[np.float64]
    alone: NDArray[np.bool_]

    def value(self, rates: NDArray[np.float64]) -> float:
        return float(np.sum(self.weights / rates**2))

    def height(self, rates: NDArray[np.float64], sharpness: float) -> float:
        """sharpness·Σ ω/w² − Σ log(1 − A w) − Σ log(1 − w) over the columns alone; ∞ outside."""
        slack, room = 1 - self.rows @ rates, 1 - rates[self.alone]
        if np.any(slack <= 0) or np.any(room <= 0):
            return np.inf
        return sharpness * self.value(rates) - float(np.sum(np.log(slack)) + np.sum(np.log(room)))


def _barrier(programme: _Programme, start: NDArray[np.float64], tolerance: float) -> tuple[NDArray[np.float64], float]:
    """Path following from a strictly feasible start; the point and a dual lower bound within ``tolerance``."""
    rates = start / (1.05 * max(1.0, float((programme.rows @ start).max()), float(start.max())))
    sharpness = (len(programme.rows) + int(programme.alone.sum())) / programme.value(rates)
    best = 0.0
    for _ in range(_ROUNDS):
        rates = _centre(programme, rates, sharpness)
        best = max(best, _dual_bound(programme, rates, sharpness))
        if programme.value(rates) <= best * (1 + tolerance) or sharpness > _SHARPEST:
            break
        sharpness *= 8
    return rates, best


def _dual_bound(programme: _Programme, rates: NDArray[np.float64], sharpness: float) -> float:
    """min over w > 0 of Σ ω/w² + λᵀ(A w − 1) + μᵀ(w − 1), attained at w_k = (2ω_k/(Aᵀλ + μ)_k)^⅓, best over scalings
    of λ, μ, which are the barrier's own."""
    rows, weights, alone = programme
    multipliers = 1 / (sharpness * (1 - rows @ rates))
    own = np.where(alone, 1 / (sharpness * (1 - np.where(alone, rates, 0))), 0)
    prices = rows.T @ multipliers + own
    gain = 3 * float(np.sum(weights ** (1 / 3) * (prices / 2) ** (2 / 3)))
    # With λ, μ scaled by s the bound is s^⅔·gain − s·Σ(λ, μ), largest at s^⅓ = 2·gain/(3·Σ(λ, μ)).
    total = float(multipliers.sum() + own.sum())
    return 4 * gain**3 / (27 * total**2)


def _centre(programme: _Programme, rates: NDArray[np.float64], sharpness: float) -> NDArray[np.float64]:
    """Damped Newton steps on the programme's height in z = log w.

    In z the programme stays convex, and weights of very different size do no harm.
    """
    for _ in range(_NEWTON_STEPS):
        loads = programme.rows * rates / (1 - programme.rows @ rates)[:, None]
        own = np.where(programme.alone, rates / (1 - np.where(programme.alone, rates, 0)), 0)
        pull, push = loads.sum(axis=0) + own, 2 * sharpness * programme.weights / rates**2
        gradient = pull - push
        step = -_solved(2 * push + pull + own**2, loads, gradient)
        decrement = -float(gradient @ step)
        if not decrement > _CENTRED:
            return rates
        step /= max(1.0, float(np.abs(step).max()) / _LONGEST_STEP)
        rates = rates * np.exp(_step_size(programme, rates, step, sharpness, decrement) * step)
    return rates


def _solved(
    diagonal: NDArray[np.float64], loads: NDArray[np.float64], side: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(diag + LᵀL)⁻¹ side; by the few rows of L where there are more columns than rows."""
    root = np.sqrt(diagonal)
    scaled = loads / root
    side = side / root
    if len(loads) >= len(side):
        solved = np.linalg.solve(np.eye(len(side)) + scaled.T @ scaled, side)
    else:
        solved = side - scaled.T @ np.linalg.solve(np.eye(len(loads)) + scaled @ scaled.T, scaled @ side)
    return np.asarray(solved / root)


def _step_size(
    programme: _Programme, rates: NDArray[np.float64], step: NDArray[np.float64], sharpness: float, decrement: float
) -> float:
    """Backtracking from a full step. Near the centre the height falls by less than its rounding error, and Newton's
    full step is safe, so only feasibility counts there."""
    here, size = programme.height(rates, sharpness), 1.0
    while size > 1e-14:
        there = programme.height(rates * np.exp(size * step), sharpness)
        if there < np.inf and (decrement < 0.1 or there <= here - 1e-4 * size * decrement):
            return size
        size /= 2
    return 0.0


def max_min_fair_rates(heaviest: Heaviest, shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """w ≥ 0 that is largest in its smallest w_k/shape_k, then in the next smallest among those still free, and so on.

    Args: ``heaviest``: as in :func:`dxgeom.mechanisms.linear.reciprocal_program.minimise_under_heaviest`;
    ``shape`` (K,): positive.
    Guarantee: rows are kept up to a relative 1e-10 (the caller rescales exactly), every w_k/shape_k is optimal up to
    that.
    Raises: CertificateRefused when the rows cannot be told apart in float64.
    """
    rates = np.zeros(len(shape))
    free = np.ones(len(shape), dtype=bool)
    height = 0.0
    while np.any(free):
        height, rows = _rise(heaviest, rates, np.where(free, shape, 0.0), height)
        stopped = free & np.any(rows > 0, axis=0)
        rates[stopped] = height * shape[stopped]
        free &= ~stopped
    return rates


def _rise(
    heaviest: Heaviest, fixed: NDArray[np.float64], rising: NDArray[np.float64], least: float
) -> tuple[float, NDArray[np.float64]]:
    """The largest h with A(fixed + h·rising) ≤ 1, found from above, and the rows (1, K) that stop it.

    Each look takes the height at which the row that stops earliest, of those that it finds too heavy, would be just
    full.
    """
    height, stopping = 1 / float(rising.max()), (rising == rising.max()).astype(np.float64)
    for _ in range(_LOOKS):
        loads, rows = heaviest(fixed + height * rising, _NAMED)
        slope = rows @ rising
        over = (loads > 1 + _TIGHT) & (slope > 0)
        if not np.any(over):
            return height, stopping[None]
        full = (1 - rows[over] @ fixed) / slope[over]
        stopping = rows[over][np.argmin(full)]
        if full.min() <= least:
            return least, stopping[None]
        height = float(full.min())
    raise CertificateRefused("the rows of the programme for fair rates did not settle")
