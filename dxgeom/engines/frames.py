"""Tables in memory: pandas, polars and Arrow tables become one Arrow table of the wanted columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dxgeom.errors import DataError


def names_of_frame(table: Any) -> tuple[str, ...]:
    """The column names of a table in memory.

    Raises: DataError when it is not a table.
    """
    if _is_pandas(table):
        return tuple(str(name) for name in table.columns)
    if isinstance(table, pa.Table):
        return tuple(table.schema.names)
    if hasattr(table, "__arrow_c_stream__") and hasattr(table, "columns"):
        return tuple(pa.table(table).schema.names)
    raise DataError(
        "a table is the path of a file, a pandas or polars DataFrame, an Arrow table, or an array of counts; "
        f"found {type(table).__name__}"
    )


def arrow_of_frame(table: Any, wanted: tuple[str, ...], places: tuple[int, ...]) -> pa.Table:
    """The columns at ``places``, named c0, c1, …; ``wanted`` are their names for messages."""
    if _is_pandas(table):
        columns = [_column_of_pandas(table.iloc[:, place], name) for name, place in zip(wanted, places, strict=True)]
    else:
        arrow = table if isinstance(table, pa.Table) else pa.table(table)
        columns = [arrow.column(place) for place in places]
    plain = [_without_codes(column) for column in columns]
    return pa.table({f"c{position}": column for position, column in enumerate(plain)})


def _column_of_pandas(series: Any, name: str) -> Any:
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"every cell of a column has the same type, but column '{name}' of the DataFrame mixes types; "
            "convert it first, for instance to text"
        ) from error


def _without_codes(column: Any) -> Any:
    # A column without any value has no type either; text lets every cell count as missing.
    if pa.types.is_dictionary(column.type):
        return _without_codes(column.cast(column.type.value_type))
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def _is_pandas(table: Any) -> bool:
    # By name, so that pandas is not needed for those who do not use it.
    kind = type(table)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"
