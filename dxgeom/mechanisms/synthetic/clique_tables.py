"""The tables of a model in cliques: of the cliques, of any axes, and of records that are drawn clique by clique.

Logarithms of a clique's cells are made relative before they become numbers, at each value of what it shares with the
one before it. So float64 has room for every chance given these, however small the chance of the value itself.

Of two attributes that no clique holds together the tables are made all at once: what lies beyond a clique is
independent of the rest, given what both share. So chances of all values beyond, given that, are columns of one matrix,
and matrices are handed from clique to clique.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
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

    def home(self, axes: Axes) -> int | None:
        """The smallest clique that holds these; looked up once."""
        if axes not in self._homes:
            self._homes[axes] = self.forest.holding(axes)
        return self._homes[axes]

    @cached_property
    def _homes(self) -> dict[Axes, int | None]:
        return {}

    def within(self, axes: Axes) -> _Place:
        """Where a table over rising axes is; worked out once."""
        if axes not in self._within:
            clique = self.home(axes)
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
        homes = {axes: self.layout.home(axes) for axes in wanted}
        pairs = [axes for axes, home in homes.items() if home is None and len(axes) == 2]
        if len(pairs) > len(self.cubes):
            found |= self._pairs(pairs)
        for axes in sorted(wanted, key=len, reverse=True):
            home = homes[axes]
            if home is None:
                if axes not in found:
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

    def _pairs(self, wanted: Sequence[Axes]) -> dict[Axes, Table]:
        """Tables of pairs that no clique holds, all at once."""
        return tables_of_pairs(self, wanted)

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


class _Columns(NamedTuple):
    """``given`` (cells of what is shared, columns): chances of values given each cell; ``axes`` (columns,): whose."""

    given: Table
    axes: NDArray[np.int64]


def tables_of_pairs(model: CliqueTables, wanted: Collection[Axes]) -> dict[Axes, Table]:
    """Of rising pairs, none of which a clique holds, the tables of chances.

    Definition: first from the last clique to the first what lies beyond each, given what it shares with the one before;
    then from the first on what lies on the other side. That, times what a clique has of its own axes, is each pair.
    """
    found = dict[Axes, Table]()
    forest = model.layout.forest
    trees = [forest.line(axis)[-1] for axis in range(len(forest.shape))]
    near = {pair for pair in wanted if trees[pair[0]] == trees[pair[1]]}
    apart = {axis for pair in wanted if pair not in near for axis in pair}
    alone = {axis: _alone(model, axis) for axis in apart}
    found.update({pair: np.outer(alone[pair[0]], alone[pair[1]]) for pair in wanted if pair not in near})
    if near:
        _within_trees(model, near, found)
    return found


def _alone(model: CliqueTables, axis: int) -> Table:
    top = model.layout.forest.line(axis)[0]
    return summed(model.cubes[top], model.layout.axes[top], (axis,))


def _within_trees(model: CliqueTables, wanted: set[Axes], found: dict[Axes, Table]) -> None:
    number, parents = len(model.cubes), model.layout.forest.parents
    children: list[list[int]] = [[] for _ in range(number)]
    up, down = dict[int, _Columns](), dict[int, _Columns]()
    for place in reversed(range(number)):
        parent = parents[place]
        if parent is not None:
            children[parent].append(place)
            beyond = [(model.layout.shared[child], up[child]) for child in children[place]]
            up[place] = _seen(model, place, model.layout.shared[place], beyond)
    for place in range(number):
        beyond = [(model.layout.shared[child], up[child]) for child in children[place]]
        beyond += [(model.layout.shared[place], down[place])] if place in down else []
        seen = {
            out: _seen(model, place, out, beyond) for out in {model.layout.shared[child] for child in children[place]}
        }
        for child in children[place]:
            every = seen[model.layout.shared[child]]
            outside = ~np.isin(every.axes, up[child].axes)
            down[child] = _Columns(every.given[:, outside], every.axes[outside])
        if place in down:
            _read(model, place, down[place], wanted, found)


def _read(model: CliqueTables, place: int, known: _Columns, wanted: set[Axes], found: dict[Axes, Table]) -> None:
    """The pairs of a clique's own axes with all that lies on the other side."""
    shared = model.layout.shared[place]
    begins = np.flatnonzero(np.diff(known.axes, prepend=-1))
    ends = np.append(begins[1:], len(known.axes))
    others = list(zip(known.axes[begins].tolist(), begins.tolist(), ends.tolist(), strict=True))
    for axis in model.layout.axes[place][len(shared) :]:
        cells = summed(model.cubes[place], model.layout.axes[place], (axis, *shared))
        both = cells.reshape(len(cells), -1) @ known.given
        for other, begin, end in others:
            pair = (min(axis, other), max(axis, other))
            if pair in wanted:
                found[pair] = both[:, begin:end] if axis < other else both[:, begin:end].T


def _seen(model: CliqueTables, place: int, out: Axes, beyond: Sequence[tuple[Axes, _Columns]]) -> _Columns:
    """Given ``out``, which a clique shares, all its other axes and all beyond those that it shares otherwise."""
    cube, clique, sizes = model.cubes[place], model.layout.axes[place], model.layout.forest.shape
    parts = list[_Columns]()
    for axis in clique:
        if axis not in out:
            both = summed(cube, clique, (*out, axis)).reshape(-1, sizes[axis])
            parts.append(_Columns(_relative(both), np.full(sizes[axis], axis)))
    by_shared: dict[Axes, list[_Columns]] = {}
    for shared, columns in beyond:
        by_shared.setdefault(shared, []).append(columns)
    for shared, several in by_shared.items():
        together = np.concatenate([one.given for one in several], axis=1)
        handed = together if shared == out else _handed(model, place, shared, out, together)
        parts.append(_Columns(handed, np.concatenate([one.axes for one in several])))
    if not parts:
        return _Columns(np.zeros((math.prod(sizes[axis] for axis in out), 0)), np.zeros(0, dtype=np.int64))
    return _Columns(np.concatenate([one.given for one in parts], axis=1), np.concatenate([one.axes for one in parts]))


def _handed(model: CliqueTables, place: int, shared: Axes, out: Axes, given: Table) -> Table:
    """Chances given ``shared`` as chances given ``out``: what both have stays, and the rest of the first is summed."""
    sizes = model.layout.forest.shape
    both = tuple(axis for axis in out if axis in shared)
    own, other = (tuple(axis for axis in one if axis not in both) for one in (out, shared))
    shape = [math.prod(sizes[axis] for axis in axes) for axes in (both, own, other)]
    joint = _relative(summed(model.cubes[place], model.layout.axes[place], (*both, *own, *other)).reshape(shape))
    columns = given.shape[1]
    lying = given.reshape(*(sizes[axis] for axis in shared), columns)
    order = [shared.index(axis) for axis in (*both, *other)]
    product = joint @ lying.transpose(*order, len(shared)).reshape(shape[0], shape[2], columns)
    lying = product.reshape(*(sizes[axis] for axis in (*both, *own)), columns)
    order = [(*both, *own).index(axis) for axis in out]
    return lying.transpose(*order, len(out)).reshape(-1, columns)


def _relative(table: Table) -> Table:
    """Chances along the last axis, given the others; 0 where nothing is left."""
    before = table.sum(axis=-1, keepdims=True)
    found: Table = np.divide(table, before, out=np.zeros(table.shape), where=before > 0)
    return found


def summed(table: Table, own: Sequence[int], axes: Sequence[int]) -> Table:
    """A table over ``own`` axes, summed to ``axes``, in their order."""
    left = [axis for axis in own if axis in axes]
    sums = table.sum(axis=tuple(place for place, axis in enumerate(own) if axis not in axes))
    return np.asarray(sums.transpose([left.index(axis) for axis in axes]))


def _product(parts: Sequence[tuple[Table, Axes]], kept: Axes) -> Table:
    number = {axis: place for place, axis in enumerate(dict.fromkeys(axis for _, own in parts for axis in own))}
    listed: list[Any] = [one for table, own in parts for one in (table, [number[axis] for axis in own])]
    return np.asarray(np.einsum(*listed, [number[axis] for axis in kept], optimize=True))
