"""Tables that are no files: those in memory become one Arrow table of the wanted columns, relations flow by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from dxgeom.engines.files import flowing_from_iceberg, is_iceberg, names_of_iceberg
from dxgeom.engines.source import ibis, is_made_by, quoted
from dxgeom.errors import DataError

_ROWS: Final = 10_000
_ASK_FOR_TEXT: Final = (
    "ask for text by a query in place of the table's name, such as SELECT CAST(age AS TEXT) AS age FROM visits"
)


def _rows_of_sqlite(expression: ibis.Table, wanted: tuple[str, ...]) -> pa.RecordBatchReader:
    """The result of an expression, in the types that Ibis says it has, but for days and moments, which SQLite keeps as
    words; in memory, for a connection of SQLite serves one thread only.

    Ibis' own way needs pandas, and rounds whole numbers beyond 2⁵³.
    Raises: DataError for cells that are not of their column's type, as SQLite allows; it shows none of them.
    """
    fields = expression.schema().to_pyarrow()
    schema = pa.schema([one.with_type(pa.string()) if pa.types.is_temporal(one.type) else one for one in fields])
    cursor = expression.get_backend().con.execute(str(ibis.to_sql(expression, dialect="sqlite")))
    return pa.RecordBatchReader.from_batches(schema, list(_batches(cursor, schema, wanted)))


def _batches(cursor: Any, schema: pa.Schema, wanted: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    while rows := cursor.fetchmany(_ROWS):
        each = zip(zip(*rows, strict=True), schema.types, wanted, strict=True)
        yield pa.record_batch([_column(*one) for one in each], schema)


def _column(cells: tuple[Any, ...], kind: pa.DataType, name: str) -> pa.Array:
    try:
        if pa.types.is_boolean(kind):
            return pa.array(cells, pa.int64()).cast(kind)
        if pa.types.is_decimal(kind):
            return pa.array([cell if cell is None else Decimal(str(cell)) for cell in cells], kind)
        return pa.array(cells, kind)
    except (pa.ArrowException, ArithmeticError):
        raise DataError(
            f"a cell of column '{name}' is not of its type, {kind}, as SQLite allows: correct it, or {_ASK_FOR_TEXT}"
        ) from None


_REGISTERED_BY_IBIS: Final = ("InMemoryTable", "ScalarUDF", "AggUDF")
"""What DuckDB learns of only when Ibis itself runs an expression."""


_WHOLE: Final = 2**53
"""Beyond it pandas would have rounded integers."""
_READ_FROM: Final = ("duckdb", "sqlite")
"""Ibis' backends that this engine reads itself; the suite of engines holds for no further ones."""


def backend_of(table: Any) -> str | None:
    """The name of the backend of an Ibis table; None for any other table, and for one that is bound to none."""
    if not is_made_by(table, "Table", "ibis"):
        return None
    try:
        return str(table.get_backend().name)
    except ibis.IbisError:
        return None


def _as_a_frame(table: Any) -> str:
    if hasattr(table, "to_frame"):
        return ": its to_frame() makes a table of it"
    return ": name the file itself" if hasattr(table, "read") else ""


def names_of_frame(table: Any) -> tuple[str, ...]:
    """The column names of a table in memory, or of one that flows by; no row is fetched for them where they are known.

    Raises: DataError when it is not a table.
    """
    if is_iceberg(table):
        return names_of_iceberg(table)
    if _is_pandas(table):
        return _names_of_pandas(table)
    if isinstance(table, duckdb.DuckDBPyRelation) or is_made_by(table, "Table", "ibis"):
        return tuple(str(name) for name in table.columns)
    if _is_lazy_polars(table):
        return tuple(table.collect_schema().names())
    if _is_dataset(table):
        _refuse_text(table)
    if isinstance(table, pa.Table | pa.RecordBatch | pa.RecordBatchReader) or _is_dataset(table):
        return tuple(table.schema.names)
    if hasattr(table, "__arrow_c_stream__") and hasattr(table, "columns"):
        return tuple(pa.table(table).schema.names)
    raise DataError(
        "a table is the path of a file, a pandas or polars DataFrame, an Arrow table, or an array of counts; "
        f"found {type(table).__name__}{_as_a_frame(table)}"
    )


def _refuse_text(dataset: Any) -> None:
    """Arrow reads a text file with cells of several lines, so that one row may swallow others. Raises: DataError."""
    if getattr(getattr(dataset, "format", None), "default_extname", None) == "csv":
        raise DataError(
            "the dataset holds text files, and a row of a text file is one line, which Arrow does not ask for: hand "
            "over the path of the file itself, or write the table as Parquet"
        )
    for part in getattr(dataset, "children", ()):
        _refuse_text(part)


def _names_of_pandas(table: Any) -> tuple[str, ...]:
    """Raises: DataError for names of several levels."""
    levels = table.columns.nlevels
    if levels > 1:
        raise DataError(
            f"a column has one name, and those of this DataFrame have {levels} levels (a MultiIndex): name them anew, "
            f"such as by table.columns = ['_'.join(map(str, names)) for names in table.columns]"
        )
    return tuple(str(name) for name in table.columns)


def index_of_frame(table: Any) -> tuple[str, ...]:
    """The names of what a pandas DataFrame has as its index, which are no columns."""
    return tuple(str(name) for name in table.index.names if name is not None) if _is_pandas(table) else ()


def flowing(table: Any, wanted: tuple[str, ...]) -> Callable[[], pa.RecordBatchReader] | None:
    """What makes the wanted columns of a table flow by from their first row, named c0, c1, …; never all in memory.

    None for a table that is in memory already, and for a reader, which flows once only.
    """
    if isinstance(table, duckdb.DuckDBPyRelation):
        chosen = ", ".join(f"{quoted(name)} AS c{position}" for position, name in enumerate(wanted))
        return lambda: pa.RecordBatchReader.from_stream(table.project(chosen))
    if is_made_by(table, "Table", "ibis"):
        if (backend := backend_of(table)) not in _READ_FROM:
            raise DataError(
                "tables of Ibis are read from DuckDB, PostgreSQL, Spark and SQLite, which count alike; this "
                f"one is on {backend or 'no backend'}: hand it over as an Arrow table, by to_pyarrow()"
            )
        columns = {f"c{position}": table[name] for position, name in enumerate(wanted)}
        return lambda: _rows_of(table.select(**columns), wanted)
    if is_iceberg(table):
        return flowing_from_iceberg(table, wanted)
    if _is_dataset(table):
        import pyarrow.compute as pc  # slow to load

        fields = {f"c{position}": pc.field(name) for position, name in enumerate(wanted)}
        return lambda: table.scanner(columns=fields).to_reader()
    return None


def _rows_of(expression: ibis.Table, wanted: tuple[str, ...]) -> pa.RecordBatchReader:
    backend = expression.get_backend()
    if expression.op().find(tuple(getattr(ibis.expr.operations, kind) for kind in _REGISTERED_BY_IBIS)):
        return expression.to_pyarrow().to_reader()
    if backend.name == "sqlite":
        return _rows_of_sqlite(expression, wanted)
    # Ibis' own batches of DuckDB need a method that newer versions of DuckDB lack.
    return pa.RecordBatchReader.from_stream(backend.con.sql(str(ibis.to_sql(expression, dialect="duckdb"))))


def arrow_of_frame(table: Any, wanted: tuple[str, ...], places: tuple[int, ...]) -> pa.Table:
    """The columns at ``places`` of a table in memory, named c0, c1, …; ``wanted`` are their names for messages."""
    if _is_pandas(table):
        columns = [_column_of_pandas(table.iloc[:, place], name) for name, place in zip(wanted, places, strict=True)]
    else:
        columns = list(_chosen(table, wanted, places).columns)
    return pa.table({f"c{position}": _typed(column) for position, column in enumerate(columns)})


def _chosen(table: Any, wanted: tuple[str, ...], places: tuple[int, ...]) -> pa.Table:
    """The columns at ``places`` as one Arrow table; of what is worked out or flows by, only these are kept."""
    if _is_lazy_polars(table):
        return pa.table(table.select(list(wanted)).collect())
    if isinstance(table, pa.RecordBatchReader):
        schema = pa.schema([table.schema.field(place) for place in places])
        return pa.Table.from_batches((batch.select(places) for batch in _each(table)), schema)
    arrow = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else pa.table(table)
    return arrow.select(places)


def _each(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Raises: DataError for whatever is raised by what makes its rows."""
    try:
        yield from reader
    except Exception as error:
        raise DataError(f"the reader of the table failed before its end, by {type(error).__name__}: {error}") from error


def _column_of_pandas(series: Any, name: str) -> Any:
    if series.dtype.kind == "c":
        raise DataError(
            f"a cell is a word, a number or a date, but column '{name}' of the DataFrame holds complex numbers: keep "
            f"the part that is meant, such as table['{name}'].to_numpy().real"
        )
    try:
        return pa.Array.from_pandas(_whole_again(series))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"every cell of a column has the same type, but column '{name}' of the DataFrame mixes types; "
            "convert it first, for instance to text"
        ) from error


def _whole_again(series: Any) -> Any:
    """Integers of which some are missing, where pandas made floats of them to have a place for those: 1.0, 2.0, NaN.

    A column of floats without a missing cell was one of floats, and stays it.
    """
    cells = series.to_numpy() if str(series.dtype) == "float64" else np.zeros(0)
    there = cells[~np.isnan(cells)]
    if len(there) in (0, len(cells)) or not np.all((np.abs(there) <= _WHOLE) & (there == np.floor(there))):
        return series
    return series.astype("Int64")


def _typed(column: Any) -> Any:
    """A column without any value has no type either; text lets every cell count as missing."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return pa.nulls(len(column), pa.string()) if pa.types.is_null(kind) else column


def _is_pandas(table: Any) -> bool:
    # By name, so that pandas is not needed for those who do not use it.
    kind = type(table)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


def _is_lazy_polars(table: Any) -> bool:
    kind = type(table)
    return kind.__name__ == "LazyFrame" and kind.__module__.partition(".")[0] == "polars"


def _is_dataset(table: Any) -> bool:
    return is_made_by(table, "Dataset", "pyarrow._dataset")
