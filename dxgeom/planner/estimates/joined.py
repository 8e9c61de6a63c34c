"""Tables of counts moved to the nearest that are those of some records, in parts: cliques of attributes in a tree.

Whatever tables agree need not have a whole of which they are the margins. Attributes that tables share are joined to
cliques, which make a tree (Lauritzen & Spiegelhalter 1988); margins of a distribution over all records are found by
passing sums along it. The nearest such margins are sought by accelerated descent in entropy, of which every step is a
mean of such margins, and how near they are is proved by the best single record, found by passing maxima.
Source: Tseng 2008, On accelerated proximal gradient methods; McKenna, Sheldon & Miklau 2019 for margins of tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.planner.estimates.projection import Table, Tables

Attributes: TypeAlias = tuple[int, ...]
MOST_CELLS: Final = 200_000
"""Of all cliques together."""
NEAR: Final = 0.005
"""The squared distance to the released tables is within this part, doubled, of the least."""
_WORK: Final = 1e9
"""Cells that are looked at, at most."""
_LOOKED: Final = 10
_EVERY: Final = 10


@final
@dataclass(frozen=True, eq=False)
class Cliques:
    """``sizes``: how many values each attribute has. ``cliques``: sets of attributes, rising; each but the first hangs
    on an earlier one, its ``parents``, and all that it shares with any earlier one is in that one. ``homes``: of each
    table a clique that holds it; ``attribute_sets``: the tables."""

    sizes: Sequence[int]
    attribute_sets: tuple[Attributes, ...]
    cliques: tuple[Attributes, ...]
    parents: tuple[int, ...]
    homes: tuple[int, ...]

    @property
    def cells(self) -> int:
        """Of all cliques."""
        return sum(math.prod(self._shape(one)) for one in self.cliques)

    def margins(self, potentials: Sequence[Table]) -> Tables:
        """Of the distribution over records that is in proportion to e to the sum of potentials, one for each table."""
        beliefs, messages = self._collected(potentials, _log_of_sums)
        for child in range(1, len(self.cliques)):
            parent, shared = self.parents[child], self._shared(child)
            sums = _log_of_sums(beliefs[parent], self._beside(parent, shared))
            beliefs[child] = beliefs[child] + self._spread(sums - messages[child], shared, self.cliques[child])
        found: Tables = []
        for own, home in zip(self.attribute_sets, self.homes, strict=True):
            whole = np.exp(beliefs[home] - beliefs[home].max())
            found.append(np.asarray(whole.sum(axis=self._beside(home, own)) / whole.sum()))
        return found

    def largest(self, gains: Sequence[Table]) -> float:
        """The most that one record gains, in all tables together."""
        return float(self._collected(gains, _largest)[0][0].max())

    def _collected(
        self, potentials: Sequence[Table], reduced: Callable[[Table, tuple[int, ...]], Table]
    ) -> tuple[Tables, dict[int, Table]]:
        """Each clique's sum of its own and of what comes from below it; and what goes up from each."""
        beliefs = [np.zeros(self._shape(one)) for one in self.cliques]
        for table, own, home in zip(potentials, self.attribute_sets, self.homes, strict=True):
            beliefs[home] = beliefs[home] + self._spread(table, own, self.cliques[home])
        messages = dict[int, Table]()
        for child in range(len(self.cliques) - 1, 0, -1):
            shared, parent = self._shared(child), self.parents[child]
            messages[child] = reduced(beliefs[child], self._beside(child, shared))
            beliefs[parent] = beliefs[parent] + self._spread(messages[child], shared, self.cliques[parent])
        return beliefs, messages

    def _shape(self, own: Attributes) -> tuple[int, ...]:
        return tuple(self.sizes[a] for a in own)

    def _shared(self, child: int) -> Attributes:
        return tuple(a for a in self.cliques[child] if a in self.cliques[self.parents[child]])

    def _beside(self, clique: int, inside: Attributes) -> tuple[int, ...]:
        return tuple(axis for axis, a in enumerate(self.cliques[clique]) if a not in inside)

    def _spread(self, table: Table, own: Attributes, clique: Attributes) -> Table:
        return table.reshape([self.sizes[a] if a in own else 1 for a in clique])


def _log_of_sums(table: Table, axes: tuple[int, ...]) -> Table:
    top = table.max(axis=axes, keepdims=True)
    return np.asarray(np.log(np.exp(table - top).sum(axis=axes)) + top.squeeze(axis=axes))


def _largest(table: Table, axes: tuple[int, ...]) -> Table:
    return np.asarray(table.max(axis=axes))


def cliques_of(sizes: Sequence[int], attribute_sets: Sequence[Attributes]) -> Cliques:
    """Attributes of one table are joined, and others as few as make the cliques a tree: each attribute in turn that
    joins the fewest of its neighbours anew is taken away (least fill).

    Raises: TooLarge where the cliques have too many cells.
    """
    near: dict[int, set[int]] = {a: set() for own in attribute_sets for a in own}
    for own in attribute_sets:
        for one, other in combinations(own, 2):
            near[one].add(other)
            near[other].add(one)
    found = list[frozenset[int]]()
    while near:
        taken = min(near, key=lambda a: (_missing(near, a), math.prod(sizes[b] for b in near[a]), a))
        clique = frozenset({taken, *near[taken]})
        for one, other in combinations(near[taken], 2):
            near[one].add(other)
            near[other].add(one)
        for one in near.pop(taken):
            near[one].remove(taken)
        if not any(clique <= earlier for earlier in found):
            found.append(clique)
    left, placed, parents = found or [frozenset()], list[frozenset[int]](), [0]
    placed.append(left.pop())
    while left:
        # A spanning tree of the largest intersections is a junction tree (Jensen & Jensen 1994).
        pairs = ((len(one & other), -place, at) for place, one in enumerate(left) for at, other in enumerate(placed))
        _, place, at = max(pairs)
        placed.append(left.pop(-place))
        parents.append(at)
    homes = [next(k for k, one in enumerate(placed) if one.issuperset(own)) for own in attribute_sets]
    cliques = tuple(tuple(sorted(one)) for one in placed)
    made = Cliques(sizes, tuple(attribute_sets), cliques, tuple(parents), tuple(homes))
    if made.cells > MOST_CELLS:
        raise TooLarge(
            f"to be tables of some records, attributes are joined to cliques of {made.cells:,} cells, and at most "
            f"{MOST_CELLS:,} are looked at: ask for 'auto', which makes tables agree, or for fewer tables at once"
        )
    return made


def _missing(near: dict[int, set[int]], taken: int) -> int:
    return sum(other not in near[one] for one, other in combinations(near[taken], 2))


class OfRecords(NamedTuple):
    """``tables``: margins of ``total`` records, in parts. ``off``: by at most so much more than a projection's is their
    squared distance from any tables of records. ``moved``: the squared distance from those released."""

    tables: Tables
    off: float
    moved: float


def nearest_of_records(
    cliques: Cliques, released: Sequence[Table], weights: Sequence[float], total: float, expected: float
) -> OfRecords:
    """The nearest tables to these, in the norm of the weights, that are those of so many records, in parts.

    Definition: where ⟨p − y, p − x⟩ ≤ g for every such x, ‖p − x‖² ≤ ‖y − x‖² − ‖p − y‖² + 2g; the largest g is that of
    one record times their number. Here ‖p − y‖² is ``moved``, 2g is ``off``, and g is at most :data:`NEAR` of ``moved``
    or of the ``expected`` total squared error of the released tables.
    Guarantee: up to float64. Where ``off`` is at most ``moved``, no such x is further from them than from the released.
    Raises: TooLarge where that is not reached.
    """
    place = cliques.margins([np.zeros(one.shape) for one in released])
    ahead, potentials = place, [np.zeros(one.shape) for one in released]
    if total <= 0:
        away = sum(weight * float(np.vdot(one, one)) for weight, one in zip(weights, released, strict=True))
        return OfRecords([0 * one for one in place], 0.0, away)
    steep, steps = total * total * math.fsum(weights), max(_EVERY, int(_WORK / (_LOOKED * max(cliques.cells, 1))))
    for step in range(steps):
        part = 2 / (step + 2)
        between = _mixed(place, ahead, part)
        for potential, slope in zip(potentials, _slopes(between, released, weights, total), strict=True):
            potential -= slope * (total / (part * steep))
        ahead = cliques.margins(potentials)
        place = _mixed(place, ahead, part)
        if step % _EVERY == _EVERY - 1:
            slopes = _slopes(place, released, weights, total)
            here = sum(float(np.vdot(slope, own)) for slope, own in zip(slopes, place, strict=True))
            off = total * (here + cliques.largest([-one for one in slopes]))
            away = sum(float(np.vdot(one, one)) / w for one, w in zip(slopes, weights, strict=True))
            if off <= NEAR * max(away, expected):
                return OfRecords([own * total for own in place], 2 * max(off, 0.0), away)
    raise TooLarge(
        f"within {steps:,} steps no tables of {total:,.0f} records were proved to be near enough: ask for 'auto', "
        "which makes tables agree"
    )


def _mixed(one: Sequence[Table], other: Sequence[Table], part: float) -> Tables:
    return [own * (1 - part) + more * part for own, more in zip(one, other, strict=True)]


def _slopes(place: Sequence[Table], released: Sequence[Table], weights: Sequence[float], total: float) -> Tables:
    each = zip(place, released, weights, strict=True)
    return [np.asarray(weight * (total * own - raw)) for own, raw, weight in each]
