"""Gaussian noise, checked again: that it hides what it has to, by its covariance, and how near it is to the best.

Another route than the plan's: differences are held against Σ⁻¹ in balls and not against the inverse of a root of Σ;
what follows from other answers is checked modulo two primes; and the bound is a nuclear norm, bounded below by a
contraction in balls, and not a sum of singular values in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from flint import arb, arb_mat, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.gaussian.mechanism import gaussian_space
from dxgeom.mechanisms.gaussian.program import best_covariance
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.program import least_cost_rates
from dxgeom.mechanisms.parts.table_candidates import MarginalSpace, marginal_space
from dxgeom.mechanisms.parts.tables import MarginalQuestion
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.jumps import GaussianWithJumps, rates_of_reaches
from dxgeom.noise.triangular import DifferencedNormals, KroneckerNormals
from dxgeom.planner.plan import Plan

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


def audit_covariance(plan: Plan) -> CovarianceAudit:
    """Check a plan's Gaussian noise again, with jumps or without, from its numbers and the metric alone.

    Guarantee: raises or is true: of hiding in balls, of the gap *rounded up*, that with jumps up to the rounding of
    their moments in float64.
    Raises: CertificateRefused for noise that is not Gaussian, that does not provably hide some difference, or for
    weights that prove no bound.
    """
    require(plan, Plan, "plan", "give a plan, or the 'plan' of what dx.load_plan returns")
    if not plan.answers_a_list:
        raise CertificateRefused(
            f"this audit is of noise that hides listed differences, and this plan is another: {plan.question_in_words}"
        )
    if plan.objective.size is not None:
        raise CertificateRefused(
            f"this audit is of squared errors, and the plan makes small the {plan.objective.title}"
        )
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
        near = audit_jumps(mechanism.law, shifts, listed.bounds)
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
    _require(len(near) <= _MOST_NEAR, f"more than {_MOST_NEAR:,} differences are too near to be told apart in float64")
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
    mixing = arb_mat(_in_units(plan, plan.mechanism.mixing_matrix))
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
        [
            [entry * arb(float(cost)).sqrt() for entry in row]
            for row, cost in zip(_in_units(plan, space.span.combinations), costs, strict=True)
        ]
    )
    bound = _nuclear_norm_below(points * answers.transpose()) ** 2 / sum(map(arb, found.weights.tolist()), arb(0))
    if space.worst:
        bound = bound / sum(map(arb, costs.tolist()), arb(0))
    _require(bool(bound > 0), "its weights prove no bound")
    return max(0.0, math.nextafter(float((value / bound - 1).upper()), math.inf))


def _in_units(plan: Plan, shares: NDArray[Any]) -> list[list[arb]]:
    """(K, m): what every answer has of each coordinate, times its unit and the root of its importance."""
    steps, factors = plan.mechanism.sensitivity.queries.steps, plan.objective.factors
    roots = [arb(cost).sqrt() for cost in (np.ones(len(steps)) if factors is None else factors).tolist()]
    units = [arb(step.numerator) / step.denominator * root for step, root in zip(steps, roots, strict=True)]
    rows = zip(shares.tolist(), units, strict=True)
    return [[arb(share.numerator) / share.denominator * unit for share in row] for row, unit in rows]


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


_UNITS: Final = 16
_DOWNWARD: Final = 1 - 2.0**-50


_NOT_LISTED: Final = "a difference is not among those that the noise jumps along at its distance"


def audit_jumps(
    law: GaussianWithJumps, shifts: NDArray[np.int64], bounds: NDArray[np.float64], *, some_may_stand: bool = False
) -> int:
    """Of Gaussian noise with jumps: how many differences (E, m), each with its distance (E,), were looked at in balls.

    Another route than the law's: differences are looked up by their own bytes, lengths are held against Σ⁻¹ and not
    against the inverse of its root, and rates are computed in another form, in more bits.

    Args: ``some_may_stand``: whether others may stand for a difference that the law does not jump along.
    Raises: CertificateRefused for a difference that the law does not jump along, or not far or often enough; TooLarge
    for one that others may stand for.
    """
    steps = np.ascontiguousarray(law.shifts.steps(slice(None)))
    distances = law.shifts.distances
    unlisted = _unlisted(steps, distances, np.ascontiguousarray(shifts), bounds)
    if unlisted and not some_may_stand:
        raise CertificateRefused(_NOT_LISTED)
    if unlisted:
        raise TooLarge(
            f"the noise jumps along all but {unlisted:,} of {len(shifts):,} changes; those between extreme kinds of "
            "records may stand for them, and this audit has no second route for that"
        )
    with ctx.workprec(_PRECISION):
        root = arb_mat(law.gaussian.body.axes.tolist())
        covariance = root * root.transpose()
        # x_eᵀΣ⁻¹x_e ≤ 1/s_e² says that the difference is hidden as if it were promised its distance over s_e.
        promised = distances / np.sqrt(law.reaches / _UNITS) * _DOWNWARD
        near = hidden_by(covariance, law.gaussian.second_moment, steps, promised)
        _require_rates(law.reaches)
    return near


def _unlisted(
    steps: NDArray[np.int64], distances: NDArray[np.float64], shifts: NDArray[np.int64], bounds: NDArray[np.float64]
) -> int:
    """How many of the shifts are not among the steps. Raises: CertificateRefused for one at more than its bound."""
    stated = {step.tobytes(): distance for step, distance in zip(steps, distances.tolist(), strict=True)}
    own = [stated.get(shift.tobytes(), stated.get((-shift).tobytes())) for shift in shifts]
    if any(distance is not None and distance > bound for distance, bound in zip(own, bounds.tolist(), strict=True)):
        raise CertificateRefused(_NOT_LISTED)
    return own.count(None)


def _require_rates(reaches: NDArray[np.int64]) -> None:
    total = 0
    for reach, many in zip(*(found.tolist() for found in np.unique(reaches, return_counts=True)), strict=True):
        length, rate = arb(fmpq(reach, _UNITS)), int(rates_of_reaches()[reach])
        least = (1 + 1 / length) / length * (-length / 2 - 1).exp() + 4 / length**2 * (-length / 2 - 2).exp()
        if reach < 2 * _UNITS or not arb(rate) >= 2 * least * arb(2) ** 64:
            raise CertificateRefused("some jump is not as frequent as its reach needs")
        total += rate * many
    if total >= 1 << 64:
        raise CertificateRefused("jumps would not end")


_TABLE_PRECISION: Final = 192
_MOST_IN_TABLES: Final = 50_000


def hidden_in_tables(mechanism: AdditiveMechanism) -> int:
    """Of normal noise in tables of counts: how many differences there are, all of them hidden, in exact rationals.

    Another route than the plan's, which sums budgets by a formula for residuals: each difference of the answers is
    taken to the noise's coordinates by solving for them, held against the answers in whole numbers, and its length is a
    rational.

    Raises: CertificateRefused; TooLarge where differences are not listed.
    """
    mixing, law = mechanism.mixing, mechanism.law
    if not isinstance(mixing, IntegerMixing) or not isinstance(law, ProductNoise):
        raise CertificateRefused("this audit is of normal noise in tables of counts")
    changes, bounds = mechanism.sensitivity.differences, mechanism.sensitivity.bounds
    _require(len(bounds) <= _MOST_IN_TABLES, f"more than {_MOST_IN_TABLES:,} differences are not checked one by one")
    parts = [part for part in law.parts if isinstance(part, (DifferencedNormals, KroneckerNormals))]
    _require(len(parts) == len(law.parts), "its law is not made of tables")
    solved = np.rint(np.linalg.lstsq(mixing.floats, changes.T.astype(np.float64), rcond=None)[0]).astype(np.int64)
    numerators = mixing.numerators.astype(object)
    for change, bound, shift in zip(changes.tolist(), bounds.tolist(), solved.T.tolist(), strict=True):
        made = numerators @ np.array(shift, dtype=object)
        same = all(int(one) == own * over for one, own, over in zip(made, change, mixing.divisors, strict=True))
        _require(same, "an answer does not change as its noise says")
        _require(_squared(shift, parts) <= Fraction(bound) ** 2, "it is too narrow for some difference")
    return len(bounds)


def _squared(shift: list[int], parts: list[DifferencedNormals | KroneckerNormals]) -> Fraction:
    """Σ ‖P(w)‖²/scale² over the tables; along bases, what each law says of its own shift, *rounded up*."""
    total, at = Fraction(0), 0
    for part in parts:
        own = np.array(shift[at : at + part.dimension], dtype=object)
        at += part.dimension
        if np.any(own) and isinstance(part, KroneckerNormals):
            one = own.astype(np.float64)[None]
            total += Fraction(float(part.loss_upper_bounds(one, np.zeros_like(one))[0])) ** 2
        elif np.any(own) and isinstance(part, DifferencedNormals):
            table = own.reshape([size - 1 for size in part.shape])
            for axis in range(table.ndim):
                table = np.concatenate([np.zeros_like(np.take(table, [0], axis=axis)), table], axis=axis)
                table = table * table.shape[axis] - table.sum(axis=axis, keepdims=True)
            over = Fraction(part.scale) * math.prod(part.shape)
            total += Fraction(int((table.ravel() ** 2).sum())) / over**2
    return total


def gap_in_tables(mechanism: AdditiveMechanism, factors: NDArray[np.float64] | None, worst: bool) -> float:
    """How far, relatively, the objective can be above that of the best Gaussian noise: *rounded up*.

    The bound is summed in balls from prices that are sought anew; of the worst answer it is that of the average, which
    is weaker.
    """
    space = marginal_space(mechanism.sensitivity, factors, worst)
    costs = np.ones(len(mechanism.ideal_variances)) if factors is None else factors
    weighted = mechanism.ideal_variances * costs
    value = float(weighted.max() if worst else weighted.sum()) * (1 + len(weighted) * 2.0**-44)
    shares = space.family.cells[space.family.workload_sets] * len(space.costs) if worst else np.ones(len(space.costs))
    question = MarginalQuestion.under(
        space.family, space.distance_bounds.most, space.distance_bounds.presence, space.least_costs / shares
    )
    prices = least_cost_rates(question.gaussian_budgets, question.weights[question.protected], 1).prices
    with ctx.workprec(_TABLE_PRECISION):
        bound = _bound(space, question, prices.tolist())
        _require(bool(bound > 0), "its weights prove no bound")
        return max(0.0, math.nextafter(float((arb(value) / bound - 1).upper()), math.inf))


def _bound(space: MarginalSpace, question: MarginalQuestion, prices: list[float]) -> arb:
    """(Σ_S √(w_S·y_S))²/Σ μ_k·ε_k², in balls."""
    sizes, paid = space.family.sizes.tolist(), {}
    limits: list[Fraction | None] = [*space.distance_bounds.most, space.distance_bounds.presence]
    for place, price in zip(question.limited.tolist(), prices, strict=True):
        paid[place] = arb(price)
    spent = sum((price * _ball(limits[place]) ** 2 for place, price in paid.items()), arb(0))
    weights: dict[int, Fraction] = {}
    for number, cost in zip(space.family.workload_sets.tolist(), question.costs.tolist(), strict=True):
        own = space.family.members_of(number)
        for mask in range(1 << len(own)):
            inside = tuple(a for bit, a in enumerate(own) if mask >> bit & 1)
            free = Fraction(cost) * math.prod(sizes[a] - 1 for a in inside)
            place = int(space.family.numbers(np.array([inside], dtype=np.int64).reshape(1, len(inside)))[0])
            weights[place] = weights.get(place, Fraction(0)) + free / math.prod(
                sizes[a] for a in own if a not in inside
            )
    total = arb(0)
    for place, weight in weights.items():
        inside = space.family.members_of(place)
        whole = math.prod((Fraction(sizes[a] - 1, sizes[a]) for a in inside), start=Fraction(1))
        load = paid.get(len(sizes), arb(0)) * _ball(whole)
        for a in inside:
            load += paid.get(a, arb(0)) * _ball(2 * whole / Fraction(sizes[a] - 1, sizes[a]))
        total += (_ball(weight) * load).sqrt()
    return total**2 / spent


def _ball(number: Any) -> arb:
    return arb(fmpq(number.numerator, number.denominator))
