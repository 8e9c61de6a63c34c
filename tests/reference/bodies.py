"""Exact facts about polytopes in rational arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def exact_gauge(body, point) -> Fraction:
    """The gauge of a rational point, by every facet's exact plane."""
    scale = Fraction(body.inflation)
    scaled = [Fraction(x) / Fraction(float(unit)) for x, unit in zip(point, body.units, strict=True)]
    heights = (
        sum((int(n) * x for n, x in zip(normal, scaled, strict=True)), Fraction(0)) / int(volume)
        for normal, volume in zip(body.fan.normals, body.fan.volumes, strict=True)
    )
    return max(heights) / scale


def exact_load(differences, bounds, scales) -> Fraction:
    """max over e of sum_k |D_ek| / (c_k b_e) in exact rationals."""
    return max(
        sum(Fraction(abs(int(d))) / Fraction(float(c)) for d, c in zip(row, scales, strict=True))
        / Fraction(float(bound))
        for row, bound in zip(differences, bounds, strict=True)
    )


def closure(size: int, pairs: dict[tuple[int, int], Fraction]) -> list[list[Fraction | None]]:
    """Shortest paths over exact bounds; None where there is no path."""
    distance: list[list[Fraction | None]] = [[None] * size for _ in range(size)]
    for i in range(size):
        distance[i][i] = Fraction(0)
    for (i, j), bound in pairs.items():
        known = distance[i][j]
        if known is None or bound < known:
            distance[i][j] = distance[j][i] = bound
    for k in range(size):
        for i in range(size):
            for j in range(size):
                one, other, here = distance[i][k], distance[k][j], distance[i][j]
                if one is not None and other is not None and (here is None or one + other < here):
                    distance[i][j] = one + other
    return distance


def generating_pairs_of(metric) -> dict[tuple[int, int], Fraction]:
    """A metric's generating pairs with their bounds as exact rationals."""
    pairs: dict[tuple[int, int], Fraction] = {}
    for block in metric.generating_pairs():
        for i, j, bound in zip(block.first, block.second, block.bound, strict=True):
            assert np.isfinite(bound)
            key = (min(int(i), int(j)), max(int(i), int(j)))
            exact = Fraction(float(bound))
            pairs[key] = min(exact, pairs.get(key, exact))
    return pairs


def solve(rows, sides):
    """The solution of a square rational system by Gauss and Jordan, or None where there is not exactly one."""
    size = len(rows)
    work = [[Fraction(x) for x in row] + [Fraction(side)] for row, side in zip(rows, sides, strict=True)]
    for step in range(size):
        pivot = next((k for k in range(step, size) if work[k][step]), None)
        if pivot is None:
            return None
        work[step], work[pivot] = work[pivot], work[step]
        work[step] = [x / work[step][step] for x in work[step]]
        for k in range(size):
            if k != step and work[k][step]:
                work[k] = [x - work[k][step] * y for x, y in zip(work[k], work[step], strict=True)]
    return tuple(row[-1] for row in work)


def corners_of_halfspaces(normals, heights) -> set[tuple[Fraction, ...]]:
    """Vertices of |a_k v| <= b_k: every meeting point of m of the planes that all halfspaces admit."""
    rows = [[Fraction(x) for x in row] for row in np.asarray(normals).tolist()]
    sides = [Fraction(x) for x in np.asarray(heights).tolist()]
    corners = set()
    for chosen in itertools.combinations(range(len(rows)), len(rows[0])):
        for signs in itertools.product((1, -1), repeat=len(chosen)):
            point = solve([rows[k] for k in chosen], [s * sides[k] for s, k in zip(signs, chosen, strict=True)])
            if point is not None and all(
                abs(sum(a * x for a, x in zip(row, point, strict=True))) <= side
                for row, side in zip(rows, sides, strict=True)
            ):
                corners.add(point)
    return corners
