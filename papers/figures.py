"""What the scripts of the papers share: a row of a page's table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Row(NamedTuple):
    """A figure: what it is, what is computed here, what was computed elsewhere, and how far they may differ."""

    figure: str
    computed: float
    reference: float
    within: float

    def line(self, *, margin: bool = False) -> str:
        """The row as a page shows it, with or without how far the two may differ."""
        cells = [self.figure, f"{self.computed:.7g}", f"{self.reference:.7g}"]
        return f"| {' | '.join([*cells, f'{self.within:.1g}'] if margin else cells)} |"


def printed(rows: Iterable[Row], *, margin: bool = False) -> Iterator[Row]:
    """The rows, each of which is printed as soon as it is known."""
    heads = ["figure", "computed", "reference", *(["may differ by"] if margin else [])]
    print(f"| {' | '.join(heads)} |\n| {' | '.join('---' for _ in heads)} |")
    for row in rows:
        print(row.line(margin=margin), flush=True)
        yield row
