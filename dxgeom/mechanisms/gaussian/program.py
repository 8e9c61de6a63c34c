"""The covariance of least trace, or of least worst variance, that hides every difference; with a dual certificate.

Primal: minimise tr CΣ, or the largest c_kᵀΣc_k, subject to v_eᵀΣ⁻¹v_e ≤ 1 for all e. Dual: maximise Φ(A(q), C(λ))²/Σ q
over weights of the differences, and of the answers where the worst counts: Kiefer's Φ_½ design. Any weights give a
feasible covariance and a bound, and their quotient is the certificate: no step of the search is believed.

The search: weights multiplied by their loads until they are near, then Newton's method, both on a working set of
differences; a pass over all, or over those that came near, for what is violated, and again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.gaussian.design import (
    Centre,
    Design,
    Fidelity,
    Problem,
    ScaledPoints,
    WeighedColumns,
    first_design,
    is_wide,
    multiplied,
    on_central_path,
)

GAP: Final = 1e-9
"""Relative gap at which the search ends."""
_ROUNDS: Final = 60
_TIMES: Final = 40
_FIRST_TIMES: Final = 8
_BARELY: Final = 2
"""With hardly more differences in hand than dimensions, weights are soon as near as they will help."""
_NEAR: Final = 0.05
"""Gap from which on Newton's method is the faster one."""
_FIRST_ROUNDS: Final = 15
_ADDED: Final = 8
_POOL: Final = 40
"""Differences for each dimension that join the working set at once, and that are looked at before all others."""
_STEP: Final = 100
"""Multiplications of a step of Newton's method for each entry of the differences in hand and each dimension, about."""
_LIGHT, _LOOSE, _GONE, _HIDDEN = 0.05, 1e-3, 1e-3, 0.95
_COARSE: Final = 1e-3
_NEWTON: Final = 1.5e4
"""Times the cube of the dimensions: multiplications of Newton's method to its end, about."""
_AT_ONCE: Final = 2e-3
"""Gap at which weights of all pairs at once are near enough: what is left is a thousandth of the root at most."""
WORK: Final = 2e13
"""Multiplications after which the search ends with the gap that it has, the same on every machine."""
QUICK_WORK: Final = 1.5e11
"""For a quick plan: some ten seconds. Among a hundred dimensions the search ends before, with all that there is."""

Progress = Callable[[str], None]


@final
@dataclass(frozen=True, eq=False)
class Covariance:
    """What was found: ``axes`` (m, m) with Σ = axes·axesᵀ, feasible up to the rounding of float64.

    ``places`` (n,): the differences with weight in the dual, ``weights`` (n,) theirs, of sum 1; ``costs`` (K,): of the
    answers. ``value``: of the primal; ``bound``: of the dual, below every Gaussian. Both up to the rounding of float64.
    ``interrupted``: whether the search ended before it was done because somebody said so.
    """

    axes: NDArray[np.float64]
    places: NDArray[np.int64]
    weights: NDArray[np.float64]
    costs: NDArray[np.float64]
    value: float
    bound: float
    interrupted: bool = False

    @property
    def gap(self) -> float:
        """value/bound − 1: how far, relatively, the best covariance can be below this one."""
        return self.value / self.bound - 1


def best_covariance(
    points: NDArray[np.float64] | ScaledPoints,
    answers: NDArray[np.float64],
    worst: bool = False,
    progress: Progress | None = None,
    work: float = WORK,
) -> Covariance:
    """The covariance that hides all ``points`` (E, m) with the least Σ_k c_kᵀΣc_k, or the least of the ``worst``.

    Args: ``points``: differences over distances, of rank m; ``answers`` (K, m): rows c_k, of rank m. ``progress``: told
    the gap in words; it may raise, and KeyboardInterrupt ends the search with the best covariance so far. ``work``:
    multiplications of Newton's method.
    Guarantee: ends at a gap of 1e-9, or with a larger one, which :attr:`Covariance.gap` states, after that ``work`` or
    when interrupted. Raises: CertificateRefused when float64 cannot tell the rank of either.
    """
    points = points if isinstance(points, ScaledPoints) else ScaledPoints.of(points)
    units, largest = points.largest()
    if not (np.all(units > 0) and np.all(np.isfinite(units))):
        raise CertificateRefused("the differences do not span as many dimensions as are noisy, as float64 sees them")
    answers = answers * units
    size = float(np.sqrt((answers**2).sum()))
    interrupted, search = (
        False,
        _Search(Problem(replace(points, units=points.units * units), answers / size, worst), progress, work),
    )
    try:
        search.run(largest)
    except KeyboardInterrupt:
        search.settle()
        if search.best is None:
            raise
        interrupted = True
    best = search.best
    if best is None or not np.isfinite(best.gap):
        raise CertificateRefused("no covariance was found for these differences within float64")
    axes = units[:, None] * best.axes
    value, bound = best.value * size**2, best.bound * size**2
    return Covariance(axes, best.places, best.weights, best.costs, value, bound, interrupted)


@final
class _Search:
    """One search, with the best covariance so far."""

    def __init__(self, problem: Problem, progress: Progress | None, work: float) -> None:
        self.problem = problem
        self._most = work
        self.best: Covariance | None = None
        self._progress = progress
        self._dropped_at = np.inf
        self._latest: Design | None = None

    def settle(self) -> None:
        """The covariance of the weights that the search had come to, where none was kept yet."""
        if self.best is None and self._latest is not None:
            found, onto = self._latest.fidelity(self.problem)
            loads = self.problem.points.lengths(onto / np.sqrt(found.roots))
            self._note(self._latest, found, onto, float(loads.max()))

    def run(self, largest: NDArray[np.int64]) -> None:
        """Until the gap is small enough, or the work done."""
        try:
            if self._all_at_once():
                return
            design, loads = self._near(first_design(self.problem, largest))
            if _STEP * len(design.working) * self.problem.points.width**2 < self._most:
                self._finished(design, loads)
            self.settle()
        except np.linalg.LinAlgError as error:
            if self.best is None:
                raise CertificateRefused("no covariance was found for these differences within float64") from error

    def _all_at_once(self) -> bool:
        """Where Newton's method on working sets takes longer than the search may: weights of all pairs of few columns,
        multiplied by powers of their loads until they are near. Whether that was done."""
        points = self.problem.points
        pairs = WeighedColumns.of(self.problem) if _NEWTON * float(points.width) ** 3 > self._most else None
        if pairs is None:
            return False
        looks = max(1, int(self._most / pairs.work))
        for look in range(looks):
            found, onto, loads = pairs.at_once()
            self._latest = design = pairs.design
            gap = design.gap(self.problem, found, float(loads.max()))
            self._tell(design, gap)
            if gap < _AT_ONCE:
                break
            if look + 1 < looks:
                pairs.raise_by(loads)
        pairs.drop_light()
        found, onto, _ = pairs.at_once()
        self._note(pairs.design, found, onto, float(points.lengths(onto / np.sqrt(found.roots)).max()))
        return True

    def _near(self, design: Design) -> tuple[Design, NDArray[np.float64]]:
        """A design near the optimum, and all loads, by multiplication."""
        points = self.problem.points
        loads, mean = np.empty(0), 0.0
        for _ in range(_FIRST_ROUNDS):
            few = is_wide(self.problem) and len(design.working) <= _BARELY * points.width
            design = multiplied(self.problem, design, _FIRST_TIMES if few else _TIMES)
            found, onto = design.fidelity(self.problem, rough=True)
            # Single precision will do here: this covariance is only a start.
            loads = points.lengths((onto / np.sqrt(found.roots)).astype(np.float32))
            gap = design.gap(self.problem, found, float(loads.max()))
            self._tell(design, gap)
            self._latest = design
            mean = float(design.weights @ found.loads) / float(design.weights.sum())
            top = _highest(loads, _POOL * points.width)
            added = np.setdiff1d(top[loads[top] > mean], design.working)
            if gap < _NEAR or added.size == 0:
                break
            added = added[np.argsort(-loads[added])][: _ADDED * points.width]
            design = design.of(~_idle(design, loads, mean, _GONE), added)
        return design.of(~_idle(design, loads, mean, _LIGHT), np.empty(0, dtype=np.int64)), loads

    def _finished(self, design: Design, loads: NDArray[np.float64]) -> None:
        """Newton's method on working sets until the gap over all differences is small enough."""
        points, aim, work = self.problem.points, _COARSE, 0.0
        pool, seen_all = _highest(loads, _POOL * points.width), False
        for _ in range(_ROUNDS):
            centre, found, onto = on_central_path(self.problem, design, aim, self._most - work)
            work += centre.work
            scaled = onto / np.sqrt(found.roots)
            own = float(found.loads.max())
            loads = points.among(pool).lengths(scaled)
            limit = own * (1 + GAP / 4)
            seen_all = not np.any(loads > limit) or self.best is None
            if seen_all:
                every = points.lengths(scaled)
                pool = _highest(every, _POOL * points.width)
                loads = every[pool]
                self._note(centre.design, found, onto, max(own, float(loads.max())))
            violated = pool[loads > limit]
            gap = centre.design.gap(self.problem, found, max(own, float(loads.max())))
            self._tell(centre.design, gap)
            ended = violated.size == 0 and aim <= GAP / 8
            if seen_all and (gap <= GAP or work > self._most or ended):
                break
            if work > self._most:
                self._note(centre.design, found, onto, max(own, float(points.lengths(scaled).max())))
                break
            aim = max(GAP / 8, min(aim, gap / 20) if violated.size else aim / 1000)
            design = self._changed(centre, violated[np.argsort(-loads[loads > limit])], gap)

    def _changed(self, centre: Centre, violated: NDArray[np.int64], gap: float) -> Design:
        """Without the differences that have lost their weight, and with those that are violated most."""
        design = centre.design
        slacks = centre.slacks[: len(design.weights)]
        kept = np.ones(len(slacks), dtype=bool)
        if gap < self._dropped_at / 2:
            # Only then: what goes and comes back again would go round for ever.
            self._dropped_at = gap
            kept = (design.weights >= _LIGHT * design.weights.mean()) | (slacks <= _LOOSE)
        return design.of(kept, violated[: _ADDED * self.problem.points.width])

    def _note(self, design: Design, found: Fidelity, onto: NDArray[np.float64], largest: float) -> None:
        """Σ = (onto⁻¹)ᵀ·diag(y)·onto⁻¹, as much larger as its largest load, and the bound of its weights."""
        axes = np.asarray(np.linalg.inv(onto).T * np.sqrt(found.roots * largest), dtype=np.float64)
        variances, worst = found.variances * largest, self.problem.worst
        value = float(variances.max() if worst else variances.sum())
        total = float(design.weights.sum())
        bound = found.value**2 / total / (float(design.costs.sum()) if worst else 1.0)
        noted = Covariance(axes, design.working, design.weights / total, design.costs, value, bound)
        if self.best is None or noted.gap < self.best.gap:
            self.best = noted

    def _tell(self, design: Design, gap: float) -> None:
        if self._progress is not None:
            known = gap if self.best is None else min(gap, self.best.gap)
            hands = f"{len(design.working):,} of {len(self.problem.points):,} differences in hand"
            self._progress(f"gaussian: {hands}, gap {known:.1e}")


def _idle(design: Design, loads: NDArray[np.float64], mean: float, share: float) -> NDArray[np.bool_]:
    """Differences with next to no weight, that are hidden better than they have to be."""
    light = design.weights < share * design.weights.mean()
    return np.asarray(light & (loads[design.working] < _HIDDEN * mean))


def _highest(loads: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Places of the largest, in any order."""
    if len(loads) <= count:
        return np.arange(len(loads))
    return np.argpartition(-loads, count)[:count]
