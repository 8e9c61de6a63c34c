"""Data frames as CSV files: pandas, polars, Arrow, and whatever else has named columns that can be listed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, Final, final

from dxgeom.policy.syntax.writing import word_of

_LISTS: Final = ("tolist", "to_list", "to_pylist")
"""How columns of the various frames become lists."""


@final
class NotAFile(Exception):
    """A thing cannot stand for a data file; the text says why and what to do. Never leaves this room."""


def is_frame(thing: object) -> bool:
    """Whether it has columns by name."""
    return hasattr(thing, "columns") and hasattr(thing, "__getitem__") and not isinstance(thing, type)


def csv_of_frame(frame: Any) -> bytes:
    """The rows under the columns' names; numbers exactly, what is missing as an empty cell. Raises: NotAFile."""
    names = column_names(frame)
    return csv_of_rows(names, zip(*(cells_of(frame, name) for name in names), strict=True))


def column_names(frame: Any) -> list[str]:
    """The columns, in order."""
    names = list(getattr(frame, "column_names", None) or frame.columns)
    if not all(isinstance(name, str) for name in names):
        raise NotAFile("columns have names; found one that is no text")
    return names


def cells_of(frame: Any, name: str) -> list[str]:
    """The cells of a column as a file would hold them. Raises: NotAFile."""
    column = frame[name]
    listed = next((getattr(column, way) for way in _LISTS if hasattr(column, way)), None)
    if listed is None:
        raise NotAFile(f"the column '{name}' cannot be listed; give a data frame of pandas, polars or Arrow")
    return [cell_of(value, f"the column '{name}'") for value in listed()]


def cell_of(value: Any, where: str) -> str:
    """A word or number as a file would hold it. Raises: NotAFile for what is neither."""
    if value is None or value != value:
        return ""
    word = word_of(value)
    if word is None:
        raise NotAFile(f"{where} holds words, numbers or dates; found a {type(value).__name__}")
    return word


def csv_of_rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A CSV file in UTF-8."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return written.getvalue().encode("utf-8")
