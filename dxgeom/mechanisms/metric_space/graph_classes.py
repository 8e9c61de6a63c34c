"""Every graph of a few nodes, up to renaming them: a whole universe of datasets, small enough to look at."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, permutations
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, described, require
from dxgeom.errors import DataError, DxgeomError, TooLarge
from dxgeom.numeric.sealed import cached_property

LARGEST = 7
"""Nodes: 5,040 renamings of 21 possible edges, whose codes float32 still tells apart."""


@final
@dataclass(frozen=True, eq=False)
class SmallGraphs:
    """The graphs on ``nodes`` nodes up to isomorphism.

    ``codes`` (N,): bit e is set when the e-th pair of nodes, in lexicographic order, is joined; of all renamings the
    smallest. ``first``, ``second`` (E,): the graphs that differ by one edge.
    """

    nodes: int
    codes: NDArray[np.int64] = field(repr=False)
    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)

    def triangles(self) -> NDArray[np.int64]:
        """(N,): the number of triangles of each graph."""
        return self.subgraphs([(0, 1), (0, 2), (1, 2)])

    def stars(self, rays: int) -> NDArray[np.int64]:
        """(N,): how often a node with ``rays`` of its neighbours is found: a star of one ray is an edge."""
        require(rays, WHOLE, "rays", "give a whole number, at least 1")
        if rays < 1:
            raise DxgeomError(f"a star has at least one ray, found {rays}")
        return self.subgraphs([(0, ray) for ray in range(1, rays + 1)])

    def subgraphs(self, pattern: Iterable[tuple[Hashable, Hashable]]) -> NDArray[np.int64]:
        """(N,): how many different sets of edges of each graph are the pattern, whatever else joins its nodes.

        Definition: every way to lay the pattern's nodes on those of the graph, ways with the same edges counted once;
        by listing them all, *exact*.
        Args: ``pattern``: its edges as pairs of names.
        Raises: DxgeomError for a pattern without edges, or that is no simple graph.
        """
        names, joined = _simple(pattern)
        if not joined:
            raise DxgeomError("a pattern has at least one edge")
        masks = {
            sum(1 << self._places[min(where[a], where[b]), max(where[a], where[b])] for a, b in joined)
            for where in permutations(range(self.nodes), len(names))
        }
        listed = np.array(sorted(masks), dtype=np.int64)
        return np.array([np.count_nonzero(listed & ~code == 0) for code in self.codes.tolist()], dtype=np.int64)

    def index(self, graph: Any) -> int:
        """Which of these graphs one is, whatever its nodes are called.

        Args: ``graph``: a NetworkX graph, or edges as pairs of names; nodes without an edge need no mention.
        Raises: DataError for more nodes than these have, loops, directions or several edges between two nodes.
        """
        names, joined = _simple(_edges_of(graph))
        if len(names) > self.nodes:
            raise DataError(f"these are graphs of {self.nodes} nodes, this one has more")
        code = sum(1 << self._places[min(a, b), max(a, b)] for a, b in joined)
        smallest = _smallest_codes(np.array([code]), _renamings(self.nodes, tuple(self._places)))
        return self._index_of_code[int(smallest[0])]

    @cached_property
    def _places(self) -> dict[tuple[int, int], int]:
        return {pair: e for e, pair in enumerate(combinations(range(self.nodes), 2))}

    @cached_property
    def _index_of_code(self) -> dict[int, int]:
        return {code: place for place, code in enumerate(self.codes.tolist())}


@cache
def small_graphs(nodes: int) -> SmallGraphs:
    """Edge by edge from the graph without any: every graph is another one and an edge more.

    Raises: TooLarge beyond seven nodes.
    """
    if not 1 <= nodes <= LARGEST:
        raise TooLarge(f"graphs of 1 to {LARGEST} nodes can all be listed, not of {nodes}")
    pairs = list(combinations(range(nodes), 2))
    weights = _renamings(nodes, tuple(pairs))
    level, codes, joined = [0], [0], []
    for _ in pairs:
        grown = [(code, code | 1 << e) for code in level for e in range(len(pairs)) if not code >> e & 1]
        smallest = _smallest_codes(np.array([code for _, code in grown]), weights)
        found = {(code, int(after)) for (code, _), after in zip(grown, smallest, strict=True)}
        level = sorted({after for _, after in found})
        codes += level
        joined += sorted(found)
    index = {code: k for k, code in enumerate(codes)}
    first, second = (np.array([index[pair[side]] for pair in joined], dtype=np.int64) for side in (0, 1))
    return SmallGraphs(nodes, np.array(codes, dtype=np.int64), first, second)


def _edges_of(graph: Any) -> Any:
    """The edges of a NetworkX graph, and loops for nodes without any told apart; of anything else itself."""
    if not hasattr(graph, "is_directed"):
        return graph
    if graph.is_directed() or graph.is_multigraph():
        raise DataError("a graph here has no directions, and at most one edge between two nodes")
    return [*graph.edges(), *((node,) for node in graph.nodes())]


def _simple(edges: Any) -> tuple[list[Hashable], set[tuple[int, int]]]:
    """The names of the nodes, and the edges between their places. Raises: DataError for what is no simple graph."""
    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        raise DataError(f"a graph is a NetworkX graph, or pairs of names that are joined; found {described(edges)}")
    names: dict[Hashable, int] = {}
    joined: set[tuple[int, int]] = set()
    for edge in edges:
        if not isinstance(edge, tuple | list) or len(edge) not in (1, 2) or not all(map(_is_name, edge)):
            raise DataError("an edge is a pair of names")
        ends = [names.setdefault(end, len(names)) for end in edge]
        if len(ends) == 2 and ends[0] == ends[1]:
            raise DataError("no node is joined with itself")
        if len(ends) == 2:
            joined.add((min(ends), max(ends)))
    return [*names], joined


def _is_name(end: object) -> bool:
    return isinstance(end, Hashable)


@cache
def _renamings(nodes: int, pairs: tuple[tuple[int, int], ...]) -> NDArray[np.float32]:
    """(pairs, nodes!): what bit e contributes to the code under each renaming. Sums stay below 2²⁴: exact."""
    place = {pair: e for e, pair in enumerate(pairs)}
    columns = [
        [1 << place[min(name[a], name[b]), max(name[a], name[b])] for a, b in pairs]
        for name in permutations(range(nodes))
    ]
    return np.array(columns, dtype=np.float32).T


def _smallest_codes(codes: NDArray[np.int64], weights: NDArray[np.float32]) -> NDArray[np.int64]:
    bits = (codes[:, None] >> np.arange(len(weights)) & 1).astype(np.float32)
    return np.asarray((bits @ weights).min(axis=1), dtype=np.int64)
