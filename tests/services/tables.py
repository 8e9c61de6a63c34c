"""Where tests keep tables: each engine's own way, from one Arrow table."""

from __future__ import annotations

import datetime
import itertools
import sqlite3
import weakref
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from services.postgres import PostgresServer

HERE = ("parquet", "relation", "SQLite")
SERVERS = {"PostgreSQL": "postgres", "Spark": "spark"}
"""The engines, by the service that they need."""
_NUMBERS = itertools.count(1)
_POSTGRES = {
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", tz="UTC"): "timestamptz",
}


def as_parquet(table: pa.Table, folder: Path) -> Any:
    path = folder / f"table{next(_NUMBERS)}.parquet"
    pq.write_table(table, path, row_group_size=1000)
    return path


def as_relation(table: pa.Table, folder: Path) -> Any:
    return duckdb.connect().sql(f"SELECT * FROM '{as_parquet(table, folder)}'")


_FORGOTTEN: list[sqlite3.Connection] = []


def of_sqlite(file: Path, name: str) -> Any:
    """A table of a file that Ibis opens. It leaves the file open, of which Python warns from 3.13 on; and it may be
    forgotten in a thread that must not close it."""
    import ibis

    opened = ibis.sqlite.connect(file)
    weakref.finalize(opened, _FORGOTTEN.append, opened.con)
    while _FORGOTTEN:
        _FORGOTTEN.pop().close()
    return opened.table(name)


def as_sqlite(table: pa.Table, folder: Path) -> Any:
    name = f"table{next(_NUMBERS)}"
    columns = ", ".join(f'"{field.name}" {_sqlite_type(field.type)}' for field in table.schema)
    rows = zip(*(map(_as_sqlite_keeps, column.to_pylist()) for column in table.columns), strict=True)
    with closing(sqlite3.connect(folder / f"{name}.db")) as connection:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * table.num_columns)})", rows)
        connection.commit()
    return of_sqlite(folder / f"{name}.db", name)


def as_spark(session: Any, table: pa.Table, folder: Path) -> Any:
    return session.read.parquet(str(as_parquet(table, folder)))


class PostgresTables:
    """Tables in a database of their own."""

    def __init__(self, server: PostgresServer) -> None:
        self._server, self._database = server, server.new_database()

    def url(self, what: str) -> str:
        return f"{self._server.url(self._database)}#{what}"

    def execute(self, statement: str) -> None:
        self._server.execute(statement, database=self._database)

    def keep(self, table: pa.Table, _: Path) -> str:
        import psycopg

        name = f"table{next(_NUMBERS)}"
        with psycopg.connect(self._server.url(self._database), autocommit=True) as connection:
            columns = ", ".join(f'"{field.name}" {_postgres_type(field.type)}' for field in table.schema)
            connection.execute(f"CREATE TABLE {name} ({columns})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)
        return self.url(name)


def _sqlite_type(kind: pa.DataType) -> str:
    return f"decimal({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _POSTGRES[kind]


def _as_sqlite_keeps(cell: Any) -> Any:
    return str(cell) if isinstance(cell, datetime.date | Decimal) else cell


def _postgres_type(kind: pa.DataType) -> str:
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _POSTGRES[kind]
