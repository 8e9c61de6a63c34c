"""Tables that are no files: those in memory become one Arrow table of the wanted columns, relations flow by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import ibis
import ibis.expr.operations as operations
import pyarrow as pa

from dxgeom.errors import DataError

_REGISTERED_BY_IBIS = (operations.InMemoryTable, operations.ScalarUDF, operations.AggUDF)
"""What DuckDB learns of only when Ibis itself runs an expression."""


def names_of_frame(table: Any) -> tuple[str, ...]:
    """The column names of a table in memory, or of a relation; no row is fetched for them where they are known.

    Raises: DataError when it is not a table.
    """
    if _is_pandas(table) or _flows(table):
        return tuple(str(name) for name in table.columns)
    if isinstance(table, pa.Table):
        return tuple(table.schema.names)
    if hasattr(table, "__arrow_c_stream__") and hasattr(table, "columns"):
        return tuple(pa.table(table).schema.names)
    raise DataError(
        "a table is the path of a file, a pandas or polars DataFrame, an Arrow table, or an array of counts; "
        f"found {type(table).__name__}"
    )


def flowing(table: Any, wanted: tuple[str, ...]) -> Callable[[], pa.RecordBatchReader] | None:
    """What makes the wanted columns of a relation flow by from their first row, named c0, c1, …; never all in memory.

    None for a table that is in memory already.
    """
    if isinstance(table, duckdb.DuckDBPyRelation):
        chosen = ", ".join(f"{_identifier(name)} AS c{position}" for position, name in enumerate(wanted))
        return lambda: pa.RecordBatchReader.from_stream(table.project(chosen))
    if isinstance(table, ibis.Table):
        columns = {f"c{position}": table[name] for position, name in enumerate(wanted)}
        return lambda: _rows_of(table.select(**columns))
    return None


def _rows_of(expression: ibis.Table) -> pa.RecordBatchReader:
    backend = expression.get_backend()
    if backend.name != "duckdb":
        return expression.to_pyarrow_batches()
    if expression.op().find(_REGISTERED_BY_IBIS):
        return expression.to_pyarrow().to_reader()
    # Ibis' own batches of DuckDB need a method that newer versions of DuckDB lack.
    return pa.RecordBatchReader.from_stream(backend.con.sql(str(ibis.to_sql(expression, dialect="duckdb"))))


def arrow_of_frame(table: Any, wanted: tuple[str, ...], places: tuple[int, ...]) -> pa.Table:
    """The columns at ``places`` of a table in memory, named c0, c1, …; ``wanted`` are their names for messages."""
    if _is_pandas(table):
        columns = [_column_of_pandas(table.iloc[:, place], name) for name, place in zip(wanted, places, strict=True)]
    else:
        arrow = table if isinstance(table, pa.Table) else pa.table(table)
        columns = [arrow.column(place) for place in places]
    return pa.table({f"c{position}": _typed(column) for position, column in enumerate(columns)})


def _column_of_pandas(series: Any, name: str) -> Any:
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"every cell of a column has the same type, but column '{name}' of the DataFrame mixes types; "
            "convert it first, for instance to text"
        ) from error


def _typed(column: Any) -> Any:
    """A column without any value has no type either; text lets every cell count as missing."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return pa.nulls(len(column), pa.string()) if pa.types.is_null(kind) else column


def _flows(table: Any) -> bool:
    return isinstance(table, duckdb.DuckDBPyRelation | ibis.Table)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_pandas(table: Any) -> bool:
    # By name, so that pandas is not needed for those who do not use it.
    kind = type(table)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"
