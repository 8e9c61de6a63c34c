"""Scales, sensitivities and errors of noise in parts are those of their definition, worked out slowly and otherwise."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from golden.kinds.keeping import HERE
from reference.parts_by_hand import largest_load, least_variances

import dxgeom as dx
from dxgeom.mechanisms.parts.lattice_noise import LatticeNoise
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries

NEAR = Fraction(1, 10**6)
KINDS = {
    "pure": ("marginal-laplace", "boxes-laplace"),
    "concentrated": ("marginal-gaussian", "kronecker-gaussian", "boxes-gaussian"),
}
QUICK = ("marginal-gaussian", "kronecker-gaussian")
CASES = [
    pytest.param(kind, privacy, presence, seed, marks=[] if kind in QUICK and not seed else [pytest.mark.long])
    for privacy, kinds in KINDS.items()
    for kind in kinds
    for presence in (False, True)
    for seed in range(2)
]


def metric_of(privacy, presence):
    rules = [
        {"change": "a", "epsilon": 0.5, "per": 1},
        {"change": "b", "epsilon": 1},
        {"change": "c", "epsilon": 0.75},
        *([{"presence": True, "epsilon": 2}] if presence else []),
    ]
    attributes = {
        "a": {"range": [0, 4], "step": 1, "whole": True},
        "b": {"values": ["x", "y"]},
        "c": {"values": ["u", "v", "w"]},
    }
    policy = {"policy": "small", "universe": {"attributes": attributes}, "rules": rules, "budget": 10}
    return dx.Policy.from_dict(policy | {"privacy": privacy}).compile()


def asked(kind, universe, generator):
    names = ["a", "b", "c"]
    if not kind.startswith("boxes"):
        sets = [one for length in (1, 2, 3) for one in itertools.combinations(names, length)]
        chosen = generator.choice(len(sets), size=3, replace=False)
        return MarginalQueries.of(universe, [*{("a", "b"), *(sets[place] for place in chosen)}])
    sizes = dict(zip(names, universe.shape, strict=True))
    boxes = []
    for _ in range(12):
        some = generator.choice(names, size=generator.integers(1, 3), replace=False).tolist()
        ends = [sorted(generator.choice(sizes[one] + 1, size=2, replace=False).tolist()) for one in some]
        boxes.append(dict(zip(some, map(tuple, ends), strict=True)))
    return BoxQueries.of(universe, boxes)


def answers_of(made):
    """(K, records), and which of the mechanism's variances is of each."""
    shape = made.queries.universe.shape
    values = np.indices(shape).reshape(len(shape), -1)
    codes = [own[values[axis]] for axis, own in sorted(made.codes.items())]
    if made.trees:
        low, high = made.merged.lower, made.merged.upper
        inside = [(low[:, [a]] <= own) & (own < high[:, [a]]) for a, own in enumerate(codes)]
        return np.all(inside, axis=0).astype(np.int64), np.arange(len(low))
    rows, owners = [], []
    for number, (columns, sizes) in enumerate(zip(made.queries.attribute_sets, made.queries.shapes, strict=True)):
        for cell in np.ndindex(*sizes):
            within = [codes[a] == one for a, one in zip(columns, cell, strict=True)]
            rows.append(np.all([np.ones(values.shape[1], dtype=bool), *within], axis=0))
            owners.append(number)
    return np.array(rows, dtype=np.int64), np.array(owners)


def require_as_by_hand(made):
    """Within every limit, and the errors are those of the best use, or of one that is nearly so; returns how much of a
    limit is used up."""
    used = largest_load(made)
    # Along bases what a record moves is in floats.
    assert used <= 1 + (NEAR if made.bases else 0)
    answers, owners = answers_of(made)
    most = np.zeros(len(made.variances))
    np.maximum.at(most, owners, least_variances(made, answers))
    np.testing.assert_allclose(made.variances, most, rtol=1e-8, atol=1e-9 * made.variances.max(initial=1))
    return float(used)


@pytest.mark.parametrize(("kind", "privacy", "presence", "seed"), CASES)
def test_planned_noise_uses_a_limit_up_and_has_the_errors_of_the_best_estimates(kind, privacy, presence, seed):
    metric = metric_of(privacy, presence)
    queries = asked(kind, metric.universe, np.random.default_rng(seed))
    made = dx.plan(metric, queries, mechanism=kind).mechanism
    assert isinstance(made, LatticeNoise)
    # Along bases a record is taken to be the worst in each residual, one by one.
    assert require_as_by_hand(made) > (0.5 if made.bases else 1 - 1e-6)


def recorded():
    sorts = ("boxes, ", "cells, ", "intervals, ", "tables, ")
    return [one for one in sorted((HERE / "plans").glob("*.json")) if one.name.startswith(sorts)]


def in_parts(path):
    """The noise in parts of a recorded plan, whatever answers are made of it; None where it has none."""
    mechanism = dx.load_plan(path).mechanism
    if isinstance(mechanism, LatticeNoise):
        return mechanism
    return getattr(getattr(mechanism, "mixing", None), "measured", None)


@pytest.mark.long
def test_recorded_scales_are_within_every_limit_and_have_the_errors_that_are_said():
    judged = [one for path in recorded() if (one := in_parts(path)) is not None]
    assert len(judged) > 60
    for made in judged:
        require_as_by_hand(made)
