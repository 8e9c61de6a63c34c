"""Figure 6, lower half, of "The policies of designing differentially private mechanisms": a width for some graphs.

The first hundred graphs have the width 1. The paper does not say in which order its graphs are: two are drawn.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))

from run import EPSILONS, triangles

from dxgeom.lab import composed_layers, ladder_layers, layered_table, small_graphs

HERE = Path(__file__).parent
WIDE = 100
ORDERS = ("by number of edges, then code", "as the atlas of graphs has them")


def means(epsilon: str, number: int) -> tuple[float, float]:
    """The mean rate of the graphs of width 1, and of the others."""
    found = rates(epsilon, number)
    return round(float(found[:WIDE].mean()), 3), round(float(found[WIDE:].mean()), 3)


def order(number: int) -> NDArray[np.int64]:
    """The places of the graphs of seven nodes in one of the orders."""
    graphs = small_graphs(7)
    if number == 0:
        return np.arange(len(graphs.codes))
    return np.array([graphs.index(graph) for graph in nx.graph_atlas_g() if len(graph) == 7])


def rates(epsilon: str, number: int) -> NDArray[np.float64]:
    """(N,): each graph's error with such widths over its error by the ladder, in that order; both 2ε-private."""
    space, listed = triangles(), order(number)
    widths = [Fraction(0)] * space.size
    for place in listed[:WIDE].tolist():
        widths[place] = Fraction(1)
    rate, losses = 2 * Fraction(epsilon), space.losses
    tables = [
        layered_table(space, layers, rate, "layers")
        for layers in (composed_layers(space, widths), ladder_layers(space))
    ]
    one, other = (np.array([float(loss) for loss in table.law.expected_losses(losses)]) for table in tables)
    return np.asarray((one / other)[listed])


def draw_picture() -> None:
    """Each graph's rate, for two ε, in both orders."""
    from dxgeom.document.axes import BLUE, GREY, ORANGE, legend, panels, save, title

    figure, row = panels(8.4, 3.6, 2)
    for axes, number in zip(row, range(2), strict=True):
        for epsilon, colour in (("0.5", ORANGE), ("5", BLUE)):
            axes.plot(rates(epsilon, number), ".", markersize=2, color=colour, label=f"ε = {epsilon}")
        axes.axhline(1, color=GREY, linewidth=0.8)
        axes.axvline(WIDE, color=GREY, linewidth=0.8)
        axes.set_yscale("log")
        axes.set_xlabel("the 1,044 graphs")
        axes.set_ylabel("error over the ladder's")
        title(axes, ORDERS[number].capitalize(), "the first hundred have the width 1")
    legend(figure)
    save(figure, HERE / "figure_6.png")


if __name__ == "__main__":
    print("| ε | order of the graphs | mean rate, width 1 | mean rate, width 0 |\n| --- | --- | --- | --- |")
    for each in EPSILONS:
        for place, words in enumerate(ORDERS):
            print(f"| {each} | {words} | {' | '.join(map(str, means(each, place)))} |", flush=True)
    draw_picture()
