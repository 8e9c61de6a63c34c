"""Tables in a file of SQLite, by their address: opened to read only, and of one state while they are open."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from dxgeom.engines.source import Address, address_of, has_scheme, ibis
from dxgeom.engines.watching import plain_errors
from dxgeom.errors import DataError

_EXAMPLE: Final = "sqlite:///clinic.db#visits"


def file_of_sqlite(url: str) -> tuple[Path, Address]:
    """The file and the table that ``sqlite:///file#table`` names, or the query in place of a table.

    Raises: DataError for an address that names none, and for a file that does not exist.
    """
    address = address_of(url, _EXAMPLE)
    file = Path(unquote(address.server.partition("://")[2].removeprefix("/")) or "?")
    file = file if file.exists() else Path("/") / file
    if not file.is_file():
        raise DataError(f"'{file}' does not exist; a table in SQLite is named like {_EXAMPLE}")
    return file, address


def opened_to_read(file: Path) -> sqlite3.Connection:
    """A connection that only reads. Raises: sqlite3.Error."""
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)


@contextmanager
def held_open(table: Any, described: str) -> Iterator[Any]:
    """The Ibis table at an address in SQLite, all of whose readings are of one state; every other table as it is.

    Raises: DataError where the file is no database, or lacks the table.
    """
    if not has_scheme(table, "sqlite"):
        yield table
        return
    file, address = file_of_sqlite(table)
    with plain_errors(described):
        connection = opened_to_read(file)
    with closing(connection):
        with plain_errors(described):
            connection.execute("PRAGMA temp_store = MEMORY")  # rows of people never touch the disk
            there = ibis.sqlite.from_connection(connection)
            if not address.is_query and address.what not in there.list_tables():
                raise DataError(f"'{file.name}' has no table '{address.what}'")
            rows = there.sql(address.what) if address.is_query else there.table(address.what)
            connection.execute("BEGIN")
        yield rows
