"""The engines there are; opening a table with the one whose it is; and what its columns are called and hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from dxgeom.engines.embedded import DuckDB
from dxgeom.engines.postgres import Postgres
from dxgeom.engines.source import Engine, Source, Wanted
from dxgeom.engines.spark import Spark
from dxgeom.engines.watching import plain_errors
from dxgeom.errors import DataError
from dxgeom.universe.universe import Universe

ENGINES: Final[tuple[Engine, ...]] = (DuckDB(), Postgres(), Spark())
"""The first is embedded, and takes what no other does."""


@contextmanager
def opened(table: Any, wanted: Wanted, universe: Universe | None = None) -> Iterator[Source]:
    """Opens a table for reading the columns ``wanted``; closes it afterwards.

    Args: ``universe``: whose policy says how a file is written and which rows are none.
    Raises: DataError when it is nothing that can be read, or lacks a column; MissingExtra.
    """
    if isinstance(table, Mapping):
        with plain_errors("the table"):
            table = pa.table(dict(table))
    engine = engine_of(table)
    if universe is not None and universe.reading.ignored and engine is not ENGINES[0]:
        column = universe.reading.ignored[0].column
        raise DataError(
            f"'ignore' leaves out rows of files and frames; where the table is on a server, ask it for the rows that "
            f"count: a query with WHERE, about '{column}', in place of the table's name"
        )
    with engine.opened(table, wanted, universe) as source:
        yield source


def engine_of(table: Any) -> Engine:
    """The engine that reads a table."""
    return next((engine for engine in ENGINES[1:] if engine.takes(table)), ENGINES[0])


Holds: TypeAlias = Literal["words", "whole numbers", "numbers", "days", "yes or no", "unknown"]


def public_values(table: str | Path, column: str, most: int) -> tuple[str, ...]:
    """The different values of a column that somebody declared public, sorted. Raises: DataError beyond ``most``."""
    with opened(str(table), (column,)) as source, plain_errors(source.described):
        distinct = f"SELECT DISTINCT CAST(k0 AS VARCHAR) FROM records WHERE k0 IS NOT NULL LIMIT {most + 1}"  # noqa: S608
        found = sorted(str(value) for (value,) in source.connection.sql(distinct).fetchall())
    if len(found) > most:
        raise DataError(f"'{column}' has more than {most} values; state a range, or leave it out")
    return tuple(found)


def holds_of(kind: pa.DataType) -> Holds:
    """What a column of a type holds."""
    if pa.types.is_dictionary(kind):
        return holds_of(kind.value_type)
    if pa.types.is_boolean(kind):
        return "yes or no"
    if pa.types.is_integer(kind):
        return "whole numbers"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "days"
    return "words" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else "unknown"
