"""Kernel: the best Gaussian noise for marginals, in closed form but for one number for each attribute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.marginals.program import BudgetedRates, least_cost_rates
from dxgeom.mechanisms.linear.marginals.question import MarginalQuestion

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
    return np.asarray(np.bincount(outer, variances[inner] * own[inner] / spread**2, family.count)[family.asked])


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
        self._cells = question.family.cells[question.family.asked]
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
