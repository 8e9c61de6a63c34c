"""Figure 4 of "Broadening the scope of differential privacy": a meter's readings, as printed and as they are private.

The paper's recording of a television programme is not public: an invented one of five minutes is in its place.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))

from figures import Row, printed

from dxgeom.mechanisms.linear import series_mechanism
from dxgeom.noise import LaplaceNoise

HERE = Path(__file__).parent
READINGS = 30
"""One every ten seconds."""
EPSILONS = ("0.1", "0.5")


def rows() -> Iterator[Row]:
    """What each noise promises for a change of every reading by one, and how far it is off, on average."""
    for epsilon in EPSILONS:
        rate, words = float(epsilon), f"Figure 4, ε = {epsilon}"
        private = series_mechanism("programme", READINGS, Fraction(epsilon), Fraction(1, 100))
        yield Row(f"{words}: nats that the printed noise allows a unit", READINGS * rate, 30 * rate, 1e-9)
        yield Row(f"{words}: mean error of the printed noise", 1 / rate, 1 / rate, 1e-9)
        yield Row(f"{words}: mean error of noise for ε, reading by reading", READINGS / rate, 30 / rate, 1e-9)
        yield Row(f"{words}: mean error of noise for ε, all together", private.mean_absolute, 31 / (2 * rate), 1e-9)


def programme() -> NDArray[np.float64]:
    """Watts of an invented programme: scenes of different brightness, every ten seconds."""
    at = np.arange(READINGS)
    scenes = np.array([120, 155, 90, 170, 110, 140])[at // 5]
    return np.asarray(scenes + 12 * np.sin(at) + 5 * np.cos(3 * at))


def draw_picture() -> None:
    """The readings, with the printed noise, and with noise that is private."""
    from dxgeom.document.axes import BLUE, GREY, ORANGE, legend, panels, save, title

    figure, row = panels(8.4, 3.6, 2)
    generator, seconds, true = np.random.default_rng(4), 10 * np.arange(READINGS), programme()
    for axes, private, words, below in zip(
        row,
        (False, True),
        ("As printed", "ε for every reading at once"),
        ("Laplace noise of scale 1/ε: 30·ε", "noise of density e^(−ε·max|z|)"),
        strict=True,
    ):
        axes.plot(seconds, true, color=GREY, label="true")
        for epsilon, colour in zip(EPSILONS, (ORANGE, BLUE), strict=True):
            if private:
                law = series_mechanism("programme", READINGS, Fraction(epsilon), Fraction(1, 100)).law
                noise = law.simulate(1, generator)[0] / 100
            else:
                noise = LaplaceNoise(np.full(READINGS, 1 / float(epsilon))).simulate(1, generator)[0]
            axes.plot(seconds, true + noise, ".", color=colour, label=f"ε = {epsilon}")
        axes.set_xlabel("seconds")
        axes.set_ylabel("reading")
        title(axes, words, below)
    legend(figure, 3)
    save(figure, HERE / "figure_4.png")


if __name__ == "__main__":
    list(printed(rows()))
    draw_picture()
