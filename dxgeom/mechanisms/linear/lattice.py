"""Queries on a lattice: the answer becomes an exact integer before any noise is added.

Noise added to a floating-point answer leaks through the low bits (Mironov 2012). Here answer k is an integer multiple
of a step g_k, and so is its noise.

Where other queries are answered than were asked, the bias is public before any data is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import Sealed, cached_property, canonical_digest
from dxgeom.universe.public_shares import PublicPart
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import LARGEST_NUMERATOR, WeightTable, tabulated
from dxgeom.universe.weight_tables import WeightTables

STEPS_PER_SENSITIVITY = 16
"""A step is at most this part of the query's own sensitivity, which costs below 0.02 % of its noise."""
FINEST = 2**30
"""Weights with more digits than this below the sensitivity are rounded, and the plan says by how much."""

KEPT_BITS = 30
"""Rounding leaves at least so many bits of the range of a query's weights, however small the distances."""
_LARGEST = 1e150
_MOST_WEIGHTS = 1 << 25


@final
@dataclass(frozen=True, eq=False)
class LatticeQueries(Sealed):
    """Answer k is ``steps[k]·(numerators[k] @ x)``, within ``weight_errors[k]`` per record of what was asked.

    ``tables``: the numerators of K queries over N possible records, below 2⁵²; ``steps``, ``weight_errors``: exact
    rationals. ``records``: what a mean was divided by, None where nothing was. ``public``: what public numbers add to
    each answer, of which only the rest is asked here; None where they say nothing.
    """

    names: tuple[str, ...]
    tables: WeightTables = field(repr=False)
    steps: tuple[Fraction, ...]
    weight_errors: tuple[Fraction, ...]
    records: int | None = None
    public: PublicPart | None = None

    @property
    def numerators(self) -> NDArray[np.int64]:
        """The numerators laid out, (K, N).

        Raises: TooLarge when there are too many.
        """
        return self.tables.matrix()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, numerators, steps, and what was rounded away.

        Not of the number that a mean was divided by: the weights hold it, and other numbers of records are refused.
        """
        exact = (self.names, self.steps, self.weight_errors)
        public = () if self.public is None else (self.public.digest,)
        return canonical_digest("queries on a lattice", *exact, self.tables.digest, *public)

    @cached_property
    def float_steps(self) -> NDArray[np.float64]:
        """The steps as float64."""
        return np.array([float(step) for step in self.steps])

    def only(self, places: Sequence[int]) -> LatticeQueries:
        """The queries at these rising places: each has the steps that it would have alone."""
        return LatticeQueries(
            tuple(self.names[place] for place in places),
            self.tables.only(places),
            tuple(self.steps[place] for place in places),
            tuple(self.weight_errors[place] for place in places),
            self.records,
            None if self.public is None else self.public.only(places),
        )

    def integer_answers(self, counts: NDArray[np.int64] | Mapping[tuple[int, ...], NDArray[np.int64]]) -> list[int]:
        """The exact answers in steps, from a histogram, or from tables by their attributes. **Not private.**"""
        if isinstance(counts, np.ndarray):
            return self.tables.totals(counts)
        return self.tables.totals_of_tables(counts)


def on_lattice(
    queries: LinearQueries, sensitivities: NDArray[np.float64], public: PublicPart | None = None
) -> LatticeQueries:
    """Choose each query's step from its sensitivity, keeping weights exact that need no step below 2⁻³⁰ of it.

    Args: ``sensitivities`` (K,): largest |difference|/distance of each query's numerators. ``public``: what public
    numbers add to the answers.
    """
    low, high = queries.tables.extremes
    shifts = np.zeros(queries.count, dtype=np.int64)
    sane = all(1 / _LARGEST < unit < _LARGEST for unit in {*queries.units})
    for query, sensitivity in enumerate(sensitivities.tolist()):
        if not (sane and (sensitivity == 0 or 1 / _LARGEST < sensitivity < _LARGEST)):
            raise TooLarge("weights over distances leave the range of float64; rescale the query or the policy")
        shifts[query] = _shift(int(high[query]) - int(low[query]), sensitivity)
        if max(int(high[query]), -int(low[query])) << max(int(shifts[query]), 0) >= LARGEST_NUMERATOR:
            raise TooLarge("a query's weights are too fine next to its noise for 52-bit integers; round its weights")
    tables = queries.tables.changed(lambda table: _shifted(table.flat, shifts[table.queries]))
    steps = _steps(queries.units, shifts.tolist())
    off = zip(_largest_errors(queries, tables, shifts), queries.units, strict=True)
    errors = (error * unit if error else error for error, unit in off)
    return LatticeQueries(queries.names, tables, steps, tuple(errors), queries.records, public)


def _steps(units: Sequence[Fraction], shifts: Sequence[int]) -> tuple[Fraction, ...]:
    """Each unit over two to its shift; of thousands of queries few are different."""
    each = [*zip(units, shifts, strict=True)]
    known = {(unit, shift): unit * Fraction(2) ** -shift for unit, shift in {*each}}
    return tuple(known[one] for one in each)


def _shift(extent: int, sensitivity: float) -> int:
    """The binary places the unit is refined by (negative: coarsened); ``extent``: largest minus smallest weight."""
    if sensitivity == 0:
        return 0
    needed = math.ceil(math.log2(STEPS_PER_SENSITIVITY / sensitivity))
    if needed > 0:
        return needed
    spare = max(extent.bit_length() - KEPT_BITS, 0)
    return -min(max(math.ceil(math.log2(sensitivity / FINEST)), 0), spare)


def _shifted(rows: NDArray[np.int64], shifts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each row times 2^shift, rounded to nearest where that is coarser."""
    finer = rows << np.maximum(shifts, 0)[:, None]
    for place in np.flatnonzero(shifts < 0):
        back = -int(shifts[place])
        finer[place] = (rows[place] + (1 << (back - 1))) >> back
    return finer


def _largest_errors(queries: LinearQueries, rounded: WeightTables, shifts: NDArray[np.int64]) -> list[Fraction]:
    """By how many units the rounding of a query's weights is off at most."""
    errors = [Fraction(0)] * queries.count
    for asked, kept in zip(queries.tables.tables, rounded.tables, strict=True):
        for place, query in enumerate(asked.queries.tolist()):
            if shifts[query] < 0:
                off = np.abs(asked.flat[place] - (kept.flat[place] << -int(shifts[query])))
                errors[query] = Fraction(int(off.max()))
    return errors


def tables_over(queries: LatticeQueries, universe: Universe) -> Iterator[WeightTable]:
    """The queries' weights as tables over the attributes, also where they are a matrix. Raises: TooLarge."""
    tables = queries.tables
    if tables.shape == universe.shape:
        yield from tables.tables
        return
    if tables.count * tables.size > _MOST_WEIGHTS:
        raise TooLarge("these queries are not whole tables of counts, or too many to tell")
    for query, row in enumerate(tables.matrix()[:, : universe.record_types]):
        table = tabulated(range(len(universe.shape)), row.reshape(1, *universe.shape))
        yield WeightTable(np.array([query]), table.axes, table.classes, table.weights)


@final
@dataclass(frozen=True, eq=False)
class QueryChange:
    """What was asked, where something else is answered.

    ``unchanged``: the queries as they were; ``records``: their public number n; ``shifts`` (K,): max_i |q_i − q'_i|,
    what the change of query k can do to its answer for each record, in the answer's unit. *Exact*, but for weights that
    were rounded already: those errors are added.
    """

    unchanged: LatticeQueries = field(repr=False)
    records: int
    shifts: tuple[Fraction, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of what was asked, for how many records, and how far from it the answers are."""
        return canonical_digest("changed queries", self.unchanged, self.records, self.shifts)

    @cached_property
    def biases(self) -> NDArray[np.float64]:
        """(K,): n·shift, *rounded up*: no answer's mean is further off. Of some n records, all alike, it is so far."""
        return np.array([round_up(self.records * shift) for shift in self.shifts])
