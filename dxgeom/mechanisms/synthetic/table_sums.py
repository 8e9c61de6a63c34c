"""The queries of one table, as they are read from a marginal of a model and as a step changes it.

Cells are looked up, boxes (ranges, and products of ranges) added up by prefix sums, other weights multiplied.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.arrays import summed_by_class
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.weight_table import WeightTable


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
