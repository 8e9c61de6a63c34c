"""Theorems on workloads with structure, each against the dense solver or another route, on small random cases.

The lemma on projections is in ``tests/unit/planner/test_estimates.py``: no truth is further from an estimate.
"""

from __future__ import annotations

import math
from itertools import combinations, product

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


def grids_load(first, second, moves, presence):
    """The largest length over distance of ``first`` ⊗ ``second``, from every change of a record of the grid that is
    promised: of one attribute at each value of the other, and of a record that comes or goes. ``moves``: for each
    attribute (n, n) distances of its values."""
    sizes, strategy = [one.shape[1] for one in (first, second)], np.kron(first, second)
    cells, loads = [*product(*map(range, sizes))], []
    for start, end in combinations(range(len(cells)), 2):
        changed = [axis for axis in (0, 1) if cells[start][axis] != cells[end][axis]]
        if len(changed) == 1:
            apart = moves[changed[0]][cells[start][changed[0]], cells[end][changed[0]]]
            loads.append(float(np.linalg.norm(strategy[:, start] - strategy[:, end])) / apart)
    return max(*loads, *(np.linalg.norm(strategy, axis=0) / presence))


def of_one_attribute(answers, apart, rate, size):
    """The least total of one attribute whose columns are at most ``size``, and a change at most ``rate`` times its
    distance in (n, n) ``apart``; and the strategy that has it, by the dense solver."""
    count = len(apart)
    moved = [np.eye(count)[one] - np.eye(count)[other] for one, other in combinations(range(count), 2)]
    moved = [move / (rate * apart[*np.flatnonzero(move)]) for move in moved]
    found = best_covariance(np.array([*(np.eye(count) / size), *moved]), answers.astype(float))
    return found.value, np.linalg.inv(found.axes)


@pytest.mark.parametrize("seed", range(4))
def test_in_one_product_every_attribute_may_use_all_of_one_number(seed):
    """Theorem 1 with a constant for each change: the best ρ, and the dense solver for each attribute, find a product
    that every listed change of the grid allows; and no other has less. Others are found by turns from random starts:
    each factor is the best that the grid's changes allow beside the other one."""
    generator = np.random.default_rng(seed)
    sizes, presence = (2, 3), float(generator.uniform(0.6, 1.5))
    answers = [generator.integers(0, 3, (size + 1, size)) + np.eye(size + 1, size, dtype=int) for size in sizes]
    moves = [generator.uniform(0.3, 2.0, (size, size)) for size in sizes]
    moves = [(one + one.T) / 2 for one in moves]

    def at(rate):
        found = [of_one_attribute(*each, rate, 1.0) for each in zip(answers, moves, strict=True)]
        return max(rate, 1 / presence) ** 2 * math.prod(value for value, _ in found), [one for _, one in found]

    rates = 1 / presence * np.geomspace(1, 20, 16)
    place = int(np.argmin([at(rate)[0] for rate in rates]))
    ends = rates[max(place - 1, 0)], rates[min(place + 1, len(rates) - 1)]
    refined = minimize_scalar(lambda rate: at(rate)[0], bounds=ends, method="bounded", options={"xatol": 1e-10})
    least_rate = min((float(rates[place]), float(refined.x)), key=lambda rate: at(rate)[0])
    value, strategies = at(least_rate)
    load = grids_load(*strategies, moves, presence)
    total = math.prod(
        float(np.sum((one @ np.linalg.inv(kept)) ** 2)) for one, kept in zip(answers, strategies, strict=True)
    )
    assert load**2 * total == pytest.approx(value, rel=1e-7)

    def by_turns(factors, times):
        for _ in range(times):
            for axis in (0, 1):
                other = factors[1 - axis]
                columns = float(np.linalg.norm(other, axis=0).max())
                steps = max(
                    float(np.linalg.norm(other[:, one] - other[:, two])) / moves[1 - axis][one, two]
                    for one, two in combinations(range(sizes[1 - axis]), 2)
                )
                size = min(presence / columns, 1 / steps)
                factors[axis] = of_one_attribute(answers[axis], moves[axis], 1 / columns, size)[1]
        load = grids_load(*factors, moves, presence)
        return load**2 * math.prod(
            float(np.sum((one @ np.linalg.inv(kept)) ** 2)) for one, kept in zip(answers, factors, strict=True)
        )

    assert by_turns([*strategies], 1) == pytest.approx(value, rel=1e-7)
    for _ in range(3):
        assert by_turns([generator.normal(size=(size, size)) for size in sizes], 4) >= value * (1 - 1e-7)


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
