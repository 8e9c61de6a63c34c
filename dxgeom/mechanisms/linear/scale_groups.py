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

    ``tie`` (K,): the variable of each query, −1 for those without noise; ``alone`` (K,); ``weights`` (K,): what a
    squared scale costs.
    """

    sensitivity: Sensitivity = field(repr=False)
    tie: NDArray[np.int64]
    alone: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def count(self) -> int:
        """The number of variables."""
        return int(self.tie.max()) + 1

    @property
    def cost(self) -> NDArray[np.float64]:
        """What 1/v_t² costs: its queries together."""
        total = np.zeros(self.count)
        np.add.at(total, self._tie, self._cost_of_each)
        return total

    @property
    def worst_cost(self) -> NDArray[np.float64]:
        """What 1/v_t² costs: the worst of its queries."""
        worst = np.zeros(self.count)
        np.maximum.at(worst, self._tie, self._cost_of_each)
        return worst

    def of_each(self, variables: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rates of the noisy queries."""
        return np.asarray(variables[self._tie] * self.alone[self._noisy])

    def heaviest(self, variables: NDArray[np.float64], most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The heaviest changes, in terms of the variables."""
        rates = np.zeros(len(self.tie))
        rates[self._noisy] = self.of_each(variables)
        loads, rows = self.sensitivity.changes.heaviest(rates, most)
        scaled = (rows * self.alone)[:, self._noisy]
        if self.count == scaled.shape[1]:
            return loads, scaled[:, np.argsort(self._tie)]
        tied = np.zeros((len(rows), self.count))
        np.add.at(tied.T, self._tie, scaled.T)
        return loads, tied

    @property
    def _cost_of_each(self) -> NDArray[np.float64]:
        return np.asarray(self.weights[self._noisy] / self.alone[self._noisy] ** 2)

    @property
    def _noisy(self) -> NDArray[np.bool_]:
        return self.tie >= 0

    @property
    def _tie(self) -> NDArray[np.int64]:
        return self.tie[self._noisy]


def group_scales(sensitivity: Sensitivity, weights: NDArray[np.float64]) -> ScaleGroups:
    """A variable for each noisy query; beyond 600 queries one for all of a table with the same sensitivity and
    weight."""
    own = sensitivity.of_each_query
    noisy = np.flatnonzero(own > 0)
    tie = np.full(len(own), -1, dtype=np.int64)
    alike = np.stack([sensitivity.queries.tables.table_of_each[noisy], own[noisy], weights[noisy]], axis=1)
    if len(noisy) <= MOST_FREE:
        tie[noisy] = np.arange(len(noisy))
    else:
        tie[noisy] = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1)
    alone = np.zeros(len(own))
    alone[noisy] = 1 / own[noisy]
    return ScaleGroups(sensitivity, tie, alone, weights)
