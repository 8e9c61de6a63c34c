"""The set that Awan & Slavković (2020, section 6) use for regression: cylinders over two known hulls, intersected.

Coordinates are scaled so that each changes by at most 2: x_j, 2 x_j^2, x_j x_k, y, x_j y for |x_j|, |y| <= 1.
"""

from __future__ import annotations

import itertools

import numpy as np


def names(predictors: int) -> list[tuple[str, ...]]:
    """Monomials in the order of the package's regression statistic."""
    columns = [f"x{j}" for j in range(predictors)]
    pairs = [*itertools.combinations_with_replacement(columns, 2), *((x, "y") for x in columns)]
    return [*((x,) for x in columns), ("y",), *pairs]


def inside(points: np.ndarray, predictors: int) -> np.ndarray:
    """Which points (B, m) are in every cylinder."""
    order = names(predictors)
    column = {monomial: np.abs(points[:, place]) for place, monomial in enumerate(order)}
    held = np.ones(len(points), dtype=bool)
    for monomial in order:
        if len(monomial) == 2 and monomial[0] == monomial[1]:
            held &= column[monomial] <= 2 - 2 * np.maximum(column[monomial[:1]] - 1, 0) ** 2
        elif len(monomial) == 2:
            held &= column[monomial[:1]] + column[monomial[1:]] + column[monomial] <= 4
    return held


def share_of_box(predictors: int, count: int, seed: int) -> tuple[float, float]:
    """The part of the box [-2, 2]^m inside every cylinder, with its standard error."""
    generator = np.random.default_rng(seed)
    points = generator.uniform(-2, 2, (count, len(names(predictors))))
    share = float(inside(points, predictors).mean())
    return share, float(np.sqrt(share * (1 - share) / count))


def volume_and_square(nodes: int = 24) -> tuple[float, float]:
    """Volume, and E|U|^2 of a uniform point, for one predictor, by Gauss-Legendre rules that are exact here."""
    volume = square = 0.0
    for u, weight in (*_rule(0, 1, nodes), *_rule(1, 2, nodes)):
        height = 2 - 2 * max(u - 1, 0.0) ** 2
        across, across_square = _cut_square(4 - u, nodes)
        slab = 2 * weight * 2 * height  # both signs of u
        volume += slab * across
        square += slab * (across * (u * u + height**2 / 3) + across_square)
    return volume, square / volume


def _cut_square(reach: float, nodes: int) -> tuple[float, float]:
    """Area of {|a|, |b| <= 2, |a| + |b| <= reach} and the integral of a^2 + b^2 over it."""
    area = square = 0.0
    for a, weight in (*_rule(0, reach - 2, nodes), *_rule(reach - 2, 2, nodes)):
        b = min(2.0, reach - a)
        area += 4 * weight * b
        square += 4 * weight * (a * a * b + b**3 / 3)
    return area, square


def _rule(low: float, high: float, nodes: int) -> list[tuple[float, float]]:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    half = (high - low) / 2
    return [(low + half * (x + 1), half * w) for x, w in zip(places.tolist(), weights.tolist(), strict=True)]
