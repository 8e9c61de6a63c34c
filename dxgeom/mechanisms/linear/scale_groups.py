"""The variables of the programme for Laplace scales: one rate for each query, or for many queries that are alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.sensitivity import Sensitivity

MOST_FREE = 600
"""More noisy queries than this share rates where they are alike."""


@final
@dataclass(frozen=True, eq=False)
class ScaleGroups:
    """A variable v_t stands for the rates v_t·alone_k of its queries; ``alone`` is what each could have by itself.

    ``noisy`` (K,): the queries with noise, k of them; ``tie`` (k,): the variable of each; ``alone`` (k,); ``costs``
    (k,): what 1/v_t² costs for each.
    """

    sensitivity: Sensitivity = field(repr=False)
    noisy: NDArray[np.bool_]
    tie: NDArray[np.int64]
    alone: NDArray[np.float64]
    costs: NDArray[np.float64]

    @property
    def count(self) -> int:
        """The number of variables."""
        return int(self.tie.max()) + 1

    @property
    def cost(self) -> NDArray[np.float64]:
        """What 1/v_t² costs: its queries together."""
        total = np.zeros(self.count)
        np.add.at(total, self.tie, self.costs)
        return total

    @property
    def worst_cost(self) -> NDArray[np.float64]:
        """What 1/v_t² costs: the worst of its queries."""
        worst = np.zeros(self.count)
        np.maximum.at(worst, self.tie, self.costs)
        return worst

    def of_each(self, variables: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rates of the noisy queries."""
        return np.asarray(variables[self.tie] * self.alone)

    def heaviest(self, variables: NDArray[np.float64], most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The heaviest changes, in terms of the variables."""
        rates = np.zeros(len(self.noisy))
        rates[self.noisy] = self.of_each(variables)
        loads, rows = self.sensitivity.changes.heaviest(rates, most)
        scaled = rows[:, self.noisy] * self.alone
        if self.count == scaled.shape[1]:
            return loads, scaled[:, np.argsort(self.tie)]
        tied = np.zeros((len(rows), self.count))
        np.add.at(tied.T, self.tie, scaled.T)
        return loads, tied


def group_scales(sensitivity: Sensitivity, weights: NDArray[np.float64]) -> ScaleGroups:
    """A variable for each noisy query; beyond 600 queries one for all of a table with the same sensitivity and
    weight."""
    noisy = sensitivity.of_each_query > 0
    own, weights = sensitivity.of_each_query[noisy], weights[noisy]
    tie = np.arange(len(own))
    if len(own) > MOST_FREE:
        alike = np.stack([sensitivity.queries.tables.table_of_each[noisy], own, weights], axis=1)
        tie = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1)
    alone = 1 / own
    return ScaleGroups(sensitivity, noisy, tie, alone, weights / alone**2)
