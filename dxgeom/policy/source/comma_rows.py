"""Comma-separated text as rows: of policies' data files and of files of distances alike."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import final


@final
class NotCommaSeparated(Exception):
    """The text is no comma-separated text; the message says why, ``line`` where. Callers turn it into their error."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


@final
class TooManyCells(Exception):
    """The text holds more cells than were allowed. Callers turn it into their error."""


def comma_rows(lines: Iterable[str], most_cells: int) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty lines, each with the line it ends on.

    Raises: NotCommaSeparated; TooManyCells before more than ``most_cells`` were handed out.
    """
    reader = csv.reader(lines, strict=True)
    cells = 0
    try:
        for row in reader:
            cells += len(row)
            if cells > most_cells:
                raise TooManyCells
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise NotCommaSeparated(str(error), reader.line_num) from error
