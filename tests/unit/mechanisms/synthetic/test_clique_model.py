"""The model in cliques, held against the histogram that it stands for."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.mechanisms.synthetic.models import CliqueModel, HistogramModel, tree_of_cliques
from dxgeom.mechanisms.synthetic.multiplicative_weights import mwem
from dxgeom.universe.queries import LinearQueries

SHAPE = (3, 2, 4, 2, 5, 3, 4)


def tables_over(sets):
    universe = {"attributes": {f"a{axis}": [f"v{value}" for value in range(size)] for axis, size in enumerate(SHAPE)}}
    rules = [{"change": list(universe["attributes"]), "epsilon": 1}]
    metric = dx.Policy.from_dict({"policy": "cells", "universe": universe, "rules": rules}).compile()
    return metric, LinearQueries.marginals(metric.universe, [[f"a{axis}" for axis in axes] for axes in sets])


@pytest.mark.parametrize("seed", range(40))
def test_cliques_hold_every_set_and_each_attribute_is_in_neighbouring_ones(seed):
    rng = np.random.default_rng(seed)
    sets = [tuple(sorted(rng.choice(7, size=rng.integers(1, 4), replace=False).tolist())) for _ in range(seed % 9)]
    tree = tree_of_cliques(sets, SHAPE)
    assert all(tree.holding(one) is not None for one in sets)
    assert not any(set(one) <= set(other) for one, other in itertools.permutations(tree.cliques, 2))
    assert all(place in tree.edges[other] for place, near in enumerate(tree.edges) for other in near)
    for axis in {axis for one in sets for axis in one}:
        having = {place for place, clique in enumerate(tree.cliques) if axis in clique}
        reached, waiting = set(), [min(having)]
        while waiting:
            place = waiting.pop()
            reached.add(place)
            waiting += [other for other in tree.edges[place] if other in having - reached]
        assert reached == having
    # A tree, not a circle: in each part one edge fewer than cliques.
    parts, seen = 0, set()
    for start in range(len(tree.cliques)):
        parts += start not in seen
        seen |= {start, *(place for _, place, _ in tree.outwards(start))}
    assert sum(len(near) for near in tree.edges) == 2 * (len(tree.cliques) - parts)


@pytest.mark.parametrize("seed", range(25))
def test_after_the_same_steps_both_models_have_the_same_answers(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    sets = {tuple(sorted(rng.choice(7, size=rng.integers(1, 4), replace=False).tolist())) for _ in range(count)}
    _, workload = tables_over(sorted(sets))
    factors = rng.integers(1, 4, workload.count)
    slow = HistogramModel(workload.tables, factors, np.ones(math.prod(SHAPE)))
    quick = CliqueModel(workload.tables, factors)
    for _ in range(12):
        queries = workload.tables.tables[int(rng.integers(len(sets)))].queries
        block, exponents = range(int(queries[0]), int(queries[-1]) + 1), rng.normal(size=len(queries))
        if rng.random() < 0.2:
            exponents[0] = -800.0  # nothing is left of a cell
        slow.reweigh(block, exponents)
        quick.reweigh(block, exponents)
        assert np.allclose(quick.answers(block), slow.answers(block), rtol=1e-10, atol=1e-15)
        assert np.allclose(quick.answers(), slow.answers(), rtol=1e-10, atol=1e-15)
    assert np.allclose(quick.distribution(), slow.distribution(), rtol=1e-9, atol=1e-15)
    assert quick.distribution().sum() == pytest.approx(1)


def test_where_cliques_would_be_as_large_as_the_histogram_it_is_the_histogram():
    sets = [(4, 5, 6), (0, 2, 6), (0, 4, 5), (2, 4)]
    _, workload = tables_over(sets)
    factors = np.ones(workload.count, dtype=np.int64)
    slow, quick = (
        HistogramModel(workload.tables, factors, np.ones(math.prod(SHAPE))),
        CliqueModel(workload.tables, factors),
    )
    whole = []
    for table in workload.tables.tables:
        block = range(int(table.queries[0]), int(table.queries[-1]) + 1)
        for model in (slow, quick):
            model.reweigh(block, np.linspace(-1, 1, len(block)))
        whole.append(quick._whole is not None)
        assert np.allclose(quick.answers(), slow.answers(), rtol=1e-10)
    assert whole[0] is False
    assert whole[-1] is True


def test_whole_marginals_are_learnt_in_cliques_unless_the_start_says_more():
    metric, workload = tables_over([(0, 1), (1, 2)])
    asked = mwem(metric, workload).workload
    even = np.ones(math.prod(SHAPE))
    assert isinstance(asked.model(even), CliqueModel)
    even[0] = 2
    assert isinstance(asked.model(even), HistogramModel)
