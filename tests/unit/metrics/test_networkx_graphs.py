"""Metrics as graphs of NetworkX, whose own shortest paths are the judge; and lists of edges from such graphs."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import MissingExtra, NotAMetric, TooLarge, WrongArgument

SQUARE = [("a", "b", 1), ("b", "c", 2), ("c", "d", Fraction(1, 2))]
POLICY = {
    "policy": "p",
    "universe": {"attributes": {"age": {"range": [0, 6], "step": 2}, "sex": ["F", "M"]}},
    "rules": [{"change": "age", "epsilon": 0.5, "per": 2}, {"change": "sex", "epsilon": 0.25}],
}


def assert_shortest_paths_are_distances(graph, metric):
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph, weight="weight"))
    for i, j in itertools.product(range(metric.size), repeat=2):
        assert lengths[i].get(j, np.inf) == pytest.approx(float(metric.distance(i, j)), rel=1e-12)


@settings(deadline=None, max_examples=12)
@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_shortest_paths_of_the_graph_are_all_distances(size, seed):
    places = np.random.default_rng(seed).integers(0, 9, (size, 2))
    metric = dx.verify_metric(np.abs(places[:, None] - places[None]).sum(axis=2))
    assert_shortest_paths_are_distances(metric.to_networkx(), metric)


def test_nodes_are_records_and_hold_their_values():
    metric = dx.Policy.from_dict(POLICY | {"rules": [*POLICY["rules"], {"presence": True, "epsilon": 0.3}]}).compile()
    graph = metric.to_networkx()
    assert graph.nodes[0] == {"age": "0", "sex": "F"}
    assert graph.nodes[metric.absent] == {}
    assert_shortest_paths_are_distances(graph, metric)


def test_values_of_an_attribute_are_the_secret_graph():
    joined = nx.Graph([("flu", "virus"), ("cold", "virus"), ("leg", "arm")])
    policy = dx.Policy.from_dict(
        {
            "policy": "p",
            "universe": {"attributes": {"ill": ["flu", "cold", "virus", "leg", "arm"]}},
            "rules": [{"secrets": {"edges": joined}, "epsilon": 0.5}],
            "unconnected": "allow",
        }
    )
    graph = policy.to_networkx("ill")
    assert {frozenset(edge) for edge in graph.edges} == {frozenset(edge) for edge in joined.edges}
    assert set(nx.get_edge_attributes(graph, "weight").values()) == {0.5}
    with pytest.raises(dx.errors.UnsupportedCombination, match="did you mean 'ill'"):
        policy.to_networkx("il")


def test_a_path_that_is_explained_is_a_graph():
    explained = dx.Policy.from_dict(POLICY).explain({"age": 0, "sex": "F"}, {"age": 4, "sex": "M"})
    graph = explained.to_networkx()
    assert nx.dag_longest_path(graph) == list(range(len(explained.hops) + 1))
    assert sum(length for *_, length in graph.edges(data="weight")) == float(explained.distance)
    assert {edge["attribute"] for *_, edge in graph.edges(data=True)} == {"age", "sex"}


def test_edges_are_taken_from_a_graph_and_its_paths_explained():
    graph = nx.Graph()
    graph.add_weighted_edges_from(SQUARE)
    verdict = dx.verify_edges(graph)
    assert verdict.metric.fingerprint == dx.verify_edges(SQUARE).metric.fingerprint
    found = verdict.explain("a", "d")
    assert found.steps == pytest.approx((1, 2, 0.5))
    assert found.distance == float(verdict.metric.distance(0, 3))
    assert list(found.nodes) == nx.shortest_path(graph, "a", "d", weight="weight")
    assert verdict.explain("b", "b") == (("b",), (), 0.0)
    with pytest.raises(WrongArgument, match="no edge names 'e'"):
        verdict.explain("a", "e")
    assert_shortest_paths_are_distances(verdict.metric.to_networkx(), verdict.metric)
    graph.add_edge("e", "f", weight=1)
    assert dx.verify_edges(graph).explain("a", "e") == ((), (), np.inf)
    graph.add_edge("a", "d", weight=4)
    with pytest.raises(NotAMetric, match="a – b – c – d"):
        dx.verify_edges(graph)
    assert dx.metrics.repair_edges(graph).fell == 1


def test_what_a_graph_makes_of_a_metric_comes_back():
    metric = dx.Policy.from_dict(POLICY).compile()
    again = dx.verify_edges(metric.to_networkx()).metric
    indices = np.arange(metric.size)
    assert np.allclose(again.distance(indices[:, None], indices), metric.distance(indices[:, None], indices))
    alone = nx.Graph([("a", "b", {"weight": 1})])
    alone.add_node("c")
    found = dx.verify_edges(alone)
    assert (found.names, found.components, found.explain("a", "c").distance) == (("a", "b", "c"), 2, np.inf)
    with pytest.raises(WrongArgument, match="no edge names"):
        found.explain(["a"], "b")


def test_graphs_that_say_no_distance_are_refused():
    with pytest.raises(WrongArgument, match="no direction"):
        dx.verify_edges(nx.DiGraph([("a", "b")]))
    with pytest.raises(WrongArgument, match=r"as 'weight'.*'a', 'b'"):
        dx.verify_edges(nx.Graph([("a", "b")]))


def test_large_metrics_and_a_missing_library_are_refused(monkeypatch):
    metric = dx.verify_metric(1 - np.eye(4))
    monkeypatch.setattr("dxgeom.metrics.graph.MOST_OF_A_GRAPH", 5)
    with pytest.raises(TooLarge, match="at most 5 edges"):
        metric.to_networkx()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra, match="pip install networkx"):
        metric.to_networkx()
