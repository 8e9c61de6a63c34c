"""The rows of a table as a policy's attributes read them: codes, and what is outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import ArrayError, UnsupportedCombination
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.reading.reading import CellReading
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import is_nan


def column_of(table: Any, name: str) -> NDArray[Any]:
    """A column of a data frame, an Arrow table, or a dictionary of columns. Raises: ArrayError without it."""
    try:
        return np.asarray(table[name])
    except (KeyError, IndexError, TypeError) as error:
        raise ArrayError(
            f"the table has no column '{name}', which the policy speaks of: hand over a data frame, an Arrow table or "
            "a dictionary with the policy's columns"
        ) from error


def codes_of_column(universe: Universe, place: int, cells: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """(n,): the code of one attribute in each row, ``OUTSIDE`` where there is none.

    Raises: UnsupportedCombination for an attribute that a policy makes of several columns.
    """
    attribute, reading = universe.attributes[place], universe.reading.attributes[place]
    if reading.expression is not None:
        raise UnsupportedCombination(
            f"'{attribute.name}' is made of other columns by the policy, which learning does not read: add it to the "
            "table, and let the policy name it as a column"
        )
    return _coded(attribute, reading, cells)


def _coded(attribute: Attribute, reading: CellReading, cells: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    absent = np.logical_or.reduce([_is_absent(column) for column in cells])
    if reading.read_as == "numbers":
        numbers = [_numbers(column) for column in cells]
        codes = attribute.encode_cells(numbers)
    else:
        (column,) = cells
        codes = attribute.encode_cells([[str(cell) for cell in column.tolist()]])
    codes = np.where(codes == OUTSIDE, OUTSIDE if reading.unlisted is None else reading.unlisted, codes)
    return np.where(absent, OUTSIDE if attribute.missing is None else attribute.missing, codes)


def require_inside(universe: Universe, place: int, codes: NDArray[np.int64]) -> None:
    """Raises: ArrayError for rows outside the universe, by their number."""
    outside = int(np.sum(codes == OUTSIDE))
    if outside:
        attribute = universe.attributes[place]
        raise ArrayError(
            f"{outside:,} of {len(codes):,} rows have a '{attribute.name}' that the policy does not list, "
            f"{attribute.accepted('')}; correct them, or drop them; nothing was spent"
        )


def _is_absent(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column), dtype=np.bool_)
    if column.dtype.kind != "O":
        empty = column == "" if column.dtype.kind == "U" else np.zeros(len(column))
        return np.asarray(empty, dtype=np.bool_)
    cells = column.tolist()
    absent = [cell is None or cell == "" or (isinstance(cell, float) and cell != cell) for cell in cells]
    return np.array(absent, dtype=np.bool_)


def _numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    if column.dtype.kind in "iufb":
        return column.astype(np.float64)
    return np.array([_number(cell) for cell in column.tolist()], dtype=np.float64)


def _number(cell: Any) -> float:
    try:
        return float("nan") if cell is None or is_nan(str(cell)) else float(cell)
    except (TypeError, ValueError):
        return float("nan")
