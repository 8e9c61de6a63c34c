"""Cliques of a chordal graph around sets of attributes, and a tree through them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias, final

Axes: TypeAlias = tuple[int, ...]
"""Places of attributes, increasing."""


@final
@dataclass(frozen=True)
class CliqueTree:
    """``cliques``: none within another; ``edges``: those that are next to each other, in both directions.

    Laws: cliques that hold an attribute are connected through cliques that hold it.
    """

    cliques: tuple[Axes, ...]
    edges: tuple[tuple[int, ...], ...]

    def holding(self, axes: Axes) -> int | None:
        """The first clique that holds all of these."""
        return next((place for place, clique in enumerate(self.cliques) if set(axes) <= set(clique)), None)

    def shared(self, one: int, other: int) -> Axes:
        """The attributes of both."""
        return tuple(axis for axis in self.cliques[one] if axis in self.cliques[other])

    def beyond(self, place: int, before: int | None) -> list[int]:
        """The cliques next to one, but for that which it was reached from."""
        return [other for other in self.edges[place] if other != before]

    def outwards(self, first: int) -> Iterator[tuple[int, int, Axes]]:
        """All others that are connected with it, nearer ones first: the clique before, the clique, what both share."""
        waiting: list[tuple[int | None, int]] = [(None, first)]
        while waiting:
            before, place = waiting.pop(0)
            if before is not None:
                yield before, place, self.shared(before, place)
            waiting += [(place, other) for other in self.beyond(place, before)]

    def reaches(self, place: int, before: int, wanted: set[int] | frozenset[int]) -> bool:
        """Whether any of these is in the part of the tree that begins here."""
        if wanted & set(self.cliques[place]):
            return True
        return any(self.reaches(other, place, wanted) for other in self.beyond(place, before))

    def roots_for(self, axes: Axes) -> list[int]:
        """In each part of the forest that has some of these, the clique that has most of them."""
        roots, seen = [], set[int]()
        for start in range(len(self.cliques)):
            if start in seen:
                continue
            part = [start, *(place for _, place, _ in self.outwards(start))]
            seen.update(part)
            best = max(part, key=lambda place: len(set(axes) & set(self.cliques[place])))
            if set(axes) & set(self.cliques[best]):
                roots.append(best)
        return roots


def tree_of_cliques(sets: Sequence[Axes], shape: Sequence[int]) -> CliqueTree:
    """A tree of cliques of which each set is within one; the attribute whose neighbours have the fewest cells together
    goes first, and its neighbours become neighbours of each other.

    Source: Lauritzen & Spiegelhalter 1988; a tree of largest shared sets is one of cliques.
    """
    asked = sorted({axis for one in sets for axis in one})
    near = {axis: {other for one in sets if axis in one for other in one} for axis in asked}
    cliques: list[Axes] = []
    while near:
        least = min(near, key=lambda axis: (math.prod(shape[other] for other in near[axis]), axis))
        clique = near.pop(least)
        if not any(clique <= set(other) for other in cliques):
            cliques.append(tuple(sorted(clique)))
        for one, other in combinations(sorted(clique - {least}), 2):
            near[one].add(other)
            near[other].add(one)
        for axis in clique - {least}:
            near[axis].discard(least)
    return CliqueTree(tuple(cliques), _spanning(cliques))


def _spanning(cliques: Sequence[Axes]) -> tuple[tuple[int, ...], ...]:
    edges: list[list[int]] = [[] for _ in cliques]
    part = list(range(len(cliques)))
    pairs = combinations(range(len(cliques)), 2)
    for one, other in sorted(pairs, key=lambda pair: -len(set(cliques[pair[0]]) & set(cliques[pair[1]]))):
        if part[one] != part[other] and set(cliques[one]) & set(cliques[other]):
            edges[one].append(other)
            edges[other].append(one)
            part = [part[one] if own == part[other] else own for own in part]
    return tuple(tuple(own) for own in edges)
