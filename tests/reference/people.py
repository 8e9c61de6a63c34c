"""People given by their rows, and the cheapest way between two of them: slow and obvious."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

POLICY = """policy: rooms
universe: {attributes: {room: [a, b, c, d]}}
people: {column: who, count: COUNT}
rules:
  - {change: room, values: {a: 0.1, b: 0.5}, otherwise: 1}
"""


def fractions_of(rows: Sequence[int], types: int) -> list[Fraction]:
    """Each possible record's part of a person's rows."""
    counts = Counter(rows)
    return [Fraction(counts[record], len(rows)) for record in range(types)]


def earth_mover(first: Sequence[Fraction], second: Sequence[Fraction], distance: Callable[[int, int], float]) -> float:
    """The least cost of carrying one distribution to the other, by a linear program."""
    size = len(first)
    costs = [distance(i, j) for i in range(size) for j in range(size)]
    sums = np.array(
        [[k // size == i for k in range(size * size)] for i in range(size)]
        + [[k % size == j for k in range(size * size)] for j in range(size)],
        dtype=float,
    )
    right = np.array([float(part) for part in (*first, *second)])
    bounds = [(0, None if np.isfinite(cost) else 0) for cost in costs]
    found = linprog([cost if np.isfinite(cost) else 0.0 for cost in costs], A_eq=sums, b_eq=right, bounds=bounds)
    return float(found.fun) if found.status == 0 else float("inf")
