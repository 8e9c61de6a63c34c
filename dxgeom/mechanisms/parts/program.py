"""Kernel: rates of least cost within one budget for each attribute, with a certificate; one dual variable for each.

Primal: minimise Σ_S g_S/p_S^r subject to Σ_S c_Sk·p_S ≤ e_k, p > 0. Dual: with y = Cμ, Y = Σ_S (r·g_S·y_S^r)^(1/(r+1))
is Σ y_S·p_S, and Y^(r+1)/(r·(μ·e)^r) is a lower bound for every μ ≥ 0. The rates p_S = (r·g_S/y_S)^(1/(r+1)), made
feasible by one factor, are the primal side: their quotient is the certificate, and no step of the search is believed.

The search is damped Newton's method in log μ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.numeric.sealed import Sealed

if TYPE_CHECKING:
    from scipy import sparse

GAP: Final = 1e-11
"""Relative gap at which the search ends."""
_STEPS: Final = 400
_LONGEST: Final = 3.0
_HALVINGS: Final = 30


@final
@dataclass(frozen=True, eq=False)
class BudgetedRates:
    """``rates`` (S,): p, within every budget up to the rounding of float64; ``prices`` (k,): μ.

    ``value``: of the primal; ``bound``: of the dual, below every choice of rates. Both up to the rounding of float64.
    """

    rates: NDArray[np.float64]
    prices: NDArray[np.float64]
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """value/bound − 1."""
        return self.value / self.bound - 1


@final
@dataclass(frozen=True, eq=False)
class Budgets(Sealed):
    """What rates use up: ``shares`` (S, k), sparse, positive in each row somewhere, and the ``limits`` (k,)."""

    shares: sparse.csr_matrix
    limits: NDArray[np.float64]

    def most_used(self, rates: NDArray[np.float64]) -> float:
        """The largest part of a limit that is used up."""
        return float((self.shares.T @ rates / self.limits).max())


def least_cost_rates(
    budgets: Budgets, costs: NDArray[np.float64], power: int, start: NDArray[np.float64] | None = None
) -> BudgetedRates:
    """Rates with the least Σ costs/rates^power. ``costs`` (S,): not negative; ``start`` (k,): prices to begin with.

    Guarantee: ends at a gap of 1e-11, or with the one that :attr:`BudgetedRates.gap` states.
    Raises: CertificateRefused where float64 finds no rates.
    """
    prices = np.full(len(budgets.limits), 1.0) / budgets.limits if start is None else start
    best, state = None, _at(budgets, costs, power, prices)
    for _ in range(_STEPS):
        found = _rated(budgets, power, state)
        best = found if best is None or found.gap < best.gap else best
        if best.gap <= GAP:
            break
        moved = _stepped(budgets, costs, power, state)
        if moved is None:
            break
        state = moved
    if best is None or not np.isfinite(best.gap):
        raise CertificateRefused("no rates were found within these budgets in float64")
    return best


@final
@dataclass(frozen=True, eq=False)
class _State:
    """Prices at their best scale, with y, p and the dual value there."""

    prices: NDArray[np.float64]
    weights: NDArray[np.float64]
    rates: NDArray[np.float64]
    value: float


def _at(budgets: Budgets, costs: NDArray[np.float64], power: int, prices: NDArray[np.float64]) -> _State:
    weights = budgets.shares @ prices
    rates = (power * costs / weights) ** (1 / (power + 1))
    spent, paid = float(weights @ rates), float(prices @ budgets.limits)
    scale = (spent / paid) ** (power + 1)
    value = spent * (spent / paid) ** power / power
    return _State(prices * scale, weights * scale, rates * scale ** (-1 / (power + 1)), value)


def _rated(budgets: Budgets, power: int, state: _State) -> BudgetedRates:
    used = budgets.most_used(state.rates)
    value = float(state.weights @ state.rates) / power * used**power
    return BudgetedRates(state.rates / used, state.prices, value, state.value)


def _stepped(budgets: Budgets, costs: NDArray[np.float64], power: int, state: _State) -> _State | None:
    """A Newton step in the logarithms of the prices, shortened until it leads up; None where none does."""
    prices = state.prices
    gradient = prices * (budgets.shares.T @ state.rates - budgets.limits)
    bends = state.rates / ((power + 1) * state.weights)
    curved = np.asarray((budgets.shares.T @ budgets.shares.multiply(bends[:, None]).tocsr()).todense())
    curved = curved * prices[:, None] * prices
    diagonal = np.maximum(-gradient, 0.0) + 1e-14 * np.diag(curved) + 1e-300
    curved[np.arange(len(prices)), np.arange(len(prices))] += diagonal
    step = np.linalg.lstsq(curved, gradient, rcond=None)[0] if _singular(curved) else np.linalg.solve(curved, gradient)
    step = np.clip(step, -_LONGEST, _LONGEST)
    for _ in range(_HALVINGS):
        moved = _at(budgets, costs, power, prices * np.exp(step))
        if moved.value > state.value:
            return moved
        step = step / 2
    return None


def _singular(matrix: NDArray[np.float64]) -> bool:
    return bool(np.linalg.cond(matrix) > 1e15)
