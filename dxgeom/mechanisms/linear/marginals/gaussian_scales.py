"""The best Gaussian noise for marginals, in closed form but for one number for each attribute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.marginals.program import BudgetedRates, least_cost_rates
from dxgeom.mechanisms.linear.marginals.question import MarginalQuestion

_SHIFTS: Final = 300
_EVEN: Final = 1e-9
_PACE: Final = 0.5


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
    """Multiplicative steps towards costs at which all weighted errors are alike; each gives a bound and noise."""
    cells, size = question.family.cells[question.family.asked], len(question.costs)
    shares = np.full(size, 1 / size)
    best: GaussianScales | None = None
    bound, prices = 0.0, None
    for _ in range(_SHIFTS):
        weights = question.weights_for(question.costs * shares / cells)[question.protected]
        found = least_cost_rates(question.gaussian_budgets, weights, 1, prices)
        here, prices = _scales(question, found), found.prices
        errors = cell_variances(question, here.variances) * question.costs
        bound = max(bound, here.bound)
        if best is None or errors.max() < best.value:
            best = GaussianScales(here.variances, float(errors.max()), bound)
        if best.value / bound - 1 < _EVEN:
            break
        shares = shares * (errors / errors.max()) ** _PACE
        shares = np.maximum(shares / shares.sum(), 1e-15)
    if best is None:
        return GaussianScales(np.zeros(question.family.count), 0.0, 0.0)
    return GaussianScales(best.variances, best.value, bound)
