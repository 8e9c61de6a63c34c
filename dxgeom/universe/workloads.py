"""Workloads that many people ask for: marginal tables, prefixes, ranges, products of queries on single attributes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import WHOLE, array_of, require, words_of
from dxgeom.errors import PredicateError, UnsupportedCombination
from dxgeom.universe.columns import Column, NumberColumn, words_of_column
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.predicates import Literal, Name
from dxgeom.universe.reading.optional import MISSING
from dxgeom.universe.selections import codes_where, find_column
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import (
    LARGEST_NUMERATOR,
    WeightTable,
    counts_of_cells,
    one_by_one,
    products,
    refuse_too_many,
    tabulated,
)
from dxgeom.universe.weight_tables import along
from dxgeom.universe.wording import did_you_mean, shown

Box: TypeAlias = Mapping[str, tuple[int, int]]
"""By attribute: the first code inside, and the first beyond. Attributes that are not named are unrestricted."""
_GROUPS = "list lists of attributes, such as [['sex', 'race'], ['age']]"
_BOXES = "list mappings from attributes to their codes, such as [{'age': (0, 5)}]"


@final
@dataclass(frozen=True)
class NamedTable:
    """Counts with their names."""

    names: tuple[str, ...]
    table: WeightTable


@final
@dataclass(frozen=True)
class Groups:
    """A column's distinct values as words, and which of them each code of its attribute has.

    Where the values are put together by ``cuts``, group k lies from cuts[k−1] to below cuts[k].
    """

    universe: Universe
    column: str
    axis: int
    words: tuple[str, ...]
    codes: NDArray[np.int64]
    cuts: tuple[str, ...] = ()

    @property
    def cells(self) -> WeightTable:
        """One count per value."""
        return along(self.universe, self.axis, np.arange(len(self.words))[:, None] == self.codes)

    def label(self, place: int) -> str:
        """The name of one value's count."""
        return f"{self.column}={self.words[place]}"


def groups_of_column(universe: Universe, axis: int, column: Column) -> Groups:
    """The distinct values of a column, in order of appearance."""
    attribute = universe.attributes[axis]
    own = column.name == attribute.columns[0].name
    cells = attribute.labels if own else (*words_of_column(column), *[MISSING] * column.missing)
    words = tuple(dict.fromkeys(cells))
    code_of = {word: code for code, word in enumerate(words)}
    return Groups(universe, column.name, axis, words, np.array([code_of[cell] for cell in cells], dtype=np.int64))


def ordered_groups(universe: Universe, axis: int, column: Column) -> Groups:
    """The distinct values of a column of numbers or days, from the lowest to the highest; a missing one lies beyond.

    Raises: UnsupportedCombination for a column of words, which have no order.
    """
    keys: tuple[Fraction | str, ...]
    if isinstance(column, NumberColumn):
        keys = column.numbers
    elif column.dates:
        keys = column.texts
    else:
        raise UnsupportedCombination(f"{shown(column.name)} holds words, which have no order")
    found = groups_of_column(universe, axis, column)
    words, codes = (found.words[:-1], found.codes[:-1]) if column.missing else (found.words, found.codes)
    first = [int(np.argmax(codes == place)) for place in range(len(words))]
    order = sorted(range(len(first)), key=lambda place: keys[first[place]])
    places = np.append(np.argsort(np.array(order, dtype=np.int64))[codes], [len(words)] * column.missing)
    return Groups(universe, found.column, axis, tuple(words[place] for place in order), places.astype(np.int64))


def cut_groups(universe: Universe, name: Name, bounds: Sequence[Literal], words: Sequence[str]) -> Groups:
    """A column's values put together by what lies below each bound but not below the one before.

    Args: ``words``: the bounds as they were written.
    Raises: PredicateError, with the place of the bound in ``offset``, for a bound that does not fit the column, or
    where no value lies between it and its neighbour.
    """
    axis, column = find_column(universe, name)
    below = np.array([codes_where(universe, name, "<", bound) for bound in bounds])
    codes = len(bounds) - below.sum(axis=0)
    codes[codes.size - column.missing :] = len(bounds) + 1  # what is missing lies beyond every interval
    for place, bound in enumerate(bounds):
        if place and not np.all(below[place - 1] <= below[place]):
            raise PredicateError("the bounds of intervals rise", bound.offset, "list them from the lowest")
        empty = [side for side in (place, place + 1) if not np.any(codes == side)]
        if empty:
            between = f"below {words[0]}" if empty[0] == 0 else f"from {words[empty[0] - 1]} up"
            between = f"from {words[empty[0] - 1]} to below {words[empty[0]]}" if 0 < empty[0] < len(words) else between
            raise PredicateError(
                f"no value of {shown(column.name)} lies {between}", bound.offset, "leave that bound out"
            )
    return Groups(universe, column.name, axis, ("", *words), np.asarray(codes, dtype=np.int64), tuple(words))


def marginal(groups: Sequence[Groups]) -> NamedTable:
    """A count for every combination of the values of columns of different attributes, the last one's running fastest.

    Raises: TooLarge.
    """
    shape = tuple(len(group.words) for group in groups)
    refuse_too_many(math.prod(shape), math.prod(shape))
    names = (", ".join(g.label(c) for g, c in zip(groups, codes, strict=True)) for codes in np.ndindex(shape))
    if groups[0].universe.listed is not None:
        return NamedTable(tuple(names), reduce(products, [group.cells for group in groups]))
    return NamedTable(tuple(names), counts_of_cells([one.axis for one in groups], [one.codes for one in groups]))


def prefix_counts(groups: Groups) -> NamedTable:
    """How many records have each value or a lower one, or lie below each cut."""
    count = len(groups.cuts or groups.words)
    refuse_too_many(count, count)
    names = tuple(f"{groups.column} below {word}" for word in groups.cuts) or tuple(
        f"{groups.column} up to {word}" for word in groups.words
    )
    return NamedTable(names, along(groups.universe, groups.axis, groups.codes <= np.arange(count)[:, None]))


def range_counts(groups: Groups) -> NamedTable:
    """How many records lie between each two values, both included, or from one cut to below another; the upper value
    runs fastest.

    Raises: TooLarge.
    """
    count = len(groups.words)
    refuse_too_many(count * (count + 1) // 2, count)
    low, high = np.triu_indices(count)
    names = tuple(_between(groups, a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True))
    inside = (groups.codes >= low[:, None]) & (groups.codes <= high[:, None])
    return NamedTable(names, along(groups.universe, groups.axis, inside))


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
        made.append(marginal([groups_of_column(universe, *_attribute(universe, name)) for name in group]))
    return made


def ordered_attribute(universe: Universe, attribute: str, bounds: Sequence[object] | None) -> Groups:
    """The values of an attribute of numbers or days, from the lowest to the highest, or put together between bounds.

    Raises: UnsupportedCombination.
    """
    axis, column = _attribute(universe, attribute)
    groups = ordered_groups(universe, axis, column)
    if bounds is None:
        return groups
    words = [str(bound) for bound in bounds]
    if not words:
        raise UnsupportedCombination("at least one bound to go by")
    numbers = isinstance(column, NumberColumn)
    try:
        literals = [Literal(exact(word) if numbers else word, 0) for word in words]
        return cut_groups(universe, Name(column.name, attribute, 0), literals, words)
    except NotANumber as error:
        raise UnsupportedCombination(f"the bounds of {shown(attribute)} are numbers, found {words}") from error
    except PredicateError as error:
        raise UnsupportedCombination(error.message + (f"; {error.advice}" if error.advice else "")) from error


def boxes(universe: Universe, asked: Sequence[Box]) -> list[NamedTable]:
    """The counts in boxes, a table for those that restrict the same attributes.

    Raises: UnsupportedCombination for an unknown attribute, a box without attributes, or codes outside or in the wrong
    order; TooLarge.
    """
    together: dict[tuple[str, ...], list[Box]] = {}
    require(asked, Iterable, "boxes", _BOXES)
    for box in asked:
        require(box, Mapping, "boxes", _BOXES)
        if not box:
            raise UnsupportedCombination("a box restricts one or more attributes")
        axes = {name: _attribute(universe, name)[0] for name in box}
        for name, codes in box.items():
            size = len(universe.attributes[axes[name]].labels)
            pair = isinstance(codes, (list, tuple)) and len(codes) == 2 and all(isinstance(c, WHOLE) for c in codes)
            if not (pair and 0 <= codes[0] < codes[1] <= size):
                raise UnsupportedCombination(f"two codes of {shown(name)} run from 0 to {size}, found {codes}")
        together.setdefault(tuple(sorted(box, key=axes.__getitem__)), []).append(box)
    return [_box_counts(universe, names, alike) for names, alike in together.items()]


def _box_counts(universe: Universe, names: Sequence[str], alike: Sequence[Box]) -> NamedTable:
    groups = [groups_of_column(universe, *_attribute(universe, name)) for name in names]
    ends = np.array([[box[name] for name in names] for box in alike], dtype=np.int64)
    parts: list[WeightTable] = []
    words: list[list[str]] = [[] for _ in alike]
    for group, (low, high) in zip(groups, ends.transpose(1, 2, 0), strict=True):
        codes = np.arange(len(group.codes))
        parts.append(along(universe, group.axis, (codes >= low[:, None]) & (codes < high[:, None])))
        for own, first, last in zip(words, low.tolist(), (high - 1).tolist(), strict=True):
            own.append(group.label(first) if first == last else _between(group, first, last))
    return NamedTable(tuple(", ".join(own) for own in words), reduce(one_by_one, parts))


def kronecker_table(universe: Universe, factors: Mapping[str, ArrayLike]) -> WeightTable:
    """The products of one query on each attribute, in all combinations, the last factor's running fastest.

    Raises: UnsupportedCombination; TooLarge.
    """
    tables = []
    for name, given in factors.items():
        axis, _ = _attribute(universe, name)
        factor = np.atleast_2d(array_of(given, "factors", "give a row of integers for each query"))
        size = universe.shape[axis]
        if factor.dtype.kind not in "iub" or factor.ndim != 2 or factor.shape[1] != size or not len(factor):
            raise UnsupportedCombination(f"the factor of {shown(name)} is integers with {size:,} per query")
        if max(int(factor.max()), -int(factor.min())) >= LARGEST_NUMERATOR:
            raise UnsupportedCombination("the integers of a factor stay below 2**52")
        tables.append(along(universe, axis, factor.astype(np.int64)))
    return reduce(products, tables, tabulated((), np.ones(1, dtype=np.int64)))


def _attribute(universe: Universe, name: str) -> tuple[int, Column]:
    require(name, str, "attribute", f"name one of {', '.join(map(shown, universe.names))}")
    if name not in universe.names:
        advice = did_you_mean(name, universe.names)
        raise UnsupportedCombination(f"there is no attribute {shown(name)}" + (f"; {advice}" if advice else ""))
    axis = universe.names.index(name)
    return axis, universe.attributes[axis].columns[0]
