"""Columns of answers as an Arrow table, or a data frame of pandas or Polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from dxgeom.errors import MissingExtra


def arrow_table(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A ``pyarrow.Table`` of columns of words or of numbers; where a row has no entry, None, it is null."""
    return pa.table({name: column_of(entries) for name, entries in columns.items()})


def data_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A ``pandas.DataFrame`` of the same.

    Raises: MissingExtra.
    """
    try:
        import pandas  # optional, and slow to load
    except ImportError as error:
        raise MissingExtra(
            "data frames are made by pandas, which is not installed: pip install pandas, or take to_arrow()"
        ) from error
    return pandas.DataFrame({name: list(entries) for name, entries in columns.items()})


def polars_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
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
