"""Fair rates: the smallest is as large as a linear programme can make it, then the next smallest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from dxgeom.mechanisms.linear.laplace import max_min_fair_rates


def fair(rows, shape):
    """Rates for listed rows; scaled so that each column's largest entry is 1, as the search expects."""
    largest = rows.max(axis=0)
    scaled = rows / largest

    def heaviest(rates, most):
        order = np.argsort(-(scaled @ rates))[:most]
        return (scaled @ rates)[order], scaled[order]

    return max_min_fair_rates(heaviest, shape * largest) / largest


def by_linear_programmes(rows, shape):
    """Raise all free rates together as far as possible, then fix those that cannot rise alone; over and over."""
    count = len(shape)
    fixed = np.full(count, np.nan)
    while np.isnan(fixed).any():
        free = np.isnan(fixed)
        # Variables: the rates of all, and the common height of the free ones.
        matrix = np.column_stack([rows, np.zeros(len(rows))])
        below = np.zeros((free.sum(), count + 1))
        below[np.arange(free.sum()), np.flatnonzero(free)] = -1 / shape[free]
        below[:, -1] = 1
        bounds = [(0, None) if free[k] else (fixed[k], fixed[k]) for k in range(count)] + [(0, None)]
        sides = np.append(np.ones(len(rows)) * (1 + 1e-12), np.zeros(free.sum()))
        best = linprog(-np.eye(count + 1)[-1], np.vstack([matrix, below]), sides, bounds=bounds, method="highs")
        height = best.x[-1]
        base = np.where(free, height * shape, fixed)
        room = (1 - rows @ base) < 1e-7
        stuck = free & (rows[room] > 0).any(axis=0)
        fixed[stuck] = base[stuck]
    return fixed


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["dense", "sparse", "binary"])
def test_fair_rates_agree_with_linear_programmes(seed, kind):
    generator = np.random.default_rng(seed)
    rows = generator.random((40, 6))
    if kind == "sparse":
        rows *= generator.random(rows.shape) < 0.3
    if kind == "binary":
        rows = (rows < 0.3) / generator.choice([0.1, 1.0], (40, 1))
    rows = np.vstack([rows, np.eye(6) * 0.2])
    shape = generator.choice([0.1, 1.0, 3.0], 6)
    assert np.allclose(fair(rows, shape), by_linear_programmes(rows, shape), rtol=1e-6)


def test_rates_under_separate_rows_each_fill_their_own():
    assert np.allclose(fair(np.diag([1.0, 10.0, 0.1]), np.ones(3)), [1, 0.1, 10])


def test_one_row_is_shared_in_proportion_to_the_shape():
    assert np.allclose(fair(np.ones((1, 3)), np.array([1.0, 2.0, 5.0])), np.array([1, 2, 5]) / 8)
