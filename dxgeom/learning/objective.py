"""The perturbed objective of a table: in float64 with bounds on its errors, and its minimiser rounded to a lattice
exactly, as if it were known to the last digit.

Losses of generalised linear models: what a record's response costs at a score z = aᵀθ.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final, NamedTuple, final

import numpy as np
from flint import arb, arb_mat, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.noise.rounding import WORD, Evaluation, LazyUniform
from dxgeom.numeric.exact_numbers import value_rounded_up
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import DefinedByNumbers


class GlmLoss(DefinedByNumbers):
    """ℓ(z, y), convex and twice continuously differentiable in the score z, with a bounded slope.

    Laws: ``|ℓ′| ≤ steepest``, ``0 ≤ ℓ″ ≤ curvature``; ``slope`` and ``bend`` are ℓ′ and ℓ″, in float64 the first within
    ``slope_error``; ``exact_slope`` holds ℓ′ of everything in the balls that it is given. ``spread`` bounds
    |ℓ′(z, y) − ℓ′(z′, y)|, scores free and the response the same. A Poisson loss is none of these: neither its slope
    nor its curvature is bounded.
    """

    steepest: ClassVar[Fraction]
    """A bound on |ℓ′|."""
    spread: ClassVar[Fraction]
    """A bound on how far slopes of one response are apart."""
    curvature: ClassVar[Fraction]
    """A bound on ℓ″."""
    responses: ClassVar[tuple[Fraction, Fraction] | None]
    """The least and the largest response where a response is one of two, None where it is any finite number."""
    slope_error: ClassVar[float]
    """A bound on what float64 is off in a slope, of scores that are exact."""

    @abstractmethod
    def value(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """ℓ, up to rounding: only where a solver goes depends on it."""

    @abstractmethod
    def slope(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """ℓ′, each within ``slope_error``."""

    @abstractmethod
    def bend(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """ℓ″, up to rounding: only where a solver goes depends on it."""

    @abstractmethod
    def exact_slope(self, score: arb, response: float) -> arb:
        """ℓ′ in ball arithmetic."""


@final
@dataclass(frozen=True)
class LogisticLoss(GlmLoss):
    """log(1 + e^z) − y·z for responses 0 and 1: ℓ′ = σ(z) − y, within (−1, 0) or (0, 1); ℓ″ ≤ 1/4."""

    steepest = spread = Fraction(1)
    curvature = Fraction(1, 4)
    responses = (Fraction(0), Fraction(1))
    slope_error = 2.0**-47
    """An exponential of a number below 0 within 16 units in the last place, where libraries promise 4; a sum, a
    quotient and a difference."""

    def value(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.logaddexp(0.0, scores) - responses * scores)

    def slope(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(_chance(scores) - responses)

    def bend(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        chance = _chance(scores)
        return np.asarray(chance * (1 - chance))

    def exact_slope(self, score: arb, response: float) -> arb:
        return 1 / (1 + (-score).exp()) - arb(response)


@final
@dataclass(frozen=True)
class PseudoHuberLoss(GlmLoss):
    """√(1 + (z − y)²) − 1 for any response: ℓ′ = r/√(1 + r²) with r = z − y, within (−1, 1); ℓ″ ≤ 1."""

    steepest = curvature = Fraction(1)
    spread = Fraction(2)
    responses = None
    slope_error = 2.0**-48
    """A difference, a length within 8 units in the last place, a quotient: relative errors of a number of at most
    1, whose derivative by log r is at most 1/2."""

    def value(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.hypot(1.0, scores - responses) - 1)

    def slope(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        residual = scores - responses
        return np.asarray(residual / np.hypot(1.0, residual))

    def bend(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.hypot(1.0, scores - responses) ** -3, dtype=np.float64)

    def exact_slope(self, score: arb, response: float) -> arb:
        residual = score - arb(response)
        return residual / (1 + residual * residual).sqrt()


def _chance(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/(1 + e^−z), without overflow."""
    small = np.exp(-np.abs(scores))
    return np.asarray(np.where(scores >= 0, 1.0, small) / (1 + small), dtype=np.float64)


ROWS: Final = 256
"""Rows whose gradients are added up in float64 before sums are rounded correctly: few, so that bounds are small."""
_SLACK: Final = 1.01
"""Bounds are worked out in float64 themselves, of terms without cancellation; far less than this would do."""
_MOST_STEPS: Final = 200
_MOST_HALVINGS: Final = 60
_MOST_POLISHES: Final = 3


class Gradient(NamedTuple):
    """A gradient (m,) and bounds (m,) on how far each entry is off."""

    value: NDArray[np.float64]
    error: NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class PerturbedObjective:
    """J(θ) = Σ_i ℓ(a_iᵀθ, y_i) + strength·‖θ‖²/2 + tiltᵀθ, for a tilt known within ``tilt_error``.

    ``features`` (n, m), ``responses`` (n,): float64, taken exactly; ``tilt``, ``tilt_error`` (m,); ``strength`` > 0,
    so that ‖θ − θ*‖ ≤ ‖∇J(θ)‖/strength for the one minimiser θ*.
    """

    loss: GlmLoss
    features: NDArray[np.float64]
    responses: NDArray[np.float64]
    strength: float
    tilt: NDArray[np.float64]
    tilt_error: NDArray[np.float64]

    def value(self, theta: NDArray[np.float64]) -> float:
        """J, up to rounding."""
        losses = self.loss.value(self.features @ theta, self.responses)
        return float(losses.sum() + self.strength * (theta @ theta) / 2 + self.tilt @ theta)

    def hessian(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """∇²J (m, m), up to rounding."""
        bends = self.loss.bend(self.features @ theta, self.responses)
        curved = self.features.T @ (self.features * bends[:, None])
        return np.asarray(curved + self.strength * np.eye(len(theta)))

    def gradient(self, theta: NDArray[np.float64]) -> Gradient:
        """∇J at the very numbers ``theta``.

        Errors. A score of m products is off by (m + 1)·2⁻⁵³·Σ|a||θ|, and a slope by ``curvature`` times that and its
        own; a sum over 256 rows by 257·2⁻⁵³·Σ|a||slope|; sums of those are rounded once.
        """
        blocks, padded = self._blocks
        scores = blocks @ theta
        off = np.abs(blocks) @ np.abs(theta) * ((len(theta) + 1) * UNIT_ROUNDOFF)
        slopes = self.loss.slope(scores, padded)
        slope_errors = float(self.loss.curvature) * off + self.loss.slope_error
        sums = (blocks.transpose(0, 2, 1) @ slopes[..., None])[..., 0]
        rounding = np.abs(slopes) * ((ROWS + 1) * UNIT_ROUNDOFF) + slope_errors
        sum_errors = (np.abs(blocks).transpose(0, 2, 1) @ rounding[..., None])[..., 0]
        total = np.array([math.fsum(column) for column in sums.T.tolist()])
        pull = self.strength * theta
        value = total + pull + self.tilt
        summed = (np.abs(total) + np.abs(pull) + np.abs(self.tilt)) * (4 * UNIT_ROUNDOFF)
        return Gradient(value, (sum_errors.sum(axis=0) + summed + self.tilt_error) * _SLACK)

    def distance_bound(self, theta: NDArray[np.float64]) -> float:
        """A proved bound on ‖θ − θ*‖₂; not finite where float64 tells nothing."""
        value, error = self.gradient(theta)
        bound = float(np.linalg.norm(np.abs(value) + error)) / self.strength * _SLACK
        return bound if math.isfinite(bound) else math.inf

    @cached_property
    def _blocks(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The rows in blocks (b, 256, m) and (b, 256), the last filled up with features of 0, which add nothing."""
        count, size = self.features.shape
        missing = -count % ROWS
        rows = np.concatenate([self.features, np.zeros((missing, size))])
        responses = np.concatenate([self.responses, np.zeros(missing)])
        return rows.reshape(-1, ROWS, size), responses.reshape(-1, ROWS)


def solved(objective: PerturbedObjective, tolerance: float) -> NDArray[np.float64]:
    """A point (m,) near the minimiser, by Newton's steps, halved until the objective falls.

    ``tolerance``: of the objective's value, what a further step may still gain. Whatever is returned, and wherever the
    steps went: that it is near enough, its gradient shows afterwards.
    """
    theta = np.zeros(objective.features.shape[1])
    for _ in range(_MOST_STEPS):
        slope = objective.gradient(theta).value
        step = np.linalg.solve(objective.hessian(theta), slope)
        here, length = objective.value(theta), 1.0
        if not float(slope @ step) > tolerance * (1 + abs(here)):
            break
        while objective.value(theta - length * step) > here and length > 2.0**-_MOST_HALVINGS:
            length /= 2
        theta = theta - length * step
    return np.asarray(_polished(objective, theta))


def _polished(objective: PerturbedObjective, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """After as many whole steps as make the gradient half as long, or less."""
    slope = objective.gradient(theta).value
    for _ in range(_MOST_POLISHES):
        moved = theta - np.linalg.solve(objective.hessian(theta), slope)
        there = objective.gradient(moved).value
        if not np.linalg.norm(there) <= np.linalg.norm(slope) / 2:
            break
        theta, slope = moved, there
    return theta


_ROWS: Final = 1024
_STEPS_A_PRECISION: Final = 4


@final
@dataclass(frozen=True, eq=False)
class LazyTilt:
    """The noise as a function of uniforms of which as many bits are read as are needed."""

    evaluation: Evaluation
    uniforms: Sequence[LazyUniform]

    def balls(self) -> list[arb]:
        """What is known of it by now, at the precision in force."""
        return self.evaluation([uniform.ball() for uniform in self.uniforms])

    def refine(self, randomness: Randomness) -> None:
        """Reads 64 bits more of each uniform."""
        for uniform in self.uniforms:
            uniform.refine(randomness)


def rounded_minimiser(
    objective: PerturbedObjective, theta: NDArray[np.float64], step: Fraction, tilt: LazyTilt, randomness: Randomness
) -> list[int]:
    """θ*/step, each coordinate rounded to the nearest integer, θ* the minimiser for the tilt as it truly is.

    Args: ``theta`` (m,): where the solver ended; its error is not taken on trust.
    Guarantee: *exact*, whatever ``theta`` is: ‖θ − θ*‖ ≤ ‖∇J(θ)‖/strength. Where float64 leaves a rounding open, θ and
    the bits of the tilt are refined in ball arithmetic until it is certain.
    """
    bound = objective.distance_bound(theta)
    told = _nearest([Fraction(x) for x in theta.tolist()], bound, step) if np.all(np.isfinite(theta)) else None
    return told if told is not None else _by_balls(objective, theta, step, tilt, randomness)


def _by_balls(
    objective: PerturbedObjective, theta: NDArray[np.float64], step: Fraction, tilt: LazyTilt, randomness: Randomness
) -> list[int]:
    precision, point = 2 * WORD, [fmpq(*float(x).as_integer_ratio()) for x in theta]
    while True:
        inverse = np.linalg.inv(
            objective.hessian(np.array([float(Fraction(int(x.p), int(x.q))) for x in point]))
        ).tolist()
        with ctx.workprec(precision):
            noise = tilt.balls()
            for _ in range(_STEPS_A_PRECISION):
                gradient = exact_gradient(objective, [arb(x) for x in point], noise)
                size = sum((g * g for g in gradient), arb(0)).sqrt() / arb(objective.strength)
                told = _nearest([Fraction(int(x.p), int(x.q)) for x in point], value_rounded_up(size), step)
                if told is not None:
                    return told
                point = _stepped(point, inverse, gradient)
        tilt.refine(randomness)
        precision += WORD


def exact_gradient(objective: PerturbedObjective, theta: Sequence[arb], tilt: Sequence[arb]) -> list[arb]:
    """∇J in ball arithmetic at the precision in force."""
    strength, column = arb(objective.strength), arb_mat([[x] for x in theta])
    total = arb_mat([[strength * x + v] for x, v in zip(theta, tilt, strict=True)])
    for start in range(0, len(objective.responses), _ROWS):
        here = slice(start, start + _ROWS)
        rows = arb_mat(objective.features[here].tolist())
        scores = (rows * column).entries()
        slopes = [
            objective.loss.exact_slope(z, y) for z, y in zip(scores, objective.responses[here].tolist(), strict=True)
        ]
        total += rows.transpose() * arb_mat([[slope] for slope in slopes])
    return list(total.entries())


def _stepped(point: list[fmpq], inverse: list[list[float]], gradient: list[arb]) -> list[fmpq]:
    """A Newton step from the middles of balls, exact dyadic numbers at the precision in force."""
    middles = [g.mid() for g in gradient]
    moved = []
    for x, row in zip(point, inverse, strict=True):
        shift = sum((arb(a) * g for a, g in zip(row, middles, strict=True)), arb(0))
        moved.append((arb(x) - shift).mid().fmpq())
    return moved


def _nearest(point: Sequence[Fraction], bound: float, step: Fraction) -> list[int] | None:
    """Each coordinate over ``step`` rounded, None where some number within ``bound`` of one rounds otherwise."""
    if not bound < float(step) / 2:
        return None
    reach, half = Fraction(bound) / step, Fraction(1, 2)
    found = []
    for x in point:
        low, high = (x / step - reach + half).__floor__(), (x / step + reach + half).__floor__()
        if low != high:
            return None
        found.append(low)
    return found
