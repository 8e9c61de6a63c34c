"""Newton's method to the end, on a working set: a primal-dual interior point method that lays no matrix out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.gaussian.design import Design, Problem
from dxgeom.mechanisms.linear.gaussian.fidelity import Curvature, Fidelity, fidelity_at

_STEPS: Final = 40
_BACK: Final = 0.98
_MOST_PRODUCTS: Final = 200
_RESIDUAL: Final = 1e-5
"""Relative, squared: Newton steps need not be solved for better than this."""
_SLACK: Final = 0.05
_OFF: Final = 0.1
_LEAST: Final = 1e-14

Vector = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Centre:
    """Weights and costs with multipliers for both, in one row: of n differences, and of the answers behind them where
    the worst counts. ``level``: of the constraint that costs add up to 1. ``work``: multiplications so far."""

    design: Design
    unknown: Vector
    slacks: Vector
    level: float
    work: float


class _Move(NamedTuple):
    change: Vector
    turn: Vector
    level: float
    ahead: float
    back: float


def centred(problem: Problem, design: Design, aim: float) -> tuple[Centre, Fidelity, NDArray[np.float64]]:
    """Newton steps on the working set until its own gap is at most ``aim``; Φ there, and what takes points to places.

    Source: Mehrotra 1992; Nocedal & Wright 2006, ch. 19.
    """
    points = problem.points.rows(design.working)
    centre, found, onto = _warm(problem, design, points, aim)
    for _ in range(_STEPS):
        if centre.design.gap(problem, found, float(found.loads.max())) <= aim:
            break
        stepped = _stepped(problem, centre, found)
        if not np.all(np.isfinite(stepped.unknown)) or np.any(stepped.unknown <= 0):
            break
        centre = stepped
        found, onto = fidelity_at(centre.design.weights, points, centre.design.costs, problem.answers)
    return centre, found, onto


def _warm(problem: Problem, design: Design, points: Vector, aim: float) -> tuple[Centre, Fidelity, NDArray[np.float64]]:
    """Near the central path where the design's own gap belongs: complementary products are alike."""
    found, _ = fidelity_at(design.weights, points, design.costs, problem.answers)
    largest = float(found.loads.max())
    gap = max(design.gap(problem, found, largest), aim)
    weights, loads = design.weights * largest**2, found.loads / largest
    variances = found.variances * largest
    level = float(variances.max()) * (1 + gap)
    many = len(design.costs) if problem.worst else 0
    middle = gap * float(weights.sum()) / (len(weights) + many)
    weights = np.maximum(weights, middle / np.maximum(1 - loads, _SLACK) / 3)
    slacks = np.maximum(1 - loads, middle / weights)
    costs = design.costs
    if many:
        room = level - variances
        costs = np.maximum(costs, middle / np.maximum(room, _SLACK * level) / 3)
        costs = costs / costs.sum()
        slacks = np.append(slacks, np.maximum(room, middle / costs))
    design = replace(design, weights=weights, costs=costs)
    found, onto = fidelity_at(weights, points, costs, problem.answers)
    return Centre(design, np.append(weights, costs[:many]), slacks, level, 0.0), found, onto


def _stepped(problem: Problem, centre: Centre, found: Fidelity) -> Centre:
    """A step ahead to see how far it goes, and one that makes up for what that leaves out."""
    count, unknown, slacks = len(centre.design.weights), centre.unknown, centre.slacks
    many = len(unknown) - count
    gradient = np.append(1 - found.loads, centre.level - found.variances[:many])
    solved, products = _solver(found.curvature(many > 0), slacks / unknown)
    ones = np.append(np.zeros(count), np.ones(many))
    across = solved(ones) if many else ones

    def moved(side: Vector) -> _Move:
        """The step for products of unknowns and slacks that become ``side``."""
        change, level = solved(side / unknown - gradient), 0.0
        if many:
            level = (float(ones @ change) - (1 - float(unknown[count:].sum()))) / float(ones @ across)
            change = change - level * across
        turn = side / unknown - slacks - slacks / unknown * change
        return _Move(change, turn, level, _room(unknown, change), _room(slacks, turn))

    middle = float(unknown @ slacks) / len(unknown)
    first = moved(np.zeros(len(unknown)))
    then = (unknown + first.ahead * first.change) @ (slacks + first.back * first.turn) / len(unknown)
    # Where the gradient is off still, slacks have to stay large enough to make up for it.
    off = float(np.abs(unknown * (gradient - slacks)).mean())
    aimed = max(middle * min(1.0, (float(then) / middle) ** 3), min(_OFF * off, middle))
    move = moved(aimed - first.ahead * first.back * first.change * first.turn)
    ahead, back = min(1.0, _BACK * move.ahead), min(1.0, _BACK * move.back)
    unknown, slacks = unknown + ahead * move.change, slacks + back * move.turn
    costs = unknown[count:] if many else centre.design.costs
    design = replace(centre.design, weights=unknown[:count], costs=costs)
    work = centre.work + 4.0 * products() * len(unknown) * problem.points.width**2
    return Centre(design, unknown, np.maximum(slacks, _LEAST), centre.level + ahead * move.level, work)


def _solver(curvature: Curvature, added: Vector) -> tuple[Callable[[Vector], Vector], Callable[[], int]]:
    """Solves (curvature + diag(added))·x = side by conjugate gradients, scaled to a unit diagonal; and how many
    products that has taken."""
    scales, products = 1 / np.sqrt(curvature.diagonal + added), [0]

    def solved(side: Vector) -> Vector:
        left = side * scales
        found, along, size = np.zeros_like(left), left, float(left @ left)
        least = size * (_RESIDUAL if curvature.rows.dtype == np.float32 else _RESIDUAL**2)
        for _ in range(_MOST_PRODUCTS):
            if not size > least:
                break
            product = scales * (curvature.times(scales * along) + added * scales * along)
            products[0] += 1
            length = size / float(along @ product)
            found, left = found + length * along, left - length * product
            now = float(left @ left)
            along, size = left + now / size * along, now
        return found * scales

    return solved, lambda: products[0]


def _room(values: Vector, changes: Vector) -> float:
    """How far the change can be followed, at most a little beyond all of it, before a value is none."""
    falling = changes < 0
    return min(1 / _BACK, float((values[falling] / -changes[falling]).min(initial=np.inf)))
