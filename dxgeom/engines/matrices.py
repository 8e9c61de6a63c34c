"""A matrix of distances from a Parquet file, and back into one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dxgeom.engines.cells import is_text
from dxgeom.engines.watching import plain_errors
from dxgeom.errors import DataError, TooLarge


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
