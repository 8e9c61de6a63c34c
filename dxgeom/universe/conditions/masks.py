"""The codes that a comparison of one of an attribute's columns is true of, the missing one left out; patterns, too."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import PredicateError
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import Column, NumberColumn, TextColumn, plain
from dxgeom.universe.dates import WEEKDAYS, DateAttribute, iso_date
from dxgeom.universe.decimals import is_number
from dxgeom.universe.periods import BEFORE, PeriodAttribute
from dxgeom.universe.predicates import DayPart, Literal, Name
from dxgeom.universe.wording import did_you_mean, shown

_A_DAY: Final = "write it as '2024-02-29' (year-month-day)"
_IN_QUOTES: Final = "put the value in quotes"
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def number_mask(column: NumberColumn, name: Name, sign: str, literal: Literal) -> NDArray[np.bool_]:
    """Which codes' numbers compare so.

    Raises: PredicateError for a text, or a number that cuts through a bin or lies between values.
    """
    number = literal.value
    if isinstance(number, str):
        advice = "remove the quotes" if is_number(number) else "compare it with a number, without quotes"
        raise PredicateError(f"{shown(str(name))} holds numbers, found a text", literal.offset, advice)
    if column.cells is not None:
        return _cell_mask(column, sign, number, literal.offset)
    if column.rounded or sign in ("==", "!="):
        _check_listed(column, sign, number, literal.offset)
    near, at = np.fromiter(map(float, column.numbers), np.float64, len(column.numbers)), float(number)
    found = np.asarray(_COMPARE[sign](near, at), dtype=np.bool_)
    # The nearest floats keep the order; where they are the same, the numbers themselves tell.
    for place in np.flatnonzero(near == at).tolist():
        found[place] = _COMPARE[sign](column.numbers[place], number)
    return found


def text_mask(column: TextColumn, name: Name, sign: str, literal: Literal) -> NDArray[np.bool_]:
    """Which codes' words or days compare so.

    Raises: PredicateError for a number, a word that no code has, or an order of words.
    """
    if not isinstance(literal.value, str):
        holds, advice = ("dates", f"{_A_DAY}, or ask for year({name})") if column.dates else ("words", _IN_QUOTES)
        raise PredicateError(f"{shown(str(name))} holds {holds}, found a number", literal.offset, advice)
    if column.dates:
        if iso_date(literal.value) is None:
            advice = _A_DAY
            if literal.value in WEEKDAYS:
                advice = f"write weekday({name}) {sign} {shown(literal.value)}"
            raise PredicateError(f"{shown(literal.value)} is not a date", literal.offset, advice)
        _check_listed(column, sign, literal.value, literal.offset)
    elif sign not in ("==", "!="):
        raise PredicateError(f"words have no order, found {sign}", literal.offset, "compare with ==, != or in")
    elif literal.value not in column.texts:
        known = dict.fromkeys(column.texts)
        message = f"{shown(column.name)} has no value {shown(literal.value)}"
        raise PredicateError(message, literal.offset, did_you_mean(literal.value, known))
    return np.fromiter((_COMPARE[sign](text, literal.value) for text in column.texts), np.bool_, len(column.texts))


def like_mask(column: Column, name: Name, pattern: Literal, negated: bool) -> NDArray[np.bool_]:
    """Which codes' words fit a pattern, or do not; never the missing value.

    Raises: PredicateError for a column that holds no words, or a pattern that none fits.
    """
    if not isinstance(column, TextColumn) or column.dates:
        holds, advice = ("dates", f"compare them, or ask for month({name})") if _is_days(column) else ("numbers", "")
        advice = advice or "compare them with < and >="
        raise PredicateError(f"'like' is about words, and {shown(str(name))} holds {holds}", pattern.offset, advice)
    letters = letters_of(pattern)
    fitting = np.fromiter((fits(text, letters) for text in column.texts), np.bool_, len(column.texts))
    if not fitting.any():
        message = f"no value of {shown(str(name))} is like {shown(str(pattern.value))}"
        advice = "% stands for any letters or none, _ for one; capitals count"
        raise PredicateError(message, pattern.offset, advice)
    return np.append(fitting ^ negated, np.zeros(int(column.missing), dtype=np.bool_))


def _is_days(column: Column) -> bool:
    return isinstance(column, TextColumn) and column.dates


def day_part_mask(attribute: Attribute, name: DayPart, sign: str, literal: Literal) -> NDArray[np.bool_]:
    """Whether a comparison is true of all days that a code stands for.

    Raises: PredicateError where it is true of some of them only, for a column that holds no dates, or for a number that
    no day has.
    """
    if isinstance(attribute, PeriodAttribute):
        advice = f"make the {name.part} an attribute of the policy: {{from: {attribute.name}, as: {name.part}}}"
        raise PredicateError(
            f"{shown(attribute.name)} has periods, which may have several of them", name.offset, advice
        )
    if not isinstance(attribute, DateAttribute):
        raise PredicateError(f"{shown(str(name.name))} holds no dates, and has no {name.part}", name.offset)
    number = literal.value
    if isinstance(number, str):
        if name.part != "weekday" or number not in WEEKDAYS:
            advice = did_you_mean(number, WEEKDAYS) if name.part == "weekday" else "remove the quotes"
            raise PredicateError(f"{shown(str(name))} is a number, found a text", literal.offset, advice)
        number = Fraction(1 + WEEKDAYS.index(number))
    numbers, begins = attribute.parts(name.part)
    own = np.unique(numbers)
    _check_listed(NumberColumn(str(name), tuple(map(Fraction, own.tolist()))), sign, number, literal.offset)
    true = np.isin(numbers, [one for one in own.tolist() if _COMPARE[sign](one, number)])
    every, some = np.logical_and.reduceat(true, begins), np.logical_or.reduceat(true, begins)
    if np.any(every != some):
        first = attribute.first + timedelta(int(begins[int(np.argmax(every != some))]))
        days = f"the {attribute.step} days from {first}, which are one value of {shown(attribute.name)}"
        advice = f"make the {name.part} an attribute of the policy: {{from: {attribute.name}, as: {name.part}}}"
        raise PredicateError(f"{name} {sign} {plain(number)} cuts through {days}", literal.offset, advice)
    return np.asarray(every, dtype=np.bool_)


def _check_listed(column: Column, sign: str, value: Any, offset: int) -> None:
    """A number or a day between the values would silently mean one of its neighbours. ISO days sort as texts do."""
    values = column.texts if isinstance(column, TextColumn) else column.numbers
    endless = isinstance(column, TextColumn) and column.endless and value > values[-1]
    if value in values or (sign not in ("==", "!=") and not endless and not min(values) < value < max(values)):
        return
    said = shown(value) if isinstance(value, str) else plain(value)
    advice = f"use {_nearest(values, value)}"
    if isinstance(column, TextColumn) and column.dates and values[0] == BEFORE and value < values[1]:
        advice = f"all days before {values[1]} are one value: write {column.name} < '{values[1]}'"
    raise PredicateError(f"{said} is no value of {shown(column.name)}", offset, advice)


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


def letters_of(pattern: Literal) -> list[str | None]:
    """The pattern's letters; None for any one letter, the empty word for any letters or none.

    Raises: PredicateError for a backslash before anything else than ``%``, ``_`` or a backslash.
    """
    letters: list[str | None] = []
    text, at = str(pattern.value), 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
            if text[at : at + 1] not in ("%", "_", "\\"):
                advice = "write \\\\ for a backslash itself"
                raise PredicateError(
                    "in a pattern a backslash stands before %, _ or a backslash", pattern.offset, advice
                )
            letters.append(text[at])
        else:
            letters.append({"%": "", "_": None}.get(text[at], text[at]))
        at += 1
    return letters


def fits(word: str, letters: Sequence[str | None]) -> bool:
    """Whether a word fits a pattern: the last ``%`` takes one letter more whenever what follows does not fit."""
    at = place = 0
    again: tuple[int, int] | None = None
    while at < len(word):
        if place < len(letters) and letters[place] == "":
            place += 1
            again = (at, place)
        elif place < len(letters) and letters[place] in (None, word[at]):
            at, place = at + 1, place + 1
        elif again is not None:
            again = (again[0] + 1, again[1])
            at, place = again
        else:
            return False
    return all(letter == "" for letter in letters[place:])
