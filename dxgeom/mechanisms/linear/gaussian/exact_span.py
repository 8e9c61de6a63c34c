"""Which answers carry noise of their own, and how the others follow from them: exactly, for very many differences."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from flint import fmpq_mat, fmpz, fmpz_mat
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.metrics.operations.paired_changes import PairedChanges

_PRIME: Final = 2**31 - 1
_SEEN: Final = 4
_ADDED: Final = 2


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
    wrong = np.zeros(len(differences), dtype=bool)
    for column in np.setdiff1d(np.arange(differences.shape[1]), pivots).tolist():
        common = fmpz(1)
        for share in shares[column]:
            common = common.lcm(fmpz(share.denominator))
        parts = [int(share * int(common)) for share in shares[column]]
        used = [place for place, part in enumerate(parts) if part]
        reach = max(int(common), sum(map(abs, parts))) * max(int(np.abs(differences).max(initial=0)), 1)
        kind: Any = np.int64 if reach < 2**62 else object
        own = differences[:, column].astype(kind) * int(common)
        whole = np.array([parts[place] for place in used], dtype=kind)
        wrong |= differences[:, pivots[used]].astype(kind) @ whole != own
    return np.flatnonzero(wrong)
