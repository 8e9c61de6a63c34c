"""Workloads that many people ask for: marginal tables, prefixes, ranges, products of queries on single attributes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import WHOLE, array_of, require, words_of
from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import (
    LARGEST_NUMERATOR,
    MOST_WEIGHTS,
    WeightTable,
    counts_between,
    counts_of_cells,
    one_by_one,
    products,
    refuse_too_many,
    tabulated,
)
from dxgeom.universe.weight_tables import along
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.groups import (
    AnswerOrigin,
    Groups,
    GroupValues,
    attribute_of,
    groups_of_column,
)

Box: TypeAlias = Mapping[str, tuple[int, int]]
"""By attribute: the first code inside, and the first beyond. Attributes that are not named are unrestricted."""
_GROUPS = "list lists of attributes, such as [['sex', 'race'], ['age']]"
_BOXES = "list mappings from attributes to their codes, such as [{'age': (0, 5)}]"


@final
@dataclass(frozen=True)
class NamedTable:
    """Counts with their names, and the groups that they are of, where they are of groups of single values."""

    names: tuple[str, ...]
    table: WeightTable
    groups: tuple[GroupValues, ...] = ()

    @property
    def origins(self) -> tuple[AnswerOrigin, ...]:
        """Of each count."""
        if not self.groups:
            return tuple(map(AnswerOrigin, self.names))
        whole = marginal_words(self.groups[0])
        return tuple(AnswerOrigin(whole, group) for group in self.groups)


def marginal_words(group: GroupValues) -> str:
    """What the marginal is called that a group belongs to, where it has no name."""
    return f"marginal of {', '.join(column for column, _ in group)}"


def marginal(groups: Sequence[Groups]) -> NamedTable:
    """A count for every combination of the values of columns of different attributes, the last one's running fastest.

    Raises: TooLarge.
    """
    shape = tuple(len(group.words) for group in groups)
    refuse_too_many(math.prod(shape), math.prod(shape))
    each = [tuple(zip(groups, codes, strict=True)) for codes in np.ndindex(shape)]
    names = tuple(", ".join(group.label(code) for group, code in cell) for cell in each)
    titles = [group.title for group in groups]
    values = tuple(
        tuple((title, group.words[code]) for title, (group, code) in zip(titles, cell, strict=True)) for cell in each
    )
    if groups[0].universe.listed is not None:
        return NamedTable(names, reduce(products, [group.cells for group in groups]), values)
    table = counts_of_cells([one.axis for one in groups], [one.codes for one in groups])
    return NamedTable(names, table, values)


def prefix_counts(groups: Groups) -> NamedTable:
    """How many records have each value or a lower one, or lie below each cut."""
    count = len(groups.cuts or groups.words)
    refuse_too_many(count, count)
    names = tuple(f"{groups.column} below {word}" for word in groups.cuts) or tuple(
        f"{groups.column} up to {word}" for word in groups.words
    )
    return NamedTable(names, _from_to(groups, np.zeros(count, dtype=np.int64), np.arange(count)))


def range_counts(groups: Groups) -> NamedTable:
    """How many records lie between each two values, both included, or from one cut to below another; the upper value
    runs fastest.

    Raises: TooLarge.
    """
    count = len(groups.words)
    refuse_too_many(count * (count + 1) // 2, count)
    low, high = np.triu_indices(count)
    names = tuple(_between(groups, a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True))
    return NamedTable(names, _from_to(groups, low, high))


def _from_to(groups: Groups, low: NDArray[np.int64], high: NDArray[np.int64]) -> WeightTable:
    """How many records are in each of these groups or between, both included; by ends alone where codes rise."""
    codes, told = groups.codes, np.bincount(groups.codes)
    if groups.universe.listed is None and len(told) > 1 and np.all(told) and np.all(np.diff(codes) >= 0):
        return counts_between(groups.axis, codes, low, high + 1)
    return along(groups.universe, groups.axis, (codes >= low[:, None]) & (codes <= high[:, None]))


def _between(groups: Groups, first: int, last: int) -> str:
    if not groups.cuts:
        return f"{groups.column} from {groups.words[first]} to {groups.words[last]}"
    start = f" from {groups.cuts[first - 1]}" if first else ""
    if last == len(groups.cuts):
        return f"{groups.column}{start} up" if start else f"{groups.column} anywhere"
    return (
        f"{groups.column}{start} to below {groups.cuts[last]}"
        if start
        else f"{groups.column} below {groups.cuts[last]}"
    )


def groups_of(
    universe: Universe, groups: Sequence[Sequence[str]] | None, ways: int | None
) -> tuple[tuple[str, ...], ...]:
    """The groups of attributes that were listed, or all of ``ways`` attributes.

    Raises: UnsupportedCombination.
    """
    if (groups is None) == (ways is None):
        raise UnsupportedCombination("marginals are of listed groups of attributes, or of all groups of so many 'ways'")
    if groups is not None:
        require(groups, Iterable, "groups", _GROUPS)
        return tuple(words_of(group, "groups", _GROUPS) for group in groups)
    if ways is None or not 0 < ways <= len(universe.names):
        raise UnsupportedCombination(f"'ways' lies between 1 and {len(universe.names)}, found {ways}")
    return tuple(itertools.combinations(universe.names, ways))


def marginals(universe: Universe, groups: Sequence[Sequence[str]]) -> list[NamedTable]:
    """The marginal table of each group of attributes.

    Raises: UnsupportedCombination for an unknown or repeated attribute, an empty group, or one listed twice; TooLarge.
    """
    if len({frozenset(group) for group in groups}) < len(groups):
        raise UnsupportedCombination("each marginal is listed once, in whatever order its attributes are")
    made = []
    for group in groups:
        if not group or len(set(group)) < len(group):
            raise UnsupportedCombination("a marginal is of one or more different attributes")
        made.append(marginal([groups_of_column(universe, *attribute_of(universe, name)) for name in group]))
    return made


def boxes(universe: Universe, ranges_of_boxes: Sequence[Box]) -> list[NamedTable]:
    """The counts in boxes, a table for those that restrict the same attributes.

    Raises: UnsupportedCombination for an unknown attribute, a box without attributes, or codes outside or in the wrong
    order; TooLarge.
    """
    together: dict[tuple[str, ...], list[Box]] = {}
    require(ranges_of_boxes, Iterable, "boxes", _BOXES)
    for box in ranges_of_boxes:
        require(box, Mapping, "boxes", _BOXES)
        if not box:
            raise UnsupportedCombination("a box restricts one or more attributes")
        axes = {name: attribute_of(universe, name)[0] for name in box}
        for name, codes in box.items():
            size = len(universe.attributes[axes[name]].labels)
            pair = isinstance(codes, (list, tuple)) and len(codes) == 2 and all(isinstance(c, WHOLE) for c in codes)
            if not (pair and 0 <= codes[0] < codes[1] <= size):
                raise UnsupportedCombination(f"two codes of {shown(name)} run from 0 to {size}, found {codes}")
        together.setdefault(tuple(sorted(box, key=axes.__getitem__)), []).append(box)
    return [_box_counts(universe, names, alike) for names, alike in together.items()]


def _box_counts(universe: Universe, names: Sequence[str], alike: Sequence[Box]) -> NamedTable:
    groups = [groups_of_column(universe, *attribute_of(universe, name)) for name in names]
    ends = np.array([[box[name] for name in names] for box in alike], dtype=np.int64)
    words: list[list[str]] = [[] for _ in alike]
    for group, (low, high) in zip(groups, ends.transpose(1, 2, 0), strict=True):
        for own, first, last in zip(words, low.tolist(), (high - 1).tolist(), strict=True):
            own.append(group.label(first) if first == last else _between(group, first, last))
    cuts = [np.unique([*ends[:, place].ravel(), 0, len(group.codes)]) for place, group in enumerate(groups)]
    named = tuple(", ".join(own) for own in words)
    if len(alike) * math.prod(len(own) - 1 for own in cuts) > MOST_WEIGHTS and universe.listed is None:
        return NamedTable(named, _between_cuts(groups, cuts, ends))
    parts: list[WeightTable] = []
    for group, (low, high) in zip(groups, ends.transpose(1, 2, 0), strict=True):
        codes = np.arange(len(group.codes))
        parts.append(along(universe, group.axis, (codes >= low[:, None]) & (codes < high[:, None])))
    return NamedTable(named, reduce(one_by_one, parts))


def _between_cuts(groups: Sequence[Groups], cuts: Sequence[NDArray[np.int64]], ends: NDArray[np.int64]) -> WeightTable:
    """Boxes by their ``ends`` (k, attributes, 2), each of which is a cut; no weight is laid out."""
    classes, between = [], []
    for group, own, along_it in zip(groups, cuts, ends.transpose(1, 2, 0), strict=True):
        classes.append(np.searchsorted(own, np.arange(len(group.codes)), side="right") - 1)
        between.append(np.searchsorted(own, along_it))
    axes = tuple(group.axis for group in groups)
    return WeightTable(np.arange(len(ends)), axes, tuple(classes), None, None, np.stack(between, axis=2))


def kronecker_table(universe: Universe, factors: Mapping[str, ArrayLike]) -> WeightTable:
    """The products of one query on each attribute, in all combinations, the last factor's running fastest.

    Raises: UnsupportedCombination; TooLarge.
    """
    tables = []
    for name, given in factors.items():
        axis, _ = attribute_of(universe, name)
        factor = np.atleast_2d(array_of(given, "factors", "give a row of integers for each query"))
        size = universe.shape[axis]
        if factor.dtype.kind not in "iub" or factor.ndim != 2 or factor.shape[1] != size or not len(factor):
            raise UnsupportedCombination(f"the factor of {shown(name)} is integers with {size:,} per query")
        if max(int(factor.max()), -int(factor.min())) >= LARGEST_NUMERATOR:
            raise UnsupportedCombination("the integers of a factor stay below 2**52")
        tables.append(along(universe, axis, factor.astype(np.int64)))
    return reduce(products, tables, tabulated((), np.ones(1, dtype=np.int64)))
