"""What else could be asked about the classes of records: cells, blocks of neighbouring ones, and lower marginals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.shapes.round_space import RoundSpace
from dxgeom.universe.weight_table import WeightTable, on_shared_classes

Kind: TypeAlias = Literal["cells", "blocks"]
"""Cells and their sums over attributes; or also over blocks of 2, 4, 8, … neighbouring classes of an attribute."""

MOST_CELLS = 4096
"""Workloads that tell more classes of records apart are not looked at."""
MOST_ENTRIES = 8_000_000
_DETERMINED = 1e-6
"""Relative: what the answers do not determine this well is not asked."""

_Part: TypeAlias = tuple[int, int, int]
"""The classes from one up to another of an axis: (axis, first, end)."""


def determined_rows(space: RoundSpace, kind: Kind) -> NDArray[np.float64]:
    """(p, m): counts of classes of records that follow from the answers, up to constants, in round coordinates.

    For each table of the workload the products, over the attributes it looks at, of one class, or block, or all.
    None (0, m) where there would be too many. Nothing rests on these: they are where a search starts.
    """
    tables = space.sensitivity.queries.tables.tables
    sizes = {axis: int(own.max()) + 1 for table in tables for axis, own in zip(table.axes, table.classes, strict=True)}
    nothing = np.empty((0, space.dimension))
    if math.prod(sizes.values()) > MOST_CELLS:
        return nothing
    tables = on_shared_classes(tables)
    sizes = {axis: int(own.max()) + 1 for table in tables for axis, own in zip(table.axes, table.classes, strict=True)}
    cells = math.prod(sizes.values())
    chosen = {axis: _parts(axis, size, kind) for axis, size in sizes.items()}
    count = sum(math.prod(len(chosen[axis]) + 1 for axis in table.axes) for table in tables)
    if cells > MOST_CELLS or count * cells > MOST_ENTRIES:
        return nothing
    weights = _over_cells(tables, sizes)[space.noisy] / space.scales[:, None]
    places = space.back @ (weights - weights.mean(axis=1, keepdims=True))
    sums = np.array([_count_of(parts, sizes) for parts in _products(tables, chosen)]).reshape(-1, cells)
    sums -= sums.mean(axis=1, keepdims=True)
    rows = np.linalg.lstsq(places.T, sums.T, rcond=None)[0].T
    lengths = np.linalg.norm(sums, axis=1)
    missed = np.linalg.norm(rows @ places - sums, axis=1)
    return np.asarray(rows[(lengths > 0) & (missed <= _DETERMINED * lengths)])


def _parts(axis: int, size: int, kind: Kind) -> list[_Part]:
    widths = [1, *(2**power for power in range(1, size.bit_length()) if 2**power < size)] if kind == "blocks" else [1]
    return [(axis, start, min(start + width, size)) for width in widths for start in range(0, size, width)]


def _products(tables: Sequence[WeightTable], chosen: Mapping[int, list[_Part]]) -> list[tuple[_Part, ...]]:
    """Every combination once, in order; an attribute of which all classes count is left out."""
    found: dict[tuple[_Part, ...], None] = {}
    for table in tables:
        for combination in itertools.product(*([None, *chosen[axis]] for axis in table.axes)):
            found[tuple(part for part in combination if part is not None)] = None
    return list(found)


def _count_of(parts: tuple[_Part, ...], sizes: Mapping[int, int]) -> NDArray[np.float64]:
    """1 for every cell that is in all parts."""
    inside = np.ones(tuple(sizes.values()))
    for place, (axis, size) in enumerate(sizes.items()):
        for one, first, end in parts:
            if one == axis:
                codes = np.arange(size)
                shape = [size if other == place else 1 for other in range(len(sizes))]
                inside = inside * ((codes >= first) & (codes < end)).reshape(shape)
    return inside.ravel()


def _over_cells(tables: Sequence[WeightTable], sizes: Mapping[int, int]) -> NDArray[np.float64]:
    """(K, cells): the weights of all queries on the grid of all classes."""
    count = sum(len(table.queries) for table in tables)
    laid_out = np.empty((count, *sizes.values()))
    for table in tables:
        order = [axis for axis in sizes if axis in table.axes]
        weights = table.weights.transpose(0, *(1 + table.axes.index(axis) for axis in order))
        shape = [size if axis in table.axes else 1 for axis, size in sizes.items()]
        laid_out[table.queries] = weights.reshape(len(weights), *shape)
    return laid_out.reshape(count, -1)
