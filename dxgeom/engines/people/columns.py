"""Columns about people: whose a row is, and which of a person's rows comes first."""

from __future__ import annotations

from typing import Any, Final

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa

from dxgeom.engines.cells import instants_of_text, is_text, moments_of_text, word_cell, wrong_type
from dxgeom.engines.sources import Source

_WHOLE: Final = "^[+-]?[0-9]{1,18}$"


def order_cell(source: Source, position: int, name: str) -> Any:
    """The order of rows as integers, floats or moments, null where a cell is none; of text, whichever fits all of it.

    Raises: DataError for a column that cannot be put in order alike on every engine.
    """
    column, kind = source.rows[f"k{position}"], source.types[position]
    ordered = pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_date(kind)
    if ordered or pa.types.is_timestamp(kind):
        return column
    if pa.types.is_floating(kind):
        return ibis.ifelse(column.isnan(), ibis.null("float64"), column.cast("float64"))
    if is_text(kind):
        whole = ibis.ifelse(column.re_search(_WHOLE), column, ibis.null("string")).try_cast(dt.int64)
        for reading in (whole, moments_of_text(column, with_hours=False), instants_of_text(column)):
            if not has_some(source, source.rows.filter(reading.isnull())):
                return reading
    advice = "give it whole numbers, or moments such as 2024-02-29 13:45"
    raise wrong_type(source, name, kind, "what rows are put in order by, with no cell empty", advice)


def person_cell(source: Source, position: int, name: str) -> Any:
    """Who a row is of, as text; an empty word is nobody. Raises: DataError for numbers that are not whole."""
    return word_cell(source, position, name).nullif("")


def has_some(source: Source, rows: Any) -> bool:
    """Whether there is any row."""
    return bool(source.query(rows.limit(1)).fetchall())
