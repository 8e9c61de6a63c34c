"""Figures 7 and 8 of "The policies of designing differentially private mechanisms": one linear query, on integers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))

from figures import Row, printed

from dxgeom.noise import LayeredIntegerNoise, runs_of, staircase_noise

HERE = Path(__file__).parent
QUERIES = {
    "V₁": ((1, 1), (1000, 1001)),
    "V₂": ((1, 100), (1000, 1001)),
    "V₃": ((1, 500), (1000, 1001)),
    "V₄": ((1, 1001),),
}
"""What a record can change, made symmetric; 0 belongs to it."""
REFERENCES = {"V₁": (0.942, 0.465, 0.231), "V₂": (0.942, 0.538, 0.272), "V₄": (1.119, 2.015, 2.57)}
"""At δ = 10 for ε = 1, 3, 5, computed elsewhere on sums of integers."""
WIDTHS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)
EPSILONS = tuple(Fraction(number, 2) for number in range(2, 13))
SENSITIVITY = 1001


def rows() -> Iterator[Row]:
    """The rates that were computed elsewhere."""
    for name, references in REFERENCES.items():
        for epsilon, reference in zip((1, 3, 5), references, strict=True):
            found = rate(name, 10, Fraction(epsilon))
            # On integers a width of 10 covers 21 of them, on the line a length of 20: where steps are narrow, it shows.
            within = 0.08 if name == "V₄" else 0.006
            yield Row(f"{name}, δ = 10, ε = {epsilon}: error over the staircase's", round(found, 3), reference, within)


def least(name: str) -> Iterator[str]:
    """For each whole ε the least rate of the sweep, and the width that has it: no reference knows them."""
    found = sweep(name)
    for place, epsilon in enumerate(EPSILONS):
        if epsilon.denominator == 1:
            best = int(np.argmin(found[place]))
            yield f"| {name} | {epsilon} | {found[place, best]:.3f} | {WIDTHS[best]} |"


def noise(name: str, width: int, epsilon: Fraction) -> LayeredIntegerNoise:
    """Theorem 3's noise for a query."""
    return LayeredIntegerNoise(runs_of(QUERIES[name]), width, epsilon)


def rate(name: str, width: int, epsilon: Fraction) -> float:
    """E|noise| over that of the best staircase of the same sensitivity; both ε-private."""
    return noise(name, width, epsilon).mean_absolute / staircase_noise(SENSITIVITY, epsilon).mean_absolute


def sweep(name: str) -> NDArray[np.float64]:
    """(ε, δ): the rates of Figure 7."""
    return np.array([[rate(name, width, epsilon) for width in WIDTHS] for epsilon in EPSILONS])


def draw_sweep() -> None:
    """Figure 7: where Theorem 3 errs less than the staircase, for each query."""
    from dxgeom.document.axes import panels, save, title

    figure, row = panels(13, 3.8, len(QUERIES))
    for axes, name in zip(row, QUERIES, strict=True):
        found = sweep(name)
        image = axes.imshow(np.log2(found), origin="lower", aspect="auto", cmap="RdBu_r", vmin=-2.2, vmax=2.2)
        axes.set_xticks(range(len(WIDTHS)), [str(width) for width in WIDTHS], rotation=60)
        axes.set_yticks(range(0, len(EPSILONS), 2), [f"{float(epsilon):g}" for epsilon in EPSILONS[::2]])
        axes.set_xlabel("δ")
        axes.set_ylabel("ε")
        title(axes, name, f"least rate {found.min():.2f}")
    bar = figure.colorbar(image, ax=row)
    bar.set_ticks([-2, -1, 0, 1, 2], labels=["¼", "½", "1", "2", "4"])
    bar.set_label("error over the staircase's")
    save(figure, HERE / "figure_7.png")


def draw_densities() -> None:
    """Figure 8: the chances of integers at ε = 3 and δ = 10, beside staircase and Laplace noise."""
    from dxgeom.document.axes import BLUE, GREY, ORANGE, legend, panels, save, title

    figure, row = panels(12, 3.6, 3)
    places, epsilon = np.arange(-2500, 2501, 5), Fraction(3)
    staircase = staircase_noise(SENSITIVITY, epsilon)
    ratio = np.exp(-float(epsilon) / SENSITIVITY)
    laplace = (1 - ratio) / (1 + ratio) * ratio ** np.abs(places)
    for axes, name in zip(row, ("V₁", "V₂", "V₃"), strict=True):
        axes.plot(places, laplace, color=GREY, label="Laplace")
        axes.plot(places, _chances(staircase, places), color=ORANGE, label="staircase")
        axes.plot(places, _chances(noise(name, 10, epsilon), places), color=BLUE, linewidth=0.9, label="Theorem 3")
        axes.set_yscale("log")
        axes.set_ylim(1e-12, 1)
        axes.set_xlabel("error")
        axes.set_ylabel("chance")
        title(axes, name, "ε = 3, δ = 10")
    legend(figure, 3)
    save(figure, HERE / "figure_8.png")


def _chances(law: LayeredIntegerNoise, places: NDArray[np.int64]) -> NDArray[np.float64]:
    layers = np.array([law.layer(place) for place in places.tolist()])
    return np.asarray(float(law.probability(0)) * np.exp(-float(law.epsilon) * layers))


if __name__ == "__main__":
    list(printed(rows()))
    if "--numbers" not in sys.argv[1:]:
        print("| query | ε | least error over the staircase's | at δ |\n| --- | --- | --- | --- |")
        for each in QUERIES:
            print(*least(each), sep="\n", flush=True)
        draw_sweep()
        draw_densities()
