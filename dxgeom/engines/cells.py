"""The cells of a column as words, as numbers, as days or as moments.

A missing cell is null (or NaN among numbers); one that is there but is no number is infinite, which no value is.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import pyarrow as pa

from dxgeom.engines.tables.later import ibis
from dxgeom.engines.tables.source import Source
from dxgeom.errors import DataError

_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = "[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
MOMENT_OR_DAY: Final = f"^{_DAY}({_CLOCK})?$"
_OFFSET: Final = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_NUMBER: Final = "^ *[-+]?[0-9]{1,99}([.][0-9]{0,99})?([eE][-+]?[0-9]{1,2})? *$"
_DECIMAL_NAME: Final = "^ *[-+]?[0-9]+([.]0*|([.][0-9]*)?[eE][-+]?[0-9]+) *$"
"""Whole numbers as programs write them that took names for decimals: 7.0, or 1.5e+07 for several people at once."""
_INSTANT: Final = "timestamp('UTC')"


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
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
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
        return ibis.coalesce(moments_of_text(column, with_hours=False).date().cast("string"), column)
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


def person_cell(source: Source, position: int, name: str) -> Any:
    """Whose a row is, as text or a whole number; null where it does not say.

    Raises: DataError for a column whose type does not fit.
    """
    column, kind = source.rows[f"k{position}"], source.types[position]
    if is_text(kind):
        said = column.nullif("")
        otherwise = said.re_search(_DECIMAL_NAME)
        return said if source.text is None else ibis.ifelse(otherwise, ibis.null("string"), said)
    if pa.types.is_integer(kind):
        return column
    raise wrong_type(source, name, kind, "text or whole numbers that say whose a row is", "convert the column")


def place_cell(source: Source, position: int, name: str) -> Any:
    """The place of a row in the order of a person's rows; null where it does not say.

    Raises: DataError for a column whose type does not fit.
    """
    column, kind = source.rows[f"k{position}"], source.types[position]
    if is_text(kind):
        return column.nullif("")
    if pa.types.is_floating(kind):
        return ibis.ifelse(column.isnan(), ibis.null(column.type()), column)
    plain = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_date, pa.types.is_timestamp)
    if any(fits(kind) for fits in plain):
        return column
    raise wrong_type(
        source, name, kind, "numbers, text, dates or moments, which have an order", "choose another column"
    )


def in_order_of_text(place: Any) -> list[Any]:
    """What puts texts in order on every engine: those that may be numbers by size, 9 before 10; words after them."""
    number = ibis.ifelse(place.re_search(_NUMBER), place, ibis.null("string")).cast("float64")
    return [number.isnull(), number, place]


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
    return all(batch.column("held").to_pylist() == [0] for batch in source.finished(held, lambda counted: counted))


def _of_the_engine(zone: str, instant: Any) -> Any:
    """Named only; the engine has the function."""


@cache
def _clocks() -> Any:
    signature = ((ibis.dtype("string"), ibis.dtype(_INSTANT)), ibis.dtype("timestamp"))
    return ibis.udf.scalar.builtin(name="timezone", signature=signature)(_of_the_engine)


def at_clocks(zone: str | None, instant: Any) -> Any:
    """What clocks in a zone show at an instant."""
    return _clocks()(ibis.literal(zone), instant)


def moments_of_text(column: Any, *, with_hours: bool) -> Any:
    """The moments that texts such as 2024-02-29 or 2024-02-29 13:45 name; null for any other, and for those that name
    a zone, which would be left unheard."""
    named = column.re_search(f"^{_DAY}{_CLOCK}$" if with_hours else MOMENT_OR_DAY)
    return ibis.ifelse(named, column, ibis.null("string")).try_cast("timestamp")


def instants_of_text(column: Any) -> Any:
    """The instants that texts such as 2024-02-29T13:45Z or 2024-02-29 13:45+01:00 name; null for any other."""
    named = column.re_search(f"^{_DAY}{_CLOCK}{_OFFSET}$")
    return ibis.ifelse(named, column, ibis.null("string")).try_cast(_INSTANT)
