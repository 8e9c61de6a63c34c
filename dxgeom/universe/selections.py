"""Which possible records a condition is true of, computed on the attributes it mentions only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import PredicateError
from dxgeom.universe.attributes import KEYS_OF_UNLISTED, Attribute, not_listed
from dxgeom.universe.columns import Column, TextColumn
from dxgeom.universe.conditions.masks import day_part_mask, like_mask, number_mask, text_mask
from dxgeom.universe.predicates import (
    Always,
    Compared,
    Comparison,
    DayPart,
    Every,
    IsMissing,
    Like,
    Literal,
    Membership,
    Name,
    Not,
    Predicate,
    Some,
    Term,
)
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

_MOST_COMBINED: Final = 1 << 28
_MIRRORED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@final
@dataclass(frozen=True, eq=False)
class RecordSet:
    """The possible records a condition is true of.

    ``axes``: the axes of the universe's layout that it depends on, increasing: one per attribute, or that of the listed
    rows. ``mask``: bool, one axis per entry of ``axes``.
    """

    universe: Universe
    axes: tuple[int, ...]
    mask: NDArray[np.bool_] = field(repr=False)

    def over_universe(self) -> NDArray[np.bool_]:
        """The same as a flat bool array over the universe."""
        return self.universe.laid_out(_spread(self, tuple(range(len(self.universe.layout)))))


def evaluate(predicate: Predicate, universe: Universe) -> RecordSet:
    """Where a condition is true.

    Raises: PredicateError for an unknown column or value, an ill-typed comparison, or a threshold inside a bin.
    """
    match predicate:
        case Always():
            return RecordSet(universe, (), np.array(True))
        case Not(inner=inner):
            found = evaluate(inner, universe)
            return RecordSet(universe, found.axes, ~found.mask)
        case Every(parts=parts):
            return _combined(universe, (evaluate(part, universe) for part in parts), np.logical_and)
        case Some(parts=parts):
            return _combined(universe, (evaluate(part, universe) for part in parts), np.logical_or)
        case Membership(name=name, values=values, negated=negated):
            sign, join = ("!=", np.logical_and) if negated else ("==", np.logical_or)
            return _combined(universe, [_compared(universe, name, sign, value) for value in values], join)
        case Like(name=name, pattern=pattern, negated=negated):
            place, column = find_column(universe, name)
            return _by_code(universe, place, like_mask(column, name, pattern, negated))
        case IsMissing(name=name, negated=negated):
            place, _ = find_column(universe, name)
            return _by_code(universe, place, _where_missing(universe.attributes[place], name) ^ negated)
        case Comparison(terms=terms, operators=operators):
            pairs = zip(terms, operators, terms[1:], strict=False)
            return _combined(universe, [_compared(universe, *pair) for pair in pairs], np.logical_and)


def find_column(universe: Universe, name: Name) -> tuple[int, Column]:
    """The place of the attribute that has a column of that name, and the column.

    Raises: PredicateError when there is none, or several.
    """
    found = [
        (place, column)
        for place, attribute in enumerate(universe.attributes)
        for column in attribute.columns
        if column.name == name.column and name.attribute in (None, attribute.name)
    ]
    if len(found) == 1 and universe.attributes[found[0][0]].unlisted:
        raise PredicateError(not_listed(name.column), name.offset, KEYS_OF_UNLISTED)
    if len(found) == 1:
        return found[0]
    if found:
        owners = [f"{universe.names[place]}.{name.column}" for place, _ in found]
        raise PredicateError(
            f"{shown(name.column)} is a column of several attributes", name.offset, f"write {' or '.join(owners)}"
        )
    if name.attribute is not None and name.attribute not in universe.names:
        advice = did_you_mean(name.attribute, universe.names)
        raise PredicateError(f"there is no attribute {shown(name.attribute)}", name.offset, advice)
    known = [c.name for a in universe.attributes for c in a.columns if name.attribute in (None, a.name)]
    raise PredicateError(f"there is no column {shown(str(name))}", name.offset, did_you_mean(name.column, known))


def _compared(universe: Universe, left: Term, sign: str, right: Term) -> RecordSet:
    if isinstance(left, Literal) and not isinstance(right, Literal):
        left, sign, right = right, _MIRRORED[sign], left
    if isinstance(left, Literal) or not isinstance(right, Literal):
        what = "two values" if isinstance(left, Literal) else "two columns"
        raise PredicateError(f"a column is compared with a value, found {what}", right.offset, "put text in quotes")
    place, _ = find_column(universe, left if isinstance(left, Name) else left.name)
    return _by_code(universe, place, codes_where(universe, left, sign, right))


def codes_where(universe: Universe, name: Compared, sign: str, literal: Literal) -> NDArray[np.bool_]:
    """Of which codes of its attribute a comparison of a column with a value is true: never of the missing value.

    Raises: PredicateError as :func:`evaluate`.
    """
    place, column = find_column(universe, name if isinstance(name, Name) else name.name)
    if isinstance(name, DayPart):
        found = day_part_mask(universe.attributes[place].present, name, sign, literal)
    elif isinstance(column, TextColumn):
        found = text_mask(column, name, sign, literal)
    else:
        found = number_mask(column, name, sign, literal)
    return np.append(found, np.zeros(int(column.missing), dtype=np.bool_))


def _by_code(universe: Universe, place: int, mask: NDArray[np.bool_]) -> RecordSet:
    """The records whose code of one attribute is marked."""
    if universe.listed is not None:
        return RecordSet(universe, (0,), universe.spread(place, mask))
    return RecordSet(universe, (place,), mask)


def _where_missing(attribute: Attribute, name: Name) -> NDArray[np.bool_]:
    if attribute.missing is None:
        advice = (
            f"an attribute may be missing where the policy says so: 'missing: {{epsilon: 0.5}}' at {attribute.name}"
        )
        raise PredicateError(f"{shown(str(name))} is never missing in this policy", name.offset, advice)
    return np.asarray(np.arange(attribute.size) == attribute.missing, dtype=np.bool_)


def _combined(universe: Universe, parts: Iterable[RecordSet], join: Callable[..., Any]) -> RecordSet:
    each = list(parts)
    axes = tuple(sorted({axis for part in each for axis in part.axes}))
    laid_out = math.prod(universe.layout[axis] for axis in axes)
    if laid_out > _MOST_COMBINED:
        message = f"a condition is true or false of at most {_MOST_COMBINED:,} combinations of values, not {laid_out:,}"
        raise PredicateError(message, 0, "look at fewer attributes at once")
    mask = reduce(join, (_spread(part, axes) for part in each))
    return RecordSet(universe, axes, np.asarray(mask, dtype=np.bool_))


def _spread(selection: RecordSet, axes: tuple[int, ...]) -> NDArray[np.bool_]:
    """The mask with an axis, of length one where it does not depend on it, for each of ``axes``."""
    shape = selection.universe.layout
    return selection.mask.reshape([shape[axis] if axis in selection.axes else 1 for axis in axes])
