"""Columns of answers as an Arrow table or a pandas data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from dxgeom.errors import MissingExtra


def arrow_table(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A ``pyarrow.Table`` of columns of words or of numbers; where a row has no entry, None, it is null."""
    return pa.table({name: _column(entries) for name, entries in columns.items()})


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


def _column(entries: Sequence[Any]) -> Any:
    if any(isinstance(entry, float) for entry in entries):
        return pa.array(entries, type=pa.float64())
    return pa.array(entries, type=pa.int64() if any(isinstance(entry, int) for entry in entries) else pa.string())
