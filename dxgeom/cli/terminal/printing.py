"""Printing: plain text that can be searched, tables on a terminal, or one JSON document."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from dxgeom.numeric.json_text import jsonable

if TYPE_CHECKING:
    from dxgeom.policy.policy import Policy

_GAP = "  "
MOST_SHOWN = 30
"""So many of very many lines are shown as text; JSON has all."""


def print_lines(lines: Sequence[str]) -> None:
    """Lines on standard output; on a terminal, those that are not indented and have an indented line below are bold."""
    bold = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        heading = bold and below.startswith(" ") and not line.startswith(" ")
        shown = printable(line)
        typer.echo(typer.style(shown, bold=True) if heading else shown, file=sys.stdout)


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
    sys.stderr.write(printable(message) + "\n")


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


def printable(text: str) -> str:
    """The text without characters that could steer a terminal; they are shown by their codes."""
    return "".join(
        character if character.isprintable() or character == "\n" else f"\\x{ord(character):02x}" for character in text
    )


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
