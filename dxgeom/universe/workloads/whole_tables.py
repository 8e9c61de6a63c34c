"""Whole tables of counts as a workload of their own: nothing is listed cell by cell, and no possible record is
numbered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import refuse_too_many, tabulated
from dxgeom.universe.weight_tables import WeightTables, stacked
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads.constructors import NamedTable, groups_of, marginal
from dxgeom.universe.workloads.counts import Counts
from dxgeom.universe.workloads.groups import AnswerOrigin, Groups, attribute_of, groups_of_column, require_columns

MOST_TABLES: Final = 200_000
"""A plan looks at every table, and at all inside it."""
MOST_CELLS_READ: Final = 1 << 26
"""In one table, for queries that look at its attributes together."""
_EVERYBODY: Final = "all records"


@final
@dataclass(frozen=True, eq=False)
class MarginalQueries(Counts):
    """Counts in every cell of some marginal tables, of a universe of any size.

    ``columns``: of each attribute that some table is over, rising by its place, the values that are told apart.
    ``attribute_sets``: the tables, each as rising places in ``columns``; a cell's last attribute runs fastest.
    ``importance`` (tables,): what squared errors in a table count; None for all alike. ``errors`` (tables,): the root
    mean squared error that its answers may have, None for any. ``records``: their public number, where it is stated.
    """

    form: ClassVar = "tables"
    one: ClassVar = "table"
    several: ClassVar = "tables"

    universe: Universe
    columns: tuple[Groups, ...] = field(repr=False)
    attribute_sets: tuple[tuple[int, ...], ...] = field(repr=False)
    importance: tuple[Fraction, ...] | None = field(default=None, repr=False)
    errors: tuple[Fraction | None, ...] = field(default=(), repr=False)
    records: int | None = None

    def __post_init__(self) -> None:
        seal(self)
        _require(
            self.universe.listed is None, "whole tables of counts are over attributes, not over a table of records"
        )
        require_columns(self.universe, self.columns)
        _require(len(self.attribute_sets) > 0, "a workload has at least one table")
        _require(len(set(self.attribute_sets)) == len(self.attribute_sets), "each table is asked for once")
        rising = all(
            list(one) == sorted(set(one)) and set(one) <= {*range(len(self.columns))} for one in self.attribute_sets
        )
        _require(rising, "a table is over different attributes")
        few = [one.column for one in self.columns if len(one.words) < 2]
        _require(not few, f"an attribute of one value tells nothing: leave out {', '.join(map(shown, few))}")
        self.require_proper_aims()
        if len(self.attribute_sets) > MOST_TABLES:
            raise TooLarge(f"at most {MOST_TABLES:,} tables are asked for at once, found {len(self.attribute_sets):,}")

    @classmethod
    def of(
        cls,
        universe: Universe,
        groups: Sequence[Sequence[str]] | None = None,
        *,
        ways: int | None = None,
        importance: Sequence[Fraction | int] | None = None,
        errors: Sequence[Fraction | int | None] | None = None,
        records: int | None = None,
    ) -> MarginalQueries:
        """The marginal tables of these groups of attributes, or of all groups of ``ways`` ones; an empty group is the
        number of records.

        Args: ``importance``: what each table's squared errors count; ``errors``: the root mean squared error that its
        answers may have, None for any.
        Raises: UnsupportedCombination for an unknown or repeated attribute, or a group listed twice; TooLarge.
        """
        said = cls.said(universe, importance, errors, records)
        if ways is not None and math.comb(len(universe.names), ways if isinstance(ways, int) else 0) > MOST_TABLES:
            raise TooLarge(f"at most {MOST_TABLES:,} tables are asked for at once")
        named = groups_of(universe, groups, ways)
        axis_of = {name: axis for axis, name in enumerate(universe.names)}
        for name in {name for group in named for name in group} - set(axis_of):
            attribute_of(universe, name)
        for group in named:
            _require(len(set(group)) == len(group), "a marginal is of different attributes")
        axes = sorted({axis_of[name] for group in named for name in group})
        columns = tuple(groups_of_column(universe, axis, universe.attributes[axis].columns[0]) for axis in axes)
        place = {axis: number for number, axis in enumerate(axes)}
        asked = tuple(tuple(sorted(place[axis_of[name]] for name in group)) for group in named)
        return cls(universe, columns, asked, *said)

    @classmethod
    def read_for(cls, tables: WeightTables, universe: Universe, records: int | None) -> MarginalQueries:
        """The tables of counts of which the answers to these queries are made: one for each set of attributes that some
        query looks at, over classes that any query tells apart. Raises: TooLarge."""
        columns = tuple(
            Groups(universe, universe.attributes[axis].columns[0].name, axis, tuple(map(str, range(count))), codes)
            for axis, codes in zip(*tables.shared, strict=True)
            if (count := int(codes.max()) + 1) > 1
        )
        places = {one.axis: place for place, one in enumerate(columns)}
        sets = dict.fromkeys(one.axes for one in tables.tables)
        asked = tuple(tuple(places[axis] for axis in axes if axis in places) for axes in sets)
        found = cls(universe, columns, tuple(dict.fromkeys(asked)), records=records)
        most = max(map(math.prod, found.shapes))
        if most > MOST_CELLS_READ:
            raise TooLarge(
                f"some of these queries are answered of a table of {most:,} counts, and at most {MOST_CELLS_READ:,} "
                "are read: ask of fewer attributes at once, or of coarser values"
            )
        return found

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values of each of ``columns`` are told apart."""
        return tuple(len(one.words) for one in self.columns)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of each table, the number of values of its attributes."""
        return tuple(tuple(self.sizes[place] for place in one) for one in self.attribute_sets)

    @cached_property
    def count(self) -> int:
        """The number of cells of all tables."""
        return sum(map(math.prod, self.shapes))

    @property
    def each(self) -> int:
        """How many tables."""
        return len(self.attribute_sets)

    @property
    def classes(self) -> dict[int, NDArray[np.int64]]:
        """Of each attribute that is looked at, by its place in the universe, the class of every value."""
        return {one.axis: one.codes for one in self.columns}

    def titles(self, table: int) -> tuple[str, ...]:
        """The columns that a table is over."""
        return tuple(self.column_titles[place] for place in self.attribute_sets[table])

    @cached_property
    def column_titles(self) -> tuple[str, ...]:
        """What each of ``columns`` is called."""
        return tuple(one.title for one in self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each table is called."""
        return tuple(", ".join(self.titles(table)) or _EVERYBODY for table in range(len(self.attribute_sets)))

    def place(self, name: str | Sequence[str]) -> int:
        """The place of a table, by its name or the columns that it is over, in any order.

        Raises: UnsupportedCombination.
        """
        said = name if isinstance(name, str) else ", ".join(name)
        columns = frozenset[str]() if said in ("", _EVERYBODY) else frozenset(said.split(", "))
        if columns in self._by_columns:
            return self._by_columns[columns]
        raise UnsupportedCombination(f"no table is over {shown(said)}; {did_you_mean(said, self.names)}".rstrip("; "))

    table = place

    @cached_property
    def _by_columns(self) -> dict[frozenset[str], int]:
        return {frozenset(self.titles(place)): place for place in range(len(self.attribute_sets))}

    @cached_property
    def _cells(self) -> tuple[NamedTable, ...]:
        refuse_too_many(self.count, max(map(len, self.shapes)) or 1)
        all_records = NamedTable((_EVERYBODY,), tabulated((), np.ones(1, dtype=np.int64)))
        each = ([self.columns[place] for place in one] for one in self.attribute_sets)
        return tuple(marginal(columns) if columns else all_records for columns in each)

    @cached_property
    def tables(self) -> WeightTables:
        """Every table's cells."""
        return stacked(self.universe.layout, [one.table for one in self._cells], self.universe.presence)

    @property
    def owners(self) -> NDArray[np.int64]:
        """(K,): the table of each cell."""
        return np.repeat(np.arange(self.each), [math.prod(shape) for shape in self.shapes])

    @cached_property
    def answer_names(self) -> tuple[str, ...]:
        """(K,): what each cell is called."""
        return tuple(name for one in self._cells for name in one.names)

    @cached_property
    def origins(self) -> tuple[AnswerOrigin, ...]:
        """(K,): the table, and the group of records, that each cell is about."""
        return tuple(origin for one in self._cells for origin in one.origins)

    def labels(self, table: int) -> dict[str, list[str]]:
        """Of every cell of a table, the value of each of its columns, cell by cell."""
        shape = self.shapes[table]
        places = np.indices(shape).reshape(len(shape), math.prod(shape))
        own = [self.columns[place] for place in self.attribute_sets[table]]
        return {
            title: [one.words[code] for code in codes.tolist()]
            for title, one, codes in zip(self.titles(table), own, places, strict=True)
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what is asked: the records, the values told apart, the tables and what they count."""
        columns: list[Any] = [part for one in self.columns for part in (one.axis, one.column, one.words, one.codes)]
        flat = np.array([place for one in self.attribute_sets for place in (*one, -1)], dtype=np.int64)
        return canonical_digest("whole tables", self.universe.digest, columns, flat, self.importance, self.errors)


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise UnsupportedCombination(rule)
