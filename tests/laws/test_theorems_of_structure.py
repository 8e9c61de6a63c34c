"""Theorems on workloads with structure, each against the dense solver or another route, on small random cases.

The lemma on projections is in ``tests/unit/planner/test_estimates.py``: no truth is further from an estimate.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar

from dxgeom.mechanisms.gaussian.program import best_covariance
from dxgeom.mechanisms.parts.program import Budgets, least_cost_rates

SEEDS = range(3)


def least(answers, moved):
    """The least total of normal noise in ``answers`` (K, n) that hides the columns ``moved`` of (n, E), by the dense
    solver: a bound, and what is reached."""
    found = best_covariance(np.ascontiguousarray(moved.T.astype(float)), answers.astype(float))
    return found.bound, float(np.sum((answers @ found.axes) ** 2))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_of_a_product_is_the_product_of_the_best_where_records_come_and_go(seed):
    """Theorem 1 under presence alone."""
    generator = np.random.default_rng(seed)
    factors = [generator.integers(0, 3, (size + 1, size)) + np.eye(size + 1, size, dtype=int) for size in (2, 3)]
    (low, high), each = least(np.kron(*factors), np.eye(6)), [least(one, np.eye(one.shape[1])) for one in factors]
    lows, highs = (math.prod(ends) for ends in zip(*each, strict=True))
    # None is known better than to the solver's gap.
    assert high / low < 1 + 1e-7 and highs / lows < 1 + 1e-7
    assert high == pytest.approx(highs, rel=1e-7)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("power", [1, 2])
def test_shares_among_products_have_one_price_for_each_rule(power, seed):
    """Theorem 2: the formula in prices, at its largest, is what shares reach. Of normal noise the squares of shares
    are meant (power 1), of Laplace noise shares (power 2)."""
    generator = np.random.default_rng(seed)
    errors, loads = generator.uniform(0.1, 5, 6), generator.uniform(0, 1, (6, 2)) * (generator.random((6, 2)) < 0.7)
    loads[loads.sum(axis=1) == 0] = 1.0
    limits = generator.uniform(0.3, 2, 2)
    found = least_cost_rates(Budgets(sparse.csr_matrix(loads), limits), errors, power)

    def formula(part):
        prices = np.array([part, 1 - part]) / limits
        prices = loads @ prices
        return (np.sqrt(errors * prices).sum() ** 2) if power == 1 else np.sum(np.cbrt(errors * prices**2)) ** 3

    best = minimize_scalar(lambda part: -formula(part), bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    assert found.value == pytest.approx(max(-best.fun, formula(0.0), formula(1.0)), rel=1e-7)
    assert found.bound <= found.value * (1 + 1e-12)
    # And by brute force nobody finds shares that err less.
    tried = generator.dirichlet(np.ones(6), 2000)
    tried /= np.max(tried @ loads / limits, axis=1, keepdims=True)
    assert np.min((errors / tried**power).sum(axis=1)) >= found.value * (1 - 1e-9)


@pytest.mark.parametrize(("size", "seed"), [*product((5, 8), SEEDS)])
def test_on_a_circle_one_number_for_each_kind_of_change_finds_the_least_error(size, seed):
    """Theorem 3: steps around a circle, the last value beside the first, and presence; queries that go round."""
    generator = np.random.default_rng(seed)
    first, apart = generator.integers(0, 4, size), float(generator.uniform(0.2, 1.2))
    around = np.array([np.roll(first, shift) for shift in range(size)])
    steps = np.eye(size) - np.roll(np.eye(size), 1, axis=0)
    low, high = least(around, np.hstack([np.eye(size), steps / apart]))
    spectrum = np.abs(np.fft.fft(first)) ** 2
    moved = 2 - 2 * np.cos(2 * np.pi * np.arange(size) / size)

    def formula(part):
        return np.sqrt(spectrum * (part + (1 - part) * moved / apart**2)).sum() ** 2 / size

    best = minimize_scalar(lambda part: -formula(part), bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    assert high / low < 1 + 1e-7
    assert high == pytest.approx(max(-best.fun, formula(0.0), formula(1.0)), rel=1e-7)
