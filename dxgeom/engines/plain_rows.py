"""The rows of a small text file by a statement written out, so that the library that writes statements is not loaded.

It takes half a second to load, which is longer than a small file is read. Cells are what
:mod:`dxgeom.engines.cells` makes of them; rows are not grouped, for there are few.
"""

from __future__ import annotations

from typing import Final

from dxgeom.engines.cells import MOMENT_OR_DAY
from dxgeom.engines.tables.source import ROWS, Source
from dxgeom.universe.reading.reading import CellReading
from dxgeom.universe.universe import Universe

SMALL: Final = 1 << 23
"""Bytes of a file whose rows are read one by one."""
_BLANKS: Final = "' \t\n\r\v\f'"


def statement(source: Source, universe: Universe, records: str | None) -> str | None:
    """The cells k0, k1, … of each row, and the last column as ``records`` if that is a name; None where Ibis is needed.

    That is for other tables than small files of text, and for what a policy makes of columns.
    """
    reading, text = universe.reading, source.text
    if text is None or text.path.suffix == ".gz" or text.path.stat().st_size > SMALL:
        return None
    if any(one.expression is not None for one in reading.attributes):
        return None
    each = zip(reading.attributes, reading.places, strict=True)
    cells = [_cell(one, place) for one, places in each for place in places]
    columns = [f"{cell} AS k{number}" for number, cell in enumerate(cells)]
    if records is not None:
        columns.append(f"{_whole(len(reading.columns))} AS {records}")
    return f"SELECT {', '.join(columns)} FROM {ROWS}"  # noqa: S608


def _cell(reading: CellReading, place: int) -> str:
    if reading.read_as == "days":
        moment = f"CASE WHEN regexp_matches(k{place}, '{MOMENT_OR_DAY}') THEN k{place} END"
        return f"coalesce(CAST(CAST(try_cast({moment} AS TIMESTAMP) AS DATE) AS VARCHAR), k{place})"
    if reading.read_as != "numbers":
        return f"k{place}"
    return (
        f"coalesce(try_cast(k{place} AS DOUBLE), CASE WHEN k{place} IS NULL THEN NULL ELSE CAST('inf' AS DOUBLE) END)"
    )


def _whole(place: int) -> str:
    """A whole number of records; a cast alone would round 1.5 to 2."""
    digits = f"trim(k{place}, {_BLANKS})"
    return f"CASE WHEN regexp_matches({digits}, '^[0-9]+$') THEN try_cast({digits} AS BIGINT) ELSE NULL END"
