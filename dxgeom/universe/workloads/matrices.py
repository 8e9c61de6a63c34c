"""Queries that are handed over as a matrix: laid out, or sparse, of which no more is laid out than its rows look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import array_of
from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.decimals import exact_row
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import LARGEST_NUMERATOR, WeightTable, one_by_one, refuse_too_many, tabulated
from dxgeom.universe.weight_tables import WeightTables, is_plain_product

TOO_WIDE = "over their common unit the weights of a query stay below 2**52: round them to fewer digits"
_Sets: TypeAlias = tuple[NDArray[np.bool_], ...]


def weights_of_matrix(
    matrix: Any, universe: Universe | None
) -> tuple[WeightTables | NDArray[np.int64], tuple[Fraction, ...]]:
    """The integers of each row, and their units. A matrix of SciPy's sparse ones becomes tables over the attributes,
    where every possible record is a combination of values; no copy of it is laid out.

    Raises: UnsupportedCombination for NaN, infinities, words, or a shape that does not fit; TooLarge.
    """
    sparse = hasattr(matrix, "tocsr")
    if sparse and universe is not None and is_plain_product(universe):
        return _of_sparse(matrix.tocsr(), universe)
    if sparse:
        refuse_too_many(*matrix.shape)
    raw = array_of(matrix.toarray() if sparse else matrix, "matrix", "give one row of numbers for each query")
    if raw.ndim != 2:
        raise UnsupportedCombination(f"queries form a K × N matrix, found shape {raw.shape}")
    if universe is not None and universe.absent is not None and raw.shape[1] == universe.record_types:
        raw = np.concatenate([raw, np.zeros((len(raw), 1), dtype=raw.dtype)], axis=1)
    rows = [_exact(row) for row in raw]
    numerators = np.array([row for row, _ in rows], dtype=np.int64).reshape(raw.shape)
    return numerators, tuple(unit for _, unit in rows)


def _exact(row: NDArray[Any]) -> tuple[list[int], Fraction]:
    found, unit = exact_row(row)
    if max(map(abs, found), default=0) >= LARGEST_NUMERATOR:
        raise UnsupportedCombination(TOO_WIDE)
    return found, unit


def _of_sparse(matrix: Any, universe: Universe) -> tuple[WeightTables, tuple[Fraction, ...]]:
    """Rows that have one weight on a product of sets of values are tables of these, together where they look at the
    same attributes; others are tables each by itself."""
    if matrix.ndim != 2 or matrix.shape[1] != universe.size:
        raise UnsupportedCombination(f"queries have one weight per possible record, {universe.size:,}: {matrix.shape}")
    matrix.sum_duplicates()
    units: list[Fraction] = []
    alike: dict[tuple[int, ...], list[tuple[int, int, _Sets]]] = {}
    tables: list[WeightTable] = []
    for place in range(matrix.shape[0]):
        own = slice(matrix.indptr[place], matrix.indptr[place + 1])
        weights, unit = _exact(matrix.data[own])
        units.append(unit)
        codes = np.unravel_index(matrix.indices[own], universe.shape)
        sets = tuple(np.bincount(one, minlength=size) > 0 for one, size in zip(codes, universe.shape, strict=True))
        if weights and len({*weights}) == 1 and np.prod([float(one.sum()) for one in sets]) == len(weights):
            axes = tuple(axis for axis, one in enumerate(sets) if not one.all())
            alike.setdefault(axes, []).append((place, weights[0], sets))
        else:
            row = np.zeros(universe.size, dtype=np.int64)
            row[matrix.indices[own]] = weights
            table = tabulated(range(len(universe.shape)), row.reshape(1, *universe.shape))
            tables.append(replace(table, queries=np.array([place])))
    tables += [_together(axes, rows) for axes, rows in alike.items()]
    return WeightTables(universe.shape, tuple(tables)), tuple(units)


def _together(axes: Sequence[int], rows: Sequence[tuple[int, int, _Sets]]) -> WeightTable:
    """Rows that look at the same attributes, each with one weight on a product of sets."""
    parts = [tabulated((axis,), np.array([sets[axis] for _, _, sets in rows], dtype=np.int64)) for axis in axes]
    everything = WeightTable(np.arange(len(rows)), (), (), np.ones(len(rows), dtype=np.int64))
    table = reduce(one_by_one, parts, everything)
    weights = np.array([weight for _, weight, _ in rows], dtype=np.int64)
    stated = table.weights * weights.reshape(-1, *[1] * len(table.axes))
    return WeightTable(np.array([place for place, _, _ in rows]), table.axes, table.classes, stated)
