"""Cliques of attributes around tables, as trees that grow table by table, and what the next table would make them cost.

A model of tables is a product of functions of their attributes. Where every table is within a clique, and the cliques
that hold an attribute are connected, all of it is known from the cliques' own tables: a histogram is never laid out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple, TypeAlias, final

from dxgeom.mechanisms.synthetic.models import tree_of_cliques
from dxgeom.numeric.sealed import Closed, cached_property

Axes: TypeAlias = tuple[int, ...]
_Clique: TypeAlias = frozenset[int]
_Edge: TypeAlias = tuple[int, int]


class _Way(NamedTuple):
    """What it costs to make two axes neighbours, at most; the cliques on the way, and what comes between each two."""

    cost: int
    path: list[int]
    added: list[_Clique]


@final
@dataclass(frozen=True, eq=False)
class CliqueForest(Closed):
    """``cliques``: sets of axes of ``shape``, none within another; ``parents``: of each the clique before it, which
    comes earlier, None where a tree begins.

    Laws: cliques that hold an axis are connected through cliques that hold it. ``cells`` is what a model of all tables
    within cliques costs: numbers that are kept, eight bytes each.
    """

    shape: tuple[int, ...]
    cliques: tuple[_Clique, ...]
    parents: tuple[int | None, ...]

    @classmethod
    def around(cls, shape: tuple[int, ...], sets: Iterable[Axes] = ()) -> CliqueForest:
        """Every axis by itself, and then one table after the other. The same tables in the same order make the same."""
        found = cls(shape, tuple(frozenset([axis]) for axis in range(len(shape))), (None,) * len(shape))
        for axes in sets:
            found = found.joined(axes)
        return found

    @cached_property
    def cells(self) -> int:
        """Of all cliques together."""
        return sum(map(self._size, self.cliques))

    def holding(self, axes: Iterable[int]) -> int | None:
        """The smallest clique that holds all of these."""
        first, *rest = [self._places[axis] for axis in axes]
        return min(first.intersection(*rest), key=lambda place: (self._size(self.cliques[place]), place), default=None)

    def separator(self, place: int) -> _Clique:
        """What a clique shares with the one before."""
        parent = self.parents[place]
        return frozenset[int]() if parent is None else self.cliques[place] & self.cliques[parent]

    def line(self, axis: int) -> list[int]:
        """The first clique that holds an axis, the one before it, and so on to where the tree begins."""
        return self._ancestors[self._tops[axis]]

    def joined(self, axes: Axes) -> CliqueForest:
        """The same where one clique holds these axes, too: the cheaper one of this forest with as little added as it
        takes, and of one made anew around all its cliques."""
        if self.holding(axes) is not None:
            return self
        grown = self._with(axes)
        tree = tree_of_cliques([*(tuple(sorted(one)) for one in self.cliques), axes], self.shape)
        edges = {(min(pair), max(pair)) for pair in ((a, b) for a, near in enumerate(tree.edges) for b in near)}
        anew = _rooted(self.shape, [frozenset(one) for one in tree.cliques], edges)
        return min(grown, anew, key=lambda one: one.cells)

    def cells_with(self, axes: Axes) -> int:
        """What the forest costs where one clique holds these axes, too: *rounded up*, as it may be made anew."""
        if self.holding(axes) is not None:
            return self.cells
        if len(axes) == 2:
            return self.cells + self._way(*axes).cost
        return self._with(axes).cells

    def _with(self, axes: Axes) -> CliqueForest:
        """Pairs become neighbours one by one: in a chordal graph what is joined pair by pair is within a clique."""
        found = self
        for pair in combinations(axes, 2):
            if found.holding(pair) is None:
                found = found._along(found._way(*pair))
        return found

    def _way(self, one: int, other: int) -> _Way:
        """Either axis is led to the other's, whichever costs less."""
        path = self._path(one, other)
        if not path:
            new = frozenset((one, other))
            alone = sum(self._size(own) for axis in new if (own := frozenset([axis])) in self.cliques)
            return _Way(self._size(new) - alone, [self._tops[one], self._tops[other]], [new])
        ways = (self._led(path, one, other), self._led(path[::-1], other, one))
        return min(ways, key=lambda way: way.cost)

    def _led(self, path: list[int], start: int, axis: int) -> _Way:
        """Of a path from a clique that holds ``start`` to one that holds ``axis``, to which that is led from there."""
        own = [self.cliques[place] for place in path]
        shared = [frozenset([start]), *(a & b for a, b in pairwise(own))]
        added = [a | b | {axis} for a, b in pairwise(shared)]
        within = [clique for clique, new in zip(own, [*added, added[-1]], strict=True) if clique < new]
        return _Way(sum(map(self._size, added)) - sum(map(self._size, within)), path, added)

    def _along(self, way: _Way) -> CliqueForest:
        """With what a way adds: each new clique is next to those on the way which it was made of."""
        new = range(len(self.cliques), len(self.cliques) + len(way.added))
        edges = {(parent, place) for place, parent in enumerate(self.parents) if parent is not None}
        edges -= {(min(step), max(step)) for step in zip(way.path, way.path[1:], strict=False)}
        edges |= {*zip(way.path, [*new, new[-1]], strict=True), *pairwise(new)}
        return _rooted(self.shape, [*self.cliques, *way.added], edges)

    def _path(self, one: int, other: int) -> list[int]:
        """From a clique that holds one to the nearest that holds the other; empty between different trees."""
        up, down = self.line(one), self.line(other)
        if up[-1] != down[-1]:
            return []
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up, down = up[:-1], down[:-1]
        way = [*up, *down[-2::-1]]
        begin = max(place for place, clique in enumerate(way) if one in self.cliques[clique])
        end = next(place for place, clique in enumerate(way) if other in self.cliques[clique] and place >= begin)
        return way[begin : end + 1]

    def _size(self, clique: Iterable[int]) -> int:
        return math.prod(self.shape[axis] for axis in clique)

    @cached_property
    def _places(self) -> list[set[int]]:
        """Of each axis the cliques that hold it."""
        found = [set[int]() for _ in self.shape]
        for place, clique in enumerate(self.cliques):
            for axis in clique:
                found[axis].add(place)
        return found

    @cached_property
    def _tops(self) -> list[int]:
        """Of each axis the first clique that holds it: all others lie beyond it."""
        return [min(places) for places in self._places]

    @cached_property
    def _ancestors(self) -> list[list[int]]:
        """Of each clique itself, the one before it, and so on."""
        found = list[list[int]]()
        for place, parent in enumerate(self.parents):
            found.append([place] if parent is None else [place, *found[parent]])
        return found


def _rooted(shape: tuple[int, ...], cliques: Sequence[_Clique], edges: set[_Edge]) -> CliqueForest:
    """Cliques within a neighbour go; the largest of a tree comes first, and each other after one that is next to it."""
    near = {place: set[int]() for place in range(len(cliques))}
    for one, other in edges:
        near[one].add(other)
        near[other].add(one)
    waiting = list(near)
    while waiting:
        place = waiting.pop()
        if place not in near:
            continue
        outer = next((other for other in sorted(near[place]) if cliques[place] <= cliques[other]), None)
        if outer is not None:
            for other in near.pop(place):
                near[other].discard(place)
                if other != outer:
                    near[other].add(outer)
                    near[outer].add(other)
            waiting.append(outer)
    order, parents = list[int](), dict[int, int | None]()
    for root in sorted(near, key=lambda place: (-math.prod(shape[a] for a in cliques[place]), sorted(cliques[place]))):
        if root in parents:
            continue
        parents[root], begin = None, len(order)
        order.append(root)
        while begin < len(order):
            place, begin = order[begin], begin + 1
            for other in sorted(near[place], key=lambda one: sorted(cliques[one])):
                if other not in parents:
                    parents[other] = place
                    order.append(other)
    number = {place: at for at, place in enumerate(order)}
    named = tuple(None if (parent := parents[place]) is None else number[parent] for place in order)
    return CliqueForest(shape, tuple(cliques[place] for place in order), named)
