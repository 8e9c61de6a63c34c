"""Kernel: the best noise along bases, as far as averages over all cells tell; and a bound of all Gaussian noise.

Dual: weights μ_a·q_e of pairs of each attribute, every cell of the others alike. L_a of each attribute and the moment
of the tables asked for have the same vectors, ⊗_a u_{a,l_a}: so the bound is
(Σ_S Σ_l √(γ_S·Σ_{a∈S} μ_a·n_a·λ_{a,l}))²/Σμ, γ_S = Σ_{A⊇S} u_A/Π_{a∈A} n_a.
Its rates, made feasible by one factor, are the noise: they are the best where
every cell is like every other, and the quotient says how far they are from that at most.

Prices μ by Newton's method at given weights; then weights are multiplied by what their pairs are worth, and again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds
from dxgeom.mechanisms.parts.bases import (
    Blocks,
    Loads,
    TurnedShifts,
    ValueDistances,
    WeighedPairs,
    cell_errors,
    weighed_pairs,
)
from dxgeom.mechanisms.parts.program import BudgetedRates, Budgets, least_cost_rates
from dxgeom.mechanisms.parts.tables import CellErrors, SetFamily

_TURNS: Final = 6
_TURNS_TO_THE_WORST: Final = 20
_MARGINS: Final = (1e-13, 1e-11, 1e-9, 1e-7)
_SAME: Final = 1e-4
_MOST_SETS: Final = 20_000
_NEAR: Final = 1 + Fraction(1, 2**30)
_UPWARD: Final = 1 + 2.0**-20
"""Distances are rounded down, a bound needs them rounded up; and sums in float64."""


class FoundNoise(NamedTuple):
    """``bases``: of each attribute, None where its values are all equally far apart; ``spreads`` (coordinates,): proved
    to be enough. ``loss``: of the objective; ``bound``: what no Gaussian noise has less than."""

    bases: tuple[NDArray[np.float64] | None, ...]
    spreads: NDArray[np.float64]
    loss: float
    bound: float


@final
@dataclass(frozen=True, eq=False)
class KroneckerQuestion:
    """Whole tables under any distances of each attribute's values: ``uneven``, or constants of ``distance_bounds``;
    ``costs`` (asked,): what each cell's squared error counts. ``worst``: whether the worst cell's counts, or all
    together."""

    family: SetFamily
    distance_bounds: DistanceBounds
    uneven: tuple[ValueDistances | None, ...]
    costs: NDArray[np.float64] = field(repr=False)
    worst: bool

    def best(self) -> FoundNoise:
        """The best that is found, and the largest bound. Raises: CertificateRefused; TooLarge."""
        if self.family.count > _MOST_SETS:
            raise TooLarge(f"noise along bases is sought for at most {_MOST_SETS:,} sets of attributes")
        blocks = Blocks.of(self.family, [one is not None for one in self.uneven])
        pairs = tuple(None if one is None else weighed_pairs(one) for one in self.uneven)
        size = len(self.costs)
        shares = self.family.cells[self.family.workload_sets] ** -1.0 / size if self.worst else np.ones(size)
        best: FoundNoise | None = None
        bound, prices = 0.0, None
        for _ in range(_TURNS_TO_THE_WORST if self.worst else _TURNS):
            turn = _Turn(self, blocks, pairs, self.costs * shares)
            rates = turn.rates(prices)
            prices, bound = rates.prices, max(bound, rates.bound / _UPWARD)
            found, errors = turn.noise(rates, self)
            if best is None or found.loss < best.loss:
                best = found
            if best.loss <= bound * (1 + _SAME):
                break
            pairs = turn.reweighed(rates)
            if self.worst:
                attention = np.sqrt(errors.most * self.costs / float((errors.most * self.costs).max()))
                shares = shares * attention * self.family.cells[self.family.workload_sets]
                shares = np.maximum(shares / shares.sum(), 1e-15) / self.family.cells[self.family.workload_sets]
        if best is None:
            raise CertificateRefused("no noise was found along these bases")
        return best._replace(bound=bound if self._bounds_hold else 0.0)

    @property
    def _bounds_hold(self) -> bool:
        """Whether the constants are the very distances of the attributes without a basis, so that bounds hold."""
        both = zip(self.uneven, self.distance_bounds.least, self.distance_bounds.most, strict=True)
        return all(
            one is not None or low is None or (high is not None and high <= low * _NEAR) for one, low, high in both
        )


@final
@dataclass(frozen=True, eq=False)
class _Turn:
    """Weights of pairs, and costs of tables; what follows from both."""

    question: KroneckerQuestion
    blocks: Blocks
    pairs: tuple[WeighedPairs | None, ...]
    costs: NDArray[np.float64]

    @property
    def _weights(self) -> NDArray[np.float64]:
        """(sets,): γ."""
        family = self.blocks.family
        inner, outer, _ = family.inclusions
        each = np.zeros(family.count)
        each[family.workload_sets] = self.costs / family.cells[family.workload_sets]
        return np.asarray(np.bincount(inner, each[outer], family.count), dtype=np.float64)

    def _budgets(self, among: NDArray[np.bool_]) -> tuple[Budgets, NDArray[np.int64]]:
        """Of the coordinates that are protected; and the attribute of each limit, d for presence."""
        from scipy import sparse

        rows, columns, vectors = self.blocks.spots
        sizes, promise = self.blocks.family.sizes, self.question.distance_bounds
        entries, limits = np.zeros(len(rows)), np.zeros(len(sizes) + 1)
        for a, own in enumerate(self.pairs):
            here, constant = columns == a, promise.least[a]
            if own is not None:
                entries[here], limits[a] = sizes[a] * own.values[vectors[here]], 1.0
            elif constant is not None:
                entries[here], limits[a] = 2 * sizes[a] / (sizes[a] - 1), float(constant) ** 2
        if promise.presence is not None:
            every = np.arange(self.blocks.count)
            rows, columns = np.concatenate([rows, every]), np.concatenate([columns, np.full(len(every), len(sizes))])
            entries, limits[-1] = np.concatenate([entries, np.ones(len(every))]), float(promise.presence) ** 2
        used = np.flatnonzero(limits > 0)
        shares = sparse.csr_matrix((entries, (rows, columns)), (self.blocks.count, len(sizes) + 1))
        return Budgets(shares[among][:, used].tocsr(), limits[used]), used

    def _protected(self) -> NDArray[np.bool_]:
        own = self.loads.protected
        return np.asarray(own[self.blocks.owners])

    def rates(self, start: NDArray[np.float64] | None) -> BudgetedRates:
        """Of all protected coordinates."""
        among = self._protected()
        costs = (self._weights * self.blocks.multiplicities**2)[self.blocks.owners]
        return least_cost_rates(self._budgets(among)[0], costs[among], 1, start)

    @property
    def loads(self) -> Loads:
        """The proof, for these bases."""
        shifts = tuple(None if one is None else TurnedShifts(one.basis, one.distances) for one in self.pairs)
        return Loads(self.blocks, self.question.distance_bounds, shifts)

    def _precisions(self, rates: BudgetedRates) -> NDArray[np.float64]:
        """(coordinates,): 1/s²; 0 where nothing is protected."""
        each = np.zeros(self.blocks.count)
        among = self._protected()
        scale = (self.blocks.family.cells / self.blocks.multiplicities)[self.blocks.owners]
        each[among] = rates.rates * scale[among]
        return each

    def noise(self, rates: BudgetedRates, question: KroneckerQuestion) -> tuple[FoundNoise, CellErrors]:
        """The rates as noise, as much larger as the proof needs. Raises: CertificateRefused."""
        each, loads = self._precisions(rates), self.loads
        spreads = np.where(each > 0, 1 / np.sqrt(np.where(each > 0, each, 1.0)), 0.0)
        reach = math.sqrt(loads.largest(spreads))
        for margin in _MARGINS:
            wider = spreads * (reach * (1 + margin))
            if loads.largest(wider) <= 1:
                break
        else:
            raise CertificateRefused("this noise is too badly conditioned to prove that it honours the metric")
        bases = tuple(None if one is None else one.basis for one in self.pairs)
        errors = cell_errors(self.blocks, bases, wider)
        cells = self.blocks.family.cells[self.blocks.family.workload_sets]
        own = errors.most * question.costs if question.worst else errors.mean * question.costs * cells
        return FoundNoise(bases, wider, float(own.max() if question.worst else own.sum()), 0.0), errors

    def reweighed(self, rates: BudgetedRates) -> tuple[WeighedPairs | None, ...]:
        """Weights of pairs, multiplied by what they are worth where all cells of the others are alike."""
        rows, columns, vectors = self.blocks.spots
        family, each = self.blocks.family, self._precisions(rates)
        averaged = each * (self.blocks.multiplicities / family.cells)[self.blocks.owners]
        found: list[WeighedPairs | None] = []
        for a, own in enumerate(self.pairs):
            if own is None:
                found.append(None)
                continue
            here = columns == a
            along = np.bincount(vectors[here], averaged[rows[here]], len(own.values)) * family.sizes[a]
            worth = own.steps @ along
            weights = own.weights * worth / float(own.weights @ worth)
            weights = np.maximum(weights, weights.max() * 1e-12)
            found.append(WeighedPairs(own.distances, weights / weights.sum()))
        return tuple(found)
