"""Delta and Iceberg tables: folders whose own log says which of their Parquet files are the table.

Read as they are now by their Python readers; without these such a folder is refused, since its files may hold rows that
were deleted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from dxgeom.errors import DataError
from dxgeom.numeric.optional_library import optional_library

_VERSION: Final = re.compile(r"v?(\d+)")


def of_lake(table: Any) -> Any:
    """What reads a folder or an object of Delta or Iceberg, an Arrow dataset or a table of pyiceberg; else the same.

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
    # By name, so that nobody needs a library that made no table of theirs.
    return table.to_pyarrow_dataset() if _is(table, "DeltaTable", "deltalake") else table


def is_iceberg(table: Any) -> bool:
    """Whether this is a table of pyiceberg."""
    return _is(table, "Table", "pyiceberg")


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


def _is(table: Any, name: str, package: str) -> bool:
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] == package for kind in type(table).__mro__)
