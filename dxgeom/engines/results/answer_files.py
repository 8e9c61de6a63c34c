"""Released answers as files of tables: CSV or Parquet, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dxgeom.engines.results.answer_frames import column_of
from dxgeom.errors import UnsupportedCombination

Coded: TypeAlias = tuple[NDArray[np.int32], Sequence[str]]
"""Words by their places in a list, the same in every batch; −1 where there is none."""
Batch: TypeAlias = Mapping[str, Coded | NDArray[np.float64] | Sequence[Any]]
TABLE_FILES: Final = (".csv", ".parquet")


def is_table_file(path: Path) -> bool:
    """Whether a file of this name is written as a table."""
    return path.suffix.lower() in TABLE_FILES


def write_batches(batches: Iterable[Batch], target: Any, suffix: str) -> None:
    """Write rows to an open binary file, as its suffix says, one batch in memory at a time.

    Raises: UnsupportedCombination for another suffix; OSError.
    """
    if suffix.lower() not in TABLE_FILES:
        raise UnsupportedCombination(f"tables of answers are written as {' or '.join(TABLE_FILES)}, not as '{suffix}'")
    parquet = suffix.lower() == ".parquet"
    tables = (_table(one, words_in_full=not parquet) for one in batches)
    first = next(tables)
    with _writer(target, first.schema, parquet) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _writer(target: Any, schema: Any, parquet: bool) -> Any:
    if parquet:
        from pyarrow.parquet import ParquetWriter  # slow to load

        return ParquetWriter(target, schema)
    from pyarrow.csv import CSVWriter

    return CSVWriter(target, schema)


def _table(batch: Batch, words_in_full: bool) -> Any:
    return pa.table({name: _entries(entries, words_in_full) for name, entries in batch.items()})


def _entries(entries: Any, words_in_full: bool) -> Any:
    if isinstance(entries, np.ndarray):
        return pa.array(entries)
    if not isinstance(entries, tuple):
        return column_of(entries)
    codes, words = entries
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(list(words), type=pa.string()))
    return coded.cast(pa.string()) if words_in_full else coded
