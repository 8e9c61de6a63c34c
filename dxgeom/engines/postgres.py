"""Tables on a PostgreSQL server, in one transaction that only reads and sees one state of them.

Rows come by COPY, as text that means the same numbers; text is compared byte by byte, whatever its collation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.csv

from dxgeom.engines.embedded import connected, flowing_from
from dxgeom.engines.frames import backend_of
from dxgeom.engines.source import (
    Elsewhere,
    Engine,
    Source,
    Wanted,
    address_of,
    has_scheme,
    ibis,
    located,
    preceded,
    quoted,
)
from dxgeom.engines.watching import Extent, Unreachable, WrongAddress, plain_errors
from dxgeom.errors import DataError
from dxgeom.numeric.optional_library import optional_library
from dxgeom.universe.reading.reading import FileForm
from dxgeom.universe.universe import Universe

_MOMENT: Final = pa.timestamp("us")
_INSTANT: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "numeric": pa.float64(),
    "date": pa.date32(),
    "timestamp without time zone": _MOMENT,
    "timestamp with time zone": _INSTANT,
}
_WORDS: Final = ("text", "character varying", "character", "name", "uuid", '"char"', "citext", "unknown")
_LONGEST_DECIMAL: Final = 38
_FORMATS: Final[dict[pa.DataType, str]] = {
    pa.bool_(): "CASE WHEN {0} THEN 'true' WHEN NOT {0} THEN 'false' END",
    pa.string(): '({0})::text COLLATE "C"',
    _INSTANT: "({0}) AT TIME ZONE 'UTC'",
}
_ROUNDED: Final = (
    "CASE WHEN {0} = 'NaN' THEN 'NaN'::float8 WHEN {0} >= 1.797693134862315807e308 THEN 'infinity'::float8 "
    "WHEN {0} <= -1.797693134862315807e308 THEN '-infinity'::float8 WHEN abs({0}) <= 2.4703282292062327e-324 THEN 0 "
    "ELSE {0}::float8 END"
)
"""A long decimal as the nearest float64. A cast alone ends the query where there is none, or where it is 0."""
_SINCE_1970: Final = {
    "days": "CASE WHEN isfinite({0}) THEN {0} - date '1970-01-01' WHEN {0} > '2000-01-01' THEN 2147483647 "
    "WHEN {0} IS NOT NULL THEN -2147483647 END",
    "moments": "CASE WHEN {0} IS NOT NULL THEN "
    "least(greatest(extract(epoch FROM {0}) * 1000000, -9223372036854775807), 9223372036854775807)::bigint END",
}
"""Days and microseconds: those of any year, and infinite ones, which are the ends of their range in DuckDB, too."""
_EXAMPLE: Final = "postgresql://server/database#schema.table"
_BLOCK: Final = 1 << 20


@final
class Postgres(Engine):
    """``postgresql://…#table``, ``postgresql://…#SELECT …``, and Ibis tables of that backend, in their own session."""

    name = "PostgreSQL"

    def takes(self, table: Any) -> bool:
        return has_scheme(table, "postgresql", "postgres") or backend_of(table) == "postgres"

    def look_up(self, table: Any, form: FileForm) -> None:
        if isinstance(table, str):
            address_of(table, _EXAMPLE)

    @contextmanager
    def opened(self, table: Any, wanted: Wanted, universe: Universe | None) -> Iterator[Source]:
        psycopg = optional_library("psycopg", "postgres", "tables on a PostgreSQL server are read")
        if backend_of(table) == "postgres":
            backend, described = table.get_backend(), "the table"
            with plain_errors(described), backend.con.transaction():
                # Refused there in a transaction of theirs that has read before, and sees each state as it comes.
                backend.con.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                yield from _source(backend.con, str(ibis.to_sql(table, dialect="postgres")), described, wanted)
            return
        address = address_of(table, _EXAMPLE)
        with plain_errors(address.described), _connected(psycopg, address.server) as connection:
            sql = address.what if address.is_query else f"SELECT * FROM {_named(address.what)}"  # noqa: S608
            yield from _source(connection, sql, address.described, wanted)


_SCHEMA: Final = """
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
        ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = a.atttypid ORDER BY e.enumsortorder),
        ARRAY(SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c
            WHERE c.conrelid = a.attrelid AND c.contype = 'c' AND c.conkey = ARRAY[a.attnum]),
        EXISTS(SELECT 1 FROM pg_constraint c
            WHERE c.conrelid = a.attrelid AND c.contype IN ('p', 'u') AND c.conkey = ARRAY[a.attnum])
    FROM pg_attribute a
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


def schema_of(url: str) -> tuple[str, list[tuple[str, str, bool, list[str], list[str], bool]]]:
    """What the table is called, and of each column its name and type, whether it may be empty, the words of its ENUM,
    its CHECKs, and whether no two rows can have the same in it. Reads the catalogue and no row.

    Raises: DataError; MissingExtra.
    """
    psycopg = optional_library("psycopg", "postgres", "tables on a PostgreSQL server are read")
    address = address_of(url, _EXAMPLE)
    if address.is_query:
        raise DataError(f"a draft is written for a table, not for a query: name one, such as {_EXAMPLE}")
    with plain_errors(address.described), _connected(psycopg, address.server) as connection:
        return address.what, connection.execute(_SCHEMA, (_named(address.what),)).fetchall()


@contextmanager
def _connected(psycopg: Any, server: str) -> Iterator[Any]:
    try:
        connection = psycopg.connect(server, client_encoding="UTF8", fallback_application_name="dxgeom")
    except psycopg.ProgrammingError:
        # The message may repeat the URL, and a password with it.
        raise WrongAddress(f"the URL of a PostgreSQL server looks like {_EXAMPLE}; this one cannot be read") from None
    except psycopg.Error as error:
        raise Unreachable(f"the PostgreSQL server cannot be reached: {' '.join(str(error).split())}") from None
    try:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        yield connection
    finally:
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
            connection.cancel()  # left in the middle: the server need not go on
        connection.close()


def _source(connection: Any, sql: str, described: str, wanted: Wanted) -> Iterator[Source]:
    """The source of a query, which ends with it."""
    columns = _columns(connection, sql)
    chosen = tuple(columns[place] for place in located([column.name for column in columns], wanted, described))
    types = tuple(column.type(described) for column in chosen)
    there = _Query(connection, sql, described, chosen, types, _extent(connection, sql))
    with connected() as here:
        yield flowing_from(here, there)


def _columns(connection: Any, sql: str) -> list[_Column]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM ({sql}) AS everything LIMIT 0")  # noqa: S608
        found = list(cursor.description)
        codes = [column.type_code for column in found]
        cursor.execute(
            "SELECT oid, CASE WHEN typtype = 'e' THEN 'text' ELSE format_type(oid, NULL) END "
            "FROM pg_type WHERE oid = ANY(%s::oid[])",
            (codes,),
        )
        called = dict(cursor.fetchall())
    return [_Column(one.name, called[code], one.precision, one.scale) for one, code in zip(found, codes, strict=True)]


def _extent(connection: Any, sql: str) -> Extent:
    """What the server's own plan of the query says; no row of it is read."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        (told,) = cursor.fetchone()
    # Sessions of Ibis leave it as text.
    plan = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
    return Extent(plan["Plan Rows"], plan["Plan Rows"] * plan["Plan Width"], estimated=True)


@final
@dataclass(frozen=True)
class _Column:
    """A column of a query. ``kind``: what the server calls its type; ``digits``, ``scale``: of decimals that say so."""

    name: str
    kind: str
    digits: int | None
    scale: int | None

    def type(self, described: str) -> pa.DataType:
        """Raises: DataError for a type that is not read."""
        stated = self.kind == "numeric" and self.digits is not None and self.scale is not None
        if stated and 0 <= (self.scale or 0) <= (self.digits or 0) <= _LONGEST_DECIMAL:
            return pa.decimal128(self.digits, self.scale)
        if self.kind in _WORDS:
            return pa.string()
        if self.kind in _TYPES:
            return _TYPES[self.kind]
        raise DataError(
            f"column '{self.name}' of {described} holds {self.kind}, which is not read; convert it in a query, to text"
        )

    def chosen(self, kind: pa.DataType) -> str:
        """The column as it is handed over, in SQL."""
        name = quoted(self.name)
        if self.kind == "numeric" and pa.types.is_floating(kind):
            return _ROUNDED.format(name)
        return _FORMATS.get(kind, "{0}").format(name)


@final
@dataclass(frozen=True)
class _Query(Elsewhere):
    """The wanted columns of a query."""

    connection: Any
    sql: str
    described: str
    columns: tuple[_Column, ...]
    types: tuple[pa.DataType, ...]
    extent: Extent

    @property
    def shipped(self) -> tuple[pa.DataType, ...]:  # type: ignore[override]
        return tuple(pa.string() if pa.types.is_boolean(kind) else kind for kind in self.types)

    def run(self, rows: ibis.Table) -> pa.RecordBatchReader:
        each = zip(self.columns, self.types, strict=True)
        chosen = ", ".join(f"{column.chosen(kind)} AS k{k}" for k, (column, kind) in enumerate(each))
        sql = preceded(f"SELECT {chosen} FROM ({self.sql}) AS everything", ibis.to_sql(rows, dialect="postgres"))  # noqa: S608
        return _copied(self.connection, sql, rows.schema().to_pyarrow())

    def stop(self) -> None:
        self.connection.cancel()


def _copied(connection: Any, sql: str, schema: pa.Schema) -> pa.RecordBatchReader:
    """The result of a query, batch by batch, as it comes; days and moments as numbers."""
    plain = pa.schema([field.with_type(_shipped(field.type)) for field in schema])
    options = pa.csv.ConvertOptions(
        column_types=plain, null_values=[""], true_values=["t"], false_values=["f"],
        strings_can_be_null=True, quoted_strings_can_be_null=False,
    )  # fmt: skip
    reading = pa.csv.ReadOptions(column_names=plain.names, block_size=_BLOCK, use_threads=False)
    # A row of one column that is null is an empty line.
    parsing = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)

    def batches() -> Iterator[pa.RecordBatch]:
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY ({_in_numbers(sql, schema)}) TO STDOUT (FORMAT csv)") as copy,
        ):
            flow, come = _Flow(iter(copy)), 0
            for batch in pa.csv.open_csv(flow, reading, parsing, options) if flow.begins else ():
                come += batch.num_rows
                yield batch.cast(schema)
            flow.read()
            if come != cursor.rowcount:
                raise DataError(f"PostgreSQL sent {cursor.rowcount} rows, of which {come} were understood")

    return pa.RecordBatchReader.from_batches(schema, batches())


def _shipped(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(kind) else pa.int32() if pa.types.is_date(kind) else kind


def _in_numbers(sql: str, schema: pa.Schema) -> str:
    """The same rows in the same order, days and moments as numbers since 1970."""
    numbered = {pa.int64(): "moments", pa.int32(): "days"}
    if all(_shipped(kind) == kind for kind in schema.types):
        return sql
    columns = [
        quoted(field.name)
        if _shipped(field.type) == field.type
        else f"{_SINCE_1970[numbered[_shipped(field.type)]].format(quoted(field.name))} AS {quoted(field.name)}"
        for field in schema
    ]
    return f"SELECT {', '.join(columns)} FROM ({sql}) AS found"  # noqa: S608


@final
class _Flow:
    """What a server sends, as a file that is read from its beginning to its end, whole rows at a time.

    PostgreSQL sends each row by itself, and Arrow takes more than it asked for: so no row is too long.
    """

    closed = False

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows
        self._first = bytes(next(rows, b""))

    @property
    def begins(self) -> bool:
        return bool(self._first)

    def read(self, size: int = -1) -> bytes:
        parts = [self._first]
        held, self._first = len(self._first), b""
        while size < 0 or held < size:
            row = bytes(next(self._rows, b""))
            if not row:
                break
            parts.append(row)
            held += len(row)
        return b"".join(parts)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def _named(table: str) -> str:
    """A table's name, with its schema before a dot."""
    return ".".join(map(quoted, table.split("."))) if '"' not in table else table
