"""Released answers as the tables that other libraries work with: Arrow, data frames, files of CSV or Parquet.

A matrix of distances from a Parquet file, and back into one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dxgeom.engines.cells import is_text
from dxgeom.engines.watching import plain_errors
from dxgeom.errors import DataError, MissingExtra, TooLarge, UnsupportedCombination
from dxgeom.numeric.arrays import Columns, plain_columns


def arrow_table(columns: Columns, *, words_in_full: bool = True, about: str = "") -> Any:
    """A ``pyarrow.Table`` of columns of words or of numbers; where a row has no entry, None, it is null.

    Args: ``about``: what its metadata say of it, as "dxgeom".
    """
    table = pa.table({name: _entries(entries, words_in_full) for name, entries in columns.items()})
    return table.replace_schema_metadata({"dxgeom": about}) if about else table


def data_frame(columns: Columns, *, about: str = "") -> Any:
    """A ``pandas.DataFrame`` of the same; ``about``: what its ``attrs`` say of it, as "dxgeom".

    Raises: MissingExtra.
    """
    try:
        import pandas  # optional, and slow to load
    except ImportError as error:
        raise MissingExtra(
            "data frames are made by pandas, which is not installed: pip install pandas, or take to_arrow()"
        ) from error
    frame = pandas.DataFrame(plain_columns(columns))
    frame.attrs.update({"dxgeom": about} if about else {})
    return frame


def polars_frame(columns: Columns) -> Any:
    """A ``polars.DataFrame`` of the same, with the types and nulls of :func:`arrow_table`.

    Raises: MissingExtra.
    """
    try:
        import polars  # optional, and slow to load
    except ImportError as error:
        raise MissingExtra(
            "these data frames are made by polars, which is not installed: pip install polars, or take to_arrow()"
        ) from error
    return polars.from_arrow(arrow_table(columns))


def column_of(entries: Sequence[Any]) -> Any:
    """The entries of a column as Arrow holds them: numbers where any is one, else words."""
    if any(isinstance(entry, float) for entry in entries):
        return pa.array(entries, type=pa.float64())
    return pa.array(entries, type=pa.int64() if any(isinstance(entry, int) for entry in entries) else pa.string())


TABLE_FILES: Final = (".csv", ".parquet")


def is_table_file(path: Path) -> bool:
    """Whether a file of this name is written as a table."""
    return path.suffix.lower() in TABLE_FILES


def write_batches(batches: Iterable[Columns], target: Any, suffix: str) -> None:
    """Write rows to an open binary file, as its suffix says, one batch in memory at a time.

    Raises: UnsupportedCombination for another suffix; OSError.
    """
    if suffix.lower() not in TABLE_FILES:
        raise UnsupportedCombination(f"tables of answers are written as {' or '.join(TABLE_FILES)}, not as '{suffix}'")
    parquet = suffix.lower() == ".parquet"
    tables = (arrow_table(one, words_in_full=not parquet) for one in batches)
    first = next(tables)
    with _writer(target, first.schema, parquet) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _writer(target: Any, schema: Any, parquet: bool) -> Any:
    if parquet:
        from pyarrow.parquet import ParquetWriter  # slow to load

        return ParquetWriter(target, schema)
    from pyarrow.csv import CSVWriter

    return CSVWriter(target, schema)


def _entries(entries: Any, words_in_full: bool) -> Any:
    if isinstance(entries, np.ndarray):
        return pa.array(entries)
    if not isinstance(entries, tuple):
        return column_of(entries)
    codes, words = entries
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(list(words), type=pa.string()))
    return coded.cast(pa.string()) if words_in_full else coded


def matrix_of_parquet(path: Path, most_cells: int) -> tuple[tuple[str, ...], NDArray[Any]]:
    """The labels of the records and their claimed distances: int64, float64, or exact rationals for decimal columns.

    A first column of text holds the labels; without one the column names do.
    Raises: DataError for a file that cannot be read, an empty cell, or a column that is not of numbers; TooLarge.
    """
    described = f"'{path}'"
    with plain_errors(described):
        shape = pq.read_metadata(path)
        if shape.num_rows * shape.num_columns > most_cells:
            raise TooLarge(f"{described} has {shape.num_rows:,} rows; at most {most_cells:,} distances are read")
        table = pq.read_table(path)
    labels: tuple[str, ...] = tuple(table.schema.names)
    if table.num_columns and is_text(table.schema.types[0]):
        labels, table = tuple(str(label) for label in table.column(0).to_pylist()), table.remove_column(0)
    columns = [_numbers(table.column(k), table.schema.names[k], described) for k in range(table.num_columns)]
    return labels, np.column_stack(columns) if columns else np.empty((0, 0))


def matrix_to_parquet(source: Path, target: Path, entries: NDArray[Any]) -> None:
    """Write ``entries`` in the shape of the file they came from: its column names, labels and exact column types.

    Raises: DataError.
    """
    with plain_errors(f"'{target}'"):
        table = pq.read_table(source)
        skip = int(table.num_columns > 0 and is_text(table.schema.types[0]))
        kept = [table.column(0)] if skip else []
        columns = [_column(entries[:, k], table.schema.types[k + skip]) for k in range(entries.shape[1])]
        pq.write_table(pa.table([*kept, *columns], names=table.schema.names), target)


def _column(entries: NDArray[Any], kind: Any) -> Any:
    if pa.types.is_decimal(kind):
        scale = 10**kind.scale
        return pa.array([Decimal(int(entry * scale)).scaleb(-kind.scale) for entry in entries], type=kind)
    return pa.array(entries.astype(np.int64 if pa.types.is_integer(kind) else np.float64))


def _numbers(column: Any, name: str, described: str) -> NDArray[Any]:
    if column.null_count:
        raise DataError(f"column '{name}' of {described} has an empty cell; every distance is stated")
    if pa.types.is_decimal(column.type):
        return np.array([Fraction(cell) for cell in column.to_pylist()] + [None], dtype=object)[:-1]
    if not pa.types.is_integer(column.type) and not pa.types.is_floating(column.type):
        raise DataError(f"column '{name}' of {described} holds {column.type}; a distance is a number")
    return np.asarray(column.to_numpy())
