"""Several answers at once, and functions, as values of data sets: norms of products, and layers around points."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dxgeom.errors import DxgeomError, TooLarge, WrongArgument
from dxgeom.lab.dataset_space import UNREACHABLE, DatabasePolicy, neighbouring_datasets
from dxgeom.lab.finite_mechanism import privacy_level
from dxgeom.lab.layers import (
    calibrated_table,
    composed_layers,
    global_sensitivity,
    ladder_layers,
    layered_table,
    penalised_layers,
    privacy_first_layers,
    staircase_layers,
    utility_first_layers,
)
from dxgeom.lab.product_space import joined_values, neighbouring_points

HALF = Fraction(1, 2)


def some_space(seed, norm, every):
    """A tree and two edges more; three numbers for each data set."""
    random = np.random.default_rng(seed)
    size = int(random.integers(4, 6))
    points = [[Fraction(int(number), 2) for number in random.integers(0, 3, 3)] for _ in range(size)]
    tree = {(int(random.integers(0, child)), child) for child in range(1, size)}
    first, second = np.array(sorted({*tree, (0, size - 1), (1, size - 1)})).T
    return neighbouring_points(points, first, second, norm=norm, weights=[1, Fraction(1, 3), 2], every=every)


def apart(one, other, norm):
    each = [w * abs(a - b) for w, a, b in zip((1, Fraction(1, 3), 2), one, other, strict=True)]
    return max(each) if norm == "max" else sum(each)


def designs(space):
    count = len(space.range)
    return {
        "staircase": staircase_layers(space),
        "offset": staircase_layers(space, global_sensitivity(space) * space.unit / 3),
        "ladder": ladder_layers(space),
        "privacy first": privacy_first_layers(space),
        "composed": composed_layers(space, [HALF] * space.size),
        "utility first": utility_first_layers(space, [1] * count),
        "penalised": penalised_layers(composed_layers(space, [HALF] * space.size), np.arange(count) % 2 == 0, 2),
    }


CASES = [(seed, norm, every) for seed in range(2) for norm in ("max", "sum") for every in (False, True)]


@pytest.mark.parametrize(("seed", "norm", "every"), CASES)
def test_distances_of_values_are_the_norm_of_those_of_the_numbers(seed, norm, every):
    space = some_space(seed, norm, every)
    answers, losses = space.range, space.losses
    taken = [tuple(sorted({*column})) for column in zip(*space.values, strict=True)]
    assert set(answers) == (set(product(*taken)) if every else {*space.values})
    for x, r in product(range(space.size), range(len(answers))):
        assert losses[x][r] == apart(space.values[x], answers[r], norm)
    assert [answers[place] for place in space.places] == list(space.values)
    ends = zip(space.first, space.second, space.changes, strict=True)
    assert all(change * space.unit == apart(space.values[x], space.values[y], norm) for x, y, change in ends)


@pytest.mark.parametrize(("seed", "norm", "every"), CASES)
def test_every_design_honours_twice_epsilon_by_another_route(seed, norm, every):
    space = some_space(seed, norm, every)
    distances = [[Fraction(d) for d in row] for row in space.distances.tolist()]
    for name, layers in designs(space).items():
        both = (layers[space.first] - layers[space.second])[:, (layers < UNREACHABLE).all(axis=0)]
        assert np.abs(both).max(initial=0) <= 1
        law = layered_table(space, layers, Fraction(2, 3), name).law
        assert privacy_level(law, distances).upper <= 2 / 3


def test_a_product_of_one_is_the_space_itself():
    first, second = np.arange(4), np.arange(1, 5)
    alone = neighbouring_datasets([0, 3, 5, 6, 9], first, second)
    for one in (joined_values([alone]), neighbouring_points([[0], [3], [5], [6], [9]], first, second, norm="sum")):
        assert np.array_equal(one.misses, alone.misses)
        assert np.array_equal(ladder_layers(one), ladder_layers(alone))
        assert [point for (point,) in one.range] == list(alone.range)
        assert one.metric(Fraction(1)).fingerprint == alone.metric(Fraction(1)).fingerprint


def test_queries_on_one_policy_are_joined_under_its_account():
    policy = DatabasePolicy(2, Fraction(1), 2, "hamming", Fraction(1))
    both = joined_values([policy.space("sum"), policy.space("percentile", 50)], norm="max")
    table = calibrated_table(both, privacy_first_layers(both), policy.rate, "sum and median")
    assert table.account.policy_fingerprint == policy.fingerprint
    assert privacy_level(table.law, both.distances.tolist()).upper <= float(policy.rate)


def test_areas_between_functions_are_sums_weighted_by_gaps():
    functions = [[0, 0, 0], [0, 1, 1], [1, 1, 2]]
    space = neighbouring_points(functions, np.array([0, 1]), np.array([1, 2]), norm="sum", weights=[HALF, 1, 2])
    assert space.losses[0] == (0, 3, Fraction(11, 2))
    assert global_sensitivity(space) * space.unit == 3


def test_what_is_no_product_is_refused():
    ends = np.array([0]), np.array([1])
    one, other = neighbouring_datasets([0, 1], *ends), neighbouring_datasets([0, 1, 2], *ends)
    wrong = {
        "as many numbers as there are weights": lambda: neighbouring_points([[1, 2], [3]], *ends),
        "all positive": lambda: neighbouring_points([[1], [3]], *ends, weights=[0]),
        "no norm 'l2'": lambda: neighbouring_points([[1], [3]], *ends, norm="l2"),
        "at least one dataset": lambda: neighbouring_points([], *ends),
        "at least one space": lambda: joined_values([]),
        "on the same datasets": lambda: joined_values([one, other]),
    }
    for message, made in wrong.items():
        with pytest.raises(DxgeomError, match=message):
            made()
    with pytest.raises(WrongArgument, match="exactly"):
        neighbouring_points([[0.1], [1]], *ends)
    with pytest.raises(TooLarge, match="pairs of them are laid out"):
        neighbouring_points([[k] * 7 for k in range(10)], *ends, every=True)
