"""Recompute the figures of "The policies of designing differentially private mechanisms", and draw one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))

from figures import Row, printed

from dxgeom.lab import (
    DatasetSpace,
    bracketed_table,
    calibrated_table,
    ladder_layers,
    layered_table,
    neighbouring_datasets,
    privacy_first_layers,
    small_graphs,
)
from dxgeom.noise import LayeredLineNoise, staircase_mean_absolute
from dxgeom.noise.layered_line import union_of

HERE = Path(__file__).parent
EPSILONS = ("0.5", "1", "2", "5")
RATES = (0.722, 0.727, 0.806, 0.825)
ERRORS = (3.796, 2.052, 0.875, 0.056)
LADDER = (5.231, 2.754, 1.103, 0.074)
BETTER = (0.992, 0.995, 0.997, 1.0)
LINEAR = (
    ("[0, 1] ∪ [1000, 1001]", ((0, 1), (1000, 1001)), (0.942, 0.465, 0.231)),
    ("[0, 100] ∪ [1000, 1001]", ((0, 100), (1000, 1001)), (0.942, 0.538, 0.272)),
    ("[0, 1001]", ((0, 1001),), (1.119, 2.015, 2.57)),
)


def rows() -> Iterator[Row]:
    """Every figure of the table."""
    space = triangles()
    yield Row("graphs of 7 nodes", space.size, 1044, 0)
    yield Row("numbers of triangles they have", len(space.answers), 28, 0)
    yield Row("pairs that differ by one edge", len(space.first), 6558, 0)
    yield Row("diameter", int(space.distances.max()), 21, 0)
    for epsilon, rate, error, ladder, better in zip(EPSILONS, RATES, ERRORS, LADDER, BETTER, strict=True):
        one, other = errors(space, epsilon)
        words = f"ε = {epsilon}"
        yield Row(f"{words}: mean of error over the ladder's", round(float(np.mean(one / other)), 3), rate, 0.001)
        yield Row(f"{words}: mean error, privacy first", round(float(one.mean()), 3), error, 0.001)
        yield Row(f"{words}: mean error, ladder", round(float(other.mean()), 3), ladder, 0.001)
        yield Row(f"{words}: graphs answered better", round(float(np.mean(one < other)), 3), better, 0.001)
    for epsilon, reference in (("0.5", 3.190), ("1", 1.131)):
        table = calibrated_table(space, privacy_first_layers(space), 2 * Fraction(epsilon), "calibrated")
        found = float(table.expected_loss([Fraction(1, space.size)] * space.size, space.losses))
        yield Row(f"ε = {epsilon}: mean error, privacy first, calibrated", round(found, 3), reference, 0.001)
    yield from _linear_queries()


def optimal_rows() -> Iterator[Row]:
    """The least mean error that any 2ε-private table of these graphs has, as a bracket: some minutes each."""
    space = triangles()
    for epsilon, reference in (("0.5", 1.619), ("1", 0.841)):
        prior = [Fraction(1, space.size)] * space.size
        found = bracketed_table(space.metric(2 * Fraction(epsilon)), prior, space.losses)
        error = float(found.table.expected_loss(prior, space.losses))
        yield Row(f"ε = {epsilon}: mean error of a table, checked exactly", round(error, 4), reference, 0.003)
        yield Row(f"ε = {epsilon}: no table is below", round(found.least, 4), reference, 0.003)


def triangles() -> DatasetSpace:
    """The number of triangles on every graph of seven nodes; neighbours differ by one edge."""
    graphs = small_graphs(7)
    return neighbouring_datasets(graphs.triangles().tolist(), graphs.first, graphs.second)


def errors(space: DatasetSpace, epsilon: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(N,) each: the mean absolute error on each graph, privacy first and ladder, both 2ε-private."""
    rate = 2 * Fraction(epsilon)
    tables = [
        layered_table(space, layers, rate, "layers") for layers in (privacy_first_layers(space), ladder_layers(space))
    ]
    losses = space.losses
    one, other = (np.array([float(loss) for loss in table.law.expected_losses(losses)]) for table in tables)
    return one, other


def _linear_queries() -> Iterator[Row]:
    for epsilon, reference in ((1, 960.5), (3, 235.1), (5, 82.7)):
        found = round(staircase_mean_absolute(1001, epsilon), 1)
        yield Row(f"optimal staircase, Δ = 1001, ε = {epsilon}: mean error", found, reference, 0.1)
    for words, differences, references in LINEAR:
        for epsilon, reference in zip((1, 3, 5), references, strict=True):
            noise = LayeredLineNoise(union_of(differences), Fraction(10), epsilon)
            found = round(noise.mean_absolute / staircase_mean_absolute(1001, epsilon), 3)
            yield Row(f"V = ±({words}), δ = 10, ε = {epsilon}: error over the staircase's", found, reference, 0.006)


def draw_picture() -> None:
    """Figure 6: each graph's error by privacy first over its error by the ladder."""
    from dxgeom.document.axes import BLUE, GREY, ORANGE, empty_picture, legend, save, title

    space = triangles()
    figure, axes = empty_picture(5.2, 3.4)
    for epsilon, colour in (("0.5", ORANGE), ("5", BLUE)):
        one, other = errors(space, epsilon)
        axes.plot(np.sort(one / other), color=colour, label=f"ε = {epsilon}")
    axes.axhline(1, color=GREY, linewidth=0.8)
    axes.set_xlabel("the 1,044 graphs, best first")
    axes.set_ylabel("error over the ladder's")
    title(axes, "Triangles in graphs of seven nodes", "privacy first against the ladder, both 2ε-private")
    legend(figure)
    save(figure, HERE / "figure.png")


if __name__ == "__main__":
    best = "--optimal" in sys.argv[1:]
    list(printed(optimal_rows() if best else rows()))
    if not best:
        draw_picture()
