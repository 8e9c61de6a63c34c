"""Gaussian plans audited from outside: a million draws of the worst pair, and the event that tells most of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.mechanisms.parts.box_mechanism import centred_sums
from dxgeom.mechanisms.parts.factors import Tree
from dxgeom.mechanisms.parts.lattice_noise import interleaved
from dxgeom.noise.triangular import DifferencedNormals
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.privacy import gaussian_delta

pytestmark = pytest.mark.long
DRAWS = 1_000_000
EPSILONS = (0.0, 0.5, 1.0, 2.0)
SURE = 6.0
"""Standard deviations: a correct law fails with a chance below 1e-7 (the seeds are fixed)."""
SURVEY = {
    "policy": "survey",
    "privacy": "concentrated",
    "universe": {"attributes": {"a": {"values": ["p", "q", "r"]}, "b": {"range": [0, 3], "step": 1}}},
    "rules": [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": "0.8", "per": 1}],
}


def worst_pair(mechanism):
    """The change of all answers that is hidden least, its distance, and the test that tells most of it."""
    sensitivity = mechanism.sensitivity
    changes = sensitivity.differences * sensitivity.queries.float_steps
    rows = mechanism.float_mixing
    inverse = np.linalg.pinv(rows @ mechanism.law.second_moment @ rows.T, rcond=1e-10)
    loads = np.sqrt(np.einsum("ek,kl,el->e", changes, inverse, changes))
    worst = int(np.argmax(loads / sensitivity.bounds))
    return changes[worst], float(sensitivity.bounds[worst]), inverse @ changes[worst]


def plans():
    policy = dx.Policy.from_dict(SURVEY)
    metric, universe = policy.compile(), policy.universe
    yield dx.plan(metric, dx.LinearQueries.ranges(universe, "b"), mechanism="gaussian")
    yield dx.plan(metric, dx.LinearQueries.marginals(universe, ways=2), mechanism="marginal-gaussian")
    yield dx.plan(metric, dx.LinearQueries.marginals(universe, ways=1), mechanism="gaussian", objective="max")


def audit(noises, shift, distance):
    """A million draws of a linear test, under either record, before the curve at that distance."""
    for epsilon in EPSILONS:
        at = epsilon + distance**2 / 2
        true, other = float(np.mean(noises[1] + shift > at)), float(np.mean(noises[0] > at))
        found = true - math.exp(epsilon) * other
        off = math.sqrt((true * (1 - true) + math.exp(2 * epsilon) * other * (1 - other)) / DRAWS)
        stated = gaussian_delta(epsilon, distance)
        assert found <= stated + SURE * off, epsilon
        assert found >= 0.98 * stated - SURE * off, epsilon


@pytest.mark.parametrize("place", range(3))
def test_no_event_tells_more_of_the_worst_pair_than_the_curve_and_one_tells_as_much(place):
    mechanism = list(plans())[place].mechanism
    change, distance, test = worst_pair(mechanism)
    noise = mechanism.float_mixing.T @ test
    told = [mechanism.law.draw(DRAWS, InsecureSeededRandomness(seed)) @ noise for seed in (1, 2)]
    audit(told, float(change @ test), distance)


def boxes():
    policy = dx.Policy.from_dict(SURVEY)
    ranges = [{"b": (low, high)} for low in range(4) for high in range(low + 1, 5) if high - low < 4]
    asked = [*ranges, {"a": (0, 1), "b": (0, 2)}, {"a": (1, 3)}, {"a": (2, 3), "b": (1, 2)}]
    plan = dx.plan(policy.compile(), dx.universe.BoxQueries.of(policy.universe, asked))
    assert plan.mechanism.name == "boxes-gaussian"
    return plan.mechanism


def block_tests(made, number, one, other):
    """What moves between two records in a block of boxes, each noisy number's part in the best test, and its law."""
    block = made.question.blocks[number]
    axes = [place for place, level in enumerate(block) if level and isinstance(made.factors[place], Tree)]
    sizes = [made.factors[place].radices[block[place] - 1] for place in axes]

    def counted(record):
        counts = np.zeros(made.boxes.sizes, dtype=np.int64)
        counts[record] = 1
        cells = [counts.sum(axis=tuple({0, 1} - set(asked))).ravel() for asked in made.queries.attribute_sets]
        table = made.measured(number, type("Counted", (), {"cells": cells})())
        return made.in_columns(number, table / made.step.denominator)

    scale, moved = float(made.scales[number]), counted(one) - counted(other)
    centred = centred_sums(moved, block, made.factors, differenced=True)
    inner = math.prod(size - 1 for size in sizes)
    shape, shapes = moved.shape, [one.shape for one in made.sums_of(number).values()]
    tables = [made.in_columns(number, interleaved(unit, shapes)) for unit in np.eye(math.prod(shape))]
    found = [centred_sums(table.astype(float), block, made.factors, differenced=True) for table in tables]
    weights = np.array([float((table * centred).sum()) for table in found]) / scale**2
    law = DifferencedNormals(scale / float(made.step), np.array(sizes, dtype=np.float64))
    return float((centred**2).sum()) / scale**2, weights * float(made.step), law, math.prod(shape) // inner


def test_no_event_tells_more_of_the_worst_pair_of_records_in_boxes():
    """Of all numbers that boxes draw noise for, whatever answers are made of them."""
    made = boxes()
    noisy = [number for number in range(len(made.question.blocks)) if made.scales[number] > 0]
    records = list(np.ndindex(*made.boxes.sizes))
    pairs = [(i, j) for i in range(len(records)) for j in range(len(records)) if i != j]

    def tests(i, j):
        return [block_tests(made, number, records[i], records[j]) for number in noisy]

    ratios = [sum(one[0] for one in tests(*pair)) / float(made.metric.metric.distance(*pair)) ** 2 for pair in pairs]
    worst = pairs[int(np.argmax(ratios))]
    assert max(ratios) <= 1 + 1e-9
    found, noises = tests(*worst), [np.zeros(DRAWS), np.zeros(DRAWS)]
    for seed, noise in enumerate(noises):
        for block, (_, weights, law, count) in enumerate(found):
            drawn = law.draw(count * DRAWS, InsecureSeededRandomness(100 * seed + block))
            noise += np.asarray(drawn, dtype=float).reshape(DRAWS, -1) @ weights
    squared = sum(one[0] for one in found)
    audit(noises, squared, math.sqrt(squared))
