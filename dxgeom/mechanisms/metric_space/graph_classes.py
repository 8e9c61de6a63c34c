"""Every graph of a few nodes, up to renaming them: a whole universe of datasets, small enough to look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge

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
        place = {pair: e for e, pair in enumerate(combinations(range(self.nodes), 2))}
        triples = combinations(range(self.nodes), 3)
        masks = [sum(1 << place[pair] for pair in combinations(triple, 2)) for triple in triples]
        return np.array([sum(code & mask == mask for mask in masks) for code in self.codes.tolist()], dtype=np.int64)


def small_graphs(nodes: int) -> SmallGraphs:
    """Edge by edge from the graph without any: every graph is another one and an edge more.

    Raises: TooLarge beyond seven nodes.
    """
    if not 1 <= nodes <= LARGEST:
        raise TooLarge(f"graphs of 1 to {LARGEST} nodes can all be listed, not of {nodes}")
    pairs = list(combinations(range(nodes), 2))
    weights = _renamings(nodes, pairs)
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


def _renamings(nodes: int, pairs: list[tuple[int, int]]) -> NDArray[np.float32]:
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
