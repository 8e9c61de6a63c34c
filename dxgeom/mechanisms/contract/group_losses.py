"""What a release may tell about several records at once: the cheapest way to turn one table into another."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import array_of
from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.metrics.diameters import path_lengths
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.numeric.arrays import exact_sum
from dxgeom.numeric.linear_program import ConstraintRows, minimise_linear
from dxgeom.numeric.rounding import round_up

MOST_MOVES = 200_000
"""Pairs of a possible record that loses records and one that gains some."""
MOST_RECORDS = 2**53
"""Beyond, float64 cannot count the records that move."""


def group_loss(metric: VerifiedMetric, before: ArrayLike, after: ArrayLike, spend: Fraction = Fraction(1)) -> float:
    """Nats by which releases of this total spend may tell the one histogram from the other, *rounded up*.

    Definition: spend·OT_d(before, after), the least Σ d(i, j) over all ways to move records of ``before`` from type i
    to type j until they are ``after``: each move makes a neighbour, and costs its distance. Where records may be
    absent, that is one of the types. ∞ when something has to move an infinite distance: nothing hides it.

    Args: ``before``, ``after`` (N,): whole numbers of records of each type. ``spend``: a positive Fraction.
    Guarantee: a bound whatever the solver did: the moves it found are whole, checked, and added up exactly.
    Raises: UnsupportedCombination for histograms that do not fit, or of different size where that is public; TooLarge
    when more than 200,000 kinds of moves come into question, or beyond 2⁵³ records.
    Source: corrected from Kamalaruban et al. 2020, whose k·max d for k replaced records can be far more.
    """
    require_verified(metric)
    if not (isinstance(spend, (int, Fraction)) and spend > 0):
        raise UnsupportedCombination(f"a spend is a positive Fraction, found {spend!r}")
    change = _balanced(metric, _counts(metric, after) - _counts(metric, before))
    losing, gaining = np.flatnonzero(change < 0), np.flatnonzero(change > 0)
    if losing.size == 0:
        return 0.0
    if losing.size * gaining.size > MOST_MOVES:
        raise TooLarge(
            f"{losing.size:,} possible records lose records and {gaining.size:,} gain some: too many to match"
        )
    costs = path_lengths(metric.metric, losing, gaining)
    supply, demand = -change[losing], change[gaining]
    if not _can_be_moved(np.isfinite(costs), supply, demand):
        return math.inf
    moves = _cheapest_moves(costs, supply, demand)
    return round_up(spend * sum(int(m) * Fraction(c) for m, c in zip(moves[moves > 0], costs[moves > 0], strict=True)))


def _counts(metric: VerifiedMetric, histogram: ArrayLike) -> NDArray[np.int64]:
    counts = array_of(histogram, "a histogram", "list the number of records of each type")
    if counts.shape != (metric.size,) or counts.dtype.kind not in "iu" or np.any(counts < 0):
        raise UnsupportedCombination(
            f"a histogram here has a whole number for each of {metric.size:,} possible records"
        )
    if exact_sum(counts) > MOST_RECORDS:
        raise TooLarge(f"tables of at most {MOST_RECORDS:,} records are compared")
    return counts.astype(np.int64)


def _balanced(metric: VerifiedMetric, change: NDArray[np.int64]) -> NDArray[np.int64]:
    more = int(change.sum())
    if more == 0:
        return change
    if metric.absent is None:
        raise UnsupportedCombination("the number of records is public under this policy, so both tables have the same")
    change = change.copy()
    change[metric.absent] -= more
    return change


def _can_be_moved(finite: NDArray[np.bool_], supply: NDArray[np.int64], demand: NDArray[np.int64]) -> bool:
    """Finite distance is an equivalence: each class has to balance by itself."""
    classes = np.unique(finite, axis=0)
    if np.any(classes.sum(axis=0) != 1) or not np.all(classes.any(axis=1)):
        return False
    return all(supply[(finite == one).all(axis=1)].sum() == demand[one].sum() for one in classes)


def _cheapest_moves(
    costs: NDArray[np.float64], supply: NDArray[np.int64], demand: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(S, D): a vertex of the transport polytope, whose entries are whole.

    Raises: CertificateRefused when the solver's are not.
    """
    from_type, to_type = np.nonzero(np.isfinite(costs))
    width = len(from_type)
    ends = np.concatenate([from_type, len(supply) + to_type])
    rows = ConstraintRows(len(supply) + len(demand), ends, np.tile(np.arange(width), 2), np.ones(2 * width))
    nothing = ConstraintRows(0, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    sides = np.concatenate([supply, demand]).astype(np.float64)
    moves = np.zeros(costs.shape, dtype=np.int64)
    moves[from_type, to_type] = np.rint(minimise_linear(costs[from_type, to_type], nothing, rows, sides))
    whole = np.all(moves >= 0) and np.array_equal(moves.sum(axis=1), supply)
    if not (whole and np.array_equal(moves.sum(axis=0), demand)):
        raise CertificateRefused("the solver's moves do not add up to the change; no bound is given")
    return moves
