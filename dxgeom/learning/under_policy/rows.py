"""The rows of a table as a policy's attributes read them: codes, and what is outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import ArrayError, UnsupportedCombination
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.people.people import People
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
            f"'{attribute.name}' is made of other columns by the policy: leave y out, and hand "
            "over a table that has them"
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


def require_single_rows(people: People | None, table: Any) -> None:
    """Raises: ArrayError where the policy says that each person has a single row, and rows of the table name nobody, or
    somebody again."""
    if people is None:
        return
    column = column_of(table, people.column)
    cells = column.tolist()
    named = "each person has a single row ('count: single') and is named by " + f"'{people.column}'"
    if any(says_nothing(cell) for cell in cells):
        raise ArrayError(f"{named}, but some rows name nobody; fill it in, or leave these rows out; nothing was spent")
    if {*map(type, cells)} not in ({str}, {int}):
        raise ArrayError(f"{named}, by text or by whole numbers, and this column has neither alone; convert it")
    if len({*cells}) < len(cells):
        raise ArrayError(f"{named}, but somebody is named on more than one; keep one row of each; nothing was spent")


def _is_absent(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column), dtype=np.bool_)
    if column.dtype.kind != "O":
        empty = column == "" if column.dtype.kind == "U" else np.zeros(len(column))
        return np.asarray(empty, dtype=np.bool_)
    return np.array([says_nothing(cell) for cell in column.tolist()], dtype=np.bool_)


def says_nothing(cell: Any) -> bool:
    """Whether a cell is none, an empty word, or no number or moment: what is not even equal to itself."""
    if cell is None or isinstance(cell, str):
        return not cell
    same = cell == cell
    return not isinstance(same, (bool, np.bool_)) or not same


def _numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    if column.dtype.kind in "iufb":
        return column.astype(np.float64)
    return np.array([_number(cell) for cell in column.tolist()], dtype=np.float64)


def _number(cell: Any) -> float:
    try:
        return float("nan") if cell is None or is_nan(str(cell)) else float(cell)
    except (TypeError, ValueError):
        return float("nan")
