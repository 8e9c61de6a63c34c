"""Draw Figures 2a, 2b, 2c, 3a, 3b, 4 and 5 of "Not all attributes are created equal", and print what Figure 3 shows.

The places of universe n come from the seed 1000 + n, its queries from n, those on the cities from 0. What Figure 2c
shows is computed by ``run.py``, and read from the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))

import run
from figures import Row, printed

from dxgeom import VerifiedMetric, load_policy
from dxgeom.metrics import PointsMetric, smallest_distance

HERE = Path(__file__).parent
QUERIES = 1000
REACHES = (2, 4, 8, 16)
METRICS = ("threshold", "smooth")


def cities() -> Any:
    """The cities of the example policy."""
    attribute: Any = load_policy(run.POLICIES / "us-cities" / "policy.yaml").universe.attributes[0]
    return attribute


def elevations() -> NDArray[np.float64]:
    """(N,): how high each city lies, in metres."""
    column = next(each for each in cities().columns if each.name == "elevation_m")
    return np.array([float(number) for number in column.numbers])


def in_degrees() -> VerifiedMetric:
    """The cities as far apart as the paper has them: in the plane of longitude and latitude."""
    return run._verified(PointsMetric(cities().coordinates, "plane", Fraction(1)))


def on_the_globe() -> VerifiedMetric:
    """The cities as far apart as they are."""
    return load_policy(run.POLICIES / "us-cities" / "policy.yaml").compile()


def single_scales(metric: VerifiedMetric, queries: NDArray[np.float64]) -> NDArray[np.float64]:
    """(Q,): the scale that each of the queries (Q, N) needs when it is asked alone, by all pairs of records."""
    first, second = np.triu_indices(metric.size, 1)
    apart = metric.distance(first, second)
    return np.array([float(np.max(np.abs(one[first] - one[second]) / apart)) for one in queries])


def improvements(metric: VerifiedMetric, queries: NDArray[np.float64]) -> NDArray[np.float64]:
    """(Q,): the scale of ε-DP at the smallest distance over the scale under the metric."""
    return np.ptp(queries, axis=1) / smallest_distance(metric.metric) / single_scales(metric, queries)


def uniform(metric: VerifiedMetric, count: int, seed: int = 0) -> NDArray[np.float64]:
    """(count, N): uniform queries."""
    return np.random.default_rng(seed).random((count, metric.size))


def on_places(number: int) -> VerifiedMetric:
    """The fifty places of a universe."""
    return run._verified(PointsMetric(run.places(number), "plane", Fraction(1)))


def errors_within(number: int, count: int = QUERIES) -> dict[tuple[str, int], NDArray[np.float64]]:
    """By metric and T: the root mean squared errors of single queries in a universe; T = 0 is ε-DP; ε = 1."""
    where = run.places(number)
    queries = np.random.default_rng(number).random((count, len(where)))
    found = {("ε-DP", 0): np.ptp(queries, axis=1)}
    for reach in REACHES:
        smooth = PointsMetric(where, "plane", Fraction(1, reach), Fraction(1))
        for kind, metric in zip(METRICS, (run.threshold(where, reach), smooth), strict=True):
            found[kind, reach] = single_scales(run._verified(metric), queries)
    return {key: scales * np.sqrt(2) for key, scales in found.items()}


def rows() -> Iterator[Row]:
    """What Figure 3 shows, on the cities of the example policy, beside earlier runs; the paper has 741 others."""
    heights = elevations()[None]
    for words, metric, mean, elevation in (
        ("in degrees", in_degrees(), 4.27, 251.25),
        ("on the globe", on_the_globe(), 3.70, 215.0),
    ):
        found = improvements(metric, uniform(metric, 100))
        yield Row(f"Fig. 3b: mean improvement, {words}", round(float(found.mean()), 2), mean, 0.3)
        yield Row(
            f"Fig. 3b: improvement of elevation, {words}",
            round(float(improvements(metric, heights)[0]), 2),
            elevation,
            0.6,
        )


def strategies() -> list[float]:
    """Figure 2c's numbers, K by K, as the page has them, which ``run.py`` computes in minutes."""
    page = (HERE / "page.md").read_text(encoding="utf-8").splitlines()
    return [float(line.split("|")[2]) for line in page if line.startswith("| Fig. 2c: mean improvement")]


def draw_places(name: str, where: NDArray[np.float64], words: str, below: str, titles: tuple[str, str]) -> None:
    """Figures 2a and 3a: where the possible records are."""
    from dxgeom.document.axes import BLUE, empty_picture, save, title

    figure, axes = empty_picture(5.2, 3.9)
    axes.scatter(where[:, 0], where[:, 1], s=9, color=BLUE)
    axes.set_xlabel(titles[0])
    axes.set_ylabel(titles[1])
    title(axes, words, below)
    save(figure, HERE / name)


def draw_histogram(name: str, found: dict[str, NDArray[np.float64]], words: str, below: str) -> None:
    """Figures 2b and 3b: how many queries improve how much."""
    from dxgeom.document.axes import BLUE, ORANGE, empty_picture, legend, save, title

    figure, axes = empty_picture(5.2, 3.6)
    for (label, values), colour in zip(found.items(), (BLUE, ORANGE), strict=False):
        axes.hist(values, bins=40, histtype="step", color=colour, label=label, linewidth=1.5)
    axes.set_xlabel("improvement over ε-DP")
    axes.set_ylabel("queries")
    title(axes, words, below)
    legend(figure)
    save(figure, HERE / name)


def draw_strategies(shown: list[float]) -> None:
    """Figure 2c: the improvement by each way to scale Laplace noise, and by the optimum."""
    from dxgeom.document.axes import BLUE, GREEN, GREY, ORANGE, empty_picture, legend, save, title

    figure, axes = empty_picture(5.2, 3.6)
    colours = (("equal shares", GREY), ("one scale", ORANGE), ("proportional", GREEN), ("optimal", BLUE))
    for place, (words, colour) in enumerate(colours):
        axes.plot(run.COUNTS, shown[place::4], color=colour, marker="o", label=words)
    axes.set_xlabel("number of queries K")
    axes.set_ylabel("improvement over ε-DP")
    title(axes, "Figure 2c: uniform queries", "50 places, mean of 100 workloads")
    legend(figure)
    save(figure, HERE / "figure_2c.png")


def draw_errors(found: list[dict[tuple[str, int], NDArray[np.float64]]]) -> None:
    """Figures 4 and 5: errors and improvements under a threshold, closed, and under the smooth metric."""
    from dxgeom.document.axes import BLUE, GREY, ORANGE, empty_picture, legend, panels, save, title

    figure, axes = empty_picture(5.2, 3.6)
    means = {key: float(np.mean([one[key].mean() for one in found])) for key in found[0]}
    axes.axhline(means["ε-DP", 0], color=GREY, label="ε-DP")
    for kind, colour in zip(METRICS, (ORANGE, BLUE), strict=True):
        axes.plot(REACHES, [means[kind, reach] for reach in REACHES], color=colour, marker="o", label=kind)
    axes.set_xlabel("threshold T")
    axes.set_ylabel("mean error (RMSE)")
    title(axes, "Figure 4: errors under a threshold", f"ε = 1, {len(found)} universes of 50 places")
    legend(figure, 3)
    save(figure, HERE / "figure_4.png")

    figure, row = panels(8.4, 3.4, 2)
    for axes, kind in zip(row, METRICS, strict=True):
        for reach, colour in zip(REACHES, (BLUE, ORANGE, "#009E73", GREY), strict=True):
            with np.errstate(divide="ignore"):
                factors = np.concatenate([one["ε-DP", 0] / one[kind, reach] for one in found])
            axes.hist(
                np.minimum(factors, 6), bins=np.linspace(1, 6, 60), histtype="step", color=colour, label=f"T = {reach}"
            )
        axes.set_xlabel("improvement over ε-DP, 6 and more together")
        title(axes, f"Figure 5: {kind}", "ε = 1")
    legend(figure, 4)
    save(figure, HERE / "figure_5.png")


def draw_pictures(universes: int, count: int) -> None:
    """All of them, with so many queries and universes."""
    draw_places("figure_2a.png", run.places(0), "Figure 2a: possible records", "50 places, universe 0", ("u", "v"))
    below, metric = f"{count} uniform queries", on_places(0)
    single = {"universe 0": improvements(metric, uniform(metric, count))}
    draw_histogram("figure_2b.png", single, "Figure 2b: single queries", below)
    draw_strategies(strategies())
    where = cities().coordinates[:, ::-1]
    draw_places("figure_3a.png", where, "Figure 3a: cities", f"{len(where)} cities", ("longitude", "latitude"))
    each = {"in degrees": in_degrees(), "on the globe": on_the_globe()}
    both = {words: improvements(metric, uniform(metric, count)) for words, metric in each.items()}
    draw_histogram("figure_3b.png", both, "Figure 3b: single queries on cities", below)
    draw_errors([errors_within(number, count) for number in range(universes)])


if __name__ == "__main__":
    list(printed(rows(), margin=True))
    draw_pictures(20, 200)
