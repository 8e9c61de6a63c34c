"""The minimiser of a perturbed objective, rounded to a lattice exactly as if it were known to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb, arb_mat, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.learning.perturbed.objective import PerturbedObjective
from dxgeom.noise.rounding import WORD, Evaluation, LazyUniform
from dxgeom.numeric.exact_numbers import value_rounded_up
from dxgeom.numeric.randomness import Randomness

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
