"""Gaussian noise, checked again: that it hides what it has to, by its covariance, and how near it is to the best.

Another route than the plan's: differences are held against Σ⁻¹ in balls and not against the inverse of a root of Σ;
what follows from other answers is checked modulo two primes; and the bound is a nuclear norm, bounded below by a
contraction in balls, and not a sum of singular values in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.audit.jumps_audit import audit_jumps
from dxgeom.audit.table_audit import gap_in_tables, hidden_in_tables
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.gaussian.mechanism import gaussian_space
from dxgeom.mechanisms.gaussian.program import best_covariance
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.laws.gaussian import GaussianNoise
from dxgeom.noise.laws.jumps.law import GaussianWithJumps
from dxgeom.planner.boxes.box_plan import BoxPlan
from dxgeom.planner.marginals.marginal_plan import MarginalPlan
from dxgeom.planner.plan import Plan
from dxgeom.planner.quantile_plan import QuantilePlan
from dxgeom.planner.tasks.task_plan import TaskPlan

if TYPE_CHECKING:
    from dxgeom.planner.releases.plans import SavablePlan

_PRECISION: Final = 256
_OUTWARD: Final = 1 + 1e-9
_NEAR: Final = 1e-6
_MOST_NEAR: Final = 20_000
_MOST_ENTRIES: Final = 200_000_000
_PRIMES: Final = (2**31 - 1, 2**31 - 19)


@final
@dataclass(frozen=True)
class CovarianceAudit:
    """``differences``: how many are hidden, ``in_balls``: of which so many were looked at in balls.

    ``gap``: relatively, how far the objective can be above that of the best Gaussian noise, rounding to the lattice
    left out: *rounded up*. ``with_jumps``: whether the noise jumps, too: then it is purely private, and the gap large.
    """

    differences: int
    in_balls: int
    gap: float
    with_jumps: bool = False

    def lines(self) -> list[str]:
        """The audit for a reader."""
        if self.with_jumps:
            return [
                f"the noise jumps along all {self.differences:,} differences, far and often enough; {self.in_balls:,} "
                "of them, just so, in balls",
                f"its objective is at most {1 + self.gap:.3g} times that of the best Gaussian noise, which bounds no "
                "odds",
            ]
        return [
            f"all {self.differences:,} differences are hidden by the covariance; {self.in_balls:,} of them, just so, "
            "in balls",
            f"no Gaussian noise has an objective lower by more than {self.gap:.1e} of it",
        ]


def audit_covariance(plan: SavablePlan) -> CovarianceAudit:
    """Check a plan's Gaussian noise again, with jumps or without, from its numbers and the metric alone.

    Guarantee: raises or is true: of hiding in balls, of the gap *rounded up*, that with jumps up to the rounding of
    their moments in float64.
    Raises: CertificateRefused for noise that is not Gaussian, that does not provably hide some difference, or for
    weights that prove no bound.
    """
    everything = (Plan, QuantilePlan, MarginalPlan, BoxPlan, TaskPlan)
    require(plan, everything, "plan", "give a plan, or the 'plan' of what dx.load_plan returns")
    if not isinstance(plan, Plan):
        named: dict[type, str] = {QuantilePlan: "quantiles", TaskPlan: "tasks", BoxPlan: "boxes"}
        what = named.get(type(plan), "tables of which none are listed")
        raise CertificateRefused(f"this audit is of noise that hides listed differences, and the plan is of {what}")
    mechanism = plan.mechanism
    if isinstance(mechanism.mixing, IntegerMixing):
        if mechanism.mixing.measured.trees:
            raise CertificateRefused("this audit is of noise that hides listed differences, and the plan's is in boxes")
        found = hidden_in_tables(mechanism)
        objective = plan.objective
        return CovarianceAudit(found, found, gap_in_tables(mechanism, objective.factors, objective.name == "max"))
    if not isinstance(mechanism.law, GaussianNoise | GaussianWithJumps):
        raise CertificateRefused(f"this audit is of Gaussian noise, and the plan's is by {mechanism.name}")
    listed = _laid_out(mechanism.sensitivity)
    shifts = _shifts(mechanism, listed.differences)
    if isinstance(mechanism.law, GaussianWithJumps):
        near = audit_jumps(mechanism.law, shifts, listed.bounds, hidden_by)
        with ctx.workprec(_PRECISION):
            gap = _gap(plan, arb_mat((mechanism.law.second_moment * _OUTWARD).tolist()))
        return CovarianceAudit(len(shifts), near, gap, with_jumps=True)
    with ctx.workprec(_PRECISION):
        root = arb_mat(mechanism.law.body.axes.tolist())
        covariance = root * root.transpose()
        near = hidden_by(covariance, mechanism.law.second_moment, shifts, listed.bounds)
        gap = _gap(plan, covariance)
    return CovarianceAudit(len(shifts), near, gap)


def _laid_out(sensitivity: Sensitivity) -> ListedChanges:
    """All differences, row by row. Raises: TooLarge where they are too many."""
    changes = sensitivity.proved
    if not isinstance(changes, PairedChanges):
        return changes
    if changes.count * len(sensitivity.queries.names) > _MOST_ENTRIES:
        raise TooLarge(f"differences of more than {_MOST_ENTRIES:,} numbers in all are not laid out for an audit")
    return changes.listed()


def _shifts(mechanism: AdditiveMechanism, differences: NDArray[np.int64]) -> NDArray[np.int64]:
    """(E, m): what each difference is in the noise's coordinates; the answers' are all what these make of them."""
    rows = mechanism.mixing_matrix.tolist()
    carriers = []
    for place in range(len(rows[0])):
        own = [answer for answer, row in enumerate(rows) if [i for i, share in enumerate(row) if share] == [place]]
        own = [answer for answer in own if rows[answer][place] == 1]
        _require(bool(own), "some coordinate of the noise belongs to no answer")
        carriers.append(own[0])
    shifts = np.ascontiguousarray(differences[:, carriers])
    for answer, row in enumerate(rows):
        if answer not in carriers:
            _require(_follows(shifts, differences[:, answer], row), "an answer does not follow as its noise says")
    return shifts


def _follows(shifts: NDArray[np.int64], column: NDArray[np.int64], row: list[Any]) -> bool:
    """common·Δ = Σ parts·w modulo two primes; exact where both sides are smaller than their product."""
    common = math.lcm(*(share.denominator for share in row))
    parts = [int(share * common) for share in row]
    largest = max(int(np.abs(shifts).max(initial=0)), int(np.abs(column).max(initial=0)))
    _require(2 * largest * (common + sum(map(abs, parts))) < math.prod(_PRIMES), "its numbers are too large to check")
    for prime in _PRIMES:
        left = np.mod(column, prime) * (common % prime) % prime
        for place, part in enumerate(parts):
            left = (left - np.mod(shifts[:, place], prime) * (part % prime)) % prime
        if np.any(left):
            return False
    return True


def hidden_by(
    covariance: arb_mat, rounded: NDArray[np.float64], shifts: NDArray[np.int64], bounds: NDArray[np.float64]
) -> int:
    """wᵀΣ⁻¹w ≤ b² for all: in float64 where that is far from being open, else in balls; and how many of these."""
    units = np.sqrt(np.diag(rounded))
    triangle = np.linalg.cholesky(rounded / np.outer(units, units))
    window = max(_NEAR, float(np.linalg.cond(triangle)) ** 2 * len(units) * 1e-14)
    loads = np.empty(len(bounds))
    step = max(1, (1 << 22) // len(units))
    for start in range(0, len(bounds), step):
        points = shifts[start : start + step] / bounds[start : start + step, None] / units
        loads[start : start + step] = np.sum(np.linalg.solve(triangle, points.T) ** 2, axis=0)
    near = np.flatnonzero(~(loads < 1 - window))
    _require(len(near) <= _MOST_NEAR, f"more than {_MOST_NEAR:,} differences are too near to be told in float64")
    inverse = covariance.inv()
    for place in near.tolist():
        shift = arb_mat([shifts[place].tolist()])
        load = (shift * inverse * shift.transpose())[0, 0] / arb(float(bounds[place])) ** 2
        _require(bool(load <= 1), "it is too narrow for some difference")
    return len(near)


def _gap(plan: Plan, covariance: arb_mat) -> float:
    """value/bound − 1, rounded up; the weights are sought anew, and nothing else of the search is used."""
    sensitivity, objective = plan.mechanism.sensitivity, plan.objective
    space = gaussian_space(sensitivity, objective.factors, objective.name == "max")
    if space is None:
        return 0.0
    found = best_covariance(space.points(sensitivity.proved.bounds), space.answers, space.worst)
    mixing = _in_units(plan)
    spread = mixing * covariance * mixing.transpose()
    variances = [spread[answer, answer] for answer in range(mixing.nrows())]
    costs = found.costs if space.worst else np.ones(len(found.costs))
    value = max(variances, key=lambda ball: float(ball.upper())).upper() if space.worst else sum(variances, arb(0))
    points = arb_mat(
        [
            [arb(int(step)) / arb(float(bound)) * arb(float(weight)).sqrt() for step in shift]
            for shift, bound, weight in zip(
                space.shifts[found.places].tolist(), sensitivity.proved.bounds[found.places], found.weights, strict=True
            )
        ]
    )
    answers = arb_mat(
        [[entry * arb(float(cost)).sqrt() for entry in row] for row, cost in zip(_of_pivots(plan), costs, strict=True)]
    )
    bound = _nuclear_norm_below(points * answers.transpose()) ** 2 / sum(map(arb, found.weights.tolist()), arb(0))
    if space.worst:
        bound = bound / sum(map(arb, costs.tolist()), arb(0))
    _require(bool(bound > 0), "its weights prove no bound")
    return max(0.0, math.nextafter(float((value / bound - 1).upper()), math.inf))


def _in_units(plan: Plan) -> arb_mat:
    """(K, m): what every answer gets of the noise, times its unit and the root of its importance."""
    steps = _steps(plan)
    return arb_mat(
        [
            [arb(share.numerator) / share.denominator * step for share in row]
            for row, step in zip(plan.mechanism.mixing_matrix.tolist(), steps, strict=True)
        ]
    )


def _of_pivots(plan: Plan) -> list[list[arb]]:
    """(K, m): the same by the coordinates in which the bound is sought, which follow from the differences alone."""
    space = gaussian_space(plan.mechanism.sensitivity, plan.objective.factors, plan.objective.name == "max")
    shares = [] if space is None else space.span.combinations.tolist()
    return [
        [arb(share.numerator) / share.denominator * step for share in row]
        for row, step in zip(shares, _steps(plan), strict=True)
    ]


def _steps(plan: Plan) -> list[arb]:
    steps, factors = plan.mechanism.sensitivity.queries.steps, plan.objective.factors
    costs = np.ones(len(steps)) if factors is None else factors
    pairs = zip(steps, costs.tolist(), strict=True)
    return [arb(step.numerator) / step.denominator * arb(cost).sqrt() for step, cost in pairs]


def _nuclear_norm_below(matrix: arb_mat) -> arb:
    """|tr UᵀN|/‖U‖ is at most the sum of N's singular values, whatever U is; nearly equal for that of the polar form.

    U = L·R with nearly orthonormal columns and rows, so ‖U‖² ≤ ‖LᵀL‖·‖RRᵀ‖, each at most its largest sum of a row.
    """
    middle = np.array([[float(entry.mid()) for entry in row] for row in matrix.tolist()])
    sides = np.linalg.svd(middle, full_matrices=False)
    left, right = arb_mat(sides[0].tolist()), arb_mat(sides[2].tolist())
    largest = _largest_row(left.transpose() * left) * _largest_row(right * right.transpose())
    product = (left * right).transpose() * matrix
    trace = sum((product[place, place] for place in range(product.nrows())), arb(0))
    return arb((trace / largest.sqrt()).lower())


def _largest_row(square: arb_mat) -> arb:
    rows = [sum((abs(entry) for entry in row), arb(0)) for row in square.tolist()]
    return arb(max(rows, key=lambda ball: float(ball.upper())).upper())


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise CertificateRefused(f"this Gaussian noise is not what it has to be: {what}")
