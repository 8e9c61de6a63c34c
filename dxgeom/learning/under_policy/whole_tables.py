"""Tables as the engines take them: the columns that a policy reads, the predicted one among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.answer_frames import arrow_table
from dxgeom.engines.people import columns_of
from dxgeom.errors import ArrayError, UnsupportedCombination
from dxgeom.learning.under_policy.rows import column_of, says_nothing
from dxgeom.universe.universe import Universe


def joined_table(universe: Universe, label: str, X: Any, y: Any) -> Any:
    """One table of the columns that the policy reads, the predicted one among them. Raises: ArrayError."""
    people = universe.reading.people
    own = universe.reading.attributes[universe.names.index(label)]
    wanted = (*universe.reading.columns, *columns_of(people))
    if y is not None and (own.expression is not None or len(own.columns) != 1):
        raise UnsupportedCombination(
            f"'{label}' is made of other columns by the policy: leave y out, and hand over a table that has them"
        )
    columns = {
        name: np.asarray(y).ravel() if y is not None and name in own.columns else column_of(X, name)
        for name in dict.fromkeys(wanted)
    }
    if len({len(column) for column in columns.values()}) > 1:
        sizes = [len(column) for column in columns.values()]
        raise ArrayError(f"Found input variables with inconsistent numbers of samples: {sorted(set(sizes))}")
    return table_of_cells(columns)


def table_of_cells(columns: dict[str, NDArray[Any]]) -> Any:
    """An Arrow table of columns that NumPy holds."""
    return arrow_table({name: _cells(column) for name, column in columns.items()})


def _cells(column: NDArray[Any]) -> list[Any]:
    """As words, numbers, or nothing; days as words."""
    if column.dtype.kind == "M":
        return [None if text == "NaT" else text for text in column.astype("datetime64[D]").astype(str).tolist()]
    cells = [None if says_nothing(cell) else cell for cell in column.tolist()]
    return [cell if cell is None or isinstance(cell, (str, int, float)) else str(cell) for cell in cells]
