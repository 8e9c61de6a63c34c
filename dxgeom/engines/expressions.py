"""Carrying out what a policy makes of a row's cells, in the engine's own terms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from dxgeom.engines.cells import (
    at_clocks,
    day_cell,
    instants_of_text,
    is_text,
    moments_of_text,
    number_cell,
    word_cell,
    wrong_type,
)
from dxgeom.engines.tables.later import ibis
from dxgeom.engines.tables.source import Source
from dxgeom.universe.reading.expressions import (
    Arithmetic,
    Expression,
    LocalDay,
    MomentPart,
    Number,
    NumberCell,
    WordCell,
)

_PARTS: Final[dict[str, Callable[[Any], Any]]] = {
    "year": lambda moment: moment.year(),
    "quarter": lambda moment: moment.quarter(),
    "month": lambda moment: moment.month(),
    "weekday": lambda moment: moment.day_of_week.index() + 1,
    "hour": lambda moment: moment.hour(),
}


def carried_out(source: Source, expression: Expression, places: dict[str, int]) -> Any:
    """What an expression makes of each row, as :func:`cells_of` hands cells over.

    Args: ``places``: where each of its columns stands in the source.
    Raises: DataError for a column whose type does not fit.
    """
    match expression:
        case WordCell(column=column, length=length):
            word = word_cell(source, places[column], column)
            return word if length is None else word.substr(0, length)
        case LocalDay(column=column, zone=zone):
            return day_cell(source, places[column], column, zone)
        case MomentPart(column=column):
            return _moment_part(source, expression, places[column])
        case _:
            return _numbers(source, expression, places)


def _moment_part(source: Source, expression: MomentPart, place: int) -> Any:
    """Missing where the cell is, infinite where it is no moment."""
    column, kind = source.rows[f"k{place}"], source.types[place]
    knows_zone = pa.types.is_timestamp(kind) and kind.tz is not None
    shows_clocks = pa.types.is_timestamp(kind) or (pa.types.is_date(kind) and expression.part != "hour")
    if is_text(kind) and expression.zone is None:
        moment = moments_of_text(column, with_hours=expression.part == "hour")
    elif is_text(kind):
        moment = at_clocks(expression.zone, instants_of_text(column))
    elif knows_zone and expression.zone is not None:
        moment = at_clocks(expression.zone, column)
    elif shows_clocks and not knows_zone and expression.zone is None:
        moment = column.cast("timestamp")
    else:
        raise _no_moments(source, expression, kind, knows_zone)
    part = _PARTS[expression.part](moment).cast("float64")
    return ibis.ifelse(column.isnull(), ibis.null("float64"), ibis.coalesce(part, ibis.literal(math.inf)))


def _no_moments(source: Source, expression: MomentPart, kind: pa.DataType, knows_zone: bool) -> Exception:
    advice = f"convert it to dates or times, of which the {expression.part} can be told"
    if knows_zone:
        advice = "its moments know their own zone: say beside 'as' which clocks count, as in 'zone: Europe/Berlin'"
    elif expression.zone is not None and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        advice = "its moments know no zone of their own: leave out 'zone'"
    return wrong_type(source, expression.column, kind, "moments", advice)


def _numbers(source: Source, expression: Expression, places: dict[str, int]) -> Any:
    """Missing where an operand is or a divisor is 0, infinite where an operand cannot be read or a number is too large.

    Operands are tried before anything is worked out, so that infinities never meet.
    """
    cells = {column: number_cell(source, places[column], column) for column in expression.columns}
    missing = _any([cell.isnull() | cell.isnan() for cell in cells.values()])
    unreadable = _any([cell.isinf() for cell in cells.values()])
    found = _worked_out(expression, cells)
    sound = ibis.ifelse(found.isnan(), ibis.literal(math.inf), found)
    nothing = ibis.null("float64")
    return ibis.ifelse(missing, nothing, ibis.ifelse(unreadable, ibis.literal(math.inf), sound))


def _worked_out(expression: Expression, cells: dict[str, Any]) -> Any:
    match expression:
        case NumberCell(column=column):
            return cells[column]
        case Number(value=value):
            # As text, because engines read long decimals less exactly than their text.
            return ibis.literal(repr(float(value))).cast("float64")
        case Arithmetic(sign=sign, left=left, right=right):
            one, other = (_worked_out(side, cells) for side in (left, right))
            match sign:
                case "+":
                    return one + other
                case "-":
                    return one - other
                case "*":
                    return one * other
                case "/":
                    return one / other.nullif(ibis.literal(0.0))
    raise TypeError(f"no engine knows a {type(expression).__name__}")


def _any(parts: list[Any]) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = found | part
    return found
