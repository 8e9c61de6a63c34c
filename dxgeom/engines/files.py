"""Tables that are several files: Parquet, Delta and Iceberg; and that files stay as they are while they are read.

Tables in a file of SQLite, by their address: opened to read only, and of one state while they are open.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from dxgeom.engines.source import Address, address_of, has_scheme, ibis, is_made_by
from dxgeom.engines.watching import Extent, changed_meanwhile, plain_errors
from dxgeom.errors import DataError
from dxgeom.numeric.optional_library import optional_library


def files_of_folder(path: Path) -> list[Path] | None:
    """The .parquet files in a folder and below it, or those whose names a pattern with * or ? matches, sorted.

    None for a path that is neither, or that finds none.
    """
    if path.is_dir():
        found = [file for file in path.rglob("*.parquet") if file.is_file()]
    elif any(letter in str(path) for letter in "*?[") and str(path).lower().endswith(".parquet") and not path.exists():
        found = [file for file in Path(path.anchor).glob(str(path.relative_to(path.anchor))) if file.is_file()]
    else:
        return None
    return sorted(found) or None


def common_columns(files: Sequence[Path]) -> tuple[str, ...]:
    """The names of the columns, which are the same in all files, in the same order and of the same types.

    Raises: DataError naming the first file that differs, and how.
    """
    import pyarrow.parquet as pq  # with its file systems it loads slowly, and text needs none of it

    first = pq.read_schema(files[0])
    for file in files[1:]:
        other = pq.read_schema(file)
        if not first.equals(other):
            raise DataError(
                f"files that are one table have the same columns of the same types; '{file}' differs from "
                f"'{files[0]}': {_difference(first, other)}"
            )
    return tuple(first.names)


def extent_of(files: Sequence[Path]) -> Extent:
    """How large they are together, by what they say of themselves."""
    import pyarrow.parquet as pq

    return Extent(sum(pq.read_metadata(file).num_rows for file in files), sum(file.stat().st_size for file in files))


def _difference(first: pa.Schema, other: pa.Schema) -> str:
    if first.names != other.names:
        strange = [name for name in (*first.names, *other.names) if (name in first.names) != (name in other.names)]
        return f"only one of them has '{strange[0]}'" if strange else "their columns come in another order"
    kinds = zip(first.names, first.types, other.types, strict=True)
    return next((f"'{name}' holds {b}, not {a}" for name, a, b in kinds if a != b), "some column may hold nothing")


_VERSION: Final = re.compile(r"v?(\d+)")


def of_lake(table: Any) -> Any:
    """What reads a folder or an object of Delta or Iceberg as it is now, an Arrow dataset or a table of pyiceberg; else
    the same. Its log says which of the folder's files are the table: others may hold rows that were deleted.

    Raises: MissingExtra; DataError for a folder of Iceberg that says nothing of its newest state.
    """
    if isinstance(table, str | Path):
        folder = Path(table)
        if (folder / "_delta_log").is_dir():
            delta = optional_library("deltalake", "delta", "Delta tables are read")
            return delta.DeltaTable(str(folder)).to_pyarrow_dataset()
        if metadata := sorted((folder / "metadata").glob("*.metadata.json"), key=_version):
            iceberg = optional_library("pyiceberg.table", "iceberg", "Iceberg tables are read")
            return iceberg.StaticTable.from_metadata(str(metadata[-1]))
        return table
    return table.to_pyarrow_dataset() if is_made_by(table, "DeltaTable", "deltalake") else table


def is_iceberg(table: Any) -> bool:
    """Whether this is a table of pyiceberg."""
    return is_made_by(table, "Table", "pyiceberg")


def names_of_iceberg(table: Any) -> tuple[str, ...]:
    """The names of the columns as they are now."""
    return tuple(field.name for field in table.schema().fields)


def flowing_from_iceberg(table: Any, wanted: tuple[str, ...]) -> Callable[[], pa.RecordBatchReader]:
    """What makes the wanted columns flow by from their first row, named c0, c1, …"""

    def begun() -> pa.RecordBatchReader:
        rows = table.scan(selected_fields=tuple(dict.fromkeys(wanted))).to_arrow_batch_reader()
        fields = [rows.schema.field(name) for name in wanted]
        schema = pa.schema([field.with_name(f"c{place}") for place, field in enumerate(fields)])
        arrays = (pa.record_batch([batch.column(name) for name in wanted], schema=schema) for batch in rows)
        return pa.RecordBatchReader.from_batches(schema, arrays)

    return begun


def _version(path: Path) -> int:
    """The number with which the name of a file of metadata begins."""
    number = _VERSION.match(path.name)
    if number is None:
        raise DataError(f"'{path}' has no number of its state; hand over the table as your catalog loads it")
    return int(number[1])


@contextmanager
def unchanged(described: str, state: Callable[[], Any]) -> Iterator[None]:
    """Two passes, or the halves of one, are of the same rows: files are looked at before and after; servers are asked
    for one state. Raises: DataError where ``state`` is another one after it was read, whatever else was wrong."""
    before = state()
    try:
        yield
    except DataError as error:
        if state() != before:
            raise changed_meanwhile(described) from error
        raise
    if state() != before:
        raise changed_meanwhile(described)


def state_of_files(table: Any) -> tuple[Any, ...]:
    """Which files on this machine a table is, and what the system says of each that no writer leaves as it was: its
    place, its size and when it was changed; nothing of other tables."""
    if isinstance(table, str | Path):
        return tuple(_state(file) for file in files_of_folder(Path(table)) or [Path(table)])
    # By name: a dataset of Arrow that is files here. Those of Delta are never written again.
    local = type(getattr(table, "filesystem", None)).__name__ == "LocalFileSystem"
    return tuple(_state(Path(file)) for file in table.files) if local else ()


def _state(file: Path) -> tuple[Any, ...]:
    if not file.exists():
        return (file,)
    found = file.stat()
    return file, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


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
