"""Files of claimed distances: a matrix or an edge list is read, and written again when repaired."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.cli.terminal import check_new
from dxgeom.errors import DataError, TooLarge, file_errors
from dxgeom.metrics.edges import Edge
from dxgeom.metrics.matrices import EXACT_BELOW, Distance
from dxgeom.policy.source.data_files import NotCommaSeparated, TooManyCells, comma_rows
from dxgeom.universe.columns import plain
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.wording import shown

MOST_CELLS = 100_000_000
"""Ten thousand records, and half a million million detours to compare."""
MOST_TEXT_CELLS = 25_000_000
ENDINGS = (".csv", ".npy", ".parquet")
_WORDS = {"inf": math.inf, "+inf": math.inf, "infinity": math.inf, "∞": math.inf, "-inf": -math.inf, "nan": math.nan}

Cell: TypeAlias = Fraction | float


@final
@dataclass(frozen=True, eq=False)
class ClaimedMatrix:
    """What a file states: ``entries`` are int64 or Fraction where exact, float64 otherwise; nothing is checked yet.

    ``rounded``: the text holds decimals with too many digits to decide them exactly, so they were read as float64.
    ``header``: the first row of text that is no row of distances; ``named``: each row starts with its label.
    """

    labels: tuple[str, ...]
    entries: NDArray[Any]
    rounded: bool = False
    header: tuple[str, ...] = ()
    named: bool = False

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.entries.shape[0] if self.entries.ndim else 0

    def label(self, index: int) -> str:
        """The name of a record: its label in the file, else its number from 0."""
        return self.labels[index] if len(self.labels) == self.size else str(index)

    def distance(self, i: int, j: int) -> str:
        """An entry as a person writes it."""
        entry = self.entries[i, j]
        return plain(entry) if isinstance(entry, Fraction) else f"{entry.item():.17g}"


def read_matrix(path: Path) -> ClaimedMatrix:
    """Read a matrix file by its ending: .csv, .npy (never pickled), or .parquet.

    Raises: DataError, TooLarge.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise DataError(f"a matrix is a file that ends in {', '.join(ENDINGS)}; found '{path}'")
    with reading(path):
        if ending == ".csv":
            return _from_text(path)
        if ending == ".npy":
            return ClaimedMatrix((), _from_npy(path))
    from dxgeom.engines.answer_frames import matrix_of_parquet

    return ClaimedMatrix(*matrix_of_parquet(path, MOST_CELLS))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises: DataError where there is no such file, or it cannot be read."""
    if not path.is_file():
        raise DataError(f"'{path}' is not a file" if path.exists() else f"'{path}' does not exist")
    with file_errors(path, "read"):
        yield


def _from_npy(path: Path) -> NDArray[Any]:
    try:
        entries = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise DataError(
            f"'{path}' is not a .npy file of numbers; write it with numpy.save (pickled objects are refused)"
        ) from error
    if entries.size > MOST_CELLS:
        raise TooLarge(f"'{path}' holds {entries.size:,} distances; at most {MOST_CELLS:,} are read")
    return np.array(entries)


def _from_text(path: Path) -> ClaimedMatrix:
    """A matrix in comma-separated text, with or without labels.

    There are labels when the top left cell is no number: in a header when there is one row more than columns, in the
    first column when there is one column more than rows, in both when there are as many rows as columns.
    """
    rows = list(rows_of_text(path))
    if not rows:
        raise DataError(f"'{path}' holds no distances")
    first = rows[0][1]
    labelled = not is_number(first[0])
    header = labelled and len(rows) >= len(first)
    column = labelled and len(rows) <= len(first)
    body = rows[1:] if header else rows
    labels = tuple(cells[0] for _, cells in body) if column else tuple(first) if header else ()
    claimed = _as_exact_as_possible(labels, _numbers_of(path, body, 1 if column else 0))
    return replace(claimed, header=tuple(first) if header else (), named=column)


def rows_of_text(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of comma-separated text that are not blank, each with its line. Raises: DataError, TooLarge."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            for line, row in comma_rows(stream, MOST_TEXT_CELLS):
                if any(cell.strip() for cell in row):
                    yield line, [cell.strip() for cell in row]
    except TooManyCells as error:
        raise TooLarge(f"'{path}' holds more than {MOST_TEXT_CELLS:,} cells; write it as .npy or .parquet") from error
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not text in UTF-8; save it as UTF-8") from error
    except NotCommaSeparated as error:
        raise DataError(f"'{path}' is not comma-separated text: {error}") from error


def is_number(text: str) -> bool:
    """Whether a cell holds a number."""
    try:
        cell_of(text)
    except NotANumber:
        return False
    return True


def cell_at(path: Path, line: int, column: int, text: str, hint: str = "") -> Cell:
    """What a cell of a file holds. Raises: DataError."""
    try:
        return cell_of(text)
    except NotANumber as error:
        found = shown(text) if text else "an empty cell"
        raise DataError(f"'{path}', line {line}, column {column}: found {found}: {error}{hint}") from error


def common_scale(cells: Iterable[Cell]) -> tuple[int, bool]:
    """The common denominator of the rationals among them, and whether it leaves all of these below 2⁵²."""
    rationals = {cell for cell in cells if isinstance(cell, Fraction)}
    denominator = math.lcm(*{rational.denominator for rational in rationals})
    return denominator, all(abs(rational * denominator) < EXACT_BELOW for rational in rationals)


def cell_of(text: str) -> Cell:
    """A decimal or a fraction such as 1/3, exactly; inf and nan in their usual spellings.

    Raises: NotANumber.
    """
    word = _WORDS.get(text.lower())
    if word is not None:
        return word
    above, slash, below = text.partition("/")
    if not slash:
        return exact(text)
    denominator = exact(below.strip())
    if denominator == 0:
        raise NotANumber("nothing is divided by 0")
    return exact(above.strip()) / denominator


def _numbers_of(path: Path, body: list[tuple[int, list[str]]], skip: int) -> list[list[Cell]]:
    known: dict[str, Cell] = {}
    numbers = []
    hint = "; add --edges if this lists from, to, distance" if all(len(cells) == 3 for _, cells in body) else ""
    for line, cells in body:
        if len(cells) - skip != len(body):
            raise DataError(
                f"'{path}', line {line}: a distance matrix is square: there are {len(body):,} rows of distances, "
                f"this one has {len(cells) - skip:,}{hint}"
            )
        for column, text in enumerate(cells[skip:], start=skip + 1):
            if text not in known:
                known[text] = cell_at(path, line, column, text, hint)
        numbers.append([known[text] for text in cells[skip:]])
    return numbers


def _as_exact_as_possible(labels: tuple[str, ...], numbers: list[list[Cell]]) -> ClaimedMatrix:
    """Integers as int64, other rationals as Fraction while a common denominator leaves them below 2⁵², else float64."""
    denominator, fits = common_scale(number for row in numbers for number in row)
    words = any(isinstance(number, float) for row in numbers for number in row)
    if not fits or any(isinstance(number, float) and number != math.inf for row in numbers for number in row):
        return ClaimedMatrix(labels, np.array(numbers, dtype=np.float64), not fits)
    if denominator == 1:
        return ClaimedMatrix(labels, np.array(numbers, dtype=np.float64 if words else np.int64))
    entries = np.empty((len(numbers), len(numbers)), dtype=object)
    entries[:] = numbers
    return ClaimedMatrix(labels, entries)


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
    return _exact_edges(tuple(rows[0][1]) if headed else (), edges)


def _edge(path: Path, line: int, cells: list[str]) -> Edge:
    if len(cells) != len(COLUMNS):
        raise DataError(f"'{path}', line {line}: an edge has the cells {', '.join(COLUMNS)}; found {len(cells)} cells")
    if not cells[0] or not cells[1]:
        raise DataError(f"'{path}', line {line}: an edge names both its ends; found an empty cell")
    return cells[0], cells[1], cell_at(path, line, 3, cells[2])


def _exact_edges(header: tuple[str, ...], edges: list[Edge]) -> ClaimedEdges:
    """Exact rationals while a common denominator leaves them below 2⁵², else float64."""
    if common_scale(edge[2] for edge in edges)[1]:
        return ClaimedEdges(header, tuple(edges), False)
    return ClaimedEdges(header, tuple((one, other, float(distance)) for one, other, distance in edges), True)


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
                from dxgeom.engines.answer_frames import matrix_to_parquet

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
