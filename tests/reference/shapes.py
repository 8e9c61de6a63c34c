"""Norms of points in exact rationals, for shapes that are the image of a simple body."""

from __future__ import annotations

from fractions import Fraction


def exact_solution(matrix, side):
    """The x with matrix·x = side, by elimination in rationals; the float64 entries are taken as they are."""
    size = len(matrix)
    rows = [
        [Fraction(float(entry)) for entry in row] + [Fraction(int(value))]
        for row, value in zip(matrix, side, strict=True)
    ]
    for step in range(size):
        pivot = next(row for row in range(step, size) if rows[row][step] != 0)
        rows[step], rows[pivot] = rows[pivot], rows[step]
        rows[step] = [entry / rows[step][step] for entry in rows[step]]
        for row in range(size):
            if row != step and rows[row][step] != 0:
                factor = rows[row][step]
                rows[row] = [entry - factor * other for entry, other in zip(rows[row], rows[step], strict=True)]
    return [row[-1] for row in rows]


def exact_least_squares(matrix, side):
    """The shortest x with matrix·x = side for a matrix with independent rows, in rationals."""
    rows = [[Fraction(float(entry)) for entry in row] for row in matrix]
    gram = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in rows] for one in rows]
    size = len(gram)
    left = [[*row, Fraction(int(value))] for row, value in zip(gram, side, strict=True)]
    for step in range(size):
        left[step] = [entry / left[step][step] for entry in left[step]]
        for row in range(size):
            if row != step:
                factor = left[row][step]
                left[row] = [entry - factor * other for entry, other in zip(left[row], left[step], strict=True)]
    return [sum(row[k] * solved[-1] for row, solved in zip(rows, left, strict=True)) for k in range(len(rows[0]))]


def gauge_of_cross_polytope(place):
    return sum(abs(entry) for entry in place)


def gauge_of_box(place):
    return max(abs(entry) for entry in place)


def gauge_squared_of_ball(place):
    return sum(entry**2 for entry in place)


def exact_gauge_of_polytope(body, place):
    """The largest of the facets' planes at the point, from the proved fan's integers."""
    scales = [Fraction(float(unit)) * Fraction(body.inflation) for unit in body.units]
    steps = [Fraction(entry) / scale for entry, scale in zip(place, scales, strict=True)]
    return max(
        sum(int(entry) * step for entry, step in zip(normal, steps, strict=True)) / int(volume)
        for normal, volume in zip(body.fan.normals, body.fan.volumes, strict=True)
    )
