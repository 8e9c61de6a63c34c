"""People who count once: what each person's rows are becomes shares of them, person by person."""

from __future__ import annotations

import numpy as np

from dxgeom.engines.people import CountedPeople, people_in
from dxgeom.engines.reading import RecordReader
from dxgeom.engines.tally import Tally
from dxgeom.numeric.arrays import exact_sum
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.people.shares import Components, ShareCounter


def tally_of_shares(reader: RecordReader, people: CountedPeople, component_of: Components) -> Tally:
    """Shares by record type; ``total`` and ``dropped`` are people, the latter those none of whose rows is inside.

    Rows outside are absent where records may be, with their part of the person's shares; else they are left out, and
    the shares are spread over the others.
    Raises: DataError for rows that name nobody.
    """
    absent = reader.universe.absent
    counter = ShareCounter(reader.universe.size, component_of)
    dropped = rows = outside_rows = 0
    for batch in people_in(reader, people):
        person = np.repeat(np.arange(len(batch.starts) - 1), np.diff(batch.starts))
        outside = batch.records == OUTSIDE
        rows, outside_rows = rows + exact_sum(batch.rows), outside_rows + exact_sum(batch.rows[outside])
        kept = np.ones_like(outside) if absent is not None else ~outside
        records = np.where(outside, absent, batch.records) if absent is not None else batch.records
        dropped += len(batch.starts) - 1 - np.unique(person[kept]).size
        counter.add(person[kept], records[kept], batch.rows[kept])
    return Tally(counter.histogram(absent), counter.people, dropped, rows, outside_rows, 0)
