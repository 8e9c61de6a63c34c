"""What a terminal and a scheduler see: text, tables and JSON, exit codes, refusals, new files, standard streams.

What is written to standard streams never fails on the way, so that it neither ends a release between its charge and its
answer nor the process with a code of Python's own. What was not taken is remembered, and asked for at the end.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, final

import typer

from dxgeom.cli.options import Format, TableFormat
from dxgeom.errors import (
    AlreadyCharged,
    BudgetExceeded,
    DataError,
    Diagnostic,
    DxgeomError,
    FileMistakes,
    NotAMetric,
    NotDue,
    TryAgain,
    file_errors,
)
from dxgeom.numeric.json_text import jsonable
from dxgeom.wording.numbers import counted, in_encoding

if TYPE_CHECKING:
    from dxgeom.document.document import Document
    from dxgeom.planner.answers.tables import AnswerPart
    from dxgeom.policy.policy import Policy


_GAP = "  "
_NARROWEST, _WIDEST = 40, 120
_MOST_LINES = 6
"""Of an error so many lines are shown."""


def print_lines(lines: Sequence[str]) -> None:
    """Lines on standard output; on a terminal, those that are not indented and have an indented line below are bold."""
    bold = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        heading = bold and below.startswith(" ") and not line.startswith(" ")
        shown = printable(line)
        typer.echo(typer.style(shown, bold=True) if heading else shown, file=sys.stdout)


def print_screen(document: Document, margin: int = 0) -> None:
    """A short document, as wide as the terminal but for a margin, in what its encoding has."""
    lines = document.lines(screen_width() - margin, sys.stdout.encoding or "utf-8")
    sys.stdout.writelines(f"{printable(line)}\n" for line in lines)


def screen_width() -> int:
    """How wide lines may be: as COLUMNS says, else as the terminal is, else 80; from 40 to 120."""
    from dxgeom.document.plain_text import WIDTH

    said = os.environ.get("COLUMNS", "")
    asked = int(said) if said.isdecimal() else 0
    width = asked or (shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH)
    return max(_NARROWEST, min(width, _WIDEST))


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table whose first column is words, the rest numbers; too wide for a terminal, cells are folded there."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_folded(headers, cells)
    else:
        sys.stdout.writelines(f"{line}\n" for line in aligned(headers, cells))


def print_json(document: dict[str, Any]) -> None:
    """One JSON document on standard output, in ASCII; infinite numbers become "inf" and "-inf"."""
    sys.stdout.write(json_lines(document))


def print_either(output: Format, document: dict[str, Any], lines: Sequence[str]) -> None:
    """The same as one JSON document or as lines, whichever was asked for."""
    if output is Format.json:
        print_json(document)
    else:
        print_lines(lines)


def json_lines(document: dict[str, Any]) -> str:
    """One JSON document, in ASCII; infinite numbers become "inf" and "-inf"."""
    return json.dumps(jsonable(document), indent=2, allow_nan=False) + "\n"


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, headed: bool = True) -> None:
    """A header and rows as CSV on standard output; numbers in full, nothing for None."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerows([columns] if headed else [])
    writer.writerows(rows)


def print_error(message: str) -> None:
    """A message on standard error."""
    sys.stderr.write(printable(message, sys.stderr) + "\n")


def print_warnings(policy: Policy) -> None:
    """What later versions refuse, on standard error."""
    for warning in policy.warnings:
        print_error(f"warning: {policy.file}: {warning}")


def aligned(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table without rules."""
    table = [list(headers), *(list(row) for row in rows)]
    widths = [max(len(row[place]) for row in table) for place in range(len(headers))]
    return [
        _GAP.join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def printable(text: str, stream: Any = None) -> str:
    """The text without characters that could steer a terminal, which are shown by their codes, and with signs of ours
    that the stream has not in ASCII; left out, standard output."""
    plain = "".join(
        character if character.isprintable() or character == "\n" else f"\\x{ord(character):02x}" for character in text
    )
    return in_encoding(plain, getattr(stream or sys.stdout, "encoding", None) or "utf-8")


def _print_folded(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console  # slow to load, and of use on a terminal only
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for place, header in enumerate(headers):
        table.add_column(header, justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(table)


@final
class Outcome(IntEnum):
    """Exit codes; none ever changes its meaning. Of 1 to 4 nothing was drawn and nothing is told of the data."""

    FINE = 0
    REFUSED = 1
    """The policy, the queries, the table or the ledger is not as it must be: somebody has to mend something."""
    NOT_UNDERSTOOD = 2
    OVER_BUDGET = 3
    """The budget, or an allotment, does not allow it."""
    TRY_AGAIN = 4
    """A server is away, or others kept the ledger locked."""
    STORED = 5
    """Charged and answered, but not shown: the answers are in the ledger."""
    UNANSWERED = 6
    """Charged and not answered: it counts as spent."""
    INTERRUPTED = 130


def outcome_of(error: DxgeomError) -> Outcome:
    """The exit code of a command that an error ended."""
    match error:
        case AlreadyCharged():
            return Outcome.STORED if error.stored else Outcome.UNANSWERED
        case NotDue():
            return Outcome.NOT_UNDERSTOOD
        case BudgetExceeded():
            return Outcome.OVER_BUDGET
        case TryAgain():
            return Outcome.TRY_AGAIN
        case _:
            return Outcome.REFUSED


@contextmanager
def refusals(output: Format | TableFormat, *, everything: bool | None = None) -> Iterator[None]:
    """Turns what ends a command into a message on standard error and the exit code of its outcome.

    A message has at most six lines, unless ``everything`` is asked for; None where a command has no such option. With
    JSON the same goes to standard output as ``{"error": …}``. Any other exception is a bug and stays visible.
    """
    try:
        yield
    except DxgeomError as error:
        print_error(_message(error, everything))
        if output.value == Format.json.value:
            print_json({"error": {**error_dict(error), "exit_code": int(outcome_of(error))}})
        raise typer.Exit(outcome_of(error)) from error
    except KeyboardInterrupt as error:
        print_error("; ".join(["interrupted", *getattr(error, "__notes__", ())]))
        raise typer.Exit(Outcome.INTERRUPTED) from error


def error_dict(error: DxgeomError) -> dict[str, Any]:
    """An error ready for JSON: its kind, its message, and what its kind carries."""
    document: dict[str, Any] = {"kind": type(error).__name__, "message": str(error)}
    if isinstance(error, AlreadyCharged):
        document["entry"] = error.entry
        document["stored"] = error.stored
    if isinstance(error, FileMistakes):
        document["mistakes"] = [diagnostic.as_dict() for diagnostic in error.diagnostics]
    if isinstance(error, NotAMetric):
        document["witness"] = list(error.witness)
        document["excess"] = error.excess
        document["broken"] = [{"axiom": rule, "count": count} for rule, count in error.broken]
    return document


def _message(error: DxgeomError, everything: bool | None) -> str:
    """What is said of an error: all of it, or so many mistakes as fit, and how many more there are."""
    number = counted(len(error.diagnostics), "mistake") if isinstance(error, FileMistakes) else ""
    whole = f"{error}\n{number}" if number else f"error: {error}"
    lines = whole.splitlines()
    if everything or len(lines) <= _MOST_LINES:
        return whole
    way = "--format json lists every one" if everything is None else "--all shows every one"
    if not isinstance(error, FileMistakes):
        more = len(lines) - _MOST_LINES + 1
        return "\n".join([*lines[: _MOST_LINES - 1], f"  and {more:,} more lines: {way}"])
    found = error.diagnostics
    shown = [f"{_place(one)}: {one.code}: {one.message}" for one in found[: _MOST_LINES - 1]]
    remedies = [*dict.fromkeys(one.advice for one in found if one.advice)]
    if len(found) < _MOST_LINES - 1 and len(remedies) == 1:
        shown.append(f"    {remedies[0]}")
    elif len(found) + sum(bool(one.advice) for one in found) < _MOST_LINES:
        each = zip(shown, found, strict=True)
        shown = [line for said, one in each for line in (said, *([f"    {one.advice}"] if one.advice else []))]
    return "\n".join([*shown, f"{number}: {way}, with its line and what to do"])


def _place(one: Diagnostic) -> str:
    return f"{one.file}: {one.path}" if one.path else f"{one.file}:{one.line}:{one.column}"


def print_parts(parts: Sequence[AnswerPart]) -> list[str]:
    """The answers, task by task with what is said of their errors; what is to follow where there is one only."""
    if len(parts) == 1 and not parts[0].name:
        print_tables(parts[0])
        return note_lines(parts[0])
    from dxgeom.universe.columns import plain

    for part in parts:
        share = f"{plain(Fraction(part.share))} of the spend: {plain(Fraction(part.spent))}"
        print_lines(["", f"{part.name}  ({part.kind}, {share})"])
        print_tables(part)
        print_lines(note_lines(part))
    return []


def print_tables(part: AnswerPart) -> None:
    """The tables of a part, a blank line between two."""
    from dxgeom.document.document import plain_words  # pages are loaded where answers are shown
    from dxgeom.report.answers import answer_tables

    for place, table in enumerate(answer_tables(part)):
        print_lines([""] if place else [])
        print_table([one.title for one in table.columns], [tuple(map(plain_words, row)) for row in table.rows])


def note_lines(part: AnswerPart) -> list[str]:
    """What is said below the tables."""
    from dxgeom.report.answers import answer_notes

    return [f"{one.about:<10} {one.sentence}" for one in answer_notes(part)]


Content: TypeAlias = str | Callable[[BinaryIO], None]
"""What goes into a file."""


def check_new(target: Path) -> None:
    """Refuse a file that is there already, and a folder that is not. Raises: DataError."""
    if target.exists():
        raise DataError(f"'{target}' exists and is not overwritten; name a new file")
    if not target.parent.is_dir():
        raise DataError(f"the folder of '{target}' does not exist; create it first")
    if target.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise DataError(f"'{target}' would be no workbook, and none is written here: give it another ending")


@contextmanager
def begun_file(target: Path | None, mode: int = 0o666) -> Iterator[Callable[[Content], None] | None]:
    """A new file, begun at once and empty, so that what forbids writing it is found out before anything is paid for.

    What is yielded writes it, once: a text, or what a function writes to it; None without a target. A file that was
    not written whole is taken away. ``mode``: who may read and write it, as far as the umask allows.
    Raises: DataError when it cannot be begun, or not be written.
    """
    if target is None:
        yield None
        return
    check_new(target)
    with file_errors(target, "written"):
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    whole = False

    def write(content: Content) -> None:
        nonlocal whole
        with file_errors(target, "written"):
            if isinstance(content, str):
                file.write(content.encode("utf-8"))
            else:
                content(file)
            file.flush()
            os.fsync(file.fileno())
        whole = True

    file = os.fdopen(descriptor, "wb")
    try:
        yield write
    finally:
        with suppress(OSError):  # what is whole is on the disk; what is not, is told of already
            file.close()
        if not whole:
            with suppress(OSError):
                target.unlink()


@final
class Door(io.RawIOBase):
    """What a standard stream writes through. Once it has not taken something, all that follows goes nowhere.

    ``failure``: why it did not take it, None as long as it has taken everything.
    """

    def __init__(self, way: Any) -> None:
        self._way = way
        self.failure: OSError | None = None

    def write(self, content: Any) -> int:
        if self.failure is None:
            try:
                taken = self._way.write(content)
                if taken is not None:
                    return int(taken)
                raise BlockingIOError("nobody reads as fast as it is written")
            except OSError as error:
                self.failure = error
        return len(content)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return bool(self._way.isatty())

    def fileno(self) -> int:
        return int(self._way.fileno())


def hang_doors() -> bool:
    """Standard output and error through doors. Closed descriptors are opened to nowhere, so that no ledger, table or
    library gets the number of one. Returns: whether standard output is open for writing."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    is_open = _is_open(sys.stdout)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - open as long as the process
    sys.stdout, sys.stderr = _hung(sys.stdout), _hung(sys.stderr)
    return is_open


def unshown() -> OSError | None:
    """Why standard output has not taken all that was written to it; None where it has, or has no door."""
    sys.stdout.flush()
    door = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return door.failure if isinstance(door, Door) else None


def _is_open(stream: Any) -> bool:
    if stream is None:
        return False
    try:
        os.write(stream.fileno(), b"")  # nothing is written; what was opened for reading only says so
    except OSError as error:
        return error.errno != errno.EBADF
    return True


def _hung(stream: Any) -> Any:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - open as long as the process
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    way = getattr(stream.buffer, "raw", stream.buffer)
    # An answer that was paid for must not be lost because a terminal cannot show one of its letters.
    return io.TextIOWrapper(
        io.BufferedWriter(Door(way)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
