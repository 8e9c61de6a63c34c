"""The model of multiplicative weights where whole marginals are learnt: a product over a few attributes at a time.

A step multiplies the model by a function of the attributes of one marginal. So from a uniform start the model is always
a product of functions of the marginals learnt so far, and the cliques of a chordal graph around these hold all of it:
where they are small, the histogram itself is never touched before the end.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.synthetic.clique_tree import Axes, tree_of_cliques
from dxgeom.mechanisms.synthetic.histogram_model import HistogramModel
from dxgeom.mechanisms.synthetic.table_answers import TableAnswers
from dxgeom.universe.weight_tables import WeightTables

_WORTH_IT: Final = 8
"""Cliques with more than one in so many of the histogram's cells are no quicker than the histogram."""
_Cube: TypeAlias = NDArray[np.float64]


@final
class CliqueModel:
    """As a :class:`HistogramModel` that began uniform; steps are along blocks of queries or single ones alike.

    Laws: ``answers`` and ``distribution`` are those of a HistogramModel after the same steps, up to rounding.
    """

    def __init__(self, tables: WeightTables, factors: NDArray[np.int64]) -> None:
        self._said, self._queries = (tables, factors), TableAnswers(tables, factors)
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
            self._whole = HistogramModel(*self._said, self.distribution())
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
