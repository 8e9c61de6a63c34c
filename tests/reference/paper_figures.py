"""The figures that the page of a paper shows, recomputed by the script beside it, and the table of all papers."""

from __future__ import annotations

import importlib.util
import re
from typing import NamedTuple

from reference.project import PAPERS

WAYS = ("strategy 1", "strategy 2", "strategy 3", "optimum")
SHOWN = {
    "Kamalaruban, Example 1:": [f"Example 1: scale of the number who are {who}" for who in ("not native", "male")],
    "Kamalaruban, Figure 2b:": ["Fig. 2b: mean improvement"],
    "Kamalaruban, Figure 2c,": [f"Fig. 2c: mean improvement, K = 10, {way}" for way in WAYS],
    "Kamalaruban, Figure 2d,": [f"Fig. 2d: mean improvement, K = 10, {way}" for way in WAYS],
    "Kamalaruban, Figure 3b:": ["Fig. 3b: improvement of elevation, in degrees"],
    "Kamalaruban, Figure 4,": [f"Fig. 4: mean RMSE, {kind} at T = 4" for kind in ("threshold", "smooth")],
    "Kamalaruban, Figure 5,": [f"Fig. 5: median improvement, {kind} at T = 4" for kind in ("threshold", "smooth")],
    "Awan, Example 3.1:": [f"Example 3.1: {name}" for name in ("Δ₁", "Δ₂", "Δ∞")],
    "Awan, Figure 1, exact:": [
        *(f"Figure 1, exact: squared error of {name} noise" for name in ("ℓ₁", "ℓ₂", "ℓ∞")),
        "Figure 1: squared error of the hull's noise",
    ],
    "Awan, Figure 1, by": [f"Figure 1, as by equation 2: squared error of {name} noise" for name in ("ℓ₁", "ℓ₂", "ℓ∞")],
    "Chatzikokolakis, Figure 1:": [
        "Figure 1: odds that H∘f allows for each change",
        "Figure 1: odds that H allows between values 1 apart",
    ],
    "Chatzikokolakis, Figure 2": ["truncated geometric, k = 5, ε = ln 2: first row is exact (1 = yes)"],
    "Chatzikokolakis, Figure 3:": [f"Fig. 3: α at δ = .05, ε = 1, under {metric}" for metric in ("Hamming", "d₁/5")],
    "Chatzikokolakis, Figure 4,": [
        "Figure 4, ε = 0.1: nats that the printed noise allows a unit",
        "Figure 4, ε = 0.1: mean error of noise for ε, all together",
    ],
    "Wu, Example 10": ["ε = 1: mean of error over the ladder's"],
    "Wu, Figure 7, δ": [f"{query}, δ = 10, ε = 3: error over the staircase's" for query in ("V₁", "V₂", "V₄")],
}
"""Which rows of scripts stand behind a row of the table, by how its name begins."""


class TableRow(NamedTuple):
    """A row of the table of ``papers/README.md``, column by column."""

    figure: str
    script: str
    printed: str
    corrected: str
    ours: str
    within: str
    seed: str

    def parts(self, column: str) -> list[str]:
        """The numbers of a column, as they are written; none where it holds words, too."""
        written = self.corrected if (column, self.ours) == ("ours", "the same") else getattr(self, column)
        parts = written.replace("; ", ", ").split(", ")
        return parts if all(re.fullmatch(r"\d*\.?\d+(e-\d+)?", part) for part in parts) else []

    def numbers(self, column: str) -> list[float]:
        """The same as numbers."""
        return [float(part) for part in self.parts(column)]

    def margins(self, count: int) -> list[float]:
        """How far each of so many numbers may be off: one stands for all."""
        given = self.numbers("within")
        return given * count if len(given) == 1 else given

    @property
    def shown(self) -> list[str]:
        """The rows of scripts behind it; none where scripts print it otherwise."""
        return next((names for start, names in SHOWN.items() if self.figure.startswith(start)), [])


def table_rows() -> list[TableRow]:
    """The table, row by row."""
    lines = (PAPERS / "README.md").read_text(encoding="utf-8").split("## Every figure")[1].splitlines()
    written = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [TableRow(*map(str.strip, row)) for row in written[1:]]


def require_as_in_the_table(found):
    """That the table says of these figures, which are (name, computed, within), what they are; how many it lists."""
    by_name, listed = {name: (float(computed), float(within)) for name, computed, within in found}, 0
    for row in table_rows():
        if not row.shown or row.shown[0] not in by_name:
            continue
        computed, within = zip(*(by_name[name] for name in row.shown), strict=True)
        assert row.margins(len(within)) == [float(f"{one:.1g}") for one in within], row.figure
        written = row.parts("ours")
        if written and row.ours != "the same":
            rounded = [f"{one:.{len(part.partition('.')[2])}f}" for part, one in zip(written, computed, strict=True)]
            assert list(map(float, written)) == list(map(float, rounded)), row.figure
        listed += len(row.shown)
    return listed


def figures_of(name):
    """The script's rows, and the lines of the table that the page shows."""
    spec = importlib.util.spec_from_file_location(f"figures_of_{name}", PAPERS / name / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (PAPERS / name / "page.md").read_text(encoding="utf-8")
    return list(module.rows()), [line for line in page.splitlines() if line.startswith("| ")][2:]
