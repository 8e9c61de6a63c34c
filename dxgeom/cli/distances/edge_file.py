"""Reading an edge list from a file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import final

from dxgeom.cli.distances.matrix_file import cell_of, is_number, rows_of_text
from dxgeom.errors import DataError
from dxgeom.metrics.checking.edge_list import Edge
from dxgeom.metrics.checking.matrix_check import EXACT_BELOW
from dxgeom.universe.decimals import NotANumber
from dxgeom.universe.wording import shown

COLUMNS = ("from", "to", "distance")


@final
@dataclass(frozen=True)
class ClaimedEdges:
    """What a file states, in its order. ``rounded``: decimals with too many digits were read as float64."""

    header: tuple[str, ...]
    edges: tuple[Edge, ...]
    rounded: bool


def read_edges(path: Path) -> ClaimedEdges:
    """Read a .csv file of three columns: from, to, distance. A first row whose third cell is no number is a header.

    Raises: DataError, TooLarge.
    """
    if path.suffix.lower() != ".csv":
        raise DataError(f"an edge list is a .csv file with the columns {', '.join(COLUMNS)}; found '{path}'")
    if not path.is_file():
        raise DataError(f"'{path}' is not a file" if path.exists() else f"'{path}' does not exist")
    try:
        rows = list(rows_of_text(path))
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}") from error
    if not rows:
        raise DataError(f"'{path}' holds no edges")
    headed = len(rows[0][1]) == len(COLUMNS) and not is_number(rows[0][1][2])
    edges = [_edge(path, line, cells) for line, cells in rows[headed:]]
    if not edges:
        raise DataError(f"'{path}' holds a header and no edges")
    return _as_exact_as_possible(tuple(rows[0][1]) if headed else (), edges)


def _edge(path: Path, line: int, cells: list[str]) -> Edge:
    if len(cells) != len(COLUMNS):
        raise DataError(f"'{path}', line {line}: an edge has the cells {', '.join(COLUMNS)}; found {len(cells)} cells")
    if not cells[0] or not cells[1]:
        raise DataError(f"'{path}', line {line}: an edge names both its ends; found an empty cell")
    try:
        return cells[0], cells[1], cell_of(cells[2])
    except NotANumber as error:
        found = shown(cells[2]) if cells[2] else "an empty cell"
        raise DataError(f"'{path}', line {line}, column 3: found {found}: {error}") from error


def _as_exact_as_possible(header: tuple[str, ...], edges: list[Edge]) -> ClaimedEdges:
    """Exact rationals while a common denominator leaves them below 2⁵², else float64."""
    rationals = {edge[2] for edge in edges if isinstance(edge[2], Fraction)}
    common = math.lcm(*{rational.denominator for rational in rationals})
    if all(abs(rational * common) < EXACT_BELOW for rational in rationals):
        return ClaimedEdges(header, tuple(edges), False)
    return ClaimedEdges(header, tuple((one, other, float(distance)) for one, other, distance in edges), True)
