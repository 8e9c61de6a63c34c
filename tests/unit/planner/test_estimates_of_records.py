"""Tables moved to the nearest of some records: passing sums along a tree against brute force, and the promise."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import dxgeom as dx
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.planner.estimates.joined import cliques_of, nearest_of_records
from dxgeom.universe.workloads.whole_tables import MarginalQueries

SIZES = (3, 2, 2, 3)
SUBSETS = [own for width in range(4) for own in itertools.combinations(range(4), width)]
sets = st.lists(st.sampled_from(SUBSETS), min_size=1, max_size=6, unique=True)


def tables_of(counts, asked):
    return [np.asarray(counts.sum(axis=tuple(a for a in range(4) if a not in own))) for own in asked]


@settings(max_examples=30)
@given(st.integers(0, 10**6), sets)
def test_sums_and_maxima_along_the_tree_are_those_over_all_records(seed, asked):
    """By brute force over the 36 records; whatever the tables are, loops and parts that share nothing among them."""
    generator = np.random.default_rng(seed)
    cliques = cliques_of(SIZES, asked)
    tables = [generator.normal(size=tuple(SIZES[a] for a in own)) * 3 for own in asked]
    whole = sum(
        (one.reshape([SIZES[a] if a in own else 1 for a in range(4)]) for one, own in zip(tables, asked, strict=True)),
        np.zeros(SIZES),
    )
    chances = np.exp(whole) / np.exp(whole).sum()
    for found, true in zip(cliques.margins(tables), tables_of(chances, asked), strict=True):
        assert found == pytest.approx(true, abs=1e-12)
    assert cliques.largest(tables) == pytest.approx(whole.max())


@settings(max_examples=15)
@given(st.integers(0, 10**6), sets, st.floats(0.01, 30))
def test_no_tables_of_records_are_further_from_the_estimate_than_from_the_released(seed, asked, noise):
    generator = np.random.default_rng(seed)
    truth = tables_of(generator.multinomial(40, generator.dirichlet([0.1] * 36)).reshape(SIZES), asked)
    raw = [one + noise * generator.standard_normal(one.shape) for one in truth]
    weights = generator.uniform(0.1, 10, len(asked)).tolist()
    found = nearest_of_records(cliques_of(SIZES, asked), raw, weights, 40.0, noise * noise)

    def apart(some, others):
        each = zip(weights, some, others, strict=True)
        return sum(weight * float(np.sum((one - other) ** 2)) for weight, one, other in each)

    assert apart(found.tables, truth) <= apart(raw, truth) - found.moved + found.off + 1e-9
    assert found.moved == pytest.approx(apart(found.tables, raw), rel=1e-6, abs=1e-9)
    assert min(float(one.min()) for one in found.tables) >= 0


def is_of_records(tables, asked):
    """Whether some weights of all records have these margins, by a linear program."""
    rows = [
        [float(all(record[a] == code for a, code in zip(own, place, strict=True))) for record in np.ndindex(SIZES)]
        for own in asked
        for place in np.ndindex(*(SIZES[a] for a in own))
    ]
    right = np.concatenate([one.ravel() for one in tables])
    slack = np.eye(len(rows))
    costs = np.concatenate([np.zeros(36), np.ones(2 * len(rows))])
    found = linprog(costs, A_eq=np.hstack([rows, slack, -slack]), b_eq=right)
    return found.fun < 1e-6 * max(right.max(), 1)


def test_tables_that_agree_and_are_of_no_records_become_tables_of_records():
    """Three attributes of two values, of which each two always differ: any two tables agree, and no record is so."""
    asked = [(1, 2), (1, 3), (2, 3)]
    two = np.array([[0.0, 30.0], [30.0, 0.0]])
    raw = [two, np.array([[0.0, 30.0, 0.0], [30.0, 0.0, 0.0]]), np.array([[0.0, 30.0, 0.0], [30.0, 0.0, 0.0]])]
    assert not is_of_records(raw, asked)
    found = nearest_of_records(cliques_of(SIZES, asked), raw, [1.0] * 3, 60.0, 0.0)
    assert is_of_records(found.tables, asked) and found.moved > 100


def plan_of(presence):
    attributes = {f"a{k}": {"values": [f"v{j}" for j in range(size)]} for k, size in enumerate(SIZES)}
    rules = [{"presence": True, "epsilon": 1}] if presence else [{"change": [*attributes], "epsilon": 1}]
    policy = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
    return policy, dx.plan(policy.compile(), MarginalQueries.of(policy.universe, ways=2))


@pytest.mark.long
def test_a_release_is_moved_to_tables_of_records_where_their_number_is_public():
    policy, plan = plan_of(presence=False)
    rows = pd.DataFrame({name: [f"v{k % 2}" for k in range(30)] for name in policy.universe.names})
    release = plan.release(rows, ledger=":memory:", spend=1, insecure_test_seed=1, estimate="records")
    estimate = release.estimate()
    assert is_of_records(estimate.tables, plan.queries.attribute_sets)
    assert estimate.total == 30 and [one.sum() for one in estimate.tables] == pytest.approx([30.0] * 6)
    assert any("tables of some records" in line for line in estimate.done)
    assert any("the total squared error is not larger" in line for line in estimate.done)
    assert estimate.errors.at_most <= estimate.errors.released and estimate.errors.estimated is None


def test_no_records_have_no_counts_and_too_large_cliques_are_refused():
    found = nearest_of_records(cliques_of(SIZES, [(0, 1)]), [np.ones((3, 2))], [2.0], 0.0, 1.0)
    assert not found.tables[0].any() and (found.off, found.moved) == (0, 12)
    with pytest.raises(TooLarge, match="cliques of"):
        cliques_of((100,) * 3, [(0, 1), (1, 2), (0, 2)])


@pytest.mark.long
def test_what_there_is_none_of_is_refused_before_anything_is_charged():
    _, plan = plan_of(presence=True)
    with pytest.raises(UnsupportedCombination, match="their number is public"):
        plan.require_estimate("records")
    policy, public = plan_of(presence=False)
    public.require_estimate("records")
    boxes = dx.plan(policy.compile(), dx.universe.BoxQueries.prefixes(policy.universe, "a0"))
    with pytest.raises(UnsupportedCombination, match="only whole tables"):
        boxes.require_estimate("records")
