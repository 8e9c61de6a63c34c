"""Noise in parts held against whole tables on their own: the same limits, laws and shares; and no part for nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from reference.forged import forged
from reference.noise_in_tables import largest_part_used, taken_of_residual, taken_of_table
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.box_mechanism import NORMAL, BoxMechanism
from dxgeom.mechanisms.parts.box_scales import BlockTables, BoxQuestion, best_scales, promised_of, worst_scales
from dxgeom.mechanisms.parts.factors import Path, trees
from dxgeom.mechanisms.parts.loads import within_budgets
from dxgeom.mechanisms.parts.scales import SHARES, measurement_shares, only_taken, scales_of_laplace
from dxgeom.mechanisms.parts.table_candidates import marginal_gaussian, marginal_laplace, marginal_space
from dxgeom.mechanisms.parts.tables import MarginalQuestion, family_of

WIDEST = 1e6
"""Of the narrowest noise; what nothing is taken of would have any size, 10²⁰ times and more."""


def a_family(generator):
    attributes = int(generator.integers(1, 5))
    sizes = generator.choice([1, 2, 2, 3, 5], attributes).tolist()
    asked = {
        tuple(sorted(generator.choice(attributes, int(generator.integers(0, min(3, attributes) + 1)), False).tolist()))
        for _ in range(int(generator.integers(1, 5)))
    }
    return family_of(sizes, sorted(asked))


def some(generator, constants):
    return [None if own is None else Fraction(own) for own in generator.choice(np.array(constants, dtype=object), 4)]


@pytest.mark.parametrize("seed", range(40))
def test_limits_are_those_of_whole_tables(seed):
    generator = np.random.default_rng(seed)
    family, normal = a_family(generator), bool(seed % 2)
    least = tuple(some(generator, [None, 1, "1/10", 3])[: len(family.sizes)])
    presence = some(generator, [None, 2])[0]
    numbers = range(family.count * (1 if normal else 2))
    sets = [family.members_of(number % family.count) for number in numbers]
    scales = generator.uniform(0.5, 3, len(sets)) * (generator.random(len(sets)) < 0.8)
    judged = lambda scales: largest_part_used(family.sizes.tolist(), sets, least, presence, scales.tolist(), normal)  # noqa: E731
    used = float(judged(scales)) ** (0.5 if normal else 1)
    for factor in (0.5, 1 - 1e-12, 1 + 1e-12, 2):
        own = scales * (used or 1) * factor
        promise = DistanceBounds(least, least, presence)
        assert within_budgets(family, promise, own, normal) == (judged(own) <= 1)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_answers_take_of_each_part_what_cells_of_whole_tables_take(seed, privacy):
    generator = np.random.default_rng(seed)
    sizes = generator.choice([2, 2, 3, 4], int(generator.integers(1, 4))).tolist()
    policy = policy_of_ranges(sizes, privacy, presence=bool(seed % 2))
    groups = {
        tuple(sorted(generator.choice(len(sizes), int(generator.integers(1, len(sizes) + 1)), False).tolist()))
        for _ in range(3)
    }
    queries = dx.LinearQueries.marginals(policy.universe, [tuple(f"a{k}" for k in one) for one in sorted(groups)])
    space = marginal_space(sensitivity_of(policy.compile(), queries), None, worst=False)
    normal = privacy == "concentrated"
    mechanism = (marginal_gaussian if normal else marginal_laplace)(space)
    family, scales = space.family, mechanism.mixing.measured.scales
    noisy = np.flatnonzero(scales > 0).tolist()
    shares = {n: {n: 1} for n in noisy} if normal else measurement_shares(space.question, scales)
    for number, places in zip(family.workload_sets.tolist(), space.tables.queries, strict=True):
        own, taken = family.members_of(number), {}
        for residual, measured in shares.items():
            inside = family.members_of(residual)
            for other, share in measured.items() if set(inside) <= set(own) else ():
                told = family.members_of(other % family.count)
                args = (inside, told, own, family.sizes.tolist(), other >= family.count)
                part = taken_of_residual(inside, own, family.sizes.tolist()) if normal else taken_of_table(*args)
                taken[other] = taken.get(other, 0) + share * part
        widths = [block.size for block in mechanism.mixing.measured.blocks]
        each = [taken.get(n, np.zeros((len(places), width), int)) for n, width in zip(noisy, widths, strict=True)]
        assert np.array_equal(mechanism.mixing.numerators[places], np.hstack(each))
        over = math.prod(space.family.sizes[list(own)].tolist()) * (1 if normal else SHARES)
        assert {mechanism.mixing.divisors[place] for place in places} == {
            over * space.sensitivity.queries.steps[places[0]] * mechanism.mixing.measured.steps_per_count
        }


def boxes_of(generator, sizes):
    found = []
    for _ in range(int(generator.choice([1, 2, 4]))):
        box = {}
        for k, size in enumerate(sizes):
            if generator.random() < 0.7:
                low = int(generator.integers(size))
                box[f"a{k}"] = (low, int(generator.integers(low + 1, size + 1)))
        found.append(box)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["boxes-laplace", "boxes-gaussian"])
def test_no_block_has_noise_that_no_box_takes(seed, name):
    generator, sizes, normal = np.random.default_rng(seed), (5, 2), name == NORMAL
    lines = [k for k in range(2) if generator.random() < 0.5]
    privacy = "concentrated" if normal else "pure"
    policy = policy_of_ranges(sizes, privacy, lines, presence=bool(seed % 2))
    boxes = boxes_of(generator, sizes)
    queries = dx.universe.BoxQueries.of(policy.universe, boxes if any(boxes) else [{"a0": (0, 2)}])
    told = queries.merged
    factors = tuple(
        Path(size) if one.axis in lines and generator.random() < 0.5 else generator.choice(np.array(trees(size)))
        for one, size in zip(told.columns, told.sizes, strict=True)
    )
    metric = policy.compile()
    question = BoxQuestion(told, factors, promised_of(metric, told, factors), normal)
    for scales in (best_scales(question), *([worst_scales(question).scales] if normal else [])):
        made, weights = BoxMechanism(name, metric, queries, factors, scales), question.weights
        taken = {n for _, shares in made.averages() for n in shares}
        assert {*made.noisy} <= taken
        if normal:
            assert not np.any(scales[weights == 0])
        else:
            assert np.array_equal(only_taken(BlockTables(question), scales, weights > 0), scales)
        assert scales.max() <= WIDEST * scales[scales > 0].min()


@pytest.mark.parametrize("seed", range(10))
def test_no_table_has_noise_that_no_answer_takes(seed):
    generator = np.random.default_rng(seed)
    family = a_family(generator)
    costs = 10.0 ** generator.integers(-6, 7, len(family.workload_sets))
    question = MarginalQuestion.under(family, [Fraction(1)] * len(family.sizes), None, costs)
    if not np.any(question.protected):
        return
    scales = scales_of_laplace(question, worst=False)
    taken = {n for shares in measurement_shares(question, scales).values() for n in shares}
    assert {*np.flatnonzero(scales > 0).tolist()} == taken


def test_a_table_of_which_nothing_is_taken_gets_no_noise():
    family = family_of([3, 3], [(0,), (0, 1)])
    question = MarginalQuestion.under(family, [Fraction(1)] * 2, None, np.ones(2))
    scales = scales_of_laplace(question, worst=False)
    table = family.workload_sets[0] if scales[family.workload_sets[0]] == 0 else family.workload_sets[1]
    idle = scales.copy()
    idle[table] = 1.9e20
    assert np.array_equal(only_taken(question, idle), np.where(np.arange(len(scales)) == table, 0, scales))


@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_an_answer_that_is_put_together_wrongly_still_sees_noisy_numbers_alone(privacy, presence):
    own = policy_of_ranges((3, 2, 4), privacy, (), presence)
    asked = dx.universe.MarginalQueries.of(own.universe, [["a0", "a1"], ["a1", "a2"]])
    mechanism = dx.plan(own.compile(), asked).mechanism
    generator = np.random.default_rng(0)
    one, other = (generator.integers(0, [3, 2, 4], (50, 3)) for _ in range(2))

    def counted(rows):
        sizes = mechanism.queries.sizes
        cells = [
            np.ravel_multi_index(rows[:, list(a)].T, [sizes[k] for k in a]) for a in mechanism.queries.attribute_sets
        ]
        shapes = map(math.prod, mechanism.queries.shapes)
        return type("Counted", (), {"cells": tuple(map(np.bincount, cells, [None] * len(cells), shapes)), "total": 50})

    noise = {n: generator.integers(-9, 9, law.dimension * draws) for n, law, draws in mechanism.noisy_parts()}
    moved = {n: mechanism.measured(n, counted(one)) - mechanism.measured(n, counted(other)) for n in noise}
    wrong = forged(mechanism)
    vars(wrong)["_averaged"] = {n: [(inside, 3 * part + 1) for inside, part in mechanism._averaged[n]] for n in noise}
    for made in (mechanism, wrong):
        first = made.answered(counted(one), noise)
        second = made.answered(counted(other), {n: noise[n] + moved[n].ravel() for n in noise})
        assert all(map(np.array_equal, first.numerators, second.numerators))
