"""Parquet files that are one table together: those of a folder, or those that a pattern finds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from dxgeom.engines.tables.watching import Extent
from dxgeom.errors import DataError


def files_of_folder(path: Path) -> list[Path] | None:
    """The .parquet files in a folder and below it, or those whose names a pattern with * or ? matches, sorted.

    None for a path that is neither, or that finds none.
    """
    if path.is_dir():
        found = [file for file in path.rglob("*.parquet") if file.is_file()]
    elif any(letter in str(path) for letter in "*?[") and str(path).lower().endswith(".parquet") and not path.exists():
        found = [file for file in Path(path.anchor).glob(str(path.relative_to(path.anchor))) if file.is_file()]
    else:
        return None
    return sorted(found) or None


def common_columns(files: Sequence[Path]) -> tuple[str, ...]:
    """The names of the columns, which are the same in all files, in the same order and of the same types.

    Raises: DataError naming the first file that differs, and how.
    """
    import pyarrow.parquet as pq  # with its file systems it loads slowly, and text needs none of it

    first = pq.read_schema(files[0])
    for file in files[1:]:
        other = pq.read_schema(file)
        if not first.equals(other):
            raise DataError(
                f"files that are one table have the same columns of the same types; '{file}' differs from "
                f"'{files[0]}': {_difference(first, other)}"
            )
    return tuple(first.names)


def extent_of(files: Sequence[Path]) -> Extent:
    """How large they are together, by what they say of themselves."""
    import pyarrow.parquet as pq

    return Extent(sum(pq.read_metadata(file).num_rows for file in files), sum(file.stat().st_size for file in files))


def _difference(first: pa.Schema, other: pa.Schema) -> str:
    if first.names != other.names:
        strange = [name for name in (*first.names, *other.names) if (name in first.names) != (name in other.names)]
        return f"only one of them has '{strange[0]}'" if strange else "their columns come in another order"
    kinds = zip(first.names, first.types, other.types, strict=True)
    return next((f"'{name}' holds {b}, not {a}" for name, a, b in kinds if a != b), "some column may hold nothing")
