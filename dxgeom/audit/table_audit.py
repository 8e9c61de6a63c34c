"""Normal noise in tables of counts, checked again: that it hides every difference, and how near it is to the best.

Another route than the plan's: a plan sums budgets by a formula for residuals; here each difference of the answers is
taken to the noise's coordinates by solving for them, held against the answers in whole numbers, and its length is a
rational. The bound is summed in balls from prices that are sought anew.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.mechanisms.parts.program import least_cost_rates
from dxgeom.mechanisms.parts.table_candidates import MarginalSpace, marginal_space
from dxgeom.mechanisms.parts.tables import MarginalQuestion
from dxgeom.noise.laws.composed import ProductNoise
from dxgeom.noise.laws.tables.differenced import DifferencedNormals
from dxgeom.noise.laws.tables.kronecker import KroneckerNormals

_PRECISION: Final = 192
_MOST: Final = 50_000


def hidden_in_tables(mechanism: AdditiveMechanism) -> int:
    """How many differences there are, all of them hidden, in exact rationals.

    Raises: CertificateRefused; TooLarge where differences are not listed.
    """
    mixing, law = mechanism.mixing, mechanism.law
    if not isinstance(mixing, IntegerMixing) or not isinstance(law, ProductNoise):
        raise CertificateRefused("this audit is of normal noise in tables of counts")
    changes, bounds = mechanism.sensitivity.differences, mechanism.sensitivity.bounds
    _require(len(bounds) <= _MOST, f"more than {_MOST:,} differences are not checked one by one")
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
    """How far, relatively, the objective can be above that of the best Gaussian noise: *rounded up*. Of the worst
    answer the bound is that of the average, which is weaker."""
    space = marginal_space(mechanism.sensitivity, factors, worst)
    costs = np.ones(len(mechanism.ideal_variances)) if factors is None else factors
    weighted = mechanism.ideal_variances * costs
    value = float(weighted.max() if worst else weighted.sum()) * (1 + len(weighted) * 2.0**-44)
    shares = space.family.cells[space.family.asked] * len(space.costs) if worst else np.ones(len(space.costs))
    question = MarginalQuestion.under(
        space.family, space.promise.most, space.promise.presence, space.least_costs / shares
    )
    prices = least_cost_rates(question.gaussian_budgets, question.weights[question.protected], 1).prices
    with ctx.workprec(_PRECISION):
        bound = _bound(space, question, prices.tolist())
        _require(bool(bound > 0), "its weights prove no bound")
        return max(0.0, math.nextafter(float((arb(value) / bound - 1).upper()), math.inf))


def _bound(space: MarginalSpace, question: MarginalQuestion, prices: list[float]) -> arb:
    """(Σ_S √(w_S·y_S))²/Σ μ_k·ε_k², in balls."""
    sizes, paid = space.family.sizes.tolist(), {}
    limits: list[Fraction | None] = [*space.promise.most, space.promise.presence]
    for place, price in zip(question.limited.tolist(), prices, strict=True):
        paid[place] = arb(price)
    spent = sum((price * _ball(limits[place]) ** 2 for place, price in paid.items()), arb(0))
    weights: dict[int, Fraction] = {}
    for number, cost in zip(space.family.asked.tolist(), question.costs.tolist(), strict=True):
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


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise CertificateRefused(f"this Gaussian noise is not what it has to be: {what}")
