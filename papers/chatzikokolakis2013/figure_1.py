"""Figure 1 of "Broadening the scope of differential privacy": a mechanism that is private only through its query."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from figures import Row, printed

from dxgeom.lab import FiniteMechanism, privacy_level

HERE = Path(__file__).parent
CHANCES = (Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))
"""H(y)(z₁) for y₁, y₂, y₃; the query maps x₁, x₂, x₃ to them."""
LAW = FiniteMechanism(tuple((chance, 1 - chance) for chance in CHANCES))
SECRETS = [[Fraction(abs(x - y)) for y in range(3)] for x in range(3)]
"""The databases stand in a row, one change apart."""
ANSWERS = [[Fraction(x != y) for y in range(3)] for x in range(3)]
"""Any two values of the query are 1 apart, which makes it 1-sensitive."""


def rows() -> Iterator[Row]:
    """The levels on either side of the query, as odds."""
    yield Row("Figure 1: odds that H∘f allows for each change", _odds(SECRETS), 2, 1e-9)
    yield Row("Figure 1: odds that H allows between values 1 apart", _odds(ANSWERS), 3, 1e-9)
    yield Row("Figure 1: H(y₁)(z₁) over H(y₃)(z₁)", float(CHANCES[0] / CHANCES[2]), 3, 0)


def _odds(distances: list[list[Fraction]]) -> float:
    return round(math.exp(privacy_level(LAW, distances).upper), 9)


def draw_picture() -> None:
    """The chance of each answer, and which odds count on either side of the query."""
    from dxgeom.document.axes import BLUE, ORANGE, empty_picture, legend, save, title

    figure, axes = empty_picture(5.2, 3.4)
    values = ["y₁ = f(x₁)", "y₂ = f(x₂)", "y₃ = f(x₃)"]
    chances = [float(chance) for chance in CHANCES]
    axes.bar(values, chances, color=BLUE, label="z₁", width=0.55)
    axes.bar(values, [1 - chance for chance in chances], bottom=chances, color=ORANGE, label="z₂", width=0.55)
    axes.set_ylabel("chance of the answer")
    title(
        axes,
        "Private through its query only",
        "y₁ and y₃ are 1 apart with odds of 3; x₁ and x₃ are 2 apart, which allows 4",
    )
    legend(figure)
    save(figure, HERE / "figure_1.png")


if __name__ == "__main__":
    list(printed(rows()))
    draw_picture()
