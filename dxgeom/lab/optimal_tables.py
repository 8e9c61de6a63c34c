"""The finite mechanism of least expected loss for one prior, by linear programming and an exact repair.

Rows of probabilities of least cost whose odds are bounded along pairs: a linear programme, from its interior.

Kernel: SciPy's sparse matrices and LAPACK's factorisations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import csr_matrix

from dxgeom.arguments import array_of, require, require_exact
from dxgeom.errors import CertificateRefused, DxgeomError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.lab.finite_mechanism import (
    TOGETHER,
    Losses,
    Prior,
    PrivateTable,
    likelihood_ratio_bounds,
    repaired,
    require_prior,
)
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.shortest_paths import ConstraintRows, minimise_linear

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


LARGEST_PROGRAMME = 400_000
"""Constraints: about a hundred points of the plane, or more on a line or a graph."""
_ROUNDING = 1e-12
_FROM_INSIDE = 20_000
"""Constraints from which a programme is solved from its interior: HiGHS takes minutes for a hundred secrets."""
_GAPS = (1e-6, 1e-5, 1e-4)
"""Of a programme solved from its interior: the smallest of these that float64 reaches."""


def optimal_table(
    metric: VerifiedMetric,
    prior: Prior,
    losses: Losses,
    spend: Fraction = Fraction(1),
    stretch: Fraction = Fraction(1),
) -> PrivateTable:
    """The mechanism that minimises Σ π(x)·P(w | x)·losses[x][w] among those that hide spend·d.

    Definition: P(w | x) ≤ e^(spend·d(x, y)/stretch)·P(w | y) along a spanner of that stretch; 1 keeps every constraint
    that no others imply, a larger one drops constraints and asks for a little more of the rest. The answers are the
    guesses w, so no remap is left to gain from.
    Guarantee: the privacy is checked *exactly*; the loss is the least possible (for stretch 1) *within* HiGHS's
    tolerance, or above 20,000 constraints a ten-thousandth of what it exceeds each secret's least by, and the small
    share of uniform answers that makes the rounded solution private.
    Raises: TooLarge beyond 400,000 constraints; UnboundedLoss when two secrets have distance 0; DxgeomError when prior
    or losses do not fit; CertificateRefused when no solution could be repaired.
    Source: Bordenabe, Chatzikokolakis & Palamidessi 2014.
    """
    hidden = likelihood_ratio_bounds(metric, spend)
    guesses = _require_losses(metric, prior, losses)
    require_exact(stretch, "stretch")
    if stretch < 1:
        raise DxgeomError(f"a stretch is at least 1, found {stretch}")
    pairs, bounds = _constraints(metric, float(stretch))
    if 2 * len(pairs) * guesses > LARGEST_PROGRAMME:
        raise TooLarge(
            f"{len(pairs):,} pairs and {guesses} answers make {2 * len(pairs) * guesses:,} constraints, more than "
            f"{LARGEST_PROGRAMME:,}; allow a larger stretch, or take a bracketed table"
        )
    solution = _solve(_costs(prior, losses), pairs, bounds * float(spend / stretch))
    return repaired(metric, hidden, _exactly(solution), "optimal table", spend)


class Bracket(NamedTuple):
    """A table, and what the expected loss of no table on this metric is below, up to the rounding of float64."""

    table: PrivateTable
    least: float


def bracketed_table(
    metric: VerifiedMetric, prior: Prior, losses: Losses, spend: Fraction = Fraction(1), gap: float = 1e-3
) -> Bracket:
    """A mechanism within a thousandth of the least expected loss, where :func:`optimal_table` takes too long.

    The same programme, solved from its interior, with a dual bound: a thousand secrets with some thirty answers take
    minutes.
    Guarantee: the privacy is checked *exactly*; the loss is *approximate within* ``gap``, and what the rounding adds.
    Raises: as :func:`optimal_table`; TooLarge beyond N²·R = 2²⁶; UnsupportedCombination when a secret has no pair, or
    for negative losses; CertificateRefused when float64 does not reach the gap.
    """
    hidden = likelihood_ratio_bounds(metric, spend)
    _require_losses(metric, prior, losses)
    if min(map(min, losses)) < 0:
        raise UnsupportedCombination("a bracket is relative to the loss, so losses are not negative: add a constant")
    pairs, bounds = _constraints(metric, 1.0)
    if len(np.unique(pairs)) < metric.size:
        raise UnsupportedCombination("a secret that the metric hides among no others is answered exactly: leave it out")
    costs = _costs(prior, losses)
    solution = least_cost_rows(costs, pairs[:, 0], pairs[:, 1], bounds * float(spend), gap)
    return Bracket(repaired(metric, hidden, _exactly(solution.rows), "bracketed table", spend), solution.least)


def _require_losses(metric: VerifiedMetric, prior: Prior, losses: Losses) -> int:
    """The number of guesses."""
    require_prior(prior, metric.size)
    require(losses, (Sequence, np.ndarray), "losses", "list what each answer costs, by secret")
    table = array_of(losses, "losses", "list what each answer costs, by secret", float)
    if table.ndim != 2 or len(table) != metric.size or not table.size or not np.all(np.isfinite(table)):
        raise DxgeomError(f"losses form a table of finite numbers with a row for each of {metric.size} secrets")
    return int(table.shape[1])


def _costs(prior: Prior, losses: Losses) -> NDArray[np.float64]:
    return np.array([[float(p * c) for c in row] for p, row in zip(prior, losses, strict=True)])


def _constraints(metric: VerifiedMetric, stretch: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Pairs (E, 2) of a spanner and their distances. Raises: UnboundedLoss for a distance of 0."""
    nothing = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    blocks = zip(nothing, *metric.metric.generating_pairs(), strict=True)
    first, second, lengths = (np.concatenate(parts) for parts in blocks)
    if np.any(lengths == 0):
        raise UnboundedLoss(TOGETHER)
    kept = greedy_spanner(metric.size, first, second, lengths, stretch)
    return np.column_stack([first[kept], second[kept]]), lengths[kept]


def _exactly(rows: NDArray[np.float64]) -> list[list[Fraction]]:
    return [[Fraction(chance) for chance in row] for row in rows.tolist()]


def _solve(costs: NDArray[np.float64], pairs: NDArray[np.int64], bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of probabilities (secrets, guesses), as good as HiGHS makes them, or within a ten-thousandth."""
    secrets, guesses = costs.shape
    if 2 * len(pairs) * guesses > _FROM_INSIDE and len(np.unique(pairs)) == secrets:
        for gap in _GAPS:
            with suppress(CertificateRefused):
                # Rows sum to 1: what every answer of a secret costs changes nothing.
                above = costs - costs.min(axis=1, keepdims=True)
                return least_cost_rows(above, pairs[:, 0], pairs[:, 1], bounds, gap).rows
    one, other = np.concatenate([pairs, pairs[:, ::-1]]).T
    answers = np.arange(guesses)
    count = len(one) * guesses
    rows = np.arange(count)
    # e^(−d) times the larger side, so that no coefficient exceeds 1.
    shrunk = np.repeat(np.exp(-np.concatenate([bounds, bounds])), guesses)
    ratios = ConstraintRows(
        count,
        np.concatenate([rows, rows]),
        np.concatenate([(one[:, None] * guesses + answers).ravel(), (other[:, None] * guesses + answers).ravel()]),
        np.concatenate([shrunk, -np.ones(count)]),
    )
    cells = np.arange(secrets * guesses)
    sums = ConstraintRows(secrets, cells // guesses, cells, np.ones(cells.size))
    scale = float(np.abs(costs).max()) or 1.0
    solution = minimise_linear(costs.ravel() / scale, ratios, sums, np.ones(secrets))
    return np.maximum(solution.reshape(secrets, guesses), 0.0)


def greedy_spanner(
    size: int,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    lengths: NDArray[np.float64],
    stretch: float,
) -> NDArray[np.int64]:
    """Which of these pairs to keep so that each has a path at most ``stretch`` times as long: indices, shortest first.

    Each pair is kept unless those kept so far already have such a path. Of pairs that generate a metric, what is kept
    reaches every distance of it within the stretch. With stretch 1 the pairs remain that lie on no other's way, up to a
    relative 1e-12 for the rounding of distances.
    Guarantee: *approximate within* float64; a mechanism built on it has to be checked on the metric's own pairs.
    Source: Althöfer, Das, Dobkin, Joseph & Soares 1993; for mechanisms Bordenabe, Chatzikokolakis & Palamidessi 2014.
    """
    distances = np.where(np.eye(size, dtype=bool), 0.0, np.inf)
    kept = []
    for pair in np.argsort(lengths, kind="stable").tolist():
        length = float(lengths[pair])
        if distances[first[pair], second[pair]] > length * stretch * (1 + _ROUNDING):
            kept.append(pair)
            for x, y in ((first[pair], second[pair]), (second[pair], first[pair])):
                before, after = distances[:, x] + length, distances[y]
                nearer = np.ix_(before < distances[:, y], after + length < distances[x])
                ways = before[nearer[0]] + after[nearer[1]]
                distances[nearer] = np.minimum(distances[nearer], ways)
    return np.array(kept, dtype=np.int64)
