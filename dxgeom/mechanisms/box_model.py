"""The model of counts over boxes: a step touches one slice, and every marginal by the slice's own marginal.

A step along all cells of a marginal touches everything, and all is summed anew.

The distribution is weights/total. Its average over steps is kept lazily: with S = Σ 1/total over the steps so far, the
sum of a weight's probabilities is settled + weight·S, and multiplying the weight by f leaves that sum as it was when
weight·(1 − f)·S moves to settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from math import exp
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.workload import Model

if TYPE_CHECKING:
    from dxgeom.mechanisms.box_workload import BoxGroup

_FURTHEST = 8.0
"""Nats by which weights may drift before all is settled and summed anew: e⁸ roundings of float64 are 3e-13."""


@final
class BoxModel(Model):
    """The distribution as a cube, with the marginal tables of its workload's groups."""

    def __init__(self, shape: tuple[int, ...], groups: Sequence[BoxGroup], start: NDArray[np.float64]) -> None:
        self._groups = groups
        self._group_of = np.repeat(np.arange(len(groups)), [len(group.low) for group in groups])
        self._first = np.cumsum([0, *(len(group.low) for group in groups)])
        self._weights = start.reshape(shape).copy()
        self._settled = np.zeros(shape)
        self._inverse_totals, self._drift, self._counted = 0.0, 0.0, False
        self._sum_anew()

    def answers(self) -> NDArray[np.float64]:
        sums = [group.sums(table) for group, table in zip(self._groups, self._tables, strict=True)]
        return np.concatenate(sums) / self._total

    def reweigh(self, queries: range, exponents: NDArray[np.float64], counted: bool = True) -> None:
        if counted:
            self._inverse_totals += 1 / self._total
            self._counted = True
        self._drift += float(np.abs(exponents).max())
        if len(queries) == 1 and self._drift <= _FURTHEST:
            self._change(self._slices(queries.start), float(exponents[0]))
            return
        if self._inverse_totals:
            self._settle()
        self._multiply(queries, np.exp(exponents))
        self._sum_anew()

    def distributions(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        present = (self._weights / self._weights.sum()).ravel()
        if not self._counted:
            return present, present.copy()
        sums = np.maximum(self._settled + self._weights * self._inverse_totals, 0.0).ravel()
        return present, sums / sums.sum()

    def _change(self, box: tuple[slice, ...], exponent: float) -> None:
        before = self._weights[box].copy()
        factor = exp(exponent)
        self._settled[box] += before * ((1 - factor) * self._inverse_totals)
        self._weights[box] *= factor
        before *= factor - 1
        self._total += float(before.sum())
        for group, table in zip(self._groups, self._tables, strict=True):
            others = tuple(axis for axis in range(before.ndim) if axis not in group.axes)
            table[tuple(box[axis] for axis in group.axes)] += before.sum(axis=others)

    def _multiply(self, queries: range, factors: NDArray[np.float64]) -> None:
        group = self._groups[int(self._group_of[queries.start])]
        if group.every_cell and len(queries) == len(group.low):
            spread_out = [size if axis in group.axes else 1 for axis, size in enumerate(self._weights.shape)]
            self._weights *= factors.reshape(spread_out)
            return
        for query, factor in zip(queries, factors.tolist(), strict=True):
            self._weights[self._slices(query)] *= factor

    def _slices(self, query: int) -> tuple[slice, ...]:
        place = int(self._group_of[query])
        group, row = self._groups[place], query - int(self._first[place])
        ranges = dict(zip(group.axes, starmap(slice, zip(group.low[row], group.high[row], strict=True)), strict=True))
        return tuple(ranges.get(axis, slice(None)) for axis in range(self._weights.ndim))

    def _settle(self) -> None:
        self._settled += self._weights * self._inverse_totals
        self._inverse_totals = 0.0

    def _sum_anew(self) -> None:
        self._weights /= self._weights.sum()
        self._total, self._drift = 1.0, 0.0
        axes = range(self._weights.ndim)
        self._tables = [
            np.array(self._weights.sum(axis=tuple(axis for axis in axes if axis not in group.axes)))
            for group in self._groups
        ]
