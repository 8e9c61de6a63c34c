"""Recompute the figures of "Not all attributes are created equal", and draw one. All of them take five minutes."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))

from figures import Row, printed

from dxgeom import LinearQueries, VerifiedMetric, load_policy, load_queries
from dxgeom.mechanisms.linear import (
    AdditiveMechanism,
    Sensitivity,
    epsilon_dp_laplace,
    equal_shares,
    one_scale,
    optimal_laplace,
    proportional_shares,
    sensitivity_of,
)
from dxgeom.mechanisms.linear.biased import changed
from dxgeom.mechanisms.shapes import hull_mechanism, sensitivity_hull
from dxgeom.metrics import GraphMetric, Metric, PointsMetric, lipschitz, smallest_distance, verify
from dxgeom.planner.candidate_builder import CandidateBuilder

HERE = Path(__file__).parent
POLICIES = HERE.parent.parent / "policies"
ONE = Fraction(1)
UNIVERSES, PLACES = range(20), 50
STRATEGIES = (equal_shares, one_scale, proportional_shares, optimal_laplace)
COUNTS = (1, 3, 5, 10)
FACTORS = {
    "uniform": ((2.48,) * 4, (1.97, 2.28, 2.50, 2.52), (1.75, 2.06, 2.33, 2.34), (1.44, 1.76, 1.99, 2.01)),
    "binary": ((1.57,) * 4, (1.47, 1.89, 2.41, 2.45), (1.45, 1.92, 2.70, 2.74), (1.33, 1.85, 2.83, 2.85)),
}
"""Reference: K = 1, 3, 5, 10; in each the three strategies and the optimum."""
BEYOND = {
    ("uniform", 2): (0.50, 1.10),
    ("uniform", 3): (0.29, 1.20),
    ("uniform", 5): (0.15, 1.26),
    ("binary", 2): (0.61, 1.10),
    ("binary", 5): (0.21, 1.25),
}
"""Reference: error of the hull over that of the optimal Laplace noise, and over the lower bound."""
CHANGED = {1: 0.40, 3: 0.755, 10: 0.947, 30: 0.992, 100: 0.9993}
"""Reference: best worst-case squared error of one changed query over that without a bias, by the number of records."""
ERRORS = {2: (0.423, 0.725), 4: (0.921, 0.990), 8: (1.138, 1.162), 16: (1.262, 1.267)}
MEDIANS = {2: (3.77, 1.95), 4: (1.43, 1.37), 8: (1.17, 1.157), 16: (1.065, 1.062)}
"""Reference: threshold T of Figures 4 and 5; Blowfish's threshold, and the smooth one."""


def rows() -> Iterator[Row]:
    """The figures that take seconds."""
    yield from _example_1()
    yield from _figure_2b()
    yield from _figures_4_and_5()
    yield from _changed_queries()


def long_rows() -> Iterator[Row]:
    """The figures that take minutes."""
    for kind in FACTORS:
        yield from _figure_2cd(kind)
    for (kind, count), (over_laplace, over_bound) in BEYOND.items():
        found = np.array([_hull_ratios(each) for each in _workloads(kind, count)])
        yield _statistical(f"{kind}, K = {count}: hull's error / optimal Laplace's", found[:, 0], over_laplace)
        yield _statistical(f"{kind}, K = {count}: hull's error / lower bound (at most)", found[:, 1], over_bound)


def places(number: int) -> NDArray[np.float64]:
    """Fifty places (50, 2) in a square of side 100."""
    return np.random.default_rng(1000 + number).random((PLACES, 2)) * 100


def _verified(metric: Metric) -> VerifiedMetric:
    return verify(metric, title="places", fingerprint="places", budget=ONE)


def _queries(matrix: NDArray[np.float64] | NDArray[np.int64]) -> LinearQueries:
    return LinearQueries.from_matrix([f"q{k}" for k in range(len(matrix))], matrix)


def _random_queries(kind: str, count: int, seed: int) -> LinearQueries:
    generator = np.random.default_rng(seed)
    uniform = kind == "uniform"
    return _queries(generator.random((count, PLACES)) if uniform else generator.integers(0, 2, (count, PLACES)))


def _single_scales(metric: VerifiedMetric, queries: LinearQueries) -> NDArray[np.float64]:
    """(K,): the scale that each query needs when it is asked alone."""
    sensitivity = sensitivity_of(metric, queries)
    return sensitivity.of_each_query * sensitivity.queries.float_steps


def _example_1() -> Iterator[Row]:
    """Patients who are not native, and men, where the first is ten times as sensitive; each asked alone."""
    policy = load_policy(POLICIES / "clinic" / "policy.yaml")
    queries = load_queries(POLICIES / "clinic" / "queries.yaml", policy)
    scales = dict(zip(queries.names, _single_scales(policy.compile(), queries), strict=True))
    for name, reference in (("not native", 10.0), ("male", 1.0)):
        yield Row(f"Example 1: scale of the number who are {name}", round(scales[name], 9), reference, 1e-9)


def _figure_2b() -> Iterator[Row]:
    """200 single queries in each of 20 universes."""
    factors = []
    for number in UNIVERSES:
        metric, queries = _verified(PointsMetric(places(number), "plane", ONE)), _random_queries("uniform", 200, number)
        ranges = np.ptp(queries.matrix, axis=1)
        factors.append(ranges / smallest_distance(metric.metric) / _single_scales(metric, queries))
    found = np.array(factors)
    order = np.argsort(found.mean(axis=1))
    yield _statistical("Fig. 2b: mean improvement", found.ravel(), 2.57)
    for level, reference in ((5, 1.22), (25, 1.71), (50, 2.33), (75, 3.18), (95, 4.79)):
        middle = float(np.percentile(found, level, axis=1).mean())
        yield Row(f"Fig. 2b: {level} % are below, mean of 20 universes", round(middle, 2), reference, 0.05 * reference)
    yield _statistical("Fig. 2b: mean of the universe where it is smallest", found[order[0]], 1.48)
    yield _statistical("Fig. 2b: mean of the universe where it is largest", found[order[-1]], 5.21)


def threshold(where: NDArray[np.float64], reach: int) -> GraphMetric:
    """Blowfish's distance threshold, closed: ε = 1 for every step between places at most ``reach`` apart."""
    first, second = np.triu_indices(len(where), 1)
    near = np.hypot(*(where[first] - where[second]).T) <= reach
    return GraphMetric(len(where), first[near], second[near], np.ones(int(near.sum())))


def _figures_4_and_5() -> Iterator[Row]:
    """ε = 1; 100 single queries in each of 20 universes."""
    all_queries = [_random_queries("uniform", 100, number) for number in UNIVERSES]
    ordinary = np.array([np.ptp(queries.matrix, axis=1) for queries in all_queries])
    yield Row("Fig. 4: mean RMSE, ε-DP", round(float(ordinary.mean() * np.sqrt(2)), 3), 1.359, 0.01)
    for reach in ERRORS:
        for kind, error, median in zip(("threshold", "smooth"), ERRORS[reach], MEDIANS[reach], strict=True):
            scales = np.array([_scales_within(kind, reach, n, all_queries[n]) for n in UNIVERSES])
            words = f"{kind} at T = {reach}"
            yield Row(f"Fig. 4: mean RMSE, {words}", round(float(scales.mean() * np.sqrt(2)), 3), error, 0.02)
            with np.errstate(divide="ignore"):
                yield _median(f"Fig. 5: median improvement, {words}", (ordinary / scales).ravel(), median)


def _median(words: str, found: NDArray[np.float64], reference: float) -> Row:
    """The median, allowing for four standard deviations of its rank on either side."""
    reach = 4 * np.sqrt(2) * 50 / np.sqrt(len(found))
    low, middle, high = np.percentile(found, [50 - reach, 50, 50 + reach], method="nearest")
    return Row(words, round(float(middle), 2), reference, float(max(high - middle, middle - low)) + 0.01)


def _scales_within(kind: str, reach: int, number: int, queries: LinearQueries) -> NDArray[np.float64]:
    where = places(number)
    smooth = PointsMetric(where, "plane", Fraction(1, reach), ONE)
    return _single_scales(_verified(threshold(where, reach) if kind == "threshold" else smooth), queries)


def _changed_queries() -> Iterator[Row]:
    """Equation 6 for a single query, ten uniform ones in each of 20 universes; one nat per unit of length."""
    found = []
    for number in UNIVERSES:
        metric, queries = _verified(PointsMetric(places(number), "plane", ONE)), _random_queries("uniform", 10, number)
        for row, unit in zip(queries.numerators, queries.units, strict=True):
            sensitivity = sensitivity_of(metric, LinearQueries(("q",), row[None, :], (unit,)))
            unbiased = optimal_laplace(sensitivity).ideal_variances[0]
            found.append([_changed_error(sensitivity, records) / unbiased for records in CHANGED])
    for column, (records, reference) in zip(np.array(found).T, CHANGED.items(), strict=True):
        error = float(column.std()) / np.sqrt(len(column))
        words = f"Changed query: squared error over unbiased, n = {records}"
        yield Row(words, round(float(column.mean()), 4), reference, round(float(4 * np.sqrt(2) * error) + 5e-4, 4))


def _changed_error(sensitivity: Sensitivity, records: int) -> float:
    answered, change = changed(sensitivity, records)
    return float(optimal_laplace(answered).ideal_variances[0] + change.biases[0] ** 2)


def _workloads(kind: str, count: int) -> Iterator[Sensitivity]:
    """Five workloads in each of 20 universes."""
    for number in UNIVERSES:
        metric = _verified(PointsMetric(places(number), "plane", ONE))
        for repeat in range(5):
            yield sensitivity_of(metric, _random_queries(kind, count, 100 * number + repeat))


def _statistical(words: str, found: NDArray[np.float64], reference: float) -> Row:
    """The mean, allowing for four standard errors on either side: the other computation drew other queries."""
    error = float(found.std()) / np.sqrt(len(found))
    return Row(words, round(float(found.mean()), 2), reference, float(4 * np.sqrt(2) * error) + 0.01)


def _figure_2cd(kind: str) -> Iterator[Row]:
    for count, references in zip(COUNTS, FACTORS[kind], strict=True):
        found = np.array([_factors(each) for each in _workloads(kind, count)])
        names = ("strategy 1", "strategy 2", "strategy 3", "optimum")
        figure = "2c" if kind == "uniform" else "2d"
        for name, column, reference in zip(names, found.T, references, strict=True):
            yield _statistical(f"Fig. {figure}: mean improvement, K = {count}, {name}", column, reference)


def _factors(sensitivity: Sensitivity) -> list[float]:
    """The geometric mean over the queries of (Δ₁/min d)/c, Δ₁ that of all queries together."""
    baseline = _scales(epsilon_dp_laplace(sensitivity))
    matrix = sensitivity.queries.numerators * sensitivity.queries.float_steps[:, None]
    first, second = np.triu_indices(PLACES, 1)
    widest = float(np.abs(matrix[:, first] - matrix[:, second]).sum(axis=0).max())
    textbook = np.full(len(baseline), widest / smallest_distance(sensitivity.metric.metric))
    return [float(np.exp(np.log(textbook / _scales(each(sensitivity))).mean())) for each in STRATEGIES]


def _scales(mechanism: AdditiveMechanism) -> NDArray[np.float64]:
    """Laplace scales in answer units."""
    return np.sqrt(mechanism.law.second_moment.diagonal() / 2) * mechanism.float_mixing.sum(axis=0)


def _hull_ratios(sensitivity: Sensitivity) -> tuple[float, float]:
    error = hull_mechanism(sensitivity, sensitivity_hull(sensitivity)).variances().sum()
    return error / optimal_laplace(sensitivity).variances().sum(), error / CandidateBuilder(sensitivity).lower_bound()


def improvements_on_cities() -> tuple[float, float]:
    """Figure 3 on the example policy's cities: the mean of 1000 uniform queries, and the mean elevation."""
    policy = load_policy(POLICIES / "us-cities" / "policy.yaml")
    metric = policy.compile()
    nearest = smallest_distance(metric.metric)
    generator = np.random.default_rng(0)
    single = [generator.random(metric.size) for _ in range(1000)]
    column = next(each for each in policy.universe.attributes[0].columns if each.name == "elevation_m")
    elevation = np.array([float(number) for number in column.numbers])
    *factors, of_elevation = (
        float(np.ptp(values) / nearest / lipschitz(metric, values)) for values in (*single, elevation)
    )
    return float(np.mean(factors)), of_elevation


def draw_picture(found: list[Row]) -> None:
    """Figure 2d: the improvement by each way to scale Laplace noise."""
    from dxgeom.document.axes import BLUE, GREEN, GREY, ORANGE, empty_picture, legend, save, title

    figure, axes = empty_picture(5.2, 3.4)
    shown = [row.computed for row in found if row.figure.startswith("Fig. 2d")]
    colours = (("equal shares", GREY), ("one scale", ORANGE), ("proportional", GREEN), ("optimal", BLUE))
    for place, (words, colour) in enumerate(colours):
        axes.plot(COUNTS, shown[place::4], color=colour, marker="o", label=words)
    axes.set_xlabel("number of queries K")
    axes.set_ylabel("improvement over ε-DP")
    title(axes, "Ways to scale Laplace noise", "random counts on 50 places, mean of 100 workloads")
    legend(figure)
    save(figure, HERE / "figure.png")


if __name__ == "__main__":
    everything = list(printed(itertools.chain(rows(), long_rows()), margin=True))
    print("Fig. 3 on cities: mean improvement {:.2f}, mean elevation {:.0f}".format(*improvements_on_cities()))
    draw_picture(everything)
