"""Columns as the content of a file: CSV or Parquet."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pyarrow import csv, parquet

from dxgeom.engines.results.answer_frames import arrow_table

SUFFIXES: Final = (".csv", ".parquet")
"""How the names of such files end."""


def table_bytes(columns: Mapping[str, Sequence[Any]], suffix: Literal[".csv", ".parquet"]) -> bytes:
    """A table with these columns as a file of that kind; where a row has no entry, None, the cell is empty."""
    file = io.BytesIO()
    table = arrow_table(columns)
    if suffix == ".csv":
        csv.write_csv(table, file)
    else:
        parquet.write_table(table, file)
    return file.getvalue()
