"""Answering other queries than were asked: a known bias for less noise. It pays where records are few."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.biased.bias_lines import SquaredError
from dxgeom.mechanisms.linear.biased.bias_search import JointSearch, best_scale, closest_map, middle_map
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.query_changes import QueryChange
from dxgeom.mechanisms.linear.sensitivity import Sensitivity, sensitivity_of
from dxgeom.metrics.diameters import smallest_distance
from dxgeom.universe.queries import LinearQueries

WEIGHT_LIMIT = 1 << 20
"""More weights than this are not changed one by one."""
LOAD_LIMIT = 1 << 19
"""Several queries are changed together up to so many generating pairs times queries."""
_RANGE_BITS = 40
_WIDEST_BITS = 51
_SCALE_BITS = 29
"""A noise scale has so many bits of its lattice: more would be rounded away again."""


def most_saved(sensitivity: Sensitivity, records: int) -> float:
    """No change of queries makes optimal Laplace noise's squared errors smaller than 1 − this times what they were.

    Definition: 1 − (1 + √8·K/(n·d_min))⁻², d_min the smallest positive distance. From any changed queries with biases
    n·b_k and scales c_k, the scales max((1 + η)·c_k, 2·b_k·K·(1 + η)/(η·d_min)) hide the unchanged queries; with η =
    √8·K/(n·d_min) no squared error grows by more than (1 + η)².
    """
    nearest = smallest_distance(sensitivity.metric.metric)
    growth = math.sqrt(8) * len(sensitivity.queries.names) / (records * nearest)
    return 1 - 1 / (1 + growth) ** 2


def changed(
    sensitivity: Sensitivity,
    records: int,
    factors: NDArray[np.float64] | None = None,
    prices: NDArray[np.float64] | None = None,
) -> tuple[Sensitivity, QueryChange]:
    """Other queries that need less noise, close enough to those asked for the total squared error to be small.

    Definition: minimise Σ ω_k·((n·b_k)² + 2·p_k·c_k²) over queries q' and scales c with |q'_k − q_k| ≤ b_k and
    Σ_k |Δ'_k|/c_k ≤ d. One query exactly: at a given c the best q' is half-way between McShane's two extensions, and
    the best c is one of finitely many breakpoints and valleys. Several, one after another: see :class:`JointSearch`.
    Args: ``records``: n, public; ``factors`` ω, ``prices`` p (K,): 1 for Laplace noise and equal importance.
    Guarantee: the sensitivity returned is that of the changed queries, by the same exact route as any other, so nothing
    that privacy rests on was optimised. Shifts are *exact*.
    Raises: TooLarge when the queries are too many to be changed weight by weight, or too fine.
    Source: Kamalaruban et al. 2020, §3.1, eq. (6); corrected: the bound there counts both terms twice, and the largest
    bias of one query is n·max_i |q'_i − q_i|.
    """
    noisy = np.flatnonzero(sensitivity.of_each_query > 0)
    if not noisy.size:
        raise TooLarge("no answer needs noise, so there is nothing to save by a bias")
    fine = _fine(sensitivity, noisy)
    ones = np.ones(len(sensitivity.queries.names))
    scale_factors = (ones if factors is None else factors) * fine.units**2
    search = _Search(sensitivity, fine, records, scale_factors[noisy], (ones if prices is None else prices)[noisy])
    rows, units = fine.matrix.copy(), list(sensitivity.queries.steps)
    shifts = list(sensitivity.queries.weight_errors)
    for place, (row, coarser) in enumerate(search.found()):
        query = int(noisy[place])
        rows[query], units[query], shift = fine.replaced(place, row, coarser)
        shifts[query] += shift
    answered = sensitivity_of(sensitivity.metric, LinearQueries(sensitivity.queries.names, rows, tuple(units)))
    if any(answered.queries.weight_errors):
        raise TooLarge("the changed weights are too fine for the lattice of their noise")
    return answered, QueryChange(sensitivity.queries, records, tuple(shifts))


def biased_mechanism(mechanism: AdditiveMechanism, change: QueryChange) -> AdditiveMechanism:
    """The same mechanism, made for changed queries, as one that answers what was asked, with a known bias."""
    return replace(mechanism, name="changed-queries", change=change)


@final
@dataclass(frozen=True, eq=False)
class _Fine:
    """The queries that change, on lattices fine enough for any change: row k is ``values[k]·unit + lowest·step``.

    ``values`` (k, N): integers below 2⁵¹ as float64, from 0; ``finer`` (k,): a unit is a step over 2^finer.
    """

    matrix: NDArray[np.int64]
    steps: tuple[Fraction, ...]
    places: NDArray[np.int64]
    values: NDArray[np.float64]
    finer: NDArray[np.int64]

    @property
    def units(self) -> NDArray[np.float64]:
        """(K,): of every query, in its answer's unit; its step where it does not change."""
        units = np.array([float(step) for step in self.steps])
        units[self.places] /= 2.0**self.finer
        return units

    def replaced(
        self, place: int, row: NDArray[np.float64], coarser: int
    ) -> tuple[NDArray[np.int64], Fraction, Fraction]:
        """The numerators and the unit of a row of integers in 2^coarser units, and how far it is from what was asked;
        *exact*."""
        query, finer = self.places[place], int(self.finer[place])
        step, lowest = self.steps[query], int(self.matrix[query].min())
        unit = step * Fraction(2) ** (coarser - finer)
        moved = round(Fraction(lowest) * step / unit)
        # A unit far wider than the row passes 64 bits.
        changes = row.astype(np.int64).astype(object) * 2**coarser - self.values[place].astype(np.int64)
        base = (moved * unit - lowest * step) / (step / 2**finer)
        shift = max(abs(int(changes.max()) + base), abs(int(changes.min()) + base)) * step / 2**finer
        return row.astype(np.int64) + moved, unit, shift


def _fine(sensitivity: Sensitivity, places: NDArray[np.int64]) -> _Fine:
    """Raises: TooLarge."""
    tables = sensitivity.queries.tables
    if tables.count * tables.size > WEIGHT_LIMIT:
        raise TooLarge(
            f"{tables.count * tables.size:,} weights would be changed one by one, at most {WEIGHT_LIMIT:,} are: ask "
            "fewer queries, or coarsen the universe"
        )
    matrix = tables.matrix()
    lowest = matrix[places].min(axis=1)
    finer = np.empty(len(places), dtype=np.int64)
    for place, query in enumerate(places.tolist()):
        extent = int(matrix[query].max()) - int(lowest[place])
        largest = max(int(matrix[query].max()), -int(lowest[place]))
        finer[place] = max(0, min(_RANGE_BITS - extent.bit_length(), _WIDEST_BITS - largest.bit_length()))
    values = (matrix[places] - lowest[:, None]).astype(np.float64) * 2.0 ** finer[:, None]
    if values.max() >= 2.0**_WIDEST_BITS:
        raise TooLarge("the weights are too fine to be changed")
    return _Fine(matrix, sensitivity.queries.steps, places, values, finer)


@final
@dataclass(frozen=True, eq=False)
class _Search:
    """What is sought: a row for every query that changes. ``factors``, ``prices``: one each."""

    sensitivity: Sensitivity
    fine: _Fine
    records: int
    factors: NDArray[np.float64]
    prices: NDArray[np.float64]

    def found(self) -> Iterator[tuple[NDArray[np.float64], int]]:
        """For each query integers in 2^coarser units, and coarser."""
        if len(self.fine.places) == 1:
            metric, rows = self.sensitivity.metric.metric, self.fine.values
            start = float(self.sensitivity.of_each_query[self.fine.places[0]]) * 2.0 ** int(self.fine.finer[0])
            cost = SquaredError(self.records, float(self.prices[0]))
            scale, coarser = _in_bits(best_scale(metric, rows, cost, start))
            yield closest_map(metric, np.rint(rows[0] / 2.0**coarser), scale), coarser
        else:
            yield from self._together()

    def _together(self) -> Iterator[tuple[NDArray[np.float64], int]]:
        search = JointSearch(*self._pairs(), self.fine.values, self.factors, self.prices, self.records)
        law = optimal_laplace(self.sensitivity).law
        if law is None or law.laplace_scales is None:
            raise TooLarge("no answer needs noise, so there is nothing to save by a bias")
        scales, rows = search.best(law.laplace_scales * 2.0**self.fine.finer)
        loads = search.loads(rows, scales)
        for query, scale in enumerate(scales.tolist()):
            coarse, coarser = _in_bits(scale)
            steps = np.rint(self.fine.values[query] / 2.0**coarser)
            # Flat where it can be: what one query does not change by is left for the others, and for a hull's volume.
            row = middle_map(search.left_for(query, loads), steps, coarse, whole=True)
            loads[query] = search.loads(row[None, :] * 2.0**coarser, scales[query : query + 1])[0]
            yield row, coarser

    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """All generating pairs. Raises: TooLarge."""
        blocks, count = [], 0
        for block in self.sensitivity.metric.metric.generating_pairs():
            blocks.append(block)
            count += block.bound.size
            if count * len(self.fine.places) > LOAD_LIMIT:
                raise TooLarge(
                    f"{len(self.fine.places):,} queries are changed together over more than "
                    f"{LOAD_LIMIT // len(self.fine.places):,} generating pairs, which are too many: ask fewer at once"
                )
        first, second, bounds = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return first, second, bounds


def _in_bits(scale: float) -> tuple[float, int]:
    """The scale in units 2^coarser as large as its lattice can do with, and coarser."""
    coarser = max(0, math.ceil(math.log2(scale)) - _SCALE_BITS)
    return scale / 2.0**coarser, coarser
