"""Numbers that are rationals where that is exact, else balls around the truth; and integer systems, solved exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from dxgeom.numeric.rounding import round_up

ExactNumber: TypeAlias = fmpq | arb
"""A rational, or a ball at the precision in force that holds the number."""


PRECISIONS = (64, 256, 1024, 4096)
"""Bits in which a comparison is tried, one after the other."""


def at_most_one(evaluate: Callable[[], ExactNumber]) -> bool | None:
    """Whether a number is at most 1, computed again in more bits as long as its ball holds 1.

    Guarantee: True and False are *proved*; None is what the longest precision cannot tell, never so of a rational.
    """
    for precision in PRECISIONS:
        with ctx.workprec(precision):
            number = evaluate()
            if number <= 1:
                return True
            if number > 1:
                return False
    return None


def rational(number: float | Fraction) -> fmpq:
    """An int, a Fraction or a finite float64 as the very number it is."""
    exact = Fraction(number)
    return fmpq(exact.numerator, exact.denominator)


def exact_middle(number: arb) -> Fraction:
    """The middle of a ball, and the number itself where it has no radius: a dyadic rational, *exactly*."""
    mantissa, exponent = number.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def value_rounded_up(number: ExactNumber) -> float:
    """A float64 that is not below the number."""
    if isinstance(number, arb):
        return math.nextafter(float(number.upper()), math.inf)
    return round_up(Fraction(int(number.p), int(number.q)))


def largest(numbers: Iterable[ExactNumber]) -> ExactNumber:
    """The maximum."""
    first, *others = numbers
    for other in others:
        first = max(first, other) if isinstance(first, fmpq) and isinstance(other, fmpq) else arb(first).max(arb(other))
    return first


def total(numbers: Iterable[ExactNumber]) -> ExactNumber:
    """The sum."""
    sum_: ExactNumber = fmpq(0)
    for number in numbers:
        sum_ = sum_ + number if isinstance(sum_, fmpq) and isinstance(number, fmpq) else arb(sum_) + arb(number)
    return sum_


def power(number: ExactNumber, exponent: Fraction) -> ExactNumber:
    """``number ** exponent`` for a number ≥ 0 and an exponent > 0: rational for whole exponents, 0, 1 and squares."""
    if isinstance(number, fmpq):
        if number == 0 or number == 1:
            return number
        if exponent.denominator == 1:
            return number ** int(exponent)
        if exponent == Fraction(1, 2):
            roots = fmpq(math.isqrt(int(number.p)), math.isqrt(int(number.q)))
            if roots**2 == number:
                return roots
    return arb(number) ** arb(rational(exponent))


def rational_matrix(rows: Sequence[Sequence[float]]) -> fmpq_mat:
    """The matrix of the rationals that these floats are."""
    return fmpq_mat([[rational(entry) for entry in row] for row in rows])


def solve_rationally(matrix: Sequence[Sequence[float]], sides: Sequence[fmpq]) -> list[fmpq]:
    """x with ``matrix @ x = sides``; the matrix is invertible and taken as the rationals its floats are.

    Raises: ZeroDivisionError when it is not invertible after all.
    """
    solution = rational_matrix(matrix).solve(fmpq_mat(len(sides), 1, list(sides)))
    return [solution[place, 0] for place in range(len(sides))]


def solve_exactly(matrices: NDArray[Any], sides: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Determinants and Cramer numerators of F integer systems ``A x = b``.

    Args: ``matrices`` (F, m, m) and ``sides`` (F, m, r), integers of any size.
    Returns: signed determinants (F,) and numerators (F, m, r), Python integers, with ``x = numerators / determinant``;
    numerators are 0 where the determinant is.
    Guarantee: *exact*.
    """
    count, size, columns = sides.shape
    determinants = np.zeros(count, dtype=object)
    numerators = np.zeros((count, size * columns), dtype=object)
    systems = np.concatenate([matrices.astype(object), sides.astype(object)], axis=2).tolist()
    for place, (matrix, system) in enumerate(zip(matrices.tolist(), systems, strict=True)):
        determinant = fmpz_mat(matrix).det()
        if determinant == 0:
            continue
        reduced, common, _ = fmpz_mat(system).rref()
        # The reduced system is common·[1 | x]; by Cramer's rule determinant·x is whole.
        solution = (entry * determinant // common for row in reduced.tolist() for entry in row[size:])
        determinants[place] = int(determinant)
        numerators[place] = [int(entry) for entry in solution]
    return determinants, numerators.reshape(sides.shape)
