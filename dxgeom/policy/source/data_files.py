"""CSV files beside a policy: read from its folder only, with a stated size, into exact columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeVar, final

from dxgeom.policy.source.fields import THE_LIST, EdgeList
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.text import Folder, Unreadable, decoded, read_beside
from dxgeom.universe.columns import Column, NumberColumn, TextColumn
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.wording import shown


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


MAX_DATA_BYTES: Final = 64 << 20
MAX_ROWS: Final = 1_000_000
_MAX_CELLS: Final = 20_000_000


@final
class WrongContent(Exception):
    """A data file was read but its content is wrong; the text says where and why. Never leaves this module."""


Read = TypeVar("Read")


def read_or_note(read: Callable[[], Read], mistakes: Mistakes, span: Span, what: str, form: str = "CSV") -> Read | None:
    """What ``read`` makes of a file; None when it cannot, which is then noted where the file is named.

    Args: ``what`` it is, with its name, and in which ``form``, for the message.
    """
    try:
        return read()
    except Unreadable as error:
        advice = f"name a {form} file in the policy's own folder or below it"
        mistakes.add("DX114", span, f"{what}: {error}", advice)
    except WrongContent as error:
        mistakes.add("DX115", span, str(error))
    return None


@final
@dataclass(frozen=True)
class CsvTable:
    """A header and rows of equal length; ``lines``: the line of the file each row ends on.

    ``counted``: what the numbers in ``lines`` count, which are not lines where a policy lists the rows itself.
    """

    file: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    counted: str = "line"
    _read: dict[str, tuple[Fraction, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def at(self, line: int) -> str:
        """A row's place, as messages tell it."""
        return f"{self.file}, {self.counted} {line}"

    def column(self, name: str) -> tuple[str, ...]:
        """The cells of a column.

        Raises: WrongContent when there is none of that name.
        """
        if name not in self.header:
            known = ", ".join(map(shown, self.header[:20]))
            raise WrongContent(f"{self.file} has no column {shown(name)}; it has {known}")
        place = self.header.index(name)
        return tuple(row[place] for row in self.rows)

    def numbers(self, name: str) -> tuple[Fraction, ...]:
        """The cells of a column as exact decimals.

        Raises: WrongContent naming the first cell that is none.
        """
        if name not in self._read:
            self._read[name] = self._decimals(name)
        return self._read[name]

    def _decimals(self, name: str) -> tuple[Fraction, ...]:
        found = []
        for cell, line in zip(self.column(name), self.lines, strict=True):
            try:
                found.append(exact(cell.strip()))
            except NotANumber as error:
                raise WrongContent(f"{self.at(line)}: {name} is {shown(cell)}: {error}") from error
        return tuple(found)


def read_csv(folder: Folder | None, name: str) -> CsvTable:
    """Read a CSV file by its name relative to ``folder``.

    Raises: Unreadable when it may not or cannot be opened, WrongContent when it is no table.
    """
    text = decoded(read_beside(folder, name, MAX_DATA_BYTES))
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    try:
        for line, row in comma_rows(io.StringIO(text), _MAX_CELLS):
            if len(rows) > MAX_ROWS:
                raise TooManyCells
            rows.append(tuple(row))
            lines.append(line)
    except TooManyCells as error:
        raise WrongContent(f"{name} has more than {MAX_ROWS:,} rows or {_MAX_CELLS:,} cells") from error
    except NotCommaSeparated as error:
        raise WrongContent(f"{name}, line {error.line}: this is not CSV: {error}") from error
    return _table(name, rows, lines)


def _table(name: str, rows: list[tuple[str, ...]], lines: list[int]) -> CsvTable:
    if len(rows) < 2:
        raise WrongContent(f"{name} needs a header line and at least one row below it")
    header = tuple(cell.strip() for cell in rows[0])
    if len(set(header)) < len(header) or "" in header:
        raise WrongContent(f"{name}: the columns of the header need distinct names that are not empty")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise WrongContent(f"{name}, line {line}: {len(row)} cells under a header of {len(header)}")
    return CsvTable(name, header, tuple(rows[1:]), tuple(lines[1:]))


def listed_rows(file: str, counted: str, header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> CsvTable:
    """Rows that a policy lists itself, as if a file had them. Args: as of :class:`CsvTable`."""
    return CsvTable(file, header, rows, tuple(range(1, len(rows) + 1)), counted)


def edges_of(folder: Folder | None, edges: str | EdgeList, number: str) -> CsvTable:
    """The edges of a file, or those of a list: two columns of ends and perhaps one, ``number``, of their numbers.

    Raises: Unreadable, WrongContent.
    """
    if isinstance(edges, str):
        return read_csv(folder, edges)
    header = ("one end", "the other end", number)
    return listed_rows(THE_LIST, "edge", header[: len(edges[0])], edges)


def read_words(folder: Folder | None, name: str) -> tuple[str, ...]:
    """The lines of a text file, by its name relative to ``folder``.

    Raises: Unreadable when it may not or cannot be opened, WrongContent for an empty line, or the same word twice.
    """
    words = decoded(read_beside(folder, name, MAX_DATA_BYTES)).removesuffix("\n").split("\n")
    words = [word.removesuffix("\r") for word in words]
    if len(words) > MAX_ROWS:
        raise WrongContent(f"{name} has more than {MAX_ROWS:,} lines")
    first: dict[str, int] = {}
    for line, word in enumerate(words, start=1):
        if not word.strip():
            raise WrongContent(f"{name}, line {line}: a word is expected here, found an empty line")
        if word in first:
            raise WrongContent(f"{name}, line {line}: the word {shown(word)} is already in line {first[word]}")
        first[word] = line
    return tuple(words)


def check_keys(keys: tuple[str, ...], table: CsvTable) -> None:
    """Names of values are distinct and not empty. Raises: WrongContent."""
    first: dict[str, int] = {}
    for key, line in zip(keys, table.lines, strict=True):
        if not key:
            raise WrongContent(f"{table.at(line)}: the key is empty")
        if key in first:
            raise WrongContent(f"{table.at(line)}: the key {shown(key)} is already in line {first[key]}")
        first[key] = line


def column_of(table: CsvTable, name: str) -> Column:
    """A column of numbers if every cell is a decimal, else of words."""
    try:
        return NumberColumn(name, table.numbers(name))
    except WrongContent:
        return TextColumn(name, table.column(name))
