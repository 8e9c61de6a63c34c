"""What a table's columns are called and hold, by its header or schema; rows are read only where values are public."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, final

import pyarrow as pa
import pyarrow.parquet as pq

from dxgeom.engines.failures import plain_errors
from dxgeom.engines.tables.delimited import delimited, header_of
from dxgeom.engines.tables.embedded import file_of
from dxgeom.engines.tables.parquet_files import files_of_folder
from dxgeom.engines.tables.sources import opened
from dxgeom.errors import DataError

Holds: TypeAlias = Literal["words", "whole numbers", "numbers", "days", "yes or no", "unknown"]


@final
@dataclass(frozen=True)
class OutlinedColumn:
    """A column by its name, and what its type says that it holds; text files do not say."""

    name: str
    holds: Holds


def outline_of(table: str | Path) -> tuple[OutlinedColumn, ...]:
    """The columns of a file or a folder. Guarantee: reads the first line of a text file, the schema of another.

    Raises: DataError.
    """
    path, described = Path(table), file_of(table)
    with plain_errors(described):
        files = files_of_folder(path) or [path]
        if files[0].name.lower().endswith(".parquet"):
            schema = pq.read_schema(files[0])
            return tuple(OutlinedColumn(field.name, _holds(field.type)) for field in schema)
        text = delimited(path, "\t" if ".tsv" in path.name.lower() else ",")
        return tuple(OutlinedColumn(name, "unknown") for name in header_of(text))


def public_values(table: str | Path, column: str, most: int) -> tuple[str, ...]:
    """The different values of a column that somebody declared public, sorted. Raises: DataError beyond ``most``."""
    with opened(str(table), (column,)) as source, plain_errors(source.described):
        distinct = f"SELECT DISTINCT CAST(k0 AS VARCHAR) FROM records WHERE k0 IS NOT NULL LIMIT {most + 1}"  # noqa: S608
        found = sorted(str(value) for (value,) in source.connection.sql(distinct).fetchall())
    if len(found) > most:
        raise DataError(f"'{column}' has more than {most} values; state a range, or leave it out")
    return tuple(found)


def _holds(kind: pa.DataType) -> Holds:
    if pa.types.is_dictionary(kind):
        return _holds(kind.value_type)
    if pa.types.is_boolean(kind):
        return "yes or no"
    if pa.types.is_integer(kind):
        return "whole numbers"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "days"
    return "words" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else "unknown"
