"""Determinants by elimination in rationals, a row at a time."""

from __future__ import annotations

from fractions import Fraction


def exact_determinant(matrix):
    rows = [[Fraction(int(entry)) for entry in row] for row in matrix]
    determinant = Fraction(1)
    for step in range(len(rows)):
        pivot = next((row for row in range(step, len(rows)) if rows[row][step] != 0), None)
        if pivot is None:
            return 0
        if pivot != step:
            rows[step], rows[pivot] = rows[pivot], rows[step]
            determinant = -determinant
        determinant *= rows[step][step]
        for row in range(step + 1, len(rows)):
            factor = rows[row][step] / rows[step][step]
            rows[row] = [entry - factor * other for entry, other in zip(rows[row], rows[step], strict=True)]
    return int(determinant)
