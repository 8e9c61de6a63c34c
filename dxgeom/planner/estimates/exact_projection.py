"""The nearest point of a polyhedron in exact rationals: the dual active-set method.

Estimates of more answers to a list of queries than rationals are used for: projections in float64, in turn.

Kernel: sparse products of weights; null spaces and row spaces of small dense matrices.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat, nmod_mat
from numpy.typing import NDArray
from scipy import linalg, sparse

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.lattice import LatticeQueries
from dxgeom.numeric.arrays import FITS
from dxgeom.numeric.exact_numbers import rational

Row: TypeAlias = list[fmpq]
_TO_THE_END = -1


@final
class NoSuchPointError(Exception):
    """No point satisfies all equations and inequalities."""


@final
@dataclass(frozen=True)
class Equations:
    """``rows`` @ y = ``right``, the rows linearly independent."""

    rows: list[Row] = field(repr=False)
    right: Row = field(repr=False)


def independent_equations(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction], size: int) -> Equations:
    """The same equations without superfluous ones.

    Args: ``rows`` (r, size), ``right`` (r,).
    Raises: NoSuchPointError when they contradict each other.
    """
    if not rows:
        return Equations([], [])
    entries = [rational(entry) for row, side in zip(rows, right, strict=True) for entry in (*row, side)]
    reduced, rank = fmpq_mat(len(rows), size + 1, entries).rref()
    kept = [[reduced[i, j] for j in range(size + 1)] for i in range(rank)]
    if any(all(entry == 0 for entry in row[:-1]) for row in kept):
        raise NoSuchPointError
    return Equations([row[:-1] for row in kept], [row[-1] for row in kept])


def nearest_point(
    point: Sequence[Fraction], variances: Sequence[Fraction], equations: Equations, bounded: Sequence[int]
) -> list[Fraction]:
    """The y with rows @ y = right and y_k ≥ 0 for k in ``bounded`` that minimises Σ (y_k − point_k)²/variance_k.

    Definition: y = point + V·(rowsᵀλ + Σ μ_k e_k) with μ_k ≥ 0, and 0 unless y_k = 0. One violated inequality after
    another is made to hold while all others in use stay; each such step raises the distance, so none comes twice.
    Args: ``variances`` (K,), positive.
    Guarantee: *exact*.
    Raises: NoSuchPointError when there is none.
    Source: D. Goldfarb, A. Idnani, A numerically stable dual method for strictly convex quadratic programs, 1983.
    """
    search = _Search([rational(entry) for entry in point], [rational(entry) for entry in variances], equations)
    search.meet_equations()
    while (worst := search.most_negative(bounded)) is not None:
        search.lift(worst)
    return [Fraction(int(entry.p), int(entry.q)) for entry in search.place]


def left_dependencies(matrix: NDArray[np.int64]) -> list[list[int]]:
    """Integer rows l (·, K) that span {l : l @ ``matrix`` = 0}; *exact*.

    Real l have l·A = 0 exactly when A·Aᵀ·l = 0, and that is a small system.
    """
    largest = int(np.abs(matrix).max(initial=0))
    if largest**2 * max(matrix.shape[1], 1) < FITS:
        gram = fmpz_mat([[int(entry) for entry in row] for row in matrix @ matrix.T])
    else:
        exact = fmpz_mat([[int(entry) for entry in row] for row in matrix])
        gram = exact * exact.transpose()
    basis, nullity = gram.nullspace()
    return [[int(basis[i, j]) for i in range(len(matrix))] for j in range(nullity)]


@final
class _Search:
    """Where the search is: ``place``, the coordinates held at 0 and the multipliers μ that hold them."""

    def __init__(self, point: Row, variances: Row, equations: Equations) -> None:
        self.place, self.variances, self.equations = point, variances, equations
        self.held: list[int] = []
        self.multipliers: Row = []

    def meet_equations(self) -> None:
        """The nearest point that satisfies the equations."""
        rows, right = self.equations.rows, self.equations.right
        missing = [side - _dot(row, self.place) for row, side in zip(rows, right, strict=True)]
        moves = self._combined(self._solved(missing))
        self.place = [
            entry + move * variance for entry, move, variance in zip(self.place, moves, self.variances, strict=True)
        ]

    def most_negative(self, bounded: Sequence[int]) -> int | None:
        """The coordinate that is furthest below 0, measured in its own standard deviation."""
        below = [k for k in bounded if self.place[k] < 0]
        return max(below, key=lambda k: self.place[k] ** 2 / self.variances[k], default=None)

    def lift(self, coordinate: int) -> None:
        """Raise a coordinate to 0, letting go of others whose multipliers would turn negative on the way."""
        grown = fmpq(0)
        while True:
            direction, pulls = self._direction(coordinate)
            slope = direction[coordinate]
            steps = [
                (mu / pull, at) for at, (mu, pull) in enumerate(zip(self.multipliers, pulls, strict=True)) if pull > 0
            ]
            if slope > 0:
                steps.append((-self.place[coordinate] / slope, _TO_THE_END))
            if not steps:
                raise NoSuchPointError
            step, stop = min(steps)
            self.place = [entry + step * move for entry, move in zip(self.place, direction, strict=True)]
            self.multipliers = [mu - step * pull for mu, pull in zip(self.multipliers, pulls, strict=True)]
            grown += step
            if stop == _TO_THE_END:
                self.held.append(coordinate)
                self.multipliers.append(grown)
                return
            del self.held[stop], self.multipliers[stop]

    def _direction(self, coordinate: int) -> tuple[Row, Row]:
        """How the nearest point moves, and the multipliers of the held fall, per unit of a coordinate's multiplier."""
        variance = self._free_variances()[coordinate]
        pushes = self._solved([row[coordinate] * variance for row in self.equations.rows])
        against = self._combined(pushes)
        direction = [-push * free for push, free in zip(against, self._free_variances(), strict=True)]
        direction[coordinate] += variance
        return direction, [-against[k] for k in self.held]

    def _free_variances(self) -> Row:
        return [fmpq(0) if k in self.held else variance for k, variance in enumerate(self.variances)]

    def _combined(self, pushes: Row) -> Row:
        """rowsᵀ @ pushes."""
        combined = [fmpq(0)] * len(self.place)
        for row, push in zip(self.equations.rows, pushes, strict=True):
            if push != 0:
                combined = [sum_ + push * e if e != 0 else sum_ for sum_, e in zip(combined, row, strict=True)]
        return combined

    def _solved(self, side: Row) -> Row:
        """(rows·V·rowsᵀ)⁻¹·side with V the variances of what is not held, on which the rows stay independent."""
        rows, size = self.equations.rows, len(self.equations.rows)
        if size == 0:
            return []
        width, free = len(self.place), self._free_variances()
        normals = fmpq_mat(size, width, [entry for row in rows for entry in row])
        scaled = fmpq_mat(size, width, [e * v for row in rows for e, v in zip(row, free, strict=True)])
        solution = (normals * scaled.transpose()).solve(fmpq_mat(size, 1, side))
        return [solution[i, 0] for i in range(size)]


def _dot(row: Row, place: Row) -> fmpq:
    return sum((entry * value for entry, value in zip(row, place, strict=True) if entry != 0), fmpq(0))


Floats = NDArray[np.float64]
_MOST_ANSWERS: Final = 2_500
"""Of more no equations are sought: that takes a matrix of their square, and time of their cube."""
_PRIME: Final = 2**61 - 1
"""Modulo this, what integers have in their null space is sought."""
_STEPS: Final = 400
_NEAR: Final = 1e-6
"""Answers that miss their equations by less than this, in the deviations that they are weighed by, are left so."""
_RANK: Final = 1e-7
_OFF: Final = 1e-3
"""Float64 may miss the right side of an equation by this much, in the same deviations; what it may miss by more is no
equation here."""
_SMALL: Final = 1 << 24
"""Numbers of the exact equations are at most this; others are left out."""
_TRIES: Final = 8


class FloatEstimate(NamedTuple):
    """``values`` (K,): the estimates. ``equations``: how many were found. ``in_words``: how well they hold."""

    values: Floats
    equations: int
    in_words: tuple[str, ...]


def nearest_in_floats(
    lattice: LatticeQueries,
    records: int | None,
    values: Floats,
    variances: Sequence[Fraction],
    known: Mapping[int, Fraction],
    bounded: Collection[int],
) -> FloatEstimate:
    """Answers projected on their signs, then on what the queries imply and what is known, and so on, signs at the end.

    Guarantee: in Σ e²/variance, no truth of which all this is known is further from them than from ``values``, wherever
    the steps end, up to float64. Answers of variance 0 stay.
    Raises: UnsupportedCombination where nothing satisfies what is known.
    """
    deviations = np.sqrt([float(variance) for variance in variances])
    free = deviations > 0
    place = values.copy()
    signed = np.array([k in bounded for k in range(len(place))]) & free
    found = _equations(lattice, records)
    rows = np.zeros((0, len(place))) if found is None else found[0]
    right = np.zeros(0) if found is None else found[1]
    for k, total in known.items():
        rows = np.vstack([rows, np.eye(1, len(place), k)])
        right = np.append(right, float(total))
    # What is left of an equation is exact, and so is whether anything is: only its right side is rounded.
    off = 1e-15 * (np.abs(rows) @ np.abs(place) + np.abs(right))
    right = right - rows[:, ~free] @ place[~free]
    left = rows[:, free].any(axis=1)
    basis, target = _orthonormal(rows[np.ix_(left, free)] * deviations[free], right[left], off[left])
    apart, scaled = 0.0, place[free] / deviations[free]
    for _ in range(_STEPS):
        scaled = np.where(signed[free], np.maximum(scaled, 0.0), scaled)
        missing = basis @ scaled - target
        apart = float(np.abs(missing).max(initial=0.0))
        if apart <= _NEAR or not signed.any():
            scaled = scaled if apart <= _NEAR else scaled - basis.T @ missing
            break
        scaled = scaled - basis.T @ missing
    else:
        scaled = np.where(signed[free], np.maximum(scaled, 0.0), scaled)
    place[free] = scaled * deviations[free]
    return FloatEstimate(place, len(right) - len(known), _said(found is None, apart if signed.any() else 0.0))


def _said(unsought: bool, apart: float) -> tuple[str, ...]:
    if unsought:
        return (
            "which equations so many queries, or weights so large, imply was not sought: whole tables agree by "
            "themselves, and counts that are not negative were all that was asked for",
        )
    if apart <= _NEAR:
        return ("equations hold up to the rounding of float64",)
    return (f"equations hold up to {apart:.2g} deviations: signs and equations were met in turn, signs at the end",)


def _equations(lattice: LatticeQueries, records: int | None) -> tuple[Floats, Floats] | None:
    """Rows and right sides of equations that answers satisfy whatever the records are; None where none are sought.

    Each is l with l·W = 0, W with a row of ones below, whose answer is the public number of records. Those of the null
    space modulo a prime are tried as integers, and kept where l·W is 0 *exactly*; rows are rounded once, to float64.
    """
    count = len(lattice.steps)
    if count > _MOST_ANSWERS:
        return None
    try:
        weights = lattice.numerators
    except TooLarge:
        return None
    ones = [np.ones((1, weights.shape[1]), dtype=np.int64)] if records is not None else []
    below = sparse.csr_matrix(np.vstack([weights, *ones]))
    largest = max(int(np.abs(below.data).max(initial=0)), 1)
    if float(largest) * max(largest, _SMALL) * max(weights.shape) >= FITS:
        return None
    gram = (below @ below.T).toarray()
    basis, nullity = nmod_mat(len(gram), len(gram), (gram % _PRIME).ravel().tolist(), _PRIME).nullspace()
    if not nullity:
        return np.zeros((0, count)), np.zeros(0)
    found = np.array(basis.tolist(), dtype=object).astype(np.int64)[:, :nullity].T
    found = np.where(found > _PRIME // 2, found - _PRIME, found)
    found = _in_integers(found)
    exact = found[[not (one @ below).any() for one in found]]
    rows = exact[:, :count] / lattice.float_steps
    rest = exact[:, count:].sum(axis=1)
    return rows, np.array([-float(int(one) * (records or 0)) for one in rest])


def _in_integers(vectors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Vectors modulo the prime as small integers of which they are multiples; others are left out."""
    kept = []
    for one in vectors:
        found: NDArray[np.int64] | None = one
        if np.abs(one).max() > _SMALL:
            found = _cleared([int(entry) for entry in one])
        kept += [] if found is None else [found]
    return np.array(kept, dtype=np.int64).reshape(len(kept), vectors.shape[1])


def _cleared(entries: list[int]) -> NDArray[np.int64] | None:
    """Multiplied by denominators, by which the largest entry becomes small; None where that does not end soon."""
    for _ in range(_TRIES):
        largest = max(entries, key=abs)
        if abs(largest) <= _SMALL:
            return np.array(entries, dtype=np.int64)
        # Euclid's remainders of the prime and the entry: the first small one is the entry times some small number.
        (before, other), (rest, times) = (_PRIME, 0), (largest % _PRIME, 1)
        while rest > _SMALL:
            quotient = before // rest
            (before, other), (rest, times) = (rest, times), (before - quotient * rest, other - quotient * times)
        if not 0 < abs(times) <= _SMALL:
            return None
        entries = [(entry * times + _PRIME // 2) % _PRIME - _PRIME // 2 for entry in entries]
    return None


def _orthonormal(rows: Floats, right: Floats, off: Floats) -> tuple[Floats, Floats]:
    """The same equations with orthonormal rows; without directions that float64 cannot tell. ``off``: how far it may be
    off on the right.

    Raises: UnsupportedCombination where they contradict each other.
    """
    if not len(rows):
        return rows, right
    lengths = np.linalg.norm(rows, axis=1)
    rows, right, off = rows / lengths[:, None], right / lengths, off / lengths
    left, sizes, basis = linalg.svd(rows, full_matrices=False)
    turned, unsure = left.T @ right, np.abs(left.T) @ off
    known = sizes > _RANK * sizes.max(initial=0.0)
    if np.any(np.abs(turned[~known]) > 1e-6 * (1 + np.abs(right).max()) + unsure[~known]):
        raise UnsupportedCombination("no answers satisfy all of this at once: correct the totals")
    kept = known & (unsure <= _OFF * sizes)
    return basis[kept], turned[kept] / sizes[kept]
