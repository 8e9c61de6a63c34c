"""Conditions that mean something else for raw numbers than for the values that stand for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from dxgeom.universe.columns import Column, TextColumn
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.periods import PeriodAttribute
from dxgeom.universe.predicates import Comparison, Every, Literal, Membership, Name, Not, Predicate, Some
from dxgeom.universe.selections import find_column
from dxgeom.universe.universe import Universe

_CUTS_BELOW: Final = {"<": ("<", ">="), ">": (">", "<=")}
"""The signs that put a value and all that it stands for on one side, by the side on which the column is written."""


def stepped_columns(predicate: Predicate, universe: Universe) -> tuple[str, ...]:
    """The columns of ranges and dates of which a condition asks more than their values tell, each once.

    Where a value stands for all numbers from it up to the next one, ``<`` and ``>=`` are as true of these as of the
    value; ``==``, ``!=``, ``<=``, ``>`` and ``in`` are true of the value alone. *Exact*, for a condition that
    :func:`dxgeom.universe.selections.evaluate` takes.
    """
    return tuple(dict.fromkeys(_stepped(predicate, universe)))


def _stepped(predicate: Predicate, universe: Universe) -> Iterator[str]:
    match predicate:
        case Not(inner=inner):
            yield from _stepped(inner, universe)
        case Every(parts=parts) | Some(parts=parts):
            for part in parts:
                yield from _stepped(part, universe)
        case Membership(name=Name() as name, values=values):
            if any(_stands_for_more(universe, name, value) for value in values):
                yield str(name)
        case Comparison(terms=terms, operators=operators):
            for (left, right), sign in zip(pairwise(terms), operators, strict=True):
                column, value, safe = (left, right, "<") if isinstance(right, Literal) else (right, left, ">")
                if not isinstance(column, Name) or not isinstance(value, Literal) or sign in _CUTS_BELOW[safe]:
                    continue
                if _stands_for_more(universe, column, value):
                    yield str(column)


def stands_for_more(universe: Universe, place: int, column: Column) -> bool:
    """Whether some value of an attribute's column stands for other raw numbers, or days, beside itself, though it is
    written as one: a bin is written as what it stands for."""
    if isinstance(column, TextColumn):
        days = universe.attributes[place].present
        own = column.name == days.name
        if isinstance(days, PeriodAttribute):
            return own and any(map(days.stands_for_more, days.labels))
        return isinstance(days, DateAttribute) and days.step > 1 and own
    if not column.rounded or column.stands_for is None:
        return False
    return any(low < high for low, high in column.stands_for.intervals)


def _stands_for_more(universe: Universe, name: Name, value: Literal) -> bool:
    """Whether the value written stands for other raw numbers, or days, beside itself."""
    place, column = find_column(universe, name)
    if isinstance(column, TextColumn):
        days = universe.attributes[place].present
        if isinstance(days, PeriodAttribute):
            return value.value in days.labels and days.stands_for_more(str(value.value))
        return isinstance(days, DateAttribute) and days.step > 1 and value.value in column.texts
    if not column.rounded or column.stands_for is None or value.value not in column.numbers:
        return False
    low, high = column.stands_for.intervals[column.numbers.index(value.value)]
    return low < high
