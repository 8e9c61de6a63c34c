"""Rows of probabilities of least cost whose odds are bounded along pairs: a linear programme, from its interior.

Kernel: SciPy's sparse matrices and LAPACK's factorisations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import csr_matrix

from dxgeom.errors import CertificateRefused, TooLarge

LARGEST_BLOCKS = 1 << 26
"""Entries of all inverses together: half a gigabyte."""
_MOST_STEPS = 200
_SHORT_OF_THE_WALL = 0.9995
_RIDGE = 1e-13

Table = NDArray[np.float64]


class RatioSolution(NamedTuple):
    """``rows`` (N, R) that keep all odds; no rows cost less than ``least``, up to the rounding of float64."""

    rows: Table
    least: float


@final
@dataclass(frozen=True, eq=False)
class _Ratios:
    """The constraints slack(P) = P[y] − e^(−b)·P[x] ≥ 0 for every pair both ways: a sparse matrix on each column."""

    size: int
    shrunk: NDArray[np.float64]
    places: NDArray[np.int64] = field(repr=False)
    matrix: csr_matrix = field(repr=False)

    def slack(self, table: Table) -> Table:
        return np.asarray(self.matrix @ table)

    def back(self, weights: Table) -> Table:
        """The transpose."""
        return np.asarray(self.matrix.T @ weights)

    def inverse(self, weights: NDArray[np.float64]) -> Table:
        """(matrixᵀ·diag(weights)·matrix)⁻¹. Raises: CertificateRefused when float64 cannot tell it."""
        q, w = self.shrunk, weights
        entries = np.concatenate([q * q * w, -q * w, -q * w, w])
        normal = np.bincount(self.places, entries, minlength=self.size**2).reshape(self.size, self.size)
        scale = 1 / np.sqrt(np.diag(normal))
        factor, failed = dpotrf(normal * scale * scale[:, None] + _RIDGE * np.eye(self.size), lower=1)
        half, singular = dpotri(factor, lower=1)
        if failed or singular:
            raise CertificateRefused(
                "the odds of these secrets are too far apart for float64 to find their best answers"
            )
        return np.asarray((np.tril(half) + np.tril(half, -1).T) * scale * scale[:, None])


def least_cost_rows(
    costs: Table,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    bounds: NDArray[np.float64],
    gap: float,
) -> RatioSolution:
    """Rows P ≥ 0 with sum 1 that minimise Σ costs·P while P[x] ≤ e^bounds·P[y] and back along the pairs.

    The dual: with multipliers Z ≥ 0 of the slacks, every row r of P costs at least min over its entries of
    (costs − slackᵀ(Z))[r], whatever Z is. Newton's method goes towards the optimum with all slacks times their
    multipliers alike, foreseen and corrected in each step. The constraints of different columns only meet in the sums
    of rows, so a step inverts one dense matrix per column.

    Args: ``costs`` (N, R), at least 0; ``first``, ``second``, ``bounds`` (E,): every row in some pair, bounds positive.
    ``gap``: a thousandth is reached in some forty steps; a millionth is more than float64 resolves.
    Guarantee: cost(rows) − least ≤ gap·cost(rows), in float64.
    Raises: TooLarge beyond N²·R = 2²⁶; CertificateRefused when the gap is not reached.
    Source: Mehrotra 1992 for the two-fold step.
    """
    size, answers = costs.shape
    if size**2 * answers > LARGEST_BLOCKS:
        raise TooLarge(f"{size} secrets with {answers} answers need {size**2 * answers:,} entries of inverses at once")
    ratios = _ratios(size, first, second, bounds)
    rows = np.full((size, answers), 1 / answers)
    slack = ratios.slack(rows)
    multipliers, prices = float(np.sum(costs * rows)) / slack.size / slack, np.zeros(size)
    least = -np.inf
    for _ in range(_MOST_STEPS):
        if not np.all(slack > 0):
            break
        reduced = costs - ratios.back(multipliers)
        cost, least = float(np.sum(costs * rows)), max(least, float(reduced.min(axis=1).sum()))
        if cost - least <= gap * cost:
            return RatioSolution(rows, least)
        move = _newton(ratios, slack, multipliers, reduced - prices[:, None])
        straight = move(np.zeros_like(slack))
        ahead = _product_after(slack, multipliers, straight)
        target = (ahead / np.mean(slack * multipliers)) ** 2 * ahead
        step = move(target - straight.slack * straight.multipliers)
        primal, dual = _reach(slack, step.slack), _reach(multipliers, step.multipliers)
        rows = rows + primal * step.rows
        slack = ratios.slack(rows)
        multipliers, prices = multipliers + dual * step.multipliers, prices + dual * step.prices
    raise CertificateRefused(f"float64 does not find the best answers to within {gap:g} of their cost")


class _Step(NamedTuple):
    rows: Table
    slack: Table
    multipliers: Table
    prices: NDArray[np.float64]


def _newton(ratios: _Ratios, slack: Table, multipliers: Table, residual: Table) -> Callable[[Table], _Step]:
    """The step after which, to first order, slack·multipliers is the target, the residual 0, and sums stay 1."""
    weights = multipliers / slack
    inverses = np.stack([ratios.inverse(column) for column in weights.T])
    of_sums = np.linalg.inv(inverses.sum(axis=0))

    def step(target: Table) -> _Step:
        wanted = (target - slack * multipliers) / slack
        free = np.einsum("rij,jr->ir", inverses, ratios.back(wanted) - residual)
        prices = -of_sums @ free.sum(axis=1)
        rows = free + np.einsum("rij,j->ir", inverses, prices)
        moved = ratios.slack(rows)
        return _Step(rows, moved, wanted - weights * moved, prices)

    return step


def _product_after(slack: Table, multipliers: Table, step: _Step) -> float:
    after = slack + _reach(slack, step.slack) * step.slack
    return float(np.mean(after * (multipliers + _reach(multipliers, step.multipliers) * step.multipliers)))


def _reach(values: Table, move: Table) -> float:
    """The longest step up to 1 that keeps positive values positive."""
    falling = move < 0
    return min(1.0, _SHORT_OF_THE_WALL * float(np.min(-values[falling] / move[falling], initial=np.inf)))


def _ratios(size: int, first: NDArray[np.int64], second: NDArray[np.int64], bounds: NDArray[np.float64]) -> _Ratios:
    x, y, shrunk = np.concatenate([first, second]), np.concatenate([second, first]), np.exp(-np.tile(bounds, 2))
    each = np.arange(len(x))
    matrix = csr_matrix(
        (np.concatenate([-shrunk, np.ones(len(x))]), (np.tile(each, 2), np.concatenate([x, y]))), shape=(len(x), size)
    )
    places = np.concatenate([x * size + x, x * size + y, y * size + x, y * size + y])
    return _Ratios(size, shrunk, places, matrix)
