"""The covariance of least trace, or of least worst variance, that hides every difference; with a dual certificate.

Primal: minimise tr CΣ, or the largest c_kᵀΣc_k, subject to v_eᵀΣ⁻¹v_e ≤ 1 for all e. Dual: maximise Φ(A(q), C(λ))²/Σ q
over weights of the differences, and of the answers where the worst counts: Kiefer's Φ_½ design. Any weights give a
feasible covariance and a bound, and their quotient is the certificate: no step of the search is believed.

The search: an interior point method on a working set of differences, a pass over all for those that are violated most,
and again. Source: Kiefer 1974; Nocedal & Wright 2006, ch. 19.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.gaussian.fidelity import Fidelity, fidelity_at
from dxgeom.numeric.qhull import far_apart

GAP: Final = 1e-9
"""Relative gap at which the search ends."""
_ROUNDS: Final = 60
_STEPS: Final = 60
_CENTERING: Final = 0.1
_BACK: Final = 0.98
_ENTRIES: Final = 1 << 22
_SEEN: Final = 20
"""Differences for each dimension that the first ones are chosen from."""
_LOST: Final = 1e-9
_TIGHT: Final = 1e-6
_LIGHT, _LOOSE = 0.05, 0.1
_ADDED: Final = 2
_ENTRY: Final = 1e-3
_EXPONENTIALS: Final = 20
_COARSE: Final = 1e-3
_MOST_SPREAD: Final = 100
_POWER: Final = 1.5
_WORK: Final = 4e11
"""Multiplications after which the search ends with the gap that it has, the same on every machine."""

Progress = Callable[[str], None]


@final
@dataclass(frozen=True, eq=False)
class Covariance:
    """What was found: ``axes`` (m, m) with Σ = axes·axesᵀ, feasible up to the rounding of float64.

    ``places`` (n,): the differences with weight in the dual, ``weights`` (n,) theirs, of sum 1; ``costs`` (K,): of the
    answers. ``value``: of the primal; ``bound``: of the dual, below every Gaussian. Both up to the rounding of float64.
    """

    axes: NDArray[np.float64]
    places: NDArray[np.int64]
    weights: NDArray[np.float64]
    costs: NDArray[np.float64]
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """value/bound − 1: how far, relatively, the best covariance can be below this one."""
        return self.value / self.bound - 1


@final
@dataclass(frozen=True, eq=False)
class _Problem:
    """Points (E, m) and answers (K, m) in units near 1; ``worst``: whether the worst answer counts."""

    points: NDArray[np.float64]
    answers: NDArray[np.float64]
    worst: bool


@final
@dataclass(frozen=True, eq=False)
class _State:
    """Where the search is: the working set, its weights (n,) and their multipliers, and the same of answers (K,).

    ``frame``: how many of the first in the working set are kept for good, since they span all dimensions.
    """

    working: NDArray[np.int64]
    weights: NDArray[np.float64]
    slacks: NDArray[np.float64]
    costs: NDArray[np.float64]
    cost_slacks: NDArray[np.float64]
    level: float
    frame: int


def best_covariance(
    points: NDArray[np.float64], answers: NDArray[np.float64], worst: bool = False, progress: Progress | None = None
) -> Covariance:
    """The covariance that hides all ``points`` (E, m) with the least Σ_k c_kᵀΣc_k, or the least of the ``worst``.

    Args: ``points``: differences over distances, of rank m; ``answers`` (K, m): rows c_k, of rank m. ``progress``: told
    the gap in words; it may raise.
    Guarantee: ends at a gap of 1e-9, or with a larger one, which :attr:`Covariance.gap` states, after a fixed amount of
    work. Raises: CertificateRefused when float64 cannot tell the rank of either.
    """
    units = np.abs(points).max(axis=0)
    if not (np.all(units > 0) and np.all(np.isfinite(units))):
        raise CertificateRefused("the differences do not span as many dimensions as are noisy, as float64 sees them")
    points, answers = points / units, answers * units
    size = float(np.sqrt((answers**2).sum()))
    problem = _Problem(points, answers / size, worst)
    state, best, aim, work = _start(problem), None, 0.2, 0.0
    for _ in range(_ROUNDS):
        state, found, onto, steps = _centred(problem, state, aim)
        work += steps * _work_of_step(state)
        loads = _all_loads(points, found, onto)
        covariance = _covariance(problem, state, found, onto, float(loads.max()))
        best = covariance if best is None or covariance.gap < best.gap else best
        if progress is not None:
            progress(f"gaussian: {len(state.working):,} of {len(points):,} differences in hand, gap {best.gap:.1e}")
        violated = np.flatnonzero(loads > max(float(loads[state.working].max()), 1.0) * (1 + GAP / 4))
        if best.gap <= GAP or work > _WORK or (violated.size == 0 and aim <= GAP / 8):
            break
        aim = max(GAP / 8, min(aim, covariance.gap / 5)) if violated.size else max(GAP / 8, aim / 100)
        state = _extended(problem, state, violated[np.argsort(-loads[violated])])
    if best is not None and best.gap > _COARSE and not worst:
        best = min(best, _spread(problem), key=lambda covariance: covariance.gap)
    if best is None or not np.isfinite(best.gap):
        raise CertificateRefused("no covariance was found for these differences within float64")
    axes = units[:, None] * best.axes
    return Covariance(axes, best.places, best.weights, best.costs, best.value * size**2, best.bound * size**2)


def _spread(problem: _Problem) -> Covariance:
    """From equal weights on all differences, multiplied by powers of their loads: where very many share the weight.

    Raising what is above 1 and lowering what is below converges slowly, and is near the optimum from the start on.
    Source: Titterington 1976.
    """
    points, size = problem.points, problem.points.shape[1]
    costs = np.ones(len(problem.answers))
    weights = np.full(len(points), 1 / len(points))
    best: Covariance | None = None
    everything = np.arange(len(points))
    for _ in range(int(min(_MOST_SPREAD, 2 + _WORK / (4.0 * len(points) * size**2)))):
        found, onto = fidelity_at(weights, points, costs, problem.answers)
        loads = _all_loads(points, found, onto)
        state = _State(everything, weights, loads, costs, costs, 0.0, 0)
        covariance = _covariance(problem, state, found, onto, float(loads.max()))
        best = covariance if best is None or covariance.gap < best.gap else best
        if best.gap <= GAP:
            break
        weights = weights * (loads / found.value) ** _POWER
        weights = weights / weights.sum()
    if best is None:
        raise CertificateRefused("no covariance was found for these differences within float64")
    return best


def _start(problem: _Problem) -> _State:
    """As many differences as dimensions, each far from the span of those before, of a part of all."""
    points, size = problem.points, problem.points.shape[1]
    step = max(1, len(points) // (_SEEN * size))
    seen = np.unique(np.concatenate([np.abs(points).argmax(axis=0), np.arange(0, len(points), step)]))
    frame = np.unique(seen[far_apart(points[seen])])
    if len(frame) < size:
        raise CertificateRefused("the differences do not span as many dimensions as are noisy, as float64 sees them")
    working = np.concatenate([frame, np.setdiff1d(np.abs(points).argmax(axis=0), frame)])
    costs = np.full(len(problem.answers), 1 / len(problem.answers) if problem.worst else 1.0)
    weights = np.full(len(working), 1 / len(working))
    found, _ = fidelity_at(weights, points[working], costs, problem.answers)
    weights = weights * found.value**2
    ones = np.ones(len(costs))
    return _State(working, weights, np.full(len(working), 1.0), costs, ones, 2.0, size)


def _centred(problem: _Problem, state: _State, aim: float) -> tuple[_State, Fidelity, NDArray[np.float64], int]:
    """Newton steps on the working set until its own gap is at most ``aim``; and how many."""
    points = problem.points[state.working]
    found, onto = fidelity_at(state.weights, points, state.costs, problem.answers)
    steps = 0
    while steps < _STEPS:
        if _own_gap(problem, state, found) <= aim:
            break
        state, steps = _stepped(problem, state, found), steps + 1
        found, onto = fidelity_at(state.weights, points, state.costs, problem.answers)
    return state, found, onto, steps


def _work_of_step(state: _State) -> float:
    """Multiplications of a step, about: second derivatives, and solving."""
    count = float(len(state.weights))
    return count**2 * (state.frame * _EXPONENTIALS + count / 3)


def _own_gap(problem: _Problem, state: _State, found: Fidelity) -> float:
    reach = float(found.variances.max()) * float(state.costs.sum()) if problem.worst else found.value
    return float(found.loads.max()) * reach * float(state.weights.sum()) / found.value**2 - 1


def _stepped(problem: _Problem, state: _State, found: Fidelity) -> _State:
    """One step of the primal-dual method towards complementarity a part of what it is."""
    count, many = len(state.weights), len(state.costs) if problem.worst else 0
    unknown = np.concatenate([state.weights, state.costs[:many]])
    slacks = np.concatenate([state.slacks, state.cost_slacks[:many]])
    centre = _CENTERING * float(unknown @ slacks) / len(unknown)
    gradient = np.concatenate([1 - found.loads, state.level - found.variances[:many]])
    system = np.zeros((len(unknown) + (many > 0),) * 2)
    system[: len(unknown), : len(unknown)] = found.curvature(many > 0)
    system[np.arange(len(unknown)), np.arange(len(unknown))] += slacks / unknown
    side = np.append(centre / unknown - gradient, [1 - state.costs.sum()] * (many > 0))
    if many:
        system[-1, count:-1] = system[count:-1, -1] = 1.0
    move = _solved(system, side)
    change = move[: len(unknown)]
    turn = centre / unknown - slacks - slacks / unknown * change
    ahead, back = _room(unknown, change), _room(slacks, turn)
    unknown, slacks = unknown + ahead * change, slacks + back * turn
    return _State(
        state.working,
        unknown[:count],
        slacks[:count],
        unknown[count:] if many else state.costs,
        slacks[count:] if many else state.cost_slacks,
        state.level + ahead * float(move[-1]) if many else state.level,
        state.frame,
    )


def _solved(system: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.float64]:
    """With rows and columns scaled to a unit diagonal."""
    scales = 1 / np.sqrt(np.maximum(np.abs(np.diag(system)), np.finfo(np.float64).tiny))
    scales[np.diag(system) == 0] = 1.0
    try:
        return np.asarray(np.linalg.solve(system * scales[:, None] * scales, side * scales) * scales)
    except np.linalg.LinAlgError as error:
        raise CertificateRefused("no covariance was found for these differences within float64") from error


def _room(values: NDArray[np.float64], changes: NDArray[np.float64]) -> float:
    """How far the change can be followed, at most all of it, before a value has lost nearly all that it is."""
    falling = changes < 0
    return min(1.0, _BACK * float((values[falling] / -changes[falling]).min(initial=np.inf)))


def _all_loads(points: NDArray[np.float64], found: Fidelity, onto: NDArray[np.float64]) -> NDArray[np.float64]:
    """(E,): the load of every difference."""
    loads, onto = np.empty(len(points)), onto / np.sqrt(found.roots)
    rows = max(1, _ENTRIES // points.shape[1])
    for start in range(0, len(points), rows):
        here = points[start : start + rows] @ onto
        loads[start : start + rows] = np.einsum("ek,ek->e", here, here)
    return loads


def _covariance(
    problem: _Problem, state: _State, found: Fidelity, onto: NDArray[np.float64], largest: float
) -> Covariance:
    """Σ = (onto⁻¹)ᵀ·diag(y)·onto⁻¹, as much larger as its largest load, and the bound of its weights."""
    axes = np.asarray(np.linalg.inv(onto).T * np.sqrt(found.roots * largest), dtype=np.float64)
    variances = found.variances * largest
    value = float(variances.max() if problem.worst else variances.sum())
    total = float(state.weights.sum())
    bound = found.value**2 / total / (float(state.costs.sum()) if problem.worst else 1.0)
    return Covariance(axes, state.working, state.weights / total, state.costs, value, bound)


def _extended(problem: _Problem, state: _State, violated: NDArray[np.int64]) -> _State:
    """The working set without what has lost its weight, and with the differences that are violated most."""
    share = state.weights / state.weights.max()
    light = (share < _LOST) | ((state.weights < _LIGHT * state.weights.mean()) & (state.slacks > _LOOSE))
    kept = ~light | (state.slacks < _TIGHT) | (np.arange(len(share)) < state.frame)
    added = np.setdiff1d(violated[: _ADDED * problem.points.shape[1]], state.working[kept])
    working = np.concatenate([state.working[kept], added])
    middle = float(state.weights @ state.slacks) / len(state.weights)
    weight = float(state.weights.sum()) * _ENTRY / max(len(working), 1)
    slack = max(middle / weight, _ENTRY)
    return _State(
        working,
        np.concatenate([np.maximum(state.weights[kept], weight * _ENTRY), np.full(len(added), weight)]),
        np.concatenate([np.maximum(state.slacks[kept], middle), np.full(len(added), slack)]),
        state.costs,
        np.maximum(state.cost_slacks, middle),
        state.level,
        state.frame,
    )
