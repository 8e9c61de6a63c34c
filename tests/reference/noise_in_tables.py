"""Whole tables of counts on their own, without factors: what limits noise uses, and what each cell takes of it.

The slow twin of noise in parts: sets of attributes in place of levels, Kronecker products in place of intervals.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import numpy as np


def largest_part_used(sizes, sets, least, presence, scales, normal):
    """The largest part of a limit that noise of these scales in residuals, or in tables, uses; exactly."""
    used = {}
    for members, scale in zip(sets, scales, strict=True):
        if scale > 0:
            rate = 1 / Fraction(scale) ** (2 if normal else 1)
            free = {a: 1 - Fraction(1, sizes[a]) if normal else Fraction(1) for a in members}
            for a in members:
                moved = 2 * rate * math.prod(free[b] for b in members if b != a)
                used[a] = used.get(a, 0) + moved
            used[None] = used.get(None, 0) + rate * math.prod(free.values())
    limits = {**dict(enumerate(least)), None: presence}
    power = 2 if normal else 1
    return max((part / limits[a] ** power for a, part in used.items() if limits[a] is not None), default=Fraction(0))


def taken_of_residual(residual, table, sizes):
    """(cells, Π(n−1)): Π n_a times what the differences in the residual add to each cell of the table."""
    below = lambda n: n * np.eye(n, n - 1, k=-1, dtype=int) - 1  # noqa: E731
    return _product(below(sizes[a]) if a in residual else np.ones((sizes[a], 1), dtype=int) for a in table)


def taken_of_table(residual, measured, table, sizes, differing):
    """(cells, numbers): Π n_a times what a measured table adds to each cell through the residual of a set inside both;
    ``differing``: attributes of two values are measured as differences."""
    factors = []
    for a in sorted({*measured, *table}):
        n = sizes[a]
        if a in residual:
            factors.append(np.array([[1], [-1]]) if differing and n == 2 else n * np.eye(n, dtype=int) - 1)
        else:
            factors.append(np.ones((n if a in table else 1, n if a in measured else 1), dtype=int))
    return _product(factors)


def _product(factors):
    return reduce(np.kron, factors, np.ones((1, 1), dtype=int))
