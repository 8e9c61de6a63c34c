"""Printing: plain text that can be searched, tables on a terminal, or one JSON document."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from dxgeom.numeric.json_text import jsonable

_GAP = "  "
MOST_SHOWN = 30
"""So many of very many lines are shown as text; JSON has all."""


def print_lines(lines: Sequence[str]) -> None:
    """Lines on standard output; on a terminal, those that are not indented and have an indented line below are bold."""
    bold = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
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


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A header and rows as CSV on standard output; numbers in full, nothing for None."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def print_error(message: str) -> None:
    """A message on standard error."""
    sys.stderr.write(printable(message) + "\n")


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


def brief(number: float) -> str:
    """A number of at least 0 with four significant digits.

    >>> brief(15510.3), brief(12.50163), brief(0.0000673), brief(0.0)
    ('15,510', '12.50', '6.730e-05', '0')
    """
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    if not 1e-3 <= number < 1e15:
        return f"{number:.3e}"
    return f"{number:,.{max(0, 3 - math.floor(math.log10(number)))}f}"


def rounded(value: float, error: float) -> str:
    """A number with the digits that its error leaves meaningful: two of the error's own.

    >>> rounded(1234567.891, 25.3), rounded(203.4567, 0.00123), rounded(12.0, 0.0)
    ('1,234,568', '203.4567', '12')
    """
    if not math.isfinite(value):
        return str(value)
    if not 0 < error < math.inf:
        return f"{value:,.12g}"
    places = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:,.{places}f}"


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
