"""Columns of a table: of words, of numbers, or of words by their places in a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Coded: TypeAlias = tuple[NDArray[np.int32], Sequence[str]]
"""Words by their places in a list, the same in every batch; −1 where there is none."""
Column: TypeAlias = "Coded | NDArray[Any] | Sequence[Any]"
Columns: TypeAlias = Mapping[str, Column]


def plain_cells(column: Column) -> list[Any]:
    """The cells of a column as people read them; None where there is none.

    >>> plain_cells((np.array([1, -1], dtype=np.int32), ["a", "b"]))
    ['b', None]
    """
    if isinstance(column, tuple):
        places, words = column
        return [None if place < 0 else words[place] for place in places.tolist()]
    return column.tolist() if isinstance(column, np.ndarray) else [*column]


def plain_columns(columns: Columns) -> dict[str, list[Any]]:
    """All columns as people read them."""
    return {title: plain_cells(column) for title, column in columns.items()}
