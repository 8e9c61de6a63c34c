"""Bounds of pure noise by volumes: against hulls of listed changes, and noise whose error is exact."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import dxgeom as dx
from dxgeom.mechanisms.parts.scales import best_gaussian_scales, best_laplace_scales
from dxgeom.mechanisms.parts.tables import MarginalQuestion, family_of
from dxgeom.mechanisms.parts.volumes import tables_volume_bound


def rounds_of(size):
    """Every two values meet in one round, and in a round each value meets at most one."""
    ring, found = [*range(size + size % 2)], []
    for _ in range(len(ring) - 1):
        pairs = zip(ring[: len(ring) // 2], reversed(ring), strict=False)
        found.append([pair for pair in pairs if max(pair) < size])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return found


def by_hull(sizes, asked, costs, distance):
    """The bound from what changes of the first attribute do to all tables, their hull taken from a list of them."""
    total = 0.0
    for pairs in rounds_of(sizes[0]):
        points = []
        for (one, other), rest in itertools.product(pairs, itertools.product(*map(range, sizes[1:]))):
            parts = []
            for table, cost in zip(asked, costs, strict=True):
                counts = np.zeros([sizes[a] for a in table])
                for value, sign in ((one, 1), (other, -1)):
                    counts[tuple((value, *rest)[a] for a in table)] = sign * math.sqrt(cost) / distance
                parts.append(counts.ravel())
            points += [np.concatenate(parts), -np.concatenate(parts)]
        _, lengths, axes = np.linalg.svd(np.array(points), full_matrices=False)
        own = np.array(points) @ axes[lengths > 1e-9].T
        m = own.shape[1]
        volume = ConvexHull(own).volume if m > 1 else float(np.ptp(own))
        total += m * (m + 1) * (volume / (math.pi ** (m / 2) / math.gamma(m / 2 + 1))) ** (2 / m)
    return total * 2 / sizes[0]


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 2), (4, 2), (3, 2, 2), (2, 3, 3), (2, 5)])
def test_the_bound_from_one_attribute_is_that_of_the_hull_of_its_changes(sizes):
    asked, costs = [(0,), *((0, b) for b in range(1, len(sizes)))], np.array([1.0, 0.5, 2.0])[: len(sizes)]
    constants = np.array([1.5, math.inf, math.inf])[: len(sizes)]
    found = tables_volume_bound(family_of(sizes, asked), constants, costs, worst=False)
    expected = by_hull(sizes, asked, costs, 1.5)
    assert expected * 0.99 < found < expected


@pytest.mark.parametrize("seed", range(6))
def test_no_laplace_noise_in_tables_is_below_the_bound(seed):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 9, 5).tolist()
    every = [one for ways in (1, 2, 3) for one in itertools.combinations(range(5), ways)]
    asked = [every[place] for place in sorted(generator.choice(len(every), 9, replace=False))]
    costs, constants = generator.uniform(0.2, 4, 9), generator.uniform(0.1, 3, 5)
    question = MarginalQuestion(family_of(sizes, asked), constants, math.inf, costs)
    found = tables_volume_bound(question.family, constants, costs, worst=False)
    assert 0 < found < best_laplace_scales(question).value
    assert 0 < tables_volume_bound(question.family, constants, costs, worst=True) <= found


def test_it_is_near_what_pure_noise_has_where_twice_the_gaussian_is_far():
    asked = list(itertools.combinations(range(6), 2))
    question = MarginalQuestion(family_of((10,) * 6, asked), np.ones(6), math.inf, np.ones(15))
    found, pure = tables_volume_bound(question.family, np.ones(6), np.ones(15), worst=False), 253_800
    assert pure / found < 3.6
    assert pure / (2 * best_gaussian_scales(question).value) > 10


def test_noise_of_the_hull_is_not_below_it():
    text = {"policy": "p", "universe": {"attributes": {"a": ["x", "y"], "b": ["x", "y"]}}}
    text["rules"] = [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": 0.5}]
    policy = dx.Policy.from_dict(text)
    plan = dx.plan(policy.compile(), dx.LinearQueries.marginals(policy.universe, ways=2))
    hull = next(one for one in plan.candidates if one.name == "hull").predicted_mse
    family = family_of((2, 2), [(0, 1)])
    assert 0.5 * hull < tables_volume_bound(family, np.array([1, 0.5]), np.ones(1), worst=False) < hull


def test_boxes_that_are_whole_tables_have_their_bound():
    sizes = (4, 3, 5)
    attributes = {f"a{k}": {"range": [0, n - 1], "step": 1} for k, n in enumerate(sizes)}
    rules = [{"change": name, "epsilon": 1} for name in attributes]
    policy = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
    boxes = [
        {f"a{a}": (i, i + 1), f"a{b}": (j, j + 1)}
        for a, b in itertools.combinations(range(3), 2)
        for i in range(sizes[a])
        for j in range(sizes[b])
    ]
    plan = dx.plan(policy.compile(), dx.universe.BoxQueries.of(policy.universe, boxes))
    asked = list(itertools.combinations(range(3), 2))
    known = tables_volume_bound(family_of(sizes, asked), np.ones(3), np.ones(3), worst=False)
    tables = dx.plan(policy.compile(), dx.universe.MarginalQueries.of(policy.universe, ways=2))
    assert known * (1 - 1e-5) <= plan.lower_bound <= plan.loss
    assert known * (1 - 1e-5) <= tables.lower_bound <= plan.lower_bound * (1 + 1e-5)
