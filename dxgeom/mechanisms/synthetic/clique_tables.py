"""The tables of a model in cliques: of the cliques, of any axes, and of records that are drawn clique by clique.

Logarithms of a clique's cells are made relative before they become numbers, at each value of what it shares with the
one before it. So float64 has room for every chance given these, however small the chance of the value itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.synthetic.clique_forest import Axes, CliqueForest
from dxgeom.numeric.sealed import Closed, cached_property

Table = NDArray[np.float64]
_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_SEED: Final = 1
"""Of the order in which records are put together. It is public, and so are the records' tables."""


class _Place(NamedTuple):
    """Of a table: the clique that it is within, its ``shape``; the ``order`` of its axes there, and as they are along
    all axes of the clique."""

    clique: int
    shape: tuple[int, ...]
    order: tuple[int, ...]
    along: tuple[int, ...]


@final
@dataclass(frozen=True, eq=False)
class CliqueLayout(Closed):
    """How the cells of each clique lie: what it shares with the one before first, the largest axis last."""

    forest: CliqueForest

    @cached_property
    def shared(self) -> tuple[Axes, ...]:
        """Of each clique what it shares with the one before."""
        return tuple(tuple(sorted(self.forest.separator(place))) for place in range(len(self.forest.cliques)))

    @cached_property
    def axes(self) -> tuple[Axes, ...]:
        """Of each clique."""
        sizes = self.forest.shape
        return tuple(
            (*own, *sorted(clique - set(own), key=lambda axis: (sizes[axis], axis)))
            for clique, own in zip(self.forest.cliques, self.shared, strict=True)
        )

    def shape(self, axes: Sequence[int]) -> tuple[int, ...]:
        """Of a table over these."""
        return tuple(self.forest.shape[axis] for axis in axes)

    def fitted_to(self, parameters: Mapping[Axes, Table]) -> CliqueTables:
        """The distribution p ∝ exp Σ θ_r, θ_r flat over rising axes that some clique holds, by its cliques' tables.

        Definition: from the last clique to the first each is made a table of chances given what it shares with the one
        before, which takes on what is left; then from the first to the last these are multiplied by what is shared.
        Source: Lauritzen & Spiegelhalter 1988.
        """
        logs = [np.zeros(self.shape(axes)) for axes in self.axes]
        for axes, own in parameters.items():
            here = self.within(axes)
            logs[here.clique] += own.reshape(here.shape).transpose(here.order).reshape(here.along)
        whole = 0.0
        for place in reversed(range(len(logs))):
            shared, parent = self.shared[place], self.forest.parents[place]
            cells = logs[place].reshape(math.prod(self.shape(shared)), -1)
            highest = cells.max(axis=1, keepdims=True)
            cells -= highest
            np.exp(cells, out=cells)
            sums = cells.sum(axis=1, keepdims=True)
            cells /= sums
            message = (highest + np.log(sums)).ravel()
            if parent is None:
                whole += float(message[0])
            else:
                logs[parent] += self._spread(message.reshape(self.shape(shared)), shared, self.axes[parent])
        for place, cube in enumerate(logs):
            parent, shared = self.forest.parents[place], self.shared[place]
            if parent is not None:
                before = summed(logs[parent], self.axes[parent], shared)
                cube *= before.reshape(*before.shape, *(1,) * (cube.ndim - before.ndim))
        return CliqueTables(self, tuple(logs), whole)

    def within(self, axes: Axes) -> _Place:
        """Where a table over rising axes is; worked out once."""
        if axes not in self._within:
            clique = self.forest.holding(axes)
            if clique is None:
                raise AssertionError("the cliques were to hold these axes")
            order = tuple(axes.index(axis) for axis in self.axes[clique] if axis in axes)
            along = tuple(self.forest.shape[axis] if axis in axes else 1 for axis in self.axes[clique])
            self._within[axes] = _Place(clique, self.shape(axes), order, along)
        return self._within[axes]

    @cached_property
    def _within(self) -> dict[Axes, _Place]:
        return {}

    def _spread(self, table: Table, axes: Axes, clique: Axes) -> Table:
        """A table over some axes of a clique, along all of them."""
        order = [axes.index(axis) for axis in clique if axis in axes]
        return table.transpose(order).reshape([self.forest.shape[axis] if axis in axes else 1 for axis in clique])


@final
@dataclass(frozen=True, eq=False)
class CliqueTables(Closed):
    """A distribution by its cliques: ``cubes``, the table of each as it is laid out; ``log_sum``: ln Z."""

    layout: CliqueLayout = field(repr=False)
    cubes: tuple[Table, ...] = field(repr=False)
    log_sum: float

    def tables(self, wanted: Sequence[Axes]) -> dict[Axes, Table]:
        """Of each set of rising axes its table, flat. Those within others of the same clique are summed from these."""
        found: dict[Axes, Table] = {}
        inside: dict[int, list[Axes]] = {}
        for axes in sorted(wanted, key=len, reverse=True):
            home = self.layout.forest.holding(axes)
            if home is None:
                found[axes] = self._across(axes)
                continue
            known = inside.setdefault(home, [])
            outer = next((wide for wide in known if set(axes) <= set(wide)), None)
            if outer is None:
                found[axes] = summed(self.cubes[home], self.layout.axes[home], axes)
                known.append(axes)
            else:
                found[axes] = summed(found[outer], outer, axes)
        return {axes: table.ravel() for axes, table in found.items()}

    def _across(self, axes: Axes) -> Table:
        """A table that no clique holds: that of each tree, which are independent."""
        trees: dict[int, list[int]] = {}
        for axis in axes:
            trees.setdefault(self.layout.forest.line(axis)[-1], []).append(axis)
        return _product([(self._of_one_tree(own), tuple(own)) for own in trees.values()], axes)

    def _of_one_tree(self, axes: Sequence[int]) -> Table:
        """What lies beyond a clique is summed before it, given what they share, up to the first one that holds all."""
        forest, wanted = self.layout.forest, set(axes)
        lines = [forest.line(axis) for axis in axes]
        top = max(set(lines[0]).intersection(*lines))
        beyond: dict[int, list[tuple[Table, Axes]]] = {}
        before = {one: nearer for line in lines for one, nearer in pairwise(line)}
        for place in sorted((one for one in before if one > top), reverse=True):
            clique, shared, parts = self.layout.axes[place], self.layout.shared[place], beyond.pop(place, [])
            below = {axis for _, own in parts for axis in own}
            kept = (*shared, *sorted(wanted & {*clique, *below} - set(shared)))
            known = _product([(self._given(place), clique), *parts], kept)
            beyond.setdefault(before[place], []).append((known, kept))
        return _product([(self.cubes[top], self.layout.axes[top]), *beyond.get(top, [])], tuple(axes))

    def _given(self, place: int) -> Table:
        """Of a clique the chances given what it shares with the one before."""
        cube, shared = self.cubes[place], self.layout.shared[place]
        before = cube.sum(axis=tuple(range(len(shared), cube.ndim)), keepdims=True)
        found: Table = np.divide(cube, before, out=np.zeros(cube.shape), where=before > 0)
        return found

    def records(self, rows: int, at_once: int) -> Iterator[list[NDArray[np.int64]]]:
        """The codes of each axis of so many records, a part at a time.

        Definition: clique by clique, the j-th record of those that share the same values with the clique before has the
        values at the part frac(c + j·φ) of the running total of chances, φ the golden ratio, c another part for each
        of these values. Which record is the j-th is shuffled, from a public seed. So a cell of a clique is off by few
        records, however many there are.
        """
        random = np.random.default_rng(_SEED)
        layout, number = self.layout, len(self.cubes)
        ends = [
            np.cumsum(self._given(place).reshape(math.prod(layout.shape(layout.shared[place])), -1), axis=1)
            for place in range(number)
        ]
        for own in ends:
            own /= np.where(own[:, -1:] > 0, own[:, -1:], 1.0)
            own += np.arange(len(own))[:, None]
        used = [(random.permutation(len(own)) + 0.5) / len(own) / _GOLDEN for own in ends]
        for begin in range(0, max(rows, 1), at_once):
            count = min(at_once, rows - begin)
            codes = [np.zeros(count, dtype=np.int64) for _ in layout.forest.shape]
            for place in range(number):
                shared, axes = layout.shared[place], layout.axes[place]
                group = np.zeros(count, dtype=np.int64)
                for axis in shared:
                    group = group * layout.forest.shape[axis] + codes[axis]
                order = random.permutation(count)
                order = order[np.argsort(group[order], kind="stable")]
                each = np.bincount(group, minlength=len(used[place]))
                firsts = np.cumsum(each) - each
                rank = np.empty(count, dtype=np.int64)
                rank[order] = np.arange(count) - firsts[group[order]]
                part = np.mod((used[place][group] + rank) * _GOLDEN, 1.0)
                used[place] += each
                width = ends[place].shape[1]
                at = np.searchsorted(ends[place].ravel(), group + part, side="right")
                within = np.clip(at - group * width, 0, width - 1)
                rest = axes[len(shared) :]
                for axis, own in zip(rest, np.unravel_index(within, layout.shape(rest)), strict=True):
                    codes[axis] = np.asarray(own, dtype=np.int64)
            yield codes


def summed(table: Table, own: Sequence[int], axes: Sequence[int]) -> Table:
    """A table over ``own`` axes, summed to ``axes``, in their order."""
    left = [axis for axis in own if axis in axes]
    sums = table.sum(axis=tuple(place for place, axis in enumerate(own) if axis not in axes))
    return np.asarray(sums.transpose([left.index(axis) for axis in axes]))


def _product(parts: Sequence[tuple[Table, Axes]], kept: Axes) -> Table:
    number = {axis: place for place, axis in enumerate(dict.fromkeys(axis for _, own in parts for axis in own))}
    listed: list[Any] = [one for table, own in parts for one in (table, [number[axis] for axis in own])]
    return np.asarray(np.einsum(*listed, [number[axis] for axis in kept], optimize=True))
