"""Delimited text files: their header, and how lines relate to rows."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast, final

import numpy as np

from dxgeom.errors import DataError

_CHUNK: Final = 1 << 20
_LINE_FEED: Final = 10
_CARRIAGE_RETURN: Final = 13


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


@final
@dataclass(frozen=True)
class LineCount:
    """How many lines a file has, ended by LF, CR, CR LF or its end, and how many of them are ``filled``."""

    number: int
    filled: int

    def rows(self, columns: int) -> int:
        """How many rows there are if each is a line. An empty line is a cell of one column, and no row of several."""
        return (self.number if columns == 1 else self.filled) - 1


def lines_of(text: Delimited) -> LineCount:
    """Reads all of the file. Raises: EOFError, zlib.error, OSError where compressed text is cut off or garbled."""
    ends, filled, last = 0, 0, b"\n"
    with cast(BinaryIO, gzip.open(text.path, "rb")) if text.compressed else text.path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            chunk, last = last + chunk, chunk[-1:]
            ends += chunk.count(b"\n", 1) + chunk.count(b"\r", 1) - chunk.count(b"\r\n")
            letters = np.frombuffer(chunk, np.uint8)
            breaks = (letters == _LINE_FEED) | (letters == _CARRIAGE_RETURN)
            filled += int(np.count_nonzero(breaks[:-1] & ~breaks[1:]))
    return LineCount(ends + (last not in b"\r\n"), filled)
