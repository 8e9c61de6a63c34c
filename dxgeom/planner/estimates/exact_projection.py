"""The nearest point of a polyhedron in exact rationals: the dual active-set method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

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
