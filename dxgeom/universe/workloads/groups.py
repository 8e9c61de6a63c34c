"""A column's values as groups of records, one by one or put together between bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.errors import PredicateError, UnsupportedCombination
from dxgeom.numeric.sealed import Sealed
from dxgeom.universe.attributes import not_listed
from dxgeom.universe.columns import Column, NumberColumn, words_of_column
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.predicates import Literal, Name
from dxgeom.universe.reading.reading import MISSING
from dxgeom.universe.selections import codes_where, find_column
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import WeightTable, are_classes
from dxgeom.universe.weight_tables import along
from dxgeom.universe.wording import did_you_mean, shown

GroupValues: TypeAlias = tuple[tuple[str, str], ...]
"""What the records of a group have in common: columns, each with its value in words."""


@final
@dataclass(frozen=True)
class AnswerOrigin:
    """What an answer is about: the query of a file that asked for it, by name, and the group of records, if any.

    ``label``: what readers see the query called, empty where that is its name; no part of what it means.
    """

    query: str
    group: GroupValues = ()
    label: str = field(default="", repr=False, compare=False)

    def called(self, name: str) -> str:
        """What readers see its answer of this name called: the label in the place of the query's name, or before it."""
        if not self.label:
            return name
        return self.label + name[len(self.query) :] if name.startswith(self.query) else f"{self.label}: {name}"

    def explains(self, name: str) -> bool:
        """Whether an answer of this name can be about this: fingerprints cover names, and nothing else said of it.

        A name is ``query``, or ``query: …`` where one query has several answers, or what these are called by themselves
        ("age up to 30" of "prefixes of age"). The values of a group end it, but for the query's condition.
        """
        if not self.group:
            kind, _, what = self.query.partition(" of ")
            own = kind in ("prefixes", "ranges") and name.startswith(tuple(f"{one} " for one in _called(what)))
            return own or kind == "matrix" or name == self.query or name.startswith(f"{self.query}: ")
        pairs = ([f"{one}={value}" for one in _called(column)] for column, value in self.group)
        ends = map(", ".join, product(*pairs))
        return any(
            self._is_around(name[: found.start()], name[found.end() :])
            for end in ends
            for found in re.finditer(re.escape(end), name)
        )

    def _is_around(self, before: str, after: str) -> bool:
        """Whether a name says the query by what is before and after the group's values."""
        if after and not after.startswith(" where "):
            return False
        several = f"{self.query}: "
        if before in (several, f"{self.query}, ") or (before.startswith(several) and before.endswith(", ")):
            return True
        return not before and self.query == f"marginal of {', '.join(column for column, _ in self.group)}{after}"


def _called(column: str) -> tuple[str, ...]:
    """What names of answers call a column: its own name, or that with its attribute's before it."""
    attribute, _, own = column.partition(".")
    return (column, own) if attribute and own else (column,)


@final
@dataclass(frozen=True)
class Groups(Sealed):
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

    @property
    def unlisted(self) -> bool:
        """Whether nobody listed its values, and the words here stand for any two of them."""
        return self.universe.attributes[self.axis].unlisted

    @property
    def title(self) -> str:
        """The column's name, with its attribute's where several attributes have a column of that name."""
        owners = [one for one in self.universe.attributes if any(own.name == self.column for own in one.columns)]
        return self.column if len(owners) == 1 else f"{self.universe.names[self.axis]}.{self.column}"


def require_columns(universe: Universe, columns: Sequence[Groups]) -> None:
    """Raises: UnsupportedCombination unless these are of different attributes, rising by their place, and every value
    of each attribute is in a group, and every group has one."""
    axes, shape = [one.axis for one in columns], universe.shape
    rising = type(columns) is tuple and axes == sorted({*axes} & {*range(len(shape))})
    if not rising or not all(are_classes(one.codes, shape[one.axis], len(one.words)) for one in columns):
        raise UnsupportedCombination("columns are of different attributes of the universe, rising by their place")


def groups_of_column(universe: Universe, axis: int, column: Column) -> Groups:
    """The distinct values of a column, in order of appearance.

    Raises: UnsupportedCombination for values that nobody listed; see :func:`unlisted_groups`.
    """
    attribute = universe.attributes[axis]
    if attribute.unlisted:
        raise UnsupportedCombination(not_listed(attribute.name))
    return _groups_of(universe, axis, column)


def unlisted_groups(universe: Universe, axis: int) -> Groups:
    """The column of an attribute, also where nobody listed its values; two words stand for these then."""
    return _groups_of(universe, axis, universe.attributes[axis].columns[0])


def _groups_of(universe: Universe, axis: int, column: Column) -> Groups:
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
    first = np.unique(codes, return_index=True)[1].tolist()
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


def ordered_attribute(universe: Universe, attribute: str, bounds: Sequence[object] | None) -> Groups:
    """The values of an attribute of numbers or days, from the lowest to the highest, or put together between bounds.

    Raises: UnsupportedCombination.
    """
    axis, column = attribute_of(universe, attribute)
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


def attribute_of(universe: Universe, name: str) -> tuple[int, Column]:
    """The place of an attribute and its own column.

    Raises: UnsupportedCombination.
    """
    require(name, str, "attribute", f"name one of {', '.join(map(shown, universe.names))}")
    if name not in universe.names:
        advice = did_you_mean(name, universe.names)
        raise UnsupportedCombination(f"there is no attribute {shown(name)}" + (f"; {advice}" if advice else ""))
    axis = universe.names.index(name)
    return axis, universe.attributes[axis].columns[0]
