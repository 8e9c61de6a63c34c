"""Kernel: how much noise each part of whole tables gets, normal in residuals or Laplace in tables; by SciPy's L-BFGS.

The best normal noise has a closed form but for one number for each attribute. Laplace noise is in tables, those asked
for and smaller ones, put together by least squares: for pure privacy.

Table B with noise of scale b_B measures the residual of every S ⊆ B with variance 2·b_B²·Π_{a∈B∖S} n_a; taken as
differences where attributes have two values, that of fewer sets, with less. Measurements of one residual are averaged
with weights inverse to that. The error Σ_S w_S/τ_S, τ_S the sum of the inverses, is not convex in the rates 1/b. For
fixed shares of the measurements it is Σ_B g_B·b_B², which one dual variable for each attribute makes small; and for
fixed rates the best shares are known. Each of the two steps makes the error smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.parts.program import BudgetedRates, Budgets, least_cost_rates
from dxgeom.mechanisms.parts.tables import MarginalQuestion
from dxgeom.numeric.sealed import cached_property

NORMAL: Final = "marginal-gaussian"
LAPLACE: Final = "marginal-laplace"
_SHIFTS: Final = 40
_EVEN: Final = 1e-9
_CLOSE: Final = 1e-7
_PACE: Final = 2.0
_LEAST: Final = 1e-12
_NOTHING: Final = 1e-300
_SEARCHED: Final = 1000
_RESTARTS: Final = 8
"""The search ends where rounding hides what leads on; from there, without its memory, it mostly finds a way."""


@final
@dataclass(frozen=True, eq=False)
class GaussianScales:
    """``variances`` (sets,): σ_S² of the noise in each residual, 0 where nothing is protected.

    ``value``: the objective there; ``bound``: what no Gaussian noise under these constants has less than. Both up to
    the rounding of float64.
    """

    variances: NDArray[np.float64] = field(repr=False)
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """value/bound − 1."""
        return self.value / self.bound - 1 if self.bound > 0 else 0.0


def best_gaussian_scales(question: MarginalQuestion, worst: bool = False) -> GaussianScales:
    """The variances of least total error, each times its cost; with ``worst`` of the least worst cell's.

    Definition: minimise Σ_S w_S·σ_S² subject to Σ_{S∋k} 2·Π_{a∈S∖k}(1−1/n_a)/σ_S² ≤ ε_k² for every attribute, and
    Σ_S Π_{a∈S}(1−1/n_a)/σ_S² ≤ ε₀² for presence. By symmetry no covariance of any other form is better.
    Guarantee: up to the rounding of float64; what is released is checked exactly, see ``exact_loads``.
    Source: Xiao et al. 2023, ResidualPlanner, for one budget in all; here for a metric.
    """
    sought = question.protected & (question.weights > 0)
    if not np.any(sought):
        return GaussianScales(np.zeros(question.family.count), 0.0, 0.0)
    if worst:
        return _least_worst(question)
    return _scales(question, least_cost_rates(question.gaussian_budgets, question.weights[question.protected], 1))


def _scales(question: MarginalQuestion, found: BudgetedRates) -> GaussianScales:
    variances = np.zeros(question.family.count)
    variances[question.protected] = 1 / found.rates
    return GaussianScales(variances, found.value, found.bound)


def cell_variances(question: MarginalQuestion, variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """(asked,): the variance of each cell of each marginal, from that in each residual (sets,)."""
    family = question.family
    inner, outer, spread = family.inclusions
    own = family.products(1 - 1 / family.sizes)
    return np.asarray(np.bincount(outer, variances[inner] * own[inner] / spread**2, family.count)[family.workload_sets])


def _least_worst(question: MarginalQuestion) -> GaussianScales:
    """Shares of attention at which all weighted errors that count are alike; any shares give a bound and noise.

    The least total error is concave in the shares: a few multiplicative steps, then L-BFGS in their square roots, which
    leaves those at 0 that do not count.
    """
    search = _Attention(question)
    shares = np.full(len(question.costs), 1 / len(question.costs))
    for _ in range(_SHIFTS):
        errors, _ = search.errors_at(shares)
        if search.gap < _EVEN:
            break
        shares = shares * (errors / errors.max()) ** _PACE
        shares = np.maximum(shares / shares.sum(), _LEAST)
    for _ in range(_RESTARTS):
        if search.gap < _CLOSE:
            break
        shares = search.improved(shares)
    return GaussianScales(search.variances, search.value, search.bound)


@final
class _Attention:
    """What shares of attention to tables have shown: the best ``variances``, their worst error, the best ``bound``."""

    def __init__(self, question: MarginalQuestion) -> None:
        self._question = question
        self._cells = question.family.cells[question.family.workload_sets]
        self._prices: NDArray[np.float64] | None = None
        self.variances = np.zeros(question.family.count)
        self.value, self.bound = np.inf, 0.0

    @property
    def gap(self) -> float:
        """value/bound − 1."""
        return self.value / self.bound - 1

    def errors_at(self, shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """The weighted errors of cells by table, and the bound, with the noise that is best at these shares."""
        question = self._question
        weights = question.weights_for(question.costs * shares / self._cells)[question.protected]
        found = least_cost_rates(question.gaussian_budgets, weights, 1, self._prices)
        here, self._prices = _scales(question, found), found.prices
        errors = cell_variances(question, here.variances) * question.costs
        if errors.max() < self.value:
            self.value, self.variances = float(errors.max()), here.variances
        self.bound = max(self.bound, here.bound)
        return errors, here.bound

    def improved(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Searches on from these shares; what it meets is kept. Returns where it ended."""
        from scipy.optimize import minimize  # not before it is needed: most plans want total errors small

        def falling(roots: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            squares = roots * roots
            whole = squares.sum()
            errors, bound = self.errors_at(np.maximum(squares / whole, _NOTHING))
            return -float(np.log(bound)), (1 - errors / bound) * 2 * roots / whole

        def enough(_: object) -> None:
            if self.gap < _CLOSE:
                raise StopIteration

        options = {"maxiter": _SEARCHED, "maxcor": 20, "ftol": 0.0, "gtol": 1e-14, "maxfun": 2 * _SEARCHED}
        begun = np.sqrt(shares)
        ended = minimize(falling, begun, jac=True, method="L-BFGS-B", options=options, callback=enough).x
        return np.asarray(ended**2 / np.sum(ended**2))


_STARTS: Final = ((0.0, 1.0), (0.0, 1e-2), (0.5, 1.0), (0.5, 1e-2), (1.0, 1.0))
"""Rates begin as the cells of a table to a power, those of differences times a factor."""
_TRIAL: Final = 12
_STEPS: Final = 600
_STEPS_AGAIN: Final = 60
_LITTLE: Final = 1e-3
_SAME: Final = 1e-9
_PATIENCE: Final = 8
_FARTHEST: Final = 690.0
_USED: Final = 1e-9
_TELLING: Final = 1e-9
SHARES: Final = 1 << 12
"""Measurements of one residual are averaged in whole parts of this."""
_ATTENTION_SHIFTS: Final = 12
_ALIKE: Final = 1 + 1e-3


@final
@dataclass(frozen=True, eq=False)
class LaplaceScales:
    """``rates`` (2·sets,): 1/b of the noise in the table of each set, and after them in those of differences, as
    ``MarginalQuestion.measurable`` numbers them; 0 where it is not measured. A local optimum."""

    rates: NDArray[np.float64] = field(repr=False)
    value: float


class MeasuredTables(Protocol):
    """Tables that can be measured, and residuals that they tell of; each has a number below ``count``, and a table
    taken as differences one beyond that."""

    @property
    def count(self) -> int:
        """How many sets, or blocks, there are."""

    @property
    def cells(self) -> NDArray[np.float64]:
        """(count,): of each table."""

    @property
    def protected(self) -> NDArray[np.bool_]:
        """(count,): as ``MarginalQuestion`` has it."""

    @property
    def measurable(self) -> NDArray[np.int64]:
        """(tables,): likewise."""

    @property
    def measurements(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Residuals, tables, and how many times the variance of a table's noise the residual has."""

    @property
    def laplace_budgets(self) -> Budgets:
        """Of the rates of ``measurable``."""


@final
@dataclass(frozen=True, eq=False)
class _Measured:
    """Which protected residual each measurable table says something of."""

    question: MeasuredTables
    weights: NDArray[np.float64]

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Places of S among the protected sets, of the table among the measurable, and the variance that S has."""
        inner, outer, spread = self.question.measurements
        table = np.empty(2 * self.question.count, dtype=np.int64)
        table[self.question.measurable] = np.arange(len(self.question.measurable))
        return (np.cumsum(self.question.protected) - 1)[inner], table[outer], spread

    def precisions(self, rates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of each pair, and of each residual in all."""
        inner, outer, spread = self.pairs
        each = rates[outer] ** 2 / (2 * spread)
        return each, np.asarray(np.bincount(inner, each, len(self.weights)), dtype=np.float64)

    def needs(self, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which tables are measured: those of some rate, and those without which a residual would be known less well,
        or not at all, however little it counts."""
        inner, outer, _ = self.pairs
        each, whole = self.precisions(rates)
        telling = np.bincount(outer[each > whole[inner] * _TELLING], minlength=len(rates)) > 0
        return np.asarray(telling | (rates > rates.max() * _USED))

    def error(self, rates: NDArray[np.float64]) -> float:
        """Σ w/τ at rates that are within their budgets."""
        with np.errstate(divide="ignore", over="ignore"):  # what nothing measures has no error that is finite
            counted = self.weights > 0
            return float((self.weights[counted] / self.precisions(rates)[1][counted]).sum())

    def improved(
        self, rates: NDArray[np.float64], prices: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Better rates, by the shares that are best at the old ones; and prices to begin with next time."""
        inner, outer, spread = self.pairs
        each, whole = self.precisions(rates)
        costs = np.bincount(outer, self.weights[inner] * (each / whole[inner]) ** 2 * 2 * spread, len(rates))
        found = least_cost_rates(self.question.laplace_budgets, np.maximum(costs, costs.max() * 1e-60), 2, prices)
        return found.rates, found.prices


def best_laplace_scales(
    question: MarginalQuestion, costs: NDArray[np.float64] | None = None, begun: LaplaceScales | None = None
) -> LaplaceScales:
    """Rates of little total error; ``costs`` (asked,): instead of the question's; ``begun``: what was best at other
    costs, near which it is then looked for.

    Definition: make Σ_S w_S/τ_S small, τ_S the sum over tables of 1/(2·b²) over how many times the noise's variance S
    has, Π_{a∈B∖S} n_a for the table of B, subject to Σ_{B∋k} 2/b_B ≤ ε_k for every
    attribute and Σ_B 1/b_B ≤ ε₀ for presence. Several starts, the best of them followed to where it stays.
    Guarantee: a feasible choice, up to the rounding of float64; nothing is promised of other local optima.
    """
    weights = (question.weights if costs is None else question.weights_for(costs))[question.protected]
    return rates_of_tables(question, weights, begun)


def rates_of_tables(
    question: MeasuredTables, weights: NDArray[np.float64], begun: LaplaceScales | None = None
) -> LaplaceScales:
    """The same for other tables than those of sets of attributes; ``weights``: of the protected residuals."""
    every = np.zeros(2 * question.count)
    if not np.any(weights > 0):
        return LaplaceScales(every, 0.0)
    measured = _Measured(question, weights)
    if begun is None:
        tried = [_followed(measured, _start(question, *start), _TRIAL) for start in _STARTS]
        rates = _followed(measured, min(tried, key=measured.error), _STEPS)
    else:
        rates = begun.rates[question.measurable]
        rates = _followed(measured, np.maximum(rates, rates.max() * _LITTLE), _STEPS_AGAIN)
    every[question.measurable] = np.where(measured.needs(rates), rates, 0.0)
    return LaplaceScales(every, measured.error(rates))


def _start(question: MeasuredTables, power: float, differing: float) -> NDArray[np.float64]:
    rates = question.cells[question.measurable % question.count] ** power
    rates = np.where(question.measurable < question.count, rates, rates * differing)
    return np.asarray(rates / question.laplace_budgets.most_used(rates))


def _followed(measured: _Measured, rates: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Both steps again and again, and beyond them in logarithms as long as that is better still."""
    error, reach, still, prices = measured.error(rates), 1.0, 0, None
    for _ in range(steps):
        better, prices = measured.improved(rates, prices)
        further = np.log(np.maximum(rates, 1e-300)) * (1 - reach) + np.log(np.maximum(better, 1e-300)) * reach
        beyond = np.exp(np.clip(further, -_FARTHEST, _FARTHEST))
        beyond = beyond / measured.question.laplace_budgets.most_used(beyond)
        there, here = measured.error(beyond), measured.error(better)
        if there < here:
            chosen, least, reach = beyond, there, reach * 1.5
        else:
            chosen, least, reach = better, here, max(1.0, reach / 2)
        still = still + 1 if least > error * (1 - _SAME) else 0
        rates, error = chosen, least
        if still >= _PATIENCE:
            break
    return rates


def scales_of_laplace(question: MarginalQuestion, worst: bool) -> NDArray[np.float64]:
    """(2·sets,): the scales of Laplace noise in measured tables, 0 where none is, before they are proved."""
    rates = _worst_rates(question) if worst else best_laplace_scales(question).rates
    return only_taken(question, inverse(rates))


def inverse(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of rates the scales, and of scales the rates; 0 of 0."""
    return np.asarray(np.where(numbers > 0, 1 / np.where(numbers > 0, numbers, 1.0), 0.0))


def _worst_rates(question: MarginalQuestion) -> NDArray[np.float64]:
    """Attention is shifted to the tables that come out worst, each time from the rates of the time before; the best of
    what that finds."""
    family = question.family
    attention, best, least = question.costs / family.cells[family.workload_sets], np.zeros(2 * family.count), math.inf
    found: LaplaceScales | None = None
    for _ in range(_ATTENTION_SHIFTS):
        found = best_laplace_scales(question, attention, found)
        errors = cell_variances(question, residual_variances(question, found.rates)) * question.costs
        if float(errors.max()) < least:
            best, least = found.rates, float(errors.max())
        if float(errors.max()) <= _ALIKE * float(errors.min()):
            break
        attention = attention * np.sqrt(np.maximum(errors / max(float(errors.max()), 1e-300), 1e-6))
    return best


def residual_variances(question: MarginalQuestion, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """(sets,): the variance of the best average of what tables with noise of these rates say of each residual."""
    inner, outer, spread = question.measurements
    precision = np.bincount(inner, rates[outer] ** 2 / (2 * spread), question.family.count)
    return np.asarray(np.where(question.protected, 1 / np.where(precision > 0, precision, 1.0), 0.0))


def measurement_shares(question: MeasuredTables, scales: NDArray[np.float64]) -> dict[int, dict[int, int]]:
    """For each protected S, by number, the part of :data:`SHARES` that each measured table has in its average.

    Next to the best, in proportion to their exactness; they add up exactly. Every step is one of float64's four
    operations in a fixed order, the same on every machine.
    """
    inner, outer, spread = question.measurements
    used = scales[outer] > 0
    inner, outer, each = inner[used], outer[used], 1 / (2 * spread[used] * scales[outer[used]] * scales[outer[used]])
    whole = np.bincount(inner, each, question.count)
    parts = np.floor(each / whole[inner] * SHARES).astype(np.int64)
    shares: dict[int, dict[int, int]] = {place: {} for place in np.unique(inner).tolist()}
    for small, large, part in zip(inner.tolist(), outer.tolist(), parts.tolist(), strict=True):
        shares[small][large] = part
    for own in shares.values():
        heaviest = max(own, key=lambda large: (own[large], -large))
        own[heaviest] += SHARES - sum(own.values())
    return {small: {large: part for large, part in own.items() if part} for small, own in shares.items()}


def only_taken(
    question: MeasuredTables, scales: NDArray[np.float64], wanted: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """``scales`` without those of tables that nothing is taken of in an average, of ``wanted`` ones where these are
    given. Others would get noise of any size, such as no integer holds, and stop a release for it."""
    taken = np.zeros(len(scales), dtype=bool)
    for number, shares in measurement_shares(question, scales).items():
        if wanted is None or wanted[number]:
            taken[list(shares)] = True
    return np.asarray(np.where(taken, scales, 0.0))
