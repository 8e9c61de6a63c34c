"""Which answers carry noise of their own, and how the others follow from them: exactly, for very many differences."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from flint import fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.metrics.paired_changes import PairedChanges

_PRIME: Final = 2**31 - 1
_SEEN: Final = 4
_ADDED: Final = 2
_EXACT: Final = 2**53
_BLOCK: Final = 4096


class ExactSpan(NamedTuple):
    """``pivots`` (m,): answers whose differences are independent, rising; ``combinations`` (K, m) rationals with
    Δ_k = Σ_j combinations[k, j]·Δ_pivots[j] for every difference, *exactly*."""

    pivots: NDArray[np.int64]
    combinations: NDArray[Any]


def exact_span_of(differences: NDArray[np.int64]) -> ExactSpan:
    """The span of integer differences (E, K).

    The rank is that of a part of them modulo a prime, which is never too large; how the other answers follow is solved
    in rationals, and checked on all differences in integers. Those that do not fit join the part.
    Raises: NotANormBall where the prime hides a dimension, which it does for one workload in 10⁹.
    """
    width = differences.shape[1]
    step = max(1, len(differences) // (_SEEN * width))
    part = np.unique(np.concatenate([np.abs(differences).argmax(axis=0), np.arange(0, len(differences), step)]))
    rank = -1
    while True:
        rows, pivots = _independent(differences[part])
        if len(pivots) == rank:
            raise NotANormBall("the span of the queries' differences cannot be told exactly; leave a query out")
        rank = len(pivots)
        shares = _shares(differences[part[rows]], pivots)
        missed = _not_following(differences, pivots, shares)
        if missed.size == 0:
            return ExactSpan(pivots, shares)
        # Neighbours in the list are much alike.
        spread = np.linspace(0, len(missed) - 1, min(len(missed), _ADDED * width)).astype(np.int64)
        part = np.concatenate([part, missed[spread]])


def whole_span_of(changes: PairedChanges) -> ExactSpan:
    """The span of differences of pairs, of few rows that have the same. Raises: as above."""
    return exact_span_of(changes.joined)


def _independent(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of rows, and of columns, whose square is invertible modulo the prime, as many as its rank."""
    left, order = np.mod(rows, _PRIME), np.arange(len(rows))
    columns: list[int] = []
    for column in range(rows.shape[1]):
        done = len(columns)
        filled = np.flatnonzero(left[done:, column])
        if filled.size == 0:
            continue
        top = done + int(filled[0])
        left[[done, top]], order[[done, top]] = left[[top, done]], order[[top, done]]
        inverse = pow(int(left[done, column]), _PRIME - 2, _PRIME)
        left[done] = left[done] * inverse % _PRIME
        below = done + 1 + np.flatnonzero(left[done + 1 :, column])
        left[below] = (left[below] - left[below, column][:, None] * left[done] % _PRIME) % _PRIME
        columns.append(column)
        if len(columns) == len(rows):
            break
    return order[: len(columns)], np.array(columns, dtype=np.int64)


def _shares(rows: NDArray[np.int64], pivots: NDArray[np.int64]) -> NDArray[Any]:
    """(K, m): how each column of these m rows follows from the pivots; units for these themselves."""
    shares = np.full((rows.shape[1], len(pivots)), Fraction(0), dtype=object)
    shares[pivots, np.arange(len(pivots))] = Fraction(1)
    others = np.setdiff1d(np.flatnonzero(rows.any(axis=0)), pivots)
    if others.size:
        square = fmpq_mat(fmpz_mat(rows[:, pivots].tolist()))
        solved = square.solve(fmpq_mat(fmpz_mat(rows[:, others].tolist())))
        for place, column in enumerate(others.tolist()):
            for row in range(len(pivots)):
                entry = solved[row, place]
                shares[column, row] = Fraction(int(entry.p), int(entry.q))
    return shares


def _not_following(
    differences: NDArray[np.int64], pivots: NDArray[np.int64], shares: NDArray[Any]
) -> NDArray[np.int64]:
    """Differences of which some column is not what its shares of the pivots say."""
    others = np.setdiff1d(np.arange(differences.shape[1]), pivots)
    largest = max(int(np.abs(differences).max(initial=0)), 1)
    whole = [_whole(shares[column]) for column in others.tolist()]
    sizes = [max(common, sum(map(abs, parts))) * largest for common, parts in whole]
    wrong = np.zeros(len(differences), dtype=bool)
    for place in (place for place, size in enumerate(sizes) if size >= _EXACT):
        kind: Any = np.int64 if sizes[place] < 2**62 else object
        common, parts = whole[place]
        used = [column for column, part in enumerate(parts) if part]
        follows = differences[:, pivots[used]].astype(kind) @ np.array([parts[column] for column in used], dtype=kind)
        wrong |= differences[:, others[place]].astype(kind) * common != follows
    small = [place for place, size in enumerate(sizes) if size < _EXACT]
    common_of, parts_of = (np.array([whole[place][which] for place in small], dtype=np.float64) for which in (0, 1))
    # Every partial sum is a whole number below 2⁵³, which float64 adds up exactly, in whatever order.
    for start in range(0, len(differences) if small else 0, _BLOCK):
        here = differences[start : start + _BLOCK].astype(np.float64)
        follows = here[:, pivots] @ parts_of.T
        wrong[start : start + _BLOCK] |= np.any(here[:, others[small]] * common_of != follows, axis=1)
    return np.flatnonzero(wrong)


def _whole(shares: NDArray[Any]) -> tuple[int, list[int]]:
    """A common denominator of the shares, and the shares times that."""
    common = math.lcm(*(share.denominator for share in shares))
    return common, [share.numerator * (common // share.denominator) for share in shares]
