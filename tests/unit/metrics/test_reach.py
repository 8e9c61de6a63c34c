"""Path lengths in whole numbers against Floyd and Warshall's three loops."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxgeom.metrics import bounded_shortest_paths
from dxgeom.metrics.bounded_shortest_paths import UNREACHED, lengths_from, neighbours_of, pairs_within_limit

edges = st.dictionaries(
    st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] < pair[1]), st.integers(1, 9)
)


def table(size, found):
    paths = [[0 if i == j else found.get((min(i, j), max(i, j)), UNREACHED) for j in range(size)] for i in range(size)]
    for k, i, j in itertools.product(range(size), repeat=3):
        paths[i][j] = min(paths[i][j], paths[i][k] + paths[k][j])
    return paths


def graph_of(size, found):
    pairs = np.array(sorted(found), dtype=np.int64).reshape(-1, 2)
    return neighbours_of(
        size, pairs[:, 0], pairs[:, 1], np.array([found[pair] for pair in sorted(found)], dtype=np.int64)
    )


@given(edges)
def test_lengths_from_a_node_are_those_of_shortest_paths(found):
    graph = graph_of(8, found)
    assert [lengths_from(graph, source).tolist() for source in range(8)] == table(8, found)


@pytest.mark.parametrize("few_nodes", [0, 8])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=edges, reach=st.integers(0, 30))
def test_pairs_in_reach_are_all_pairs_with_a_path_that_short(found, reach, few_nodes, monkeypatch):
    """Row by row, and by edges from where the last ones led."""
    monkeypatch.setattr(bounded_shortest_paths, "_FEW_NODES", few_nodes)
    paths = table(8, found)
    expected = {(i, j, paths[i][j]) for i, j in itertools.combinations(range(8), 2) if paths[i][j] <= reach}
    pairs = pairs_within_limit(graph_of(8, found), reach, 100)
    assert pairs is not None
    listed = list(zip(*(column.tolist() for column in pairs), strict=True))
    assert len(listed) == len(expected)
    assert set(listed) == expected


def test_too_many_pairs_are_noticed_before_they_are_made():
    star = graph_of(4_000, {(0, node): 1 for node in range(1, 4_000)})
    assert pairs_within_limit(star, 2, 1_000_000) is None
    within_one = pairs_within_limit(star, 1, 1_000_000)
    assert within_one is not None
    assert within_one[0].size == 3_999


@pytest.mark.parametrize("few_nodes", [0, 1000])
def test_many_edges_of_few_nodes_take_little_memory(few_nodes, monkeypatch):
    """Every pair of 250 nodes is joined, and a way over others may be shorter."""
    monkeypatch.setattr(bounded_shortest_paths, "_FEW_NODES", few_nodes)
    first, second = np.triu_indices(250, 1)
    graph = neighbours_of(250, first, second, np.random.default_rng(5).integers(100, 201, first.size))
    tracemalloc.start()
    pairs = pairs_within_limit(graph, 10**6, 10**6)
    assert tracemalloc.get_traced_memory()[1] < 300e6
    tracemalloc.stop()
    assert pairs is not None
    assert pairs[0].size == first.size
