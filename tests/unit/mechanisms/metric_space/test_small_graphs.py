from __future__ import annotations

import networkx as nx
import pytest

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.metric_space.graph_classes import small_graphs


def as_networkx(graphs, code):
    graph = nx.empty_graph(graphs.nodes)
    pairs = [(a, b) for a in range(graphs.nodes) for b in range(a + 1, graphs.nodes)]
    graph.add_edges_from(pair for e, pair in enumerate(pairs) if code >> e & 1)
    return graph


@pytest.mark.parametrize(("nodes", "count"), [(1, 1), (2, 2), (3, 4), (4, 11), (5, 34), (6, 156), (7, 1044)])
def test_there_are_as_many_graphs_as_are_known(nodes, count):
    assert len(small_graphs(nodes).codes) == count


def test_they_are_the_atlas_of_graphs_of_five_nodes():
    graphs = small_graphs(5)
    mine = [as_networkx(graphs, code) for code in graphs.codes.tolist()]
    atlas = [graph for graph in nx.graph_atlas_g() if len(graph) == 5]
    for graph in atlas:
        assert sum(nx.is_isomorphic(graph, other) for other in mine) == 1


def test_triangles_and_neighbours_are_what_networkx_finds():
    graphs = small_graphs(4)
    mine = [as_networkx(graphs, code) for code in graphs.codes.tolist()]
    assert graphs.triangles().tolist() == [sum(nx.triangles(graph).values()) // 3 for graph in mine]
    joined = set(zip(graphs.first.tolist(), graphs.second.tolist(), strict=True))
    for x, one in enumerate(mine):
        for y, other in enumerate(mine):
            more = [one.copy() for _ in nx.non_edges(one)]
            for graph, edge in zip(more, nx.non_edges(one), strict=True):
                graph.add_edge(*edge)
            assert ((x, y) in joined) == any(nx.is_isomorphic(graph, other) for graph in more)


def test_eight_nodes_are_too_many():
    with pytest.raises(TooLarge):
        small_graphs(8)
