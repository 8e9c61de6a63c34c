"""The codes of an attribute that a policy makes of other columns, row by row, as a fit's own counts have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.cells import BatchEncoder
from dxgeom.engines.opening import opened
from dxgeom.engines.reading import plan_reading
from dxgeom.engines.watching import plain_errors
from dxgeom.learning.under_policy.whole_tables import table_of_cells
from dxgeom.universe.reading.reading import Reading
from dxgeom.universe.universe import Universe


def made_codes(universe: Universe, place: int, table: Any) -> NDArray[np.int64]:
    """(n,): the code of one attribute in each row, in the table's order, ``OUTSIDE`` where there is none.

    Args: ``table``: a data frame, an Arrow table or a dictionary with the columns that the attribute is made of.
    Raises: DataError where a column's type does not fit.
    """
    reading = universe.reading.attributes[place]
    alone = Universe((universe.attributes[place],), stated_reading=Reading((reading,)))
    columns = alone.reading.columns
    whole = table_of_cells({name: np.asarray(table[name]) for name in columns}) if isinstance(table, dict) else table
    encoder = BatchEncoder(alone, frozenset())
    with opened(whole, columns) as source, plain_errors(source.described):
        batches = plan_reading(source, alone, None).batches()
        codes = [encoder.codes(batch)[0] for batch in batches]
    return np.concatenate([np.zeros(0, dtype=np.int64), *codes])
