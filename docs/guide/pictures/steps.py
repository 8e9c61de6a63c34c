"""Draws what comes after what: boxes in columns, those of one column joined to those of the next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from dxgeom.document.axes import write
from dxgeom.document.scene import Area, Arrow, Label, Mark, Scale, Scene, rectangle

INCHES, DOTS = 7.4, 72
LETTER, LINE, PAD, GAP, BETWEEN = 5.6, 12.0, 6.0, 20.0, 9.0
STEPS = {
    "start": [
        ["your table"],
        ["!dxgeom init|drafts a policy|and questions"],
        ["you decide|what is hidden"],
        ["!dxgeom check"],
        ["!dxgeom plan"],
    ],
    "engines": [
        ["CSV, Parquet, workbooks", "pandas, Polars, Arrow", "DuckDB, SQLite", "PostgreSQL", "Spark"],
        ["!equal rows|are counted|where they lie"],
        ["!exact counts,|the same from|every engine"],
        ["!noise, once"],
    ],
    "ledger": [
        ["1 find:|released|before?"],
        ["!2 charge,|on the disk"],
        ["3 draw|the noise"],
        ["!4 store|the answer"],
        ["5 show it"],
    ],
    "shared-ledger": [
        ["analyst's release", "another analyst's", "a nightly job"],
        ["!one ledger, on|a PostgreSQL server"],
        ["one budget", "stored answers, again|at no cost"],
    ],
    "instalments": [
        ["!dxgeom plan|for a year"],
        ["!dxgeom open|charged once"],
        ["!first day", "!second day", "!and so on"],
        ["answers of the day,|at no further cost"],
        ["!dxgeom close"],
    ],
    "nightly-job": [
        ["!dxgeom release,|every night"],
        ["0", "1 or 2", "3", "4 or 5", "6"],
        [
            "take the answers",
            "somebody has to mend it",
            "ask who keeps the budget",
            "the same again, later",
            "look at the ledger",
        ],
    ],
    "dbt": [["dbt build|and its tests"], ["patients.parquet"], ["!dxgeom release"], ["answers of the night"]],
    "container": [
        ["your folder,|seen as /work"],
        ["!dxgeom in a container:|no network,|a user without rights"],
        ["answers and ledger,|which belong to you"],
    ],
    "tasks": [
        ["!one charge|for the file"],
        ["tables: 1/2", "most common group: 1/4", "larger group: 1/4"],
        ["!one entry of the ledger|with all answers"],
    ],
    "mechanisms": [
        ["counts and sums", "whole tables", "very many boxes", "the best candidate", "medians"],
        [
            "!AdditiveMechanism",
            "!TableMechanism",
            "!BoxMechanism, ToeplitzMechanism",
            "!Selection",
            "!TransportQuantiles, LaplaceQuantiles",
        ],
    ],
    "opendp": [
        ["!dx.plan"],
        ["!plan.to_opendp"],
        ["a measurement|of OpenDP"],
        ["!the ledger charges|each call", "OpenDP's filters|bound them, too"],
    ],
}
"""By picture, in columns; lines end at a bar, and what dxgeom does begins with a mark."""


def draw(folder: Path) -> list[Path]:
    """All of them."""
    return [_drawn(columns, folder / f"{name}-steps.svg") for name, columns in STEPS.items()]


def _drawn(columns: list[list[str]], path: Path) -> Path:
    """Columns as wide as their words, spread over the width of a page."""
    wide = [
        max(len(line) for box in column for line in box.lstrip("!").split("|")) * LETTER + 2 * PAD for column in columns
    ]
    high = max(sum(map(_height, column)) + BETWEEN * (len(column) - 1) for column in columns)
    gap = min(70.0, max(GAP, (INCHES * DOTS - 8 - sum(wide)) / max(1, len(columns) - 1)))
    marks: list[Mark] = []
    before: list[tuple[float, float]] = []
    left = 0.0
    for column, width in zip(columns, wide, strict=True):
        middles = list(_middles(column, high))
        for box, middle in zip(column, middles, strict=True):
            half = _height(box) / 2
            corners = rectangle(left, middle - half, left + width, middle + half)
            marks.append(Area(corners, "pale" if box.startswith("!") else "ground", "muted"))
            lines = box.lstrip("!").split("|")
            for place, line in enumerate(lines):
                marks.append(Label((left + width / 2, middle + LINE * ((len(lines) - 1) / 2 - place)), line, "middle"))
        ends = [(left, middle) for middle in middles]
        joined = zip(before, ends, strict=True) if len(before) == len(ends) else product(before, ends)
        marks += [Arrow(start, end, "muted") for start, end in joined]
        before = [(left + width, middle) for middle in middles]
        left += width + gap
    across, margin = left - gap, 4.0
    words = " → ".join(", ".join(box.lstrip("!").replace("|", " ") for box in column) for column in columns)
    frame = Scale(-margin, across + margin), Scale(-margin, high + margin)
    scene = Scene(words, *frame, tuple(marks), round(across + 16), round(high + 16), framed=False)
    write(scene, path, None, 9.0, (scene.width / DOTS, scene.height / DOTS))
    return path


def _height(box: str) -> float:
    return LINE * (box.count("|") + 1) + 2 * PAD


def _middles(column: list[str], high: float) -> Iterator[float]:
    """From the top, the column in the middle."""
    top = (high + sum(map(_height, column)) + BETWEEN * (len(column) - 1)) / 2
    for box in column:
        yield top - _height(box) / 2
        top -= _height(box) + BETWEEN
