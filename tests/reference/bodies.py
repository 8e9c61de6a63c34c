"""Exact facts about polytopes in rational arithmetic."""

from __future__ import annotations

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
