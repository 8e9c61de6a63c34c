"""Delimited text files: their header, and how lines relate to rows."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast, final

from dxgeom.errors import DataError

_CHUNK = 1 << 20


@final
@dataclass(frozen=True)
class Delimited:
    """A text file of rows; ``separator`` is a comma or a tab."""

    path: Path
    separator: str
    compressed: bool


def delimited(path: Path, separator: str) -> Delimited:
    """The file at ``path``, compressed when its name ends in .gz."""
    return Delimited(path, separator, path.name.lower().endswith(".gz"))


def header_of(text: Delimited) -> tuple[str, ...]:
    """The column names on the first line."""
    opener = gzip.open if text.compressed else open
    with opener(text.path, "rt", encoding="utf-8-sig", newline="") as lines:
        names = next(csv.reader(lines, delimiter=text.separator, strict=True), [])
    if not names:
        raise DataError(f"the first line of '{text.path}' is empty; it should name the columns")
    return tuple(names)


def lines_are_rows(text: Delimited, rows: int) -> bool:
    """Whether data row r is line r + 1: no cell spans lines, and no line is empty."""
    ends, last = 0, b""
    with cast(BinaryIO, gzip.open(text.path, "rb")) if text.compressed else text.path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            ends, last = ends + chunk.count(b"\n"), chunk
    return rows + 1 == ends + (not last.endswith(b"\n"))
