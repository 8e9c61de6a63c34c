"""Recompute the figures of "Broadening the scope of differential privacy using metrics", and draw one."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from figures import Row, printed

from dxgeom import VerifiedMetric
from dxgeom.lab import (
    finite_laplace,
    halved_exponential,
    laplace_usefulness,
    optimal_table,
    planar_laplace,
    planar_usefulness,
    privacy_level,
    series_root_mean_square,
    truncated_geometric,
    truncated_geometric_law,
)
from dxgeom.lab.finite_mechanism import Losses, Prior
from dxgeom.metrics import LineMetric, PointsMetric, verify

HERE = Path(__file__).parent
ONE = Fraction(1)


def rows() -> Iterator[Row]:
    """Every figure of the table."""
    yield from _truncated_geometric()
    yield from _universal_optimality()
    yield from _radii()
    yield from _places()
    for words, sensitivity, epsilon, reference in (
        ("Hamming", 5000, 1, 14978.66),
        ("d₁/5", 1, 0.2, 14.979),
    ):
        found = round(laplace_usefulness(sensitivity, epsilon, 0.05), 3)
        yield Row(f"Fig. 3: α at δ = .05, ε = 1, under {words}", found, reference, 0.01)
    together, alone = series_root_mean_square(30, 1.0)
    yield Row("30 readings: rms error of each, ℓ∞ noise", round(together, 2), 18.18, 0.005)
    yield Row("30 readings: rms error of each, independent noise", round(alone, 2), 42.43, 0.005)


def _truncated_geometric() -> Iterator[Row]:
    law = truncated_geometric_law(5, Fraction(2))
    known = (Fraction(2, 3), Fraction(1, 6), Fraction(1, 12), Fraction(1, 24), Fraction(1, 48), Fraction(1, 48))
    yield Row("truncated geometric, k = 5, ε = ln 2: first row is exact (1 = yes)", law.rows[0] == known, 1, 0)
    distances = [[Fraction(abs(x - y)) for y in range(6)] for x in range(6)]
    yield Row("its privacy level over ln 2", round(privacy_level(law, distances).upper / math.log(2), 9), 1, 1e-9)


def _universal_optimality() -> Iterator[Row]:
    """The largest excess over the linear programme, of three priors and three losses on five values."""
    metric = verify(LineMetric(tuple(map(Fraction, range(5))), ONE), title="", fingerprint="line", budget=ONE)
    worst = 0.0
    for weights in ([1, 1, 1, 1, 1], [16, 8, 4, 2, 1], [1, 9, 1, 9, 1]):
        prior = [Fraction(weight, sum(weights)) for weight in weights]
        for power in (0, 1, 2):
            losses = [[Fraction(abs(x - w) ** power if x != w else 0) for w in range(5)] for x in range(5)]
            guessed = truncated_geometric(metric).with_best_guesses(prior, losses).expected_loss(prior, losses)
            best = optimal_table(metric, prior, losses).expected_loss(prior, losses)
            worst = max(worst, abs(float(guessed / best) - 1))
    yield Row(
        "truncated geometric and best guesses: loss over the optimum, worst of nine", round(1 + worst, 6), 1, 1e-6
    )


def _radii() -> Iterator[Row]:
    for level, reference in ((0.5, 1.678347), (0.9, 3.889720), (0.95, 4.743865), (0.99, 6.638352)):
        yield Row(f"planar noise: ε·radius at {level:g}", round(planar_usefulness(1.0, 1 - level), 6), reference, 1e-6)


def grid() -> tuple[VerifiedMetric, Prior, Losses]:
    """25 places one apart, ε = 1, a uniform prior and squared distance as loss."""
    points = np.array([[x, y] for x in range(5) for y in range(5)], dtype=float)
    metric = verify(PointsMetric(points, "plane", ONE), title="", fingerprint="grid", budget=ONE)
    losses = [[Fraction(int(((a - b) ** 2).sum())) for b in points] for a in points]
    return metric, [Fraction(1, 25)] * 25, losses


def _places() -> Iterator[Row]:
    metric, prior, losses = grid()
    words = "5 × 5 places, ε = 1, mean squared loss"
    yield Row(
        f"{words}: optimal",
        round(float(optimal_table(metric, prior, losses).expected_loss(prior, losses)), 3),
        2.096,
        0.001,
    )
    for build, name, reference in (
        (finite_laplace, "finite Laplace", 2.177),
        (halved_exponential, "exponential at d/2", 3.621),
    ):
        guessed = build(metric).with_best_guesses(prior, losses)
        yield Row(f"{words}: {name}, remapped", round(float(guessed.expected_loss(prior, losses)), 3), reference, 0.001)
    points = np.array([[x, y] for x in range(5) for y in range(5)])
    planar = planar_laplace(metric, 7 * points, Fraction(1, 7))
    told = planar.guessed_loss([1 / 25] * 25, np.array(losses, dtype=float), nearest=True)
    yield Row(f"{words}: planar, nearest place, remapped", round(told, 2), 2.39, 0.01)


def draw_picture() -> None:
    """Figure 3: how far off an answer is, against how sure one wants to be."""
    from dxgeom.document.axes import BLUE, ORANGE, empty_picture, legend, save, title

    figure, axes = empty_picture(5.2, 3.4)
    deltas = np.linspace(0.005, 0.5, 200)
    for sensitivity, epsilon, colour, words in (
        (5000, 1, ORANGE, "the whole date is hidden"),
        (1, 0.2, BLUE, "five days are hidden"),
    ):
        axes.plot(deltas, [laplace_usefulness(sensitivity, epsilon, d) for d in deltas], color=colour, label=words)
    axes.set_yscale("log")
    axes.set_xlabel("δ: chance of a larger error")
    axes.set_ylabel("error α in days")
    title(axes, "The first registration date", "Laplace noise at ε = 1")
    legend(figure)
    save(figure, HERE / "figure.png")


if __name__ == "__main__":
    list(printed(rows()))
    draw_picture()
