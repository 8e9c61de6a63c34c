"""Models of histograms that tables of counts are fitted to: listed, or along a tree of cliques.

The queries of one table, as they are read from a marginal of a model and as a step changes it. Answers of queries in
tables, from the marginals that the tables look at. The model of multiplicative weights: a distribution, with the
marginals that queries are answered from. Cliques of a chordal graph around sets of attributes, and a tree through them.
The model of multiplicative weights where whole marginals are learnt: a product over a few attributes at a time.
Reweighing a model until it agrees with noisy measurements as well as the truth would.

Cells are looked up, boxes (ranges, and products of ranges) added up by prefix sums, other weights multiplied.

A step along a box touches one slice, and every marginal by the slice's own marginal; any other step touches everything,
and marginals are summed anew when they are asked for.

A step multiplies the model by a function of the attributes of one marginal. So from a uniform start the model is always
a product of functions of the marginals learnt so far, and the cliques of a chordal graph around these hold all of it:
where they are small, the histogram itself is never touched before the end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.arrays import summed_by_class
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.weight_table import WeightTable
from dxgeom.universe.weight_tables import WeightTables


class Boxes(NamedTuple):
    """``low``, ``high`` (k, axes): codes low ≤ code < high of each axis."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class TableSums:
    """One table, and the number of codes of each of the axes that it looks at: the shape of its marginal."""

    table: WeightTable
    shape: tuple[int, ...]

    @cached_property
    def boxes(self) -> Boxes | None:
        """Where each query counts what lies in a box of codes; None where some query does not."""
        cells = self.table.cell_of
        if cells is None:
            masks = self._masks_of_boxes()
        else:
            places = np.unravel_index(cells, self.table.shape) if self.table.axes else ()
            masks = [place[:, None] == own for place, own in zip(places, self.table.classes, strict=True)]
        if masks is None:
            return None
        low = [mask.argmax(axis=1) for mask in masks]
        high = [mask.shape[1] - mask[:, ::-1].argmax(axis=1) for mask in masks]
        if not all(np.array_equal(mask.sum(axis=1), b - a) for mask, a, b in zip(masks, low, high, strict=True)):
            return None
        return Boxes(
            *(np.array(ends, dtype=np.int64).reshape(len(masks), len(self.table.queries)).T for ends in (low, high))
        )

    def sums(self, marginal: NDArray[np.float64]) -> NDArray[np.float64]:
        """(k,): every query's sum over the marginal."""
        if self.table.cell_of is not None:
            return np.asarray(self._by_class(marginal).ravel()[self.table.cell_of])
        if self.boxes is not None:
            return self._by_prefixes(marginal, self.boxes)
        return np.asarray(self._floats @ self._by_class(marginal).ravel())

    def sum_of(self, row: int, marginal: NDArray[np.float64]) -> float:
        """One query's sum over the marginal."""
        box = self.box(row)
        if box is not None:
            return float(marginal[box].sum())
        if self.table.cell_of is not None:
            return float(self._by_class(marginal).ravel()[self.table.cell_of[row]])
        return float((self._floats[row : row + 1] @ self._by_class(marginal).ravel())[0])

    def box(self, row: int) -> tuple[slice, ...] | None:
        """Where the box of a query lies in the marginal."""
        if self.boxes is None:
            return None
        return tuple(
            itertools.starmap(slice, zip(self.boxes.low[row].tolist(), self.boxes.high[row].tolist(), strict=True))
        )

    def nats(self, rows: slice, exponents: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ exponent·weight over these queries, at each place of the marginal."""
        if self.table.cell_of is None:
            by_class = exponents @ self._floats[rows]
        else:
            by_class = np.zeros(self.table.cells)
            by_class[self.table.cell_of[rows]] = exponents
        by_class = by_class.reshape(self.table.shape)
        return by_class if self._plain else np.asarray(by_class[np.ix_(*self.table.classes)])

    @cached_property
    def _floats(self) -> NDArray[np.float64]:
        return self.table.flat.astype(np.float64)

    @cached_property
    def _plain(self) -> bool:
        """Whether every code is a class of its own, in order."""
        return all(
            np.array_equal(own, np.arange(size)) for own, size in zip(self.table.classes, self.shape, strict=True)
        )

    def _by_class(self, marginal: NDArray[np.float64]) -> NDArray[Any]:
        if self._plain:
            return marginal
        for axis, classes in enumerate(self.table.classes):
            marginal = summed_by_class(marginal, axis, classes)
        return marginal

    def _masks_of_boxes(self) -> list[NDArray[np.bool_]] | None:
        """For each axis, (k, codes): whether a query counts what has this code; None where it does more than count."""
        weights = self.table.weights
        if weights.min() < 0 or weights.max() > 1 or not np.all(self.table.flat.any(axis=1)):
            return None
        others = range(1, weights.ndim)
        masks = [np.asarray(weights.any(axis=tuple(one for one in others if one != axis))) for axis in others]
        inside = math.prod((mask.sum(axis=1) for mask in masks), start=np.ones(len(weights), dtype=np.int64))
        if not np.array_equal(self.table.flat.sum(axis=1), inside):
            return None
        return [mask[:, own] for mask, own in zip(masks, self.table.classes, strict=True)]

    def _by_prefixes(self, marginal: NDArray[np.float64], boxes: Boxes) -> NDArray[np.float64]:
        prefix = np.zeros([size + 1 for size in self.shape])
        prefix[(slice(1, None),) * len(self.shape)] = marginal
        for axis in range(len(self.shape)):
            np.cumsum(prefix, axis=axis, out=prefix)
        total = np.zeros(len(boxes.low))
        for corner in itertools.product((0, 1), repeat=len(self.shape)):
            place = tuple(boxes[upper][:, axis] for axis, upper in enumerate(corner))
            total += (-1) ** (len(corner) - sum(corner)) * prefix[place]
        return total


MarginalOf: TypeAlias = Callable[[int], NDArray[np.float64]]
"""From the place of a table to the marginal over its axes."""


@final
class TableAnswers:
    """K queries, ``factors`` (K,) times their rows in ``tables``; where each of them stands."""

    def __init__(self, tables: WeightTables, factors: NDArray[np.int64]) -> None:
        self.factors = factors.astype(np.float64)
        self.tables = tables.tables
        self.sums = [TableSums(one, tuple(tables.shape[axis] for axis in one.axes)) for one in tables.tables]
        self.table_of, self.row_of = tables.table_of_each.tolist(), np.empty(tables.count, dtype=np.int64)
        for table in tables.tables:
            self.row_of[table.queries] = np.arange(len(table.queries))

    def rows_of(self, queries: range) -> tuple[int, slice]:
        """The table of a block, or of one query, and its rows there."""
        first = int(self.row_of[queries.start])
        return self.table_of[queries.start], slice(first, first + len(queries))

    def all(self, marginal_of: MarginalOf) -> NDArray[np.float64]:
        """(K,): every query's answer, in units."""
        found = np.empty(len(self.row_of))
        for place, (table, sums) in enumerate(zip(self.tables, self.sums, strict=True)):
            found[table.queries] = sums.sums(marginal_of(place))
        return found * self.factors

    def of(self, queries: range, marginal_of: MarginalOf) -> NDArray[np.float64]:
        """(len(queries),): those of one block, or of one query."""
        place, rows = self.rows_of(queries)
        sums, marginal = self.sums[place], marginal_of(place)
        found = np.array([sums.sum_of(rows.start, marginal)]) if len(queries) == 1 else sums.sums(marginal)
        return np.asarray(found * self.factors[queries.start : queries.stop])


_FURTHEST = 8.0
"""Nats by which weights may drift before they are scaled and summed anew: e⁸ roundings of float64 are 3e-13."""


@final
class HistogramModel:
    """A distribution over possible records that is reweighed in steps; it knows public numbers only.

    Laws: ``answers`` are the queries' on the distribution. All up to the rounding of float64.
    """

    def __init__(self, tables: WeightTables, factors: NDArray[np.int64], start: NDArray[np.float64]) -> None:
        """Begin with the distribution (N,) that is proportional to ``start``.

        Args: ``factors`` (K,): the weights of each query are so many times those in its table.
        """
        self._queries = TableAnswers(tables, factors)
        self._cube = (start / start.sum()).reshape(tables.shape)
        self._marginals: list[NDArray[np.float64] | None] = [None] * len(tables.tables)
        self._total, self._drift = 1.0, 0.0
        self._answers: NDArray[np.float64] | None = None

    def answers(self, queries: range | None = None) -> NDArray[np.float64]:
        """(K,): each query's answer per record, in units; or only those of one block, or of one query."""
        if queries is not None:
            return self._queries.of(queries, self._marginal) / self._total
        if self._answers is None:
            self._answers = self._queries.all(self._marginal) / self._total
        return self._answers

    def reweigh(self, queries: range, exponents: NDArray[np.float64]) -> None:
        """One step: multiply each possible record i by e^(Σ exponent·weight of i in its query), then scale the sum to
        1.

        Args: ``queries``: one, or a block; ``exponents``: one for each.
        """
        self._answers, exponents = None, exponents * self._queries.factors[queries.start : queries.stop]
        place, rows = self._queries.rows_of(queries)
        sums, axes = self._queries.sums[place], self._queries.tables[place].axes
        box = sums.box(rows.start) if len(queries) == 1 else None
        if box is None:
            self._multiply(place, sums.nats(rows, exponents))
            return
        ranges = dict(zip(axes, box, strict=True))
        slices = tuple(ranges.get(axis, slice(None)) for axis in range(self._cube.ndim))
        self._drift += abs(float(exponents[0]))
        if self._drift <= _FURTHEST:
            self._change(slices, float(exponents[0]))
        else:
            self._cube[slices] *= exp(float(exponents[0]))
            self._scale_anew()

    def distribution(self) -> NDArray[np.float64]:
        """(N,): the present distribution."""
        if self._drift > 0:
            self._scale_anew()
        return np.array(self._cube.ravel())

    def _marginal(self, place: int) -> NDArray[np.float64]:
        found = self._marginals[place]
        if found is None:
            axes = self._queries.tables[place].axes
            others = tuple(axis for axis in range(self._cube.ndim) if axis not in axes)
            found = self._marginals[place] = np.array(self._cube.sum(axis=others))
        return found

    def _change(self, box: tuple[slice, ...], exponent: float) -> None:
        change = self._cube[box] * (exp(exponent) - 1)
        self._cube[box] += change
        self._total += float(change.sum())
        for table, marginal in zip(self._queries.tables, self._marginals, strict=True):
            if marginal is not None:
                others = tuple(axis for axis in range(change.ndim) if axis not in table.axes)
                marginal[tuple(box[axis] for axis in table.axes)] += change.sum(axis=others)

    def _multiply(self, place: int, nats: NDArray[np.float64]) -> None:
        """Every cell of a table's marginal by its own factor; only how these compare matters, so none is above 1."""
        table, marginal, factors = self._queries.tables[place], self._marginals[place], np.exp(nats - nats.max())
        self._cube *= factors.reshape([size if axis in table.axes else 1 for axis, size in enumerate(self._cube.shape)])
        total = self._scale_anew()
        if marginal is not None:
            self._marginals[place] = marginal * factors / total

    def _scale_anew(self) -> float:
        total = float(self._cube.sum())
        self._cube /= total
        self._marginals = [None] * len(self._marginals)
        self._total, self._drift = 1.0, 0.0
        return total


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


_WORTH_IT: Final = 8
"""Cliques with more than one in so many of the histogram's cells are no quicker than the histogram."""
_Cube: TypeAlias = NDArray[np.float64]


@final
class CliqueModel:
    """As a :class:`HistogramModel` that began uniform; steps are along blocks of queries or single ones alike.

    Laws: ``answers`` and ``distribution`` are those of a HistogramModel after the same steps, up to rounding.
    """

    def __init__(self, tables: WeightTables, factors: NDArray[np.int64]) -> None:
        self._given, self._queries = (tables, factors), TableAnswers(tables, factors)
        self._shape = tables.shape
        self._tree, self._cubes = tree_of_cliques((), self._shape), list[_Cube]()
        self._whole: HistogramModel | None = None
        self._marginals: dict[int, _Cube] = {}
        self._answers: NDArray[np.float64] | None = None

    def answers(self, queries: range | None = None) -> NDArray[np.float64]:
        """(K,): each query's answer per record, in units; or only those of one block, or of one query."""
        if self._whole is not None:
            return self._whole.answers(queries)
        if queries is not None:
            return self._queries.of(queries, self._marginal)
        if self._answers is None:
            self._answers = self._queries.all(self._marginal)
        return self._answers

    def reweigh(self, queries: range, exponents: NDArray[np.float64]) -> None:
        """One step, as that of a HistogramModel."""
        place, rows = self._queries.rows_of(queries)
        axes = self._queries.tables[place].axes
        self._cover(axes)
        if self._whole is not None:
            self._whole.reweigh(queries, exponents)
            return
        nats = self._queries.sums[place].nats(rows, exponents * self._queries.factors[queries.start : queries.stop])
        if axes:
            self._multiply(axes, np.exp(nats - nats.max()))
        self._marginals, self._answers = {}, None

    def distribution(self) -> NDArray[np.float64]:
        """(N,): the present distribution."""
        if self._whole is not None:
            return self._whole.distribution()
        return self._joint(tuple(range(len(self._shape)))).ravel()

    def _marginal(self, place: int) -> _Cube:
        if place not in self._marginals:
            self._marginals[place] = self._joint(self._queries.tables[place].axes)
        return self._marginals[place]

    def _cover(self, axes: Axes) -> None:
        """Cliques of which one holds these axes; or the histogram, where they would be too large."""
        if self._whole is not None or self._tree.holding(axes) is not None or not axes:
            return
        tree = tree_of_cliques((*self._tree.cliques, axes), self._shape)
        cells = math.prod(self._shape)
        if sum(math.prod(self._shape[axis] for axis in clique) for clique in tree.cliques) * _WORTH_IT > cells:
            self._whole = HistogramModel(*self._given, self.distribution())
            return
        cubes = [self._joint(clique) for clique in tree.cliques]
        self._tree, self._cubes = tree, cubes

    def _multiply(self, axes: Axes, factors: _Cube) -> None:
        """Of the clique that holds the axes, and then of each beyond: a clique's cells change as what it shares with
        the one before did."""
        first = self._tree.holding(axes)
        if first is None:
            raise AssertionError("the cliques were to cover these axes")
        clique = self._tree.cliques[first]
        changed = self._cubes[first] * _spread(factors, axes, clique)
        self._cubes[first] = changed / changed.sum()
        for before, place, shared in self._tree.outwards(first):
            clique = self._tree.cliques[place]
            now = _summed(self._cubes[before], self._tree.cliques[before], shared)
            self._cubes[place] = self._cubes[place] * _spread(
                _over(now, _summed(self._cubes[place], clique, shared)), shared, clique
            )

    def _joint(self, axes: Axes) -> _Cube:
        """The marginal over these axes, increasing."""
        place = self._tree.holding(axes)
        if place is not None:
            return _summed(self._cubes[place], self._tree.cliques[place], axes)
        found: _Cube = np.ones(())
        known: Axes = ()
        for root in self._tree.roots_for(axes):
            part, named = self._collected(root, frozenset(axes))
            found, known = np.multiply.outer(found, part), (*known, *named)
        free = [axis for axis in axes if axis not in known]
        even = np.full([self._shape[axis] for axis in free], 1 / math.prod(self._shape[axis] for axis in free))
        found, known = np.multiply.outer(found, even), (*known, *free)
        return np.ascontiguousarray(found.transpose([known.index(axis) for axis in axes]))

    def _collected(self, place: int, wanted: frozenset[int], before: int | None = None) -> tuple[_Cube, Axes]:
        """The marginal over those axes that are wanted in the part of the tree from this clique on; and, given those
        that it shares with the clique ``before``, of these, too."""
        clique = self._tree.cliques[place]
        shared = () if before is None else self._tree.shared(before, place)
        cube = self._cubes[place]
        if before is not None:
            cube = cube * _spread(_over(np.ones(()), _summed(cube, clique, shared)), shared, clique)
        parts: list[Any] = [cube, list(clique)]
        kept = {*shared, *(wanted & set(clique))}
        for beyond in self._tree.beyond(place, before):
            if self._tree.reaches(beyond, place, wanted - set(clique)):
                further, named = self._collected(beyond, wanted, place)
                parts += [further, list(named)]
                kept |= wanted & set(named)
        out = tuple(sorted(kept))
        return np.asarray(np.einsum(*parts, list(out))), out


def _summed(cube: _Cube, clique: Axes, kept: Axes) -> _Cube:
    by_lists: list[Any] = [cube, list(clique), list(kept)]
    return np.asarray(np.einsum(*by_lists))


def _spread(part: _Cube, axes: Axes, clique: Axes) -> _Cube:
    """A function of some axes of a clique, over all of them; both in increasing order."""
    sizes = iter(part.shape)
    return part.reshape([next(sizes) if axis in axes else 1 for axis in clique])


def _over(part: _Cube, whole: _Cube) -> _Cube:
    """Their ratio, 0 where nothing is left."""
    return np.divide(part, whole, out=np.zeros(whole.shape), where=whole > 0)


PASSES_BETWEEN = 10
"""Between two rounds, when the next one measures anew."""
FEWEST_PASSES, MOST_PASSES = 40, 300
CELLS_TOUCHED = 20_000_000
"""At the end, beyond the fewest passes, as many as touch no more cells than this: a tenth of a second."""
ENOUGH = 0.8
"""The part of the noise's mean square at which a misfit is left alone. The truth has 1, and a model that follows the
noise goes below; on census data errors are least between 0.7 and 0.9, whatever the noise."""
SOFTENING = 64.0
"""A step takes counts by their ratio where they are far above so many noise scales, by their difference where below."""


class Known(NamedTuple):
    """What is known of one block: per record, in the queries' common unit, each (len(queries),).

    ``lowest``, ``widths``: the smallest and the largest answer possible are lowest and lowest + width; ``values``: what
    was measured; ``deviations``: root mean square of the noise, positive; ``softening``: positive.
    """

    queries: range
    lowest: NDArray[np.float64]
    widths: NDArray[np.float64]
    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    softening: NDArray[np.float64]


def fit(model: HistogramModel | CliqueModel, known: Sequence[Known], passes: int) -> None:
    """Pass over the blocks, stepping along each that does not fit, until all do or so often; it reads nothing private.

    Definition: a block fits when the mean of ((value − answer)/deviation)² over its queries is at most 0.8. A step
    along the cells of a marginal has the exponents ln((m + τ)/(q + τ)), m the measured value, moved into the range of
    what is possible, q the model's answer, τ the softening. Along one query of weights from l to l + w it has the
    exponent (ln((m − l + τ)/(q − l + τ)) − ln((l + w − m + τ)/(l + w − q + τ)))/w.
    With τ = 0 the first is iterative proportional fitting, and the second never goes too far: with the exponent θ the
    answer moves by its variance under the model, at most (q − l)(l + w − q). τ keeps small counts from following noise.
    Source: Darroch & Ratcliff 1972, generalised iterative scaling.
    """
    queries = np.concatenate([np.asarray(one.queries) for one in known])
    values, deviations = (np.concatenate([one[field] for one in known]) for field in (3, 4))
    sizes = np.array([len(one.queries) for one in known])
    firsts = np.cumsum(sizes) - sizes
    for _ in range(passes):
        squares = ((values - model.answers()[queries]) / deviations) ** 2
        misfits = np.flatnonzero(np.add.reduceat(squares, firsts) > ENOUGH * sizes)
        if misfits.size == 0:
            return
        for place in misfits.tolist():
            _step(model, known[place])


def last_passes(blocks: int, cells: int) -> int:
    """How often the last model goes over so many blocks at most, on so many possible records."""
    return min(max(CELLS_TOUCHED // (blocks * cells), FEWEST_PASSES), MOST_PASSES)


def _step(model: HistogramModel | CliqueModel, known: Known) -> None:
    """No true answer lies beyond what is possible, so a noisy one that does is moved there."""
    wanted = np.clip(known.values - known.lowest, 0.0, known.widths)
    found = np.clip(model.answers(known.queries) - known.lowest, 0.0, known.widths)
    exponents = np.log((wanted + known.softening) / (found + known.softening))
    if len(known.queries) == 1:
        left, there = known.widths - wanted, known.widths - found
        exponents -= np.log((left + known.softening) / (there + known.softening))
    model.reweigh(known.queries, exponents / known.widths)
