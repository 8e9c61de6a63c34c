"""Writing a repaired matrix or edge list in the format of the file it came from."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.cli.distances.edge_file import ClaimedEdges
from dxgeom.cli.distances.matrix_file import ClaimedMatrix
from dxgeom.cli.terminal.new_files import check_new
from dxgeom.errors import DataError, file_errors
from dxgeom.metrics.matrices import Distance
from dxgeom.universe.columns import plain


def check_target(source: Path, target: Path) -> None:
    """Refuse what would overwrite something or change the format, before any work is done. Raises: DataError."""
    if source.suffix.lower() != target.suffix.lower():
        raise DataError(f"a repaired file keeps its format: '{target}' should end in {source.suffix}")
    check_new(target)


def write_matrix(source: Path, target: Path, claimed: ClaimedMatrix, entries: NDArray[Any]) -> None:
    """Write the entries with the header and labels of the source. Raises: DataError."""
    with file_errors(target, "written"):
        match source.suffix.lower():
            case ".csv":
                labels = claimed.labels if claimed.named else ()
                rows = [[*labels[i : i + 1], *map(_text, entries[i].tolist())] for i in range(len(entries))]
                _write_rows(target, claimed.header, rows)
            case ".npy":
                np.save(target, entries)
            case _:
                from dxgeom.engines.matrices import matrix_to_parquet

                matrix_to_parquet(source, target, entries)


def write_edges(target: Path, claimed: ClaimedEdges, distances: Sequence[Distance]) -> None:
    """Write the edges in their order with new distances. Raises: DataError."""
    rows = [[one, other, _text(distance)] for (one, other, _), distance in zip(claimed.edges, distances, strict=True)]
    with file_errors(target, "written"):
        _write_rows(target, claimed.header, rows)


def _write_rows(target: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with target.open("x", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if header:
            writer.writerow(header)
        writer.writerows(rows)


def _text(distance: Fraction | float) -> str:
    """Exactly, or the shortest decimal that float64 reads back as the same number."""
    if isinstance(distance, Fraction):
        return plain(distance)
    return "inf" if math.isinf(distance) else repr(distance).removesuffix(".0")
