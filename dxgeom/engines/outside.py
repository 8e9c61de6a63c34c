"""Telling which rows of a table are wrong; shows nothing of the rows that are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dxgeom.engines.encoding import BatchEncoder
from dxgeom.engines.reading import RECORDS, RecordReader
from dxgeom.engines.tables.delimited import lines_of
from dxgeom.engines.tables.source import Source
from dxgeom.engines.tally import Tally
from dxgeom.errors import DataError
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.wording import cell_text, is_nan

_EXAMPLES = 5
_HOW = "'missing: {epsilon: …}', or 'missing: public', beside the attribute's values."


def outside_error(rows: int, outside: int, reader: RecordReader, *, secret: bool = False) -> DataError:
    """The error about rows outside the universe, with examples.

    Args: how many ``rows`` there are, how many of them ``outside``; ``secret``: neither is told, since how many rows
    people have is private.
    """
    verb = "is" if outside == 1 else "are"
    told = "Some rows are" if secret else f"{outside} of {rows} rows {verb}"
    empty: set[str] = set()
    return DataError(
        f"{told} outside the policy's universe ({reader.source.described}):\n"
        + _listed(_outside_rows(reader, empty), rows, reader.source)
        + "\nCorrect them, let the policy's attributes include them, or leave them out "
        + 'with outside="drop" (--drop-outside).'
        + "".join(f"\nIf {name} may be missing, the policy says how that counts: {_HOW}" for name in sorted(empty))
    )


def bad_counts_error(result: Tally, reader: RecordReader, source: Source) -> DataError:
    """The error about rows that do not say how many records they stand for, with examples."""
    return DataError(
        f"a row stands for a whole number of records, from 0 to {2**63 - 1}; {result.bad_counts} of {result.rows} "
        f"rows do not say one ({source.described}):\n" + _listed(_bad_rows(reader), result.rows, source)
    )


def _listed(examples: Iterator[tuple[int, str]], rows: int, source: Source) -> str:
    aligned = source.text is not None and lines_of(source.text).number == rows + 1
    shown = []
    for row, what in examples:
        # Rows on a server come in any order.
        where = "a row" if source.there else f"data row {row}{f' (line {row + 1})' if aligned else ''}"
        shown.append(f"  {where}: {what}")
        if len(shown) == _EXAMPLES:
            break
    return "\n".join(shown)


def _outside_rows(reader: RecordReader, empty: set[str]) -> Iterator[tuple[int, str]]:
    """Examples; the attributes that lack a value in one of them are added to ``empty``."""
    encoder, read = BatchEncoder(reader.universe, frozenset()), 0
    reading = reader.universe.reading
    attributes = list(zip(reader.universe.attributes, reading.attributes, reading.places, strict=True))
    for batch in reader.batches_outside(_EXAMPLES):
        codes = encoder.codes(batch)
        for row in np.flatnonzero(encoder.indices(codes) == OUTSIDE):
            told = []
            for k, (attribute, one, places) in enumerate(attributes):
                if codes[k][row] == OUTSIDE:
                    cells = [batch.column(f"s{place}")[int(row)].as_py() for place in places]
                    told.append(one.outside(attribute, cells))
                    empty |= {attribute.name} if lacks_a_value(attribute, cells) else set()
            yield (
                read + int(row) + 1,
                "; ".join(told) or "each value exists, but the policy's table lists no such record",
            )
        read += batch.num_rows


def lacks_a_value(attribute: Attribute, cells: Sequence[str | None]) -> bool:
    """Whether one of an attribute's cells, as they stand in the table, is empty."""
    return any(not cell or (attribute.read_as == "numbers" and is_nan(cell)) for cell in cells)


def _bad_rows(reader: RecordReader) -> Iterator[tuple[int, str]]:
    read, last = 0, len(reader.universe.reading.columns)
    for batch in reader.batches_with_text():
        for row in np.flatnonzero(batch.column(RECORDS).is_null().to_numpy(zero_copy_only=False)):
            yield read + int(row) + 1, f"the count is {cell_text(batch.column(f's{last}')[int(row)].as_py())}"
        read += batch.num_rows
