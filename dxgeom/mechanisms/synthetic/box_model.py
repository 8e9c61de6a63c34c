"""The model of counts over boxes: a step touches one slice, and every marginal by the slice's own marginal.

A step along all cells of a marginal touches everything; the other marginals are summed anew when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.synthetic.workload import Model

if TYPE_CHECKING:
    from dxgeom.mechanisms.synthetic.box_workload import BoxGroup

_FURTHEST = 8.0
"""Nats by which weights may drift before they are scaled and summed anew: e⁸ roundings of float64 are 3e-13."""


@final
class BoxModel(Model):
    """The distribution as a cube, with the marginal tables of its workload's groups, None where one is out of date."""

    def __init__(self, shape: tuple[int, ...], groups: Sequence[BoxGroup], start: NDArray[np.float64]) -> None:
        self._groups = groups
        self._group_of = np.repeat(np.arange(len(groups)), [len(group.low) for group in groups])
        self._first = np.cumsum([0, *(len(group.low) for group in groups)]).tolist()
        self._weights = start.reshape(shape).copy()
        self._tables: list[NDArray[np.float64] | None] = [None] * len(groups)
        self._total, self._drift = float(self._weights.sum()), 0.0
        self._answers: NDArray[np.float64] | None = None

    def answers(self, queries: range | None = None) -> NDArray[np.float64]:
        if queries is None:
            if self._answers is None:
                sums = [group.sums(self._table(place)) for place, group in enumerate(self._groups)]
                self._answers = np.concatenate(sums) / self._total
            return self._answers.copy()
        place = int(self._group_of[queries.start])
        table = self._table(place)
        if len(queries) == 1:
            box = self._groups[place].box(queries.start - self._first[place])
            return np.array([float(table[box].sum()) / self._total])
        return self._groups[place].sums(table) / self._total

    def reweigh(self, queries: range, exponents: NDArray[np.float64]) -> None:
        self._answers = None
        self._drift += float(np.abs(exponents).max())
        if len(queries) > 1:
            self._multiply(int(self._group_of[queries.start]), np.exp(exponents))
        elif self._drift <= _FURTHEST:
            self._change(self._slices(queries.start), float(exponents[0]))
        else:
            self._weights[self._slices(queries.start)] *= exp(float(exponents[0]))
        if self._drift > _FURTHEST:
            self._scale_anew()

    def distribution(self) -> NDArray[np.float64]:
        return np.asarray((self._weights / self._weights.sum()).ravel())

    def _table(self, place: int) -> NDArray[np.float64]:
        table = self._tables[place]
        if table is None:
            axes = self._groups[place].axes
            others = tuple(axis for axis in range(self._weights.ndim) if axis not in axes)
            table = self._tables[place] = np.array(self._weights.sum(axis=others))
        return table

    def _slices(self, query: int) -> tuple[slice, ...]:
        place = int(self._group_of[query])
        ranges = dict(zip(self._groups[place].axes, self._groups[place].box(query - self._first[place]), strict=True))
        return tuple(ranges.get(axis, slice(None)) for axis in range(self._weights.ndim))

    def _change(self, box: tuple[slice, ...], exponent: float) -> None:
        change = self._weights[box] * (exp(exponent) - 1)
        self._weights[box] += change
        self._total += float(change.sum())
        for group, table in zip(self._groups, self._tables, strict=True):
            if table is not None:
                others = tuple(axis for axis in range(change.ndim) if axis not in group.axes)
                table[tuple(box[axis] for axis in group.axes)] += change.sum(axis=others)

    def _multiply(self, place: int, factors: NDArray[np.float64]) -> None:
        """Every cell of a group's table by its own factor."""
        group, table = self._groups[place], self._table(place)
        spread_out = [size if axis in group.axes else 1 for axis, size in enumerate(self._weights.shape)]
        self._weights *= factors.reshape(spread_out)
        self._tables = [None] * len(self._groups)
        self._tables[place] = table * factors.reshape(table.shape)
        self._total = float(self._weights.sum())

    def _scale_anew(self) -> None:
        self._weights /= self._weights.sum()
        self._tables = [None] * len(self._groups)
        self._total, self._drift = float(self._weights.sum()), 0.0
