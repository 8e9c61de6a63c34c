"""Counts over boxes of a product universe: cells of marginals, ranges, and products of ranges.

A step of multiplicative weights on such a count changes one slice of the model. Every marginal follows from its old
value and the slice's own marginal: a step costs the slice, not the universe.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.steepness import steepness
from dxgeom.mechanisms.synthetic.box_model import BoxModel
from dxgeom.mechanisms.synthetic.workload import Workload
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.operations.restriction import on_axes
from dxgeom.universe.universe import Universe

Box: TypeAlias = Mapping[str, tuple[int, int]]
"""By attribute: the first code inside, and the first beyond. Attributes that are not named are unrestricted."""


@final
@dataclass(frozen=True, eq=False)
class BoxGroup:
    """Boxes that restrict the same attributes.

    ``axes``: their places, increasing; ``low``, ``high`` (K, axes): codes low ≤ code < high.
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    low: NDArray[np.int64] = field(repr=False)
    high: NDArray[np.int64] = field(repr=False)

    @cached_property
    def every_cell(self) -> bool:
        """Whether these are the cells of the marginal, each once and in order: their counts are the table itself."""
        if len(self.low) != math.prod(self.sizes):
            return False
        cells = np.indices(self.sizes).reshape(len(self.sizes), -1).T
        return bool(np.array_equal(self.low, cells) and np.array_equal(self.high, cells + 1))

    @cached_property
    def cells(self) -> NDArray[np.int64] | None:
        """(K,): their places in the flattened table where all boxes are single cells."""
        if not np.array_equal(self.high, self.low + 1):
            return None
        return np.asarray(np.ravel_multi_index(tuple(self.low.T), self.sizes))

    def sums(self, table: NDArray[Any]) -> NDArray[Any]:
        """(K,): each box's sum over a marginal table, by prefix sums unless they are cells."""
        if self.cells is not None:
            return np.asarray(table.ravel()[self.cells])
        prefix = np.zeros([size + 1 for size in self.sizes], dtype=table.dtype)
        prefix[(slice(1, None),) * len(self.sizes)] = table
        for axis in range(len(self.sizes)):
            np.cumsum(prefix, axis=axis, out=prefix)
        total = np.zeros(len(self.low), dtype=table.dtype)
        for corner in itertools.product((0, 1), repeat=len(self.sizes)):
            place = tuple((self.low, self.high)[upper][:, axis] for axis, upper in enumerate(corner))
            total += (-1) ** (len(corner) - sum(corner)) * prefix[place]
        return total

    def box(self, row: int) -> tuple[slice, ...]:
        """Where a box lies in the marginal table."""
        return tuple(itertools.starmap(slice, zip(self.low[row].tolist(), self.high[row].tolist(), strict=True)))

    def indicator(self, row: int) -> NDArray[np.int64]:
        """The weights of one box over the marginal table."""
        weights = np.zeros(self.sizes, dtype=np.int64)
        weights[self.box(row)] = 1
        return weights


@final
@dataclass(frozen=True, eq=False)
class BoxWorkload(Workload):
    """Counts of the records in boxes; made by :func:`marginal_workload` or :func:`box_workload`."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    groups: tuple[BoxGroup, ...] = field(repr=False)
    size: int
    fingerprint: str
    lowest: NDArray[np.int64] = field(repr=False)
    highest: NDArray[np.int64] = field(repr=False)
    blocks: NDArray[np.int64] = field(repr=False)
    universe: Universe = field(repr=False)
    unit: Fraction = Fraction(1)

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        cube = counts.reshape(self.shape)
        return np.concatenate([group.sums(marginal(cube, group.axes)) for group in self.groups])

    def steepness(self, metric: Metric) -> NDArray[np.float64]:
        return np.concatenate([self._steepness_of(group, metric) for group in self.groups])

    def model(self, start: NDArray[np.float64]) -> BoxModel:
        return BoxModel(self.shape, self.groups, start)

    def _steepness_of(self, group: BoxGroup, metric: Metric) -> NDArray[np.float64]:
        fewer = on_axes(metric, self.shape, group.axes)
        rows = (group.indicator(box) for box in range(len(group.low)))
        if fewer is not None:
            return np.concatenate([steepness(fewer, row.reshape(1, -1)) for row in rows])
        spread_out = [size if axis in group.axes else 1 for axis, size in enumerate(self.shape)]
        whole = (np.broadcast_to(row.reshape(spread_out), self.shape).reshape(1, -1) for row in rows)
        return np.concatenate([steepness(metric, row) for row in whole])


def marginal(cube: NDArray[Any], axes: tuple[int, ...]) -> NDArray[Any]:
    """The table of sums over all other axes."""
    return np.asarray(cube.sum(axis=tuple(axis for axis in range(cube.ndim) if axis not in axes)))


def marginal_workload(universe: Universe, marginals: Sequence[Sequence[str]]) -> BoxWorkload:
    """Every cell of these marginals, each given by the names of its attributes.

    Raises: UnsupportedCombination for an unknown attribute, one named twice, or a marginal listed twice.
    """
    chosen = [_places(universe, names) for names in marginals]
    if len(set(chosen)) != len(chosen) or not chosen:
        raise UnsupportedCombination("a workload has at least one marginal, and each once")
    groups, names = [], []
    for axes in chosen:
        sizes = tuple(universe.shape[axis] for axis in axes)
        cells = np.indices(sizes).reshape(len(axes), -1).T.astype(np.int64)
        groups.append(BoxGroup(axes, sizes, cells, cells + 1))
        names += [_name(universe, axes, cell, cell + 1) for cell in cells]
    return _workload(universe, tuple(names), tuple(groups))


def box_workload(universe: Universe, boxes: Sequence[Box]) -> BoxWorkload:
    """Counts over these boxes, grouped by the attributes they restrict.

    Raises: UnsupportedCombination for an unknown attribute, a box without attributes, codes outside or in the wrong
    order, or the same box twice.
    """
    grouped: dict[tuple[int, ...], list[list[tuple[int, int]]]] = {}
    for box in boxes:
        axes = _places(universe, list(box))
        ranges = [box[universe.names[axis]] for axis in axes]
        for axis, (low, high) in zip(axes, ranges, strict=True):
            if not 0 <= low < high <= universe.shape[axis]:
                raise UnsupportedCombination(
                    f"codes of {universe.names[axis]} run from 0 to {universe.shape[axis]}, found {low} to {high}"
                )
        grouped.setdefault(axes, []).append(ranges)
    groups, names = [], []
    for axes, ranges_of in grouped.items():
        ends = np.array(ranges_of, dtype=np.int64)
        groups.append(BoxGroup(axes, tuple(universe.shape[axis] for axis in axes), ends[:, :, 0], ends[:, :, 1]))
        names += [_name(universe, axes, low, high) for low, high in zip(ends[:, :, 0], ends[:, :, 1], strict=True)]
    if not groups or len(set(names)) != len(names):
        raise UnsupportedCombination("a workload has at least one box, and each once")
    return _workload(universe, tuple(names), tuple(groups))


def _workload(universe: Universe, names: tuple[str, ...], groups: tuple[BoxGroup, ...]) -> BoxWorkload:
    if universe.presence:
        raise UnsupportedCombination("multiplicative weights use the number of records, which this universe hides")
    if universe.listed is not None:
        raise UnsupportedCombination("boxes are of universes that hold each combination: use matrix_workload")
    digest = hashlib.sha256(repr((universe.shape, names, [group.axes for group in groups])).encode())
    for group in groups:
        digest.update(group.low.tobytes() + group.high.tobytes())
    ones = np.ones(len(names), dtype=np.int64)
    blocks = np.concatenate(list(_blocks(groups)))
    size, fingerprint = universe.size, digest.hexdigest()
    return BoxWorkload(names, universe.shape, groups, size, fingerprint, 0 * ones, ones, blocks, universe)


def _blocks(groups: tuple[BoxGroup, ...]) -> Iterator[NDArray[np.int64]]:
    """The cells of one marginal share no record; of other boxes nothing is known."""
    first = 0
    for group in groups:
        beyond = first + len(group.low)
        each = np.arange(first, beyond)
        ends = (np.full(len(each), first), np.full(len(each), beyond)) if group.every_cell else (each, each + 1)
        yield np.stack(ends, axis=1)
        first = beyond


def _places(universe: Universe, names: Sequence[str]) -> tuple[int, ...]:
    unknown = [name for name in names if name not in universe.names]
    if unknown or not names or len(set(names)) != len(names):
        raise UnsupportedCombination(
            f"a box names attributes of the universe, each once: {', '.join(universe.names)}; found {list(names)}"
        )
    return tuple(sorted(universe.names.index(name) for name in names))


def _name(universe: Universe, axes: tuple[int, ...], low: NDArray[np.int64], high: NDArray[np.int64]) -> str:
    parts = []
    for axis, first, beyond in zip(axes, low.tolist(), high.tolist(), strict=True):
        labels = universe.attributes[axis].labels
        words = labels[first] if beyond == first + 1 else f"{labels[first]} to {labels[beyond - 1]}"
        parts.append(f"{universe.names[axis]} {words}")
    return ", ".join(parts)
