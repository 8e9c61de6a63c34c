"""Released answers as text, the same fresh and from a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dxgeom.cli.terminal.printing import print_lines, print_table
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.report.released import ReleasedPart


def print_parts(parts: Sequence[ReleasedPart]) -> list[str]:
    """The answers, task by task with what is said of their errors; what is to follow where there is one only."""
    if len(parts) == 1 and not parts[0].name:
        print_tables(parts[0])
        return note_lines(parts[0])
    for part in parts:
        share = f"{plain(Fraction(part.share))} of the spend: {plain(Fraction(part.spent))}"
        print_lines(["", f"{part.name}  ({part.kind}, {share})"])
        print_tables(part)
        print_lines(note_lines(part))
    return []


def print_tables(part: ReleasedPart) -> None:
    """The tables of a part, a blank line between two."""
    from dxgeom.document.document import plain_words  # pages are loaded where answers are shown
    from dxgeom.report.answers import answer_tables

    for place, table in enumerate(answer_tables(part)):
        print_lines([""] if place else [])
        print_table([one.title for one in table.columns], [tuple(map(plain_words, row)) for row in table.rows])


def note_lines(part: ReleasedPart) -> list[str]:
    """What is said below the tables."""
    from dxgeom.report.answers import answer_notes

    return [f"{one.about:<10} {one.sentence}" for one in answer_notes(part)]
