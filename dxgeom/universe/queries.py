"""Linear queries: each answer is a weighted sum over possible records, with exact weights."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import NoneType
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import require, require_exact, words_of
from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import cached_property, seal
from dxgeom.universe.numbers.ratio_query import AskedRatio, AskedVariance
from dxgeom.universe.numbers.value_rounding import ValueRounding, stacked_rounding
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import LARGEST_NUMERATOR
from dxgeom.universe.weight_tables import (
    WeightTables,
    over_universe,
    require_nothing_for_absence,
    tables_of_matrix,
)
from dxgeom.universe.workloads import constructors as workloads
from dxgeom.universe.workloads.constructors import Box, NamedTable
from dxgeom.universe.workloads.counts import RECORDS, Counts
from dxgeom.universe.workloads.groups import AnswerOrigin, ordered_attribute
from dxgeom.universe.workloads.matrices import TOO_WIDE, weights_of_matrix
from dxgeom.universe.workloads.stacking import joined, stacked_derived, stacked_weights

_OF_A_POLICY = "give the universe of a policy, policy.universe"


@final
@dataclass(frozen=True, eq=False)
class LinearQueries(Counts):
    """K named linear queries over N possible records: answer k is Σ_i numerators[k, i]·units[k]·x_i, exactly.

    ``weights``: the numerators, int64 below 2⁵² in magnitude, as a (K, N) matrix or as tables over the few attributes
    that each query looks at; ``units``: positive rationals. ``universe`` is None for queries given as a bare matrix;
    ``records`` is the public number of records where a query (a mean) was divided by it, so it is None where records
    may be absent. The absent record has the weight 0 in every query. ``importance`` (K,): positive factors of each
    answer's squared error in a plan's objective; None for all alike. ``measures`` (K,): what each answer is measured
    in, :data:`RECORDS` for counts; left out, all are alike. ``errors`` (K,): the root mean squared error that an answer
    may have, None where none was asked for. ``rounding`` (K,): how far each answer can be from one about raw numbers,
    whose values were rounded; left out, none is. ``ratios`` of two answers each and ``variances`` of three: such as are
    asked for, too. ``body``: corners (K,) of the shape that noise is to have, in answer units, each of which stands for
    its opposite, too; None where the shape is sought. ``origins`` (K,): the query of a file, and the group of records,
    that each answer is about; left out, each is a query of its own. ``source``: the text that they were read from, as
    whoever read it keeps it; None for queries made in Python. Neither is a part of what they mean.
    """

    form: ClassVar = "listed"
    one: ClassVar = "query"
    several: ClassVar = "queries"

    names: tuple[str, ...]
    weights: WeightTables | NDArray[np.int64] = field(repr=False)
    units: tuple[Fraction, ...] = field(repr=False)
    universe: Universe | None = field(default=None, repr=False)
    records: int | None = None
    importance: tuple[Fraction, ...] | None = field(default=None, repr=False)
    measures: tuple[str, ...] = field(default=(), repr=False)
    errors: tuple[Fraction | None, ...] = field(default=(), repr=False)
    rounding: tuple[ValueRounding, ...] = field(default=(), repr=False)
    ratios: tuple[AskedRatio, ...] = field(default=(), repr=False)
    source: object = field(default=None, repr=False)
    origins: tuple[AnswerOrigin, ...] = field(default=(), repr=False)
    variances: tuple[AskedVariance, ...] = field(default=(), repr=False)
    body: tuple[tuple[Fraction, ...], ...] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<LinearQueries: {self.count:,}, {self.names[0]!r}{' and on' if self.count > 1 else ''}>"

    def __post_init__(self) -> None:
        seal(self)
        if isinstance(self.weights, np.ndarray):
            matrix = self.weights.ndim == 2 and self.weights.size > 0
            _require(matrix, f"queries form a K × N matrix, found shape {self.weights.shape}")
        else:
            _require(self.weights.proper, "tables of weights have rising attributes, and classes with none left out")
        _require(self.count > 0, "a workload has at least one query")
        found = f"found {len(self.names)} names, {self.count} rows of weights and {len(self.units)} units"
        rule = f"every query has one name, one row and one unit; {found}"
        _require(self.count == len(self.names) == len(self.units), rule)
        _require(len(set(self.names)) == len(self.names), "query names are distinct")
        _require(all(unit > 0 for unit in self.units), "units are positive")
        low, high = self.tables.extremes
        _require(max(int(high.max()), -int(low.min())) < LARGEST_NUMERATOR, TOO_WIDE)
        own = self.universe is None or self.universe.presence or not self.tables.absent
        fits = self.universe is None or (self.universe.size == self.size and own)
        _require(fits, f"queries have one weight per possible record, found {self.size}")
        _require(len(self.measures) in (0, self.count), "every query has one measure, or none has")
        self.require_proper_aims()
        _require(len(self.rounding) in (0, self.count), "every query has its own rounding, or none is rounded")
        _require(len(self.origins) in (0, self.count), "every query has one origin, or none has")
        _require(all(len(one) == self.count for one in self.body or ()), "corners have one number for every query")
        absent = None if self.universe is None else self.universe.absent
        if absent is not None:
            require_nothing_for_absence(self.tables, absent)
            _require(self.records is None, "where records may be absent, no query divides by their number")

    @classmethod
    def from_matrix(cls, names: Sequence[str], matrix: ArrayLike, universe: Universe | None = None) -> LinearQueries:
        """Queries from a K × N matrix of numbers.

        Integers and ``Fraction`` entries are taken exactly. A float64 entry is taken to 51 bits below the largest entry
        of its row. Where the universe has an absent record, its column of zeros may be left out. Of a sparse matrix of
        SciPy's over all combinations of a universe's values no copy is laid out.
        Raises: UnsupportedCombination for NaN, infinities, words, or a shape that does not fit; TooLarge.
        """
        named = words_of(names, "names", "give one for each row of the matrix")
        require(universe, (Universe, NoneType), "universe", "give policy.universe, or leave it out")
        weights, units = weights_of_matrix(matrix, universe)
        return cls(named, weights, units, universe)

    @classmethod
    def kronecker(
        cls, names: Sequence[str], universe: Universe, factors: Mapping[str, ArrayLike], unit: Fraction | int = 1
    ) -> LinearQueries:
        """Products of queries on single attributes: a record's weight is the product of its values' weights.

        Args: ``factors``: for each attribute that matters, integers (queries, values), or (values,) for one query. The
        queries are all combinations, the last attribute's running fastest; ``names`` in that order. ``unit``: what all
        weights are multiplied with.
        Raises: UnsupportedCombination for an unknown attribute or a wrong shape; TooLarge.
        """
        named = words_of(names, "names", "give one for each combination of the factors' rows")
        require(universe, Universe, "universe", _OF_A_POLICY)
        require(factors, Mapping, "factors", "give the integers of each attribute that matters, by its name")
        require_exact(unit, "unit")
        table = workloads.kronecker_table(universe, factors)
        return cls(named, over_universe(universe, [table]), (Fraction(unit),) * len(table.queries), universe)

    @classmethod
    def marginals(
        cls, universe: Universe, groups: Sequence[Sequence[str]] | None = None, *, ways: int | None = None
    ) -> LinearQueries:
        """Counts in every cell of the marginal tables of these groups of attributes, or of all groups of ``ways`` ones.

        Raises: UnsupportedCombination for an unknown attribute or a group listed twice; TooLarge.
        """
        require(universe, Universe, "universe", _OF_A_POLICY)
        return cls._of(universe, workloads.marginals(universe, workloads.groups_of(universe, groups, ways)))

    @classmethod
    def prefixes(cls, universe: Universe, attribute: str, *, at: Sequence[object] | None = None) -> LinearQueries:
        """For each value of an ordered attribute: how many records have it or a lower one.

        Args: ``at``: rising numbers or days; then how many lie below each of these instead.
        Raises: UnsupportedCombination when the attribute is unknown or has no order, or for bounds that do not fit.
        """
        require(universe, Universe, "universe", _OF_A_POLICY)
        return cls._of(universe, [workloads.prefix_counts(ordered_attribute(universe, attribute, at))])

    @classmethod
    def ranges(cls, universe: Universe, attribute: str, *, at: Sequence[object] | None = None) -> LinearQueries:
        """For each two values of an ordered attribute: how many records lie between them, both included.

        Args: ``at``: rising numbers or days; then how many lie from each of these, or the lowest value, to below
        another, or to the highest.
        Raises: UnsupportedCombination when the attribute is unknown or has no order, or for bounds that do not fit;
        TooLarge.
        """
        require(universe, Universe, "universe", _OF_A_POLICY)
        return cls._of(universe, [workloads.range_counts(ordered_attribute(universe, attribute, at))])

    @classmethod
    def boxes(cls, universe: Universe, boxes: Sequence[Box]) -> LinearQueries:
        """How many records lie in each box, grouped by the attributes that the boxes restrict.

        Args: ``boxes``: for each, by attribute, the first of its codes inside and the first beyond.
        Raises: UnsupportedCombination for an unknown attribute, a box without attributes or stated twice, or codes
        outside or in the wrong order; TooLarge.
        """
        require(universe, Universe, "universe", _OF_A_POLICY)
        return cls._of(universe, workloads.boxes(universe, boxes))

    @classmethod
    def stack(cls, parts: Sequence[Counts]) -> LinearQueries:
        """Workloads over one universe, one below the other, in whatever form.

        Raises: UnsupportedCombination when they are not about the same records or numbers of records.
        """
        require(parts, (list, tuple), "parts", "list the workloads that are to be one")
        _require(len(parts) > 0, "a workload has at least one of the parts that it is stacked from")
        for part in parts:
            require(part, Counts, "parts", "load them with dx.load_queries, or use dx.LinearQueries.from_matrix")
        own = [part.listed for part in parts]
        _require(all(part.body is None for part in own), "workloads that are stacked state no body of their own")
        universe, records = own[0].universe, own[0].records
        for part in own:
            same = part.universe and universe and part.universe.lists_the_same_records(universe)
            alike = bool(same) and part.records == records
            _require(alike, "workloads that are stacked are about the same universe and number of records")
        return cls(
            tuple(name for part in own for name in part.names),
            stacked_weights(own),
            tuple(unit for part in own for unit in part.units),
            universe,
            records,
            joined(own, "importance", Fraction(1)) if any(part.importance for part in own) else None,
            joined(own, "measures", RECORDS),
            joined(own, "errors", None),
            stacked_rounding([part.each_rounding for part in own]),
            stacked_derived(own, "ratios"),
            origins=tuple(origin for part in own for origin in part.each_origin),
            variances=stacked_derived(own, "variances"),
        )

    def only(self, places: Sequence[int]) -> LinearQueries:
        """The queries at these places, in rising order, all as important as each other and to any error."""
        kept = sorted(places)
        return LinearQueries(
            tuple(self.names[place] for place in kept),
            self.tables.only(kept),
            tuple(self.units[place] for place in kept),
            self.universe,
            self.records,
            measures=tuple(self.measures[place] for place in kept) if self.measures else (),
            rounding=tuple(replace(self.rounding[place], counted_by=None) for place in kept) if self.rounding else (),
            origins=tuple(self.origins[place] for place in kept) if self.origins else (),
        )

    @classmethod
    def _of(cls, universe: Universe, made: Sequence[NamedTable]) -> LinearQueries:
        names = tuple(name for one in made for name in one.names)
        tables = over_universe(universe, [one.table for one in made])
        origins = tuple(origin for one in made for origin in one.origins)
        return cls(names, tables, (Fraction(1),) * len(names), universe, origins=origins)

    @cached_property
    def tables(self) -> WeightTables:
        """The numerators as tables."""
        return tables_of_matrix(self.weights) if isinstance(self.weights, np.ndarray) else self.weights

    @property
    def listed(self) -> LinearQueries:
        """Themselves."""
        return self

    @property
    def count(self) -> int:
        """The number K of queries."""
        return self.tables.count

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of names and exact weights."""
        digest = hashlib.sha256(repr((self.names, [str(unit) for unit in self.units], self.importance)).encode())
        digest.update(self.tables.digest.encode())
        if len(self.by_measure) > 1 or any(self.errors):
            digest.update(repr((self.measures, self.errors)).encode())
        if self.ratios or any(one != ValueRounding() for one in self.rounding):
            digest.update(repr((self.rounding, self.ratios)).encode())
        if self.variances:
            digest.update(repr(self.variances).encode())
        if self.body:
            digest.update(repr(self.body).encode())
        return digest.hexdigest()


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise UnsupportedCombination(rule)
