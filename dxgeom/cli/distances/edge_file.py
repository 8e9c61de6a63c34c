"""Reading an edge list from a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from dxgeom.cli.distances.matrix_file import cell_at, common_scale, is_number, reading, rows_of_text
from dxgeom.errors import DataError
from dxgeom.metrics.edges import Edge

COLUMNS = ("from", "to", "distance")


@final
@dataclass(frozen=True)
class ClaimedEdges:
    """What a file states, in its order. ``rounded``: decimals with too many digits were read as float64."""

    header: tuple[str, ...]
    edges: tuple[Edge, ...]
    rounded: bool

    @property
    def size(self) -> int:
        """The number of edges."""
        return len(self.edges)


def read_edges(path: Path) -> ClaimedEdges:
    """Read a .csv file of three columns: from, to, distance. A first row whose third cell is no number is a header.

    Raises: DataError, TooLarge.
    """
    if path.suffix.lower() != ".csv":
        raise DataError(f"an edge list is a .csv file with the columns {', '.join(COLUMNS)}; found '{path}'")
    with reading(path):
        rows = list(rows_of_text(path))
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
    return cells[0], cells[1], cell_at(path, line, 3, cells[2])


def _as_exact_as_possible(header: tuple[str, ...], edges: list[Edge]) -> ClaimedEdges:
    """Exact rationals while a common denominator leaves them below 2⁵², else float64."""
    if common_scale(edge[2] for edge in edges)[1]:
        return ClaimedEdges(header, tuple(edges), False)
    return ClaimedEdges(header, tuple((one, other, float(distance)) for one, other, distance in edges), True)
