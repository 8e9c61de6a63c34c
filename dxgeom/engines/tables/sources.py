"""The engines there are, and opening a table with the one whose it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dxgeom.engines.tables.embedded import DuckDB
from dxgeom.engines.tables.naming import Wanted
from dxgeom.engines.tables.servers.postgres import Postgres
from dxgeom.engines.tables.servers.spark import Spark
from dxgeom.engines.tables.source import Engine, Source

ENGINES: Final[tuple[Engine, ...]] = (DuckDB(), Postgres(), Spark())
"""The first is embedded, and takes what no other does."""


@contextmanager
def opened(table: Any, wanted: Wanted) -> Iterator[Source]:
    """Opens a table for reading the columns ``wanted``; closes it afterwards.

    Raises: DataError when it is nothing that can be read, or lacks a column; MissingExtra.
    """
    with engine_of(table).opened(table, wanted) as source:
        yield source


def engine_of(table: Any) -> Engine:
    """The engine that reads a table."""
    return next((engine for engine in ENGINES[1:] if engine.takes(table)), ENGINES[0])
