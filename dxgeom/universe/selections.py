"""Which record types a condition is true of, computed on the attributes it mentions only."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import PredicateError
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import Column, NumberColumn, TextColumn, plain
from dxgeom.universe.dates import iso_date
from dxgeom.universe.predicates import (
    Always,
    Comparison,
    Every,
    IsMissing,
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

_MIRRORED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@final
@dataclass(frozen=True, eq=False)
class RecordSet:
    """The record types a condition is true of.

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
    if isinstance(left, Literal) and isinstance(right, Name):
        left, sign, right = right, _MIRRORED[sign], left
    if not isinstance(left, Name) or not isinstance(right, Literal):
        what = "two columns" if isinstance(left, Name) else "two values"
        raise PredicateError(f"a column is compared with a value, found {what}", right.offset, "put text in quotes")
    place, _ = find_column(universe, left)
    return _by_code(universe, place, codes_where(universe, left, sign, right))


def codes_where(universe: Universe, name: Name, sign: str, literal: Literal) -> NDArray[np.bool_]:
    """Of which codes of its attribute a comparison of a column with a value is true: never of the missing value.

    Raises: PredicateError as :func:`evaluate`.
    """
    _, column = find_column(universe, name)
    if isinstance(column, TextColumn):
        found = _text_mask(column, name, sign, literal)
    else:
        found = _number_mask(column, name, sign, literal)
    return np.append(found, np.zeros(int(column.missing), dtype=np.bool_))


def _number_mask(column: NumberColumn, name: Name, sign: str, literal: Literal) -> NDArray[np.bool_]:
    number = literal.value
    if isinstance(number, str):
        raise PredicateError(f"{shown(str(name))} holds numbers, found a text", literal.offset, "remove the quotes")
    if column.cells is not None:
        return _cell_mask(column, sign, number, literal.offset)
    if column.rounded or sign in ("==", "!="):
        _check_listed(column, sign, number, literal.offset)
    return np.fromiter((_COMPARE[sign](value, number) for value in column.numbers), np.bool_, len(column.numbers))


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


def _text_mask(column: TextColumn, name: Name, sign: str, literal: Literal) -> NDArray[np.bool_]:
    if not isinstance(literal.value, str):
        raise PredicateError(
            f"{shown(str(name))} holds words, found a number", literal.offset, "put the value in quotes"
        )
    if column.dates:
        if iso_date(literal.value) is None:
            advice = "write it as '2024-02-29' (year-month-day)"
            raise PredicateError(f"{shown(literal.value)} is not a date", literal.offset, advice)
        _check_listed(column, sign, literal.value, literal.offset)
    elif sign not in ("==", "!="):
        raise PredicateError(f"words have no order, found {sign}", literal.offset, "compare with ==, != or in")
    elif literal.value not in column.texts:
        known = dict.fromkeys(column.texts)
        message = f"{shown(column.name)} has no value {shown(literal.value)}"
        raise PredicateError(message, literal.offset, did_you_mean(literal.value, known))
    return np.fromiter((_COMPARE[sign](text, literal.value) for text in column.texts), np.bool_, len(column.texts))


def _check_listed(column: Column, sign: str, value: Any, offset: int) -> None:
    """A number or a day between the values would silently mean one of its neighbours. ISO days sort as texts do."""
    values = column.texts if isinstance(column, TextColumn) else column.numbers
    if value in values or (sign not in ("==", "!=") and not min(values) < value < max(values)):
        return
    said = shown(value) if isinstance(value, str) else plain(value)
    raise PredicateError(f"{said} is no value of {shown(column.name)}", offset, f"use {_nearest(values, value)}")


def _nearest(values: Sequence[Any], value: Any) -> str:
    """The nearest value that is not above, and the nearest that is."""
    below = max((one for one in values if one <= value), default=None)
    above = min((one for one in values if one > value), default=None)
    return " or ".join(one if isinstance(one, str) else plain(one) for one in (below, above) if one is not None)


def _cell_mask(column: NumberColumn, sign: str, number: Fraction, offset: int) -> NDArray[np.bool_]:
    """Whether a comparison is true of all numbers of each bin; refused when it is true of some only."""
    cells = column.cells or ()
    last = len(cells) - 1
    mask = np.zeros(len(cells), dtype=np.bool_)
    if sign in ("==", "!=") and not cells[0][0] <= number <= cells[last][1]:
        raise PredicateError(f"{plain(number)} is no value of {shown(column.name)}", offset, _edges(column, number))
    for code, (low, high) in enumerate(cells):
        if sign in ("<", ">="):
            whole, none = high <= number and (code < last or high < number), low >= number
        elif sign in ("<=", ">"):
            whole, none = high <= number, low > number
        else:
            whole, none = False, number < low or number > high or (number == high and code < last)
        if not whole and not none:
            closing = "]" if code == last else ")"
            bin_text = f"[{plain(low)}, {plain(high)}{closing}"
            message = f"{shown(column.name)} {sign} {plain(number)} cuts through the bin {bin_text}"
            raise PredicateError(message, offset, _edges(column, number))
        mask[code] = whole if sign in ("<", "<=", "==") else none
    return mask


def _edges(column: NumberColumn, number: Fraction) -> str:
    cells = column.cells or ()
    edges = [low for low, _ in cells] + [cells[-1][1]]
    return f"compare with < or >= and an edge: {_nearest(edges, number)}"


def _combined(universe: Universe, parts: Iterable[RecordSet], join: Callable[..., Any]) -> RecordSet:
    each = list(parts)
    axes = tuple(sorted({axis for part in each for axis in part.axes}))
    mask = reduce(join, (_spread(part, axes) for part in each))
    return RecordSet(universe, axes, np.asarray(mask, dtype=np.bool_))


def _spread(selection: RecordSet, axes: tuple[int, ...]) -> NDArray[np.bool_]:
    """The mask with an axis, of length one where it does not depend on it, for each of ``axes``."""
    shape = selection.universe.layout
    return selection.mask.reshape([shape[axis] if axis in selection.axes else 1 for axis in axes])
