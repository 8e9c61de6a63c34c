"""Statistics of bounded numbers: what one record can change in them, the bodies that hide it, and a private release.

Run: .venv/bin/python examples/statistics_of_numbers.py --output some-folder
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

import numpy as np

import dxgeom as dx

statistics = dx.lab
X, Y = statistics.bounded_column("x", -1, 1), statistics.bounded_column("y", -1, 1)


def main() -> None:
    """Three statistics, their pictures, one release."""
    parser = argparse.ArgumentParser(description="Draw what one record can change, and release a regression.")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="where to write (demo-output)")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    draw_the_curve(folder)
    draw_solids(folder)
    release_a_line()
    print(f"pictures are in {folder}")


def draw_the_curve(folder: Path) -> None:
    """A number and twice its square, the plane example."""
    statistic = statistics.polynomial_statistic([X], {"sum of x": {("x",): 1}, "sum of 2x²": {("x", "x"): 2}})
    outputs = statistics.PolynomialOutputs(statistic)
    found = statistics.norm_sensitivities(outputs)
    print(f"Δ₁ = {found.l1.upper}, Δ₂ between {found.l2[0]:.9f} and {found.l2[1]:.9f}, Δ∞ = {found.linf.upper}")
    dx.lab.adjacent_outputs_picture(outputs, statistic.names[:2], folder / "adjacent-outputs.png")  # type: ignore[arg-type]
    mechanism = dx.lab.statistic_mechanism(statistic, "hull")
    body, law, steps = parts(mechanism)
    dx.report.contour_picture(body, law, steps, ("sum of x", "sum of 2x²"), folder / "contours.png")
    print(f"the hull's body has {body.facets} sides and exceeds the hull by {mechanism.excess:.2%} at most")


def draw_solids(folder: Path) -> None:
    """Two numbers and their product, a cuboctahedron; a number with its square and its product with another."""
    product = statistics.polynomial_statistic([X, Y], {"x": {("x",): 1}, "y": {("y",): 1}, "xy": {("x", "y"): 1}})
    body, _, steps = parts(dx.lab.statistic_mechanism(product, "hull"))
    dx.report.solid_picture(body, steps, ("sum of x", "sum of y", "sum of xy"), folder / "cuboctahedron.png")
    curved = statistics.polynomial_statistic([X, Y], {"x": {("x",): 1}, "xx": {("x", "x"): 2}, "xy": {("x", "y"): 1}})
    body, law, steps = parts(dx.lab.statistic_mechanism(curved, "hull", dx.geometry.EnclosureLimits(0.0005)))
    names = ("sum of x", "sum of 2x²", "sum of xy")
    dx.report.projections_picture(body, law, steps, names, folder / "shadows.png")
    dx.report.solid_picture(body, steps, names, folder / "curved-hull.png")


def release_a_line() -> None:
    """Least squares of y on x from a private release of its sufficient statistic, ten thousand records, ε = 1."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, 10_000)
    table = np.stack([x, 0.2 + 0.5 * x + generator.normal(0, 0.1, x.size)], axis=1)
    mechanism = dx.lab.statistic_mechanism(statistics.regression_statistic([X], Y))
    noisy = [float(value) for value in mechanism.draw(table, Fraction(1), dx.noise.SystemRandomness())]
    for name, values in (("private", noisy), ("exact", [float(value) for value in mechanism.statistic.exact(table)])):
        sum_x, sum_y, sum_xx, sum_xy = values
        slope = (len(x) * sum_xy - sum_x * sum_y) / (len(x) * sum_xx - sum_x**2)
        print(f"{name:>8} line: y = {(sum_y - slope * sum_x) / len(x):.4f} + {slope:.4f} x")


def parts(mechanism: dx.lab.StatisticMechanism):  # type: ignore[no-untyped-def]
    """Body, law and steps of a mechanism of the hull."""
    law = mechanism.law
    if not isinstance(law, dx.noise.FacetConeNoise):
        raise TypeError("this picture is of the hull")
    return law.body, law, np.array([float(step) for step in mechanism.statistic.steps])


if __name__ == "__main__":
    main()
