"""Released answers as the tables that other libraries work with: Arrow, data frames, files of CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dxgeom.errors import MissingExtra, UnsupportedCombination
from dxgeom.numeric.columns import Columns, plain_columns


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
