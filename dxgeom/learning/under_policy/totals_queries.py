"""The sums that a regression under a policy needs, as linear queries over its records: whatever can answer queries can
answer these, whether people have many rows, may be absent, or their attributes are made of others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.learning.totals.layout import TotalsLayout
from dxgeom.learning.under_policy.encoding import EncodedAttribute
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe

_GRID: Final = 2**16
_SMALL: Final = 2**12
_SAME: Final = 1e-12
Cell = tuple[int, int]


@final
@dataclass(frozen=True, eq=False)
class TotalsQueries:
    """Σ z·zᵀ, z = (1, features, response), as queries: each sum once, however many cells it stands in."""

    queries: LinearQueries
    layout: TotalsLayout


@final
@dataclass(frozen=True, eq=False)
class _Numbers:
    """An attribute's numbers, ``whole`` (d, values) of them over ``parts``; ``first``: the place of the first in z."""

    name: str
    names: tuple[str, ...]
    whole: NDArray[np.int64]
    parts: int
    first: int


def totals_queries(
    universe: Universe, encodings: Sequence[EncodedAttribute], response: EncodedAttribute
) -> TotalsQueries:
    """The queries of a regression of ``response``, one number, on what these attributes are encoded as.

    Guarantee: weights are *exact* products of the encoded numbers, which are within [−1, 1]; those over more than 2¹²
    parts are moved to multiples of 2⁻¹⁶ first, value by value, whatever the data.
    Raises: TooLarge; UnsupportedCombination for queries that the universe cannot have.
    """
    blocks, place = [], 1
    for one in (*encodings, response):
        if one.groups:
            blocks.append(_numbers(one, place))
            place += one.table.shape[1]
    parts = [_records(universe)] if universe.presence else []
    parts += [_own(universe, block) for block in blocks]
    parts += [_products(universe, first, second) for first, second in itertools.combinations(blocks, 2)]
    kept = [part for part in parts if part.cells]
    queries = LinearQueries.stack([part.queries for part in kept])
    return TotalsQueries(queries, TotalsLayout(place, tuple(cells for part in kept for cells in part.cells)))


@final
@dataclass(frozen=True, eq=False)
class _Part:
    queries: LinearQueries
    cells: tuple[tuple[Cell, ...], ...]


def _records(universe: Universe) -> _Part:
    """The number of records, where that is private."""
    return _Part(LinearQueries.kronecker(("records",), universe, {}), (((0, 0),),))


def _own(universe: Universe, block: _Numbers) -> _Part:
    """An attribute's numbers and their products with each other; what is the same for every value, only once."""
    rows: dict[tuple[Fraction, ...], tuple[str, list[Cell]]] = {}
    for name, cell, row in _each_own(block):
        if any(row):
            rows.setdefault(row, (name, []))[1].append(cell)
    unit = Fraction(1, block.parts**2)
    whole = np.array([[int(entry / unit) for entry in row] for row in rows], dtype=np.int64)
    names = tuple(name for name, _ in rows.values())
    return _Part(
        LinearQueries.kronecker(names, universe, {block.name: whole}, unit),
        tuple(tuple(cells) for _, cells in rows.values()),
    )


def _each_own(block: _Numbers) -> Iterator[tuple[str, Cell, tuple[Fraction, ...]]]:
    size, start = len(block.names), block.first
    for j in range(size):
        row = tuple(Fraction(int(x), block.parts) for x in block.whole[j])
        yield block.names[j], (0, start + j), row
    for j, k in itertools.combinations_with_replacement(range(size), 2):
        products = block.whole[j].astype(object) * block.whole[k]
        row = tuple(Fraction(int(x), block.parts**2) for x in products)
        yield f"{block.names[j]}·{block.names[k]}", (start + j, start + k), row


def _products(universe: Universe, first: _Numbers, second: _Numbers) -> _Part:
    pairs = list(itertools.product(range(len(first.names)), range(len(second.names))))
    names = tuple(f"{first.names[j]}·{second.names[k]}" for j, k in pairs)
    factors = {first.name: first.whole, second.name: second.whole}
    queries = LinearQueries.kronecker(names, universe, factors, Fraction(1, first.parts * second.parts))
    return _Part(queries, tuple(((first.first + j, second.first + k),) for j, k in pairs))


def _numbers(one: EncodedAttribute, place: int) -> _Numbers:
    """In as few parts as they are exact in, else in 2¹⁶."""
    near = [Fraction(x).limit_denominator(_SMALL) for x in one.table.ravel().tolist()]
    parts = math.lcm(*(x.denominator for x in near))
    exact = all(abs(float(x) - y) <= _SAME for x, y in zip(near, one.table.ravel().tolist(), strict=True))
    parts = parts if exact and parts <= _SMALL else _GRID
    whole = np.rint(one.table.T * parts).astype(np.int64)
    names = tuple(name for group in one.groups for name in group.names)
    return _Numbers(one.name, names, np.ascontiguousarray(whole), parts, place)
