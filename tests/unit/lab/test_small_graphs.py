from __future__ import annotations

from itertools import combinations
from math import comb

import networkx as nx
import pytest

from dxgeom.errors import DxgeomError, TooLarge
from dxgeom.lab.dataset_space import small_graphs


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


PATTERNS = {
    "path": [(0, 1), (1, 2), (2, 3)],
    "square": [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")],
    "star": [(0, 1), (0, 2), (0, 3)],
    "two edges apart": [(0, 1), (2, 3)],
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_counted_as_every_set_of_edges_that_is_one(name):
    """Against all sets of as many edges, each compared with the pattern by NetworkX."""
    graphs, pattern = small_graphs(5), nx.Graph(PATTERNS[name])
    found = graphs.subgraphs(PATTERNS[name])
    for place in range(0, len(graphs.codes), 3):
        graph = as_networkx(graphs, int(graphs.codes[place]))
        sets = combinations(graph.edges(), pattern.number_of_edges())
        assert found[place] == sum(nx.is_isomorphic(nx.Graph(edges), pattern) for edges in sets)


def test_stars_and_edges_are_what_degrees_say():
    graphs = small_graphs(5)
    for place in range(len(graphs.codes)):
        degrees = [degree for _, degree in as_networkx(graphs, int(graphs.codes[place])).degree()]
        assert graphs.stars(1)[place] == sum(degrees) // 2
        for rays in (2, 3):
            assert graphs.stars(rays)[place] == sum(comb(degree, rays) for degree in degrees)


def test_a_graph_is_found_whatever_its_nodes_are_called():
    graphs = small_graphs(5)
    for place in range(0, len(graphs.codes), 4):
        graph = as_networkx(graphs, int(graphs.codes[place]))
        renamed = nx.relabel_nodes(graph, {0: "e", 1: "d", 2: (1, 2), 3: "b", 4: 0})
        assert graphs.index(renamed) == place
        assert graphs.index(list(renamed.edges())) == place


def test_a_pattern_has_edges():
    with pytest.raises(DxgeomError, match="at least one edge"):
        small_graphs(3).subgraphs([])
    with pytest.raises(DxgeomError, match="at least one ray"):
        small_graphs(3).stars(0)
