"""The cells of a column as words, as numbers or as days.

A missing cell is null (or NaN among numbers); one that is there but is no number is infinite, which no value is.
"""

from __future__ import annotations

import math
from typing import Any

import ibis
import pyarrow as pa

from dxgeom.engines.moments import at_clocks, instants_of_text
from dxgeom.engines.sources import Source
from dxgeom.errors import DataError


def number_cell(source: Source, position: int, name: str) -> Any:
    """As float64. Raises: DataError for a column whose type does not fit."""
    column, kind = source.rows[f"k{position}"], source.types[position]
    if _is_number(kind):
        return column.cast("float64")
    if is_text(kind) and (source.text is not None or _holds_nothing(source, position)):
        unreadable = ibis.ifelse(column.isnull(), ibis.null("float64"), ibis.literal(math.inf))
        return ibis.coalesce(column.try_cast("float64"), unreadable)
    raise wrong_type(source, name, kind, "numbers", "convert the column to numbers")


def word_cell(source: Source, position: int, name: str) -> Any:
    """As text. Raises: DataError for a column whose type does not fit."""
    column, kind = source.rows[f"k{position}"], source.types[position]
    if is_text(kind):
        return column
    if pa.types.is_integer(kind):
        return column.cast("string")
    raise wrong_type(source, name, kind, "text", "convert the column to text, written as the policy writes its values")


def day_cell(source: Source, position: int, name: str, zone: str | None = None) -> Any:
    """As text, year-month-day; of instants the day that calendars show in ``zone``.

    Raises: DataError for a column whose type does not fit.
    """
    column, kind = source.rows[f"k{position}"], source.types[position]
    knows_zone = pa.types.is_timestamp(kind) and kind.tz is not None
    if zone is not None and is_text(kind):
        day = at_clocks(zone, instants_of_text(column)).date().cast("string")
        return ibis.coalesce(day, column)
    if zone is not None and knows_zone:
        return at_clocks(zone, column).date().cast("string")
    if is_text(kind):
        return column
    if zone is None and (pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and not knows_zone)):
        return column.cast("date").cast("string")
    if _holds_nothing(source, position):
        return column.cast("string")
    advice = "convert the column to dates, or to text such as 2024-02-29"
    if knows_zone:
        advice = "its days depend on the time zone: convert the column to dates in the one meant, or say 'zone'"
    elif zone is not None:
        advice = "its moments know no zone of their own: leave out 'zone'"
    raise wrong_type(source, name, kind, "dates", advice)


def wrong_type(source: Source, name: str, kind: pa.DataType, needed: str, advice: str) -> DataError:
    """The refusal of a column that does not hold what is needed."""
    found = "text" if is_text(kind) else str(kind)
    return DataError(f"column '{name}' of {source.described} must hold {needed}, but holds {found}; {advice}")


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds words."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def repeats(kind: pa.DataType) -> bool:
    """Whether cells of this type are often equal."""
    return bool(pa.types.is_integer(kind)) or is_text(kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _holds_nothing(source: Source, position: int) -> bool:
    held = source.rows.agg(held=source.rows[f"k{position}"].count())
    return bool(source.query(held).fetchall() == [(0,)])
