"""Rows of SQLite, through Ibis, as Arrow. (Ibis' own way needs pandas, and rounds whole numbers beyond 2⁵³.)"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from dxgeom.engines.tables.later import ibis

_ROWS: Final = 10_000


def rows_of_sqlite(expression: ibis.Table) -> pa.RecordBatchReader:
    """The result of an expression, in the types that Ibis says it has, but for days and moments, which SQLite keeps as
    words; in memory, for a connection of SQLite serves one thread only.

    Raises: pyarrow.ArrowException for cells that are not of their column's type, as SQLite allows.
    """
    fields = expression.schema().to_pyarrow()
    schema = pa.schema([one.with_type(pa.string()) if pa.types.is_temporal(one.type) else one for one in fields])
    cursor = expression.get_backend().con.execute(str(ibis.to_sql(expression, dialect="sqlite")))
    return pa.RecordBatchReader.from_batches(schema, list(_batches(cursor, schema)))


def _batches(cursor: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while rows := cursor.fetchmany(_ROWS):
        each = zip(zip(*rows, strict=True), schema.types, strict=True)
        yield pa.record_batch([_column(cells, kind) for cells, kind in each], schema)


def _column(cells: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pa.array(cells, pa.int64()).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array([cell if cell is None else Decimal(str(cell)) for cell in cells], kind)
    return pa.array(cells, kind)
