"""Counts in very many boxes: prefixes, ranges, cells of tables, whatever lies between two values of attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require, words_of
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import WeightTable
from dxgeom.universe.weight_tables import WeightTables
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.constructors import Box, groups_of
from dxgeom.universe.workloads.counts import Counts
from dxgeom.universe.workloads.groups import Groups, attribute_of, groups_of_column, require_columns
from dxgeom.universe.workloads.whole_tables import MarginalQueries

MOST_BOXES: Final = 1_000_000
Ends: TypeAlias = NDArray[np.int64]
_OF_A_POLICY: Final = "give the universe of a policy, policy.universe"


@final
@dataclass(frozen=True, eq=False)
class BoxQueries(Counts):
    """How many records lie in each of K boxes, over a universe of any size; no weights are laid out.

    ``columns``: the values of each attribute that some box restricts, in the policy's order, rising by its place.
    ``lower``, ``upper`` (K, columns): the first place inside, and the first beyond; an attribute that a box does not
    restrict runs from 0 to the number of its values. ``importance`` (K,): what squared errors count, None for all
    alike. ``errors`` (K,): the root mean squared error that each count may have, None for any. ``records``: their
    public number, where it is stated.
    """

    form: ClassVar = "boxes"
    one: ClassVar = "box"
    several: ClassVar = "boxes"

    universe: Universe
    columns: tuple[Groups, ...] = field(repr=False)
    lower: Ends = field(repr=False)
    upper: Ends = field(repr=False)
    importance: tuple[Fraction, ...] | None = field(default=None, repr=False)
    errors: tuple[Fraction | None, ...] = field(default=(), repr=False)
    records: int | None = None

    def __post_init__(self) -> None:
        seal(self)
        _require(self.universe.listed is None, "boxes are over attributes, not over a table of records")
        _require(len(self.lower) > 0 and self.columns, "a workload has at least one box, and one of an attribute")
        if len(self.lower) > MOST_BOXES:
            raise TooLarge(f"at most {MOST_BOXES:,} boxes are asked for at once, found {len(self.lower):,}")
        require_columns(self.universe, self.columns)
        rising = all(bool(np.all(np.diff(one.codes) >= 0)) for one in self.columns)
        _require(rising, "values that are told apart follow each other")
        proper = self.lower.shape == self.upper.shape == (len(self.lower), len(self.columns))
        sizes = np.array(self.sizes, dtype=np.int64)
        inside = proper and bool(np.all((self.lower >= 0) & (self.lower < self.upper) & (self.upper <= sizes)))
        _require(inside, "a box runs from a place inside to one beyond it, among each attribute's values")
        self.require_proper_aims()

    @classmethod
    def of(
        cls,
        universe: Universe,
        boxes: Sequence[Box],
        *,
        importance: Sequence[Fraction | int] | None = None,
        errors: Sequence[Fraction | int | None] | None = None,
        records: int | None = None,
    ) -> BoxQueries:
        """The boxes of these mappings from attributes to two codes: the first inside, and the first beyond; an empty
        one is of all records.

        Args: ``importance``: what each box's squared error counts; ``errors``: the root mean squared error that each
        count may have, None for any.
        Raises: UnsupportedCombination for an unknown attribute, or codes outside or in the wrong order; TooLarge.
        """
        said = cls.said(universe, importance, errors, records)
        require(boxes, Iterable, "boxes", "list mappings from attributes to their codes, such as [{'age': (0, 5)}]")
        asked = list(boxes)
        for box in asked:
            require(box, Mapping, "boxes", "a box is a mapping such as {'age': (0, 5)}")
        columns = cls.columns_of(universe, {name for box in asked for name in box})
        place = {universe.names[one.axis]: number for number, one in enumerate(columns)}
        lower = np.zeros((len(asked), len(columns)), dtype=np.int64)
        upper = np.tile(np.array([len(one.words) for one in columns], dtype=np.int64), (len(asked), 1))
        for row, box in enumerate(asked):
            for name, codes in box.items():
                pair = isinstance(codes, (list, tuple)) and len(codes) == 2 and all(isinstance(c, WHOLE) for c in codes)
                _require(pair, f"two codes say where a box lies along {shown(name)}, found {codes}")
                lower[row, place[name]], upper[row, place[name]] = codes
        return cls(universe, columns, lower, upper, *said)

    @classmethod
    def prefixes(cls, universe: Universe, attribute: str) -> BoxQueries:
        """How many records have each value of an attribute or an earlier one. Raises: UnsupportedCombination."""
        require(universe, Universe, "universe", _OF_A_POLICY)
        require(attribute, str, "attribute", "name an attribute of the policy")
        columns = cls.columns_of(universe, {attribute})
        upper = np.arange(1, len(columns[0].words) + 1, dtype=np.int64)[:, None]
        return cls(universe, columns, np.zeros_like(upper), upper)

    @classmethod
    def ranges_by_cells(
        cls,
        universe: Universe,
        ranges: Sequence[str],
        groups: Sequence[Sequence[str]] | None = None,
        *,
        ways: int | None = None,
        records: int | None = None,
    ) -> BoxQueries:
        """The tables of these groups of attributes, or of all groups of ``ways`` ones, in which every range of values
        takes the place of single values along the attributes in ``ranges``.

        Args: ``records``: their public number, where it is stated.
        Raises: UnsupportedCombination for an unknown attribute, or one twice in a group; TooLarge.
        """
        said = cls.said(universe, None, None, records)
        along = set(words_of(ranges, "ranges", "name the attributes of which every range is asked for"))
        named = groups_of(universe, groups, ways)
        for name in along:
            attribute_of(universe, name)
        columns = cls.columns_of(universe, {name for group in named for name in group})
        places = {universe.names[one.axis]: place for place, one in enumerate(columns)}
        whole = np.array([len(one.words) for one in columns], dtype=np.int64)
        _require(all(len(set(group)) == len(group) for group in named), "a table is of different attributes")
        counts = [[n * (n + 1) // 2 if a in along else n for a in g for n in [int(whole[places[a]])]] for g in named]
        if sum(map(math.prod, counts)) > MOST_BOXES:
            raise TooLarge(f"at most {MOST_BOXES:,} boxes are asked for at once, found {sum(map(math.prod, counts)):,}")
        found = []
        for group, shape in zip(named, counts, strict=True):
            ends = np.stack([np.zeros_like(whole), whole])[:, None].repeat(math.prod(shape), axis=1)
            for name, at in zip(group, np.unravel_index(np.arange(math.prod(shape)), shape), strict=True):
                cells = np.arange(whole[places[name]])
                first, last = np.triu_indices(len(cells)) if name in along else (cells, cells)
                ends[:, :, places[name]] = first[at], last[at] + 1
            found.append(ends)
        lower, upper = np.concatenate(found, axis=1)
        return cls(universe, columns, lower, upper, *said)

    @staticmethod
    def columns_of(universe: Universe, names: Iterable[str]) -> tuple[Groups, ...]:
        """The values of these attributes, in the policy's order. Raises: UnsupportedCombination."""
        axes = sorted(attribute_of(universe, name)[0] for name in names)
        found = tuple(groups_of_column(universe, axis, universe.attributes[axis].columns[0]) for axis in axes)
        for one in found:
            told = np.array_equal(one.codes, np.arange(len(one.words)))
            _require(told and len(one.words) > 1, f"{shown(one.column)} tells its values apart, and has two or more")
        return found

    @property
    def count(self) -> int:
        """K."""
        return len(self.lower)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each of ``columns`` has."""
        return tuple(len(one.words) for one in self.columns)

    @cached_property
    def supports(self) -> tuple[tuple[tuple[int, ...], NDArray[np.int64]], ...]:
        """The sets of columns that boxes restrict, each with the places of the boxes that restrict just these."""
        restricted = (self.lower > 0) | (self.upper < np.array(self.sizes, dtype=np.int64))
        kinds, which = np.unique(restricted, axis=0, return_inverse=True)
        each = [np.flatnonzero(which.ravel() == number) for number in range(len(kinds))]
        return tuple((tuple(np.flatnonzero(kind).tolist()), places) for kind, places in zip(kinds, each, strict=True))

    @cached_property
    def tables(self) -> WeightTables:
        """A table for each set of columns that boxes restrict."""
        found = []
        for support, places in self.supports:
            own, ends = [self.columns[one] for one in support], np.stack([self.lower, self.upper])
            between = ends[:, places][:, :, list(support)] if support else None
            counted = None if support else np.zeros_like(places)
            classes = tuple(one.codes for one in own)
            found.append(WeightTable(places, tuple(one.axis for one in own), classes, None, counted, between))
        return WeightTables(self.universe.layout, tuple(found), self.universe.presence)

    @cached_property
    def tables_read(self) -> MarginalQueries:
        """What is read: the whole table of each set of columns that boxes restrict."""
        asked = tuple(columns for columns, _ in self.supports)
        return MarginalQueries(self.universe, self.columns, asked, records=self.records)

    @cached_property
    def merged(self) -> BoxQueries:
        """The same boxes over as few values as tell them apart: values that no box separates are one."""
        columns, lower, upper = [], [], []
        for place, (one, size) in enumerate(zip(self.columns, self.sizes, strict=True)):
            ends = np.unique(np.concatenate([[0, size], self.lower[:, place], self.upper[:, place]]))
            if len(ends) > 2:
                codes = np.searchsorted(ends, one.codes, side="right") - 1
                words = tuple(one.words[first] for first in ends[:-1].tolist())
                columns.append(Groups(one.universe, one.column, one.axis, words, codes))
                lower.append(np.searchsorted(ends, self.lower[:, place]))
                upper.append(np.searchsorted(ends, self.upper[:, place]))
        if not any(len(one.words) > 1 for one in columns):
            return self
        return replace(self, columns=tuple(columns), lower=np.stack(lower, axis=1), upper=np.stack(upper, axis=1))

    def name(self, place: int) -> str:
        """What a box is called."""
        parts = []
        for one, low, high in zip(self.columns, self.lower[place].tolist(), self.upper[place].tolist(), strict=True):
            if high - low < len(one.words):
                last = one.words[high - 1]
                parts.append(f"{one.title} {one.words[low]}" + ("" if high - low == 1 else f" to {last}"))
        return ", ".join(parts) or "all records"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each box is called."""
        return tuple(map(self.name, range(self.count)))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what is asked: the records, the values told apart, the boxes and what they count."""
        columns: list[Any] = [part for one in self.columns for part in (one.axis, one.column, one.words)]
        # Where a word is a value each, which is nearly always so, words say all.
        columns += [one.codes for one in self.columns if len(one.codes) > len(one.words)]
        costs = (self.importance, self.errors) if self.errors else (self.importance,)
        return canonical_digest("boxes", self.universe.digest, columns, self.lower, self.upper, *costs)


def _require(holds: object, rule: str) -> None:
    if not holds:
        raise UnsupportedCombination(rule)
