"""A day after the other: running totals by one plan for all of them, beside what is published otherwise.

Errors are root mean squared, of one total, where a record that comes or goes tells 1 of all that is published, and with
``steps`` a record that moves by so many days as much. *Separate*: a release every day under the same policy, all
together at spend 1. *Summed*: every day's count with noise, added up. *Trees*: the best of those tried here. *Square
root* and *Toeplitz*: triangular matrices with one row of coefficients, the latter with lengths or θ that are sought.
*Weights*: what a plan takes. *Bound*: no normal noise errs less; *above*, in mean squares.

    python benchmarks/time.py [SIZE …]      (12, 52, 365 and 1,024 days; 4,096 takes a minute)
    python benchmarks/time.py --picture FILE.png      (three lines of the guide on publishing every day)

CPU s are seconds of a core where 10⁷ additions in a loop take .48 s.
"""

from __future__ import annotations

import math
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

import dxgeom as dx
from dxgeom.mechanisms.parts.box_mechanism import NORMAL
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, ToeplitzStrategy, best_theta
from dxgeom.policy.policy import Policy
from dxgeom.universe.workloads.box_queries import BoxQueries

SIZES = (12, 52, 365, 1024)
TREES = 1024
"""Of more days trees take long to be sought."""


def policy(size: int, steps: int | None) -> Policy:
    """Days of a record, which comes or goes, and perhaps moves."""
    moved = [] if steps is None else [{"change": "day", "per": steps, "epsilon": 1}]
    return Policy.from_dict(
        {
            "policy": "days",
            "privacy": "concentrated",
            "universe": {"attributes": {"day": {"range": [1, size], "step": 1}}},
            "rules": [{"presence": True, "epsilon": 1}, *moved],
        }
    )


def toeplitz(size: int, steps: int | None) -> tuple[float, float]:
    """The square root of running totals, and the best of its family."""
    bounds = LineBounds(Fraction(1), None if steps is None else Fraction(1, steps), True)
    lower, upper = np.zeros(size, dtype=np.int64), np.arange(1, size + 1)
    theta = best_theta(size, bounds, lower, upper, np.ones(size))
    tried = (ToeplitzStrategy(size), ToeplitzStrategy(size, scaled=True), ToeplitzStrategy(size, theta=theta))
    found = [math.sqrt(one.variances(one.least_scale(bounds), lower, upper).mean()) for one in tried]
    return found[0], min(found)


def core() -> float:
    """Seconds of 10⁷ additions."""
    began, total = time.process_time(), 0
    for number in range(10**7):
        total += number
    return time.process_time() - began


def row(size: int, steps: int | None, slow: float) -> str:
    """Of so many days."""
    own = policy(size, steps)
    metric, queries = own.compile(), BoxQueries.prefixes(own.universe, "day")
    # A release a day at 1/√n of the budget each; a step of a day moves one total, or two counts.
    separate = math.sqrt(size) * (steps or 1)
    summed = max(1.0, 0.0 if steps is None else math.sqrt(2) * steps) * math.sqrt((size + 1) / 2)
    trees = math.sqrt(dx.plan(metric, queries, mechanism=NORMAL).loss / size) if size <= TREES else math.nan
    root, best = toeplitz(size, steps)
    began = time.process_time()
    plan = dx.plan(metric, queries, mechanism="toeplitz-gaussian")
    planned = (time.process_time() - began) * 0.48 / slow
    error, bound = math.sqrt(plan.loss / size), math.sqrt(plan.lower_bound / size)
    found = f"{separate:.3f} | {summed:.3f} | {trees:.3f} | {root:.4f} | {best:.4f} | {error:.4f} | {bound:.4f}"
    return f"| {size:,} | {steps or '–'} | {found} | {(error / bound) ** 2 - 1:.1e} | {planned:.1f} |"


def drawn(file: Path) -> None:
    """The picture: separate releases, noisy days that are added up, one plan."""
    from matplotlib.figure import Figure

    days = (7, 14, 30, 61, 91, 182, 365)
    plans = []
    for size in days:
        own = policy(size, None)
        plan = dx.plan(own.compile(), BoxQueries.prefixes(own.universe, "day"), mechanism="toeplitz-gaussian")
        plans.append(math.sqrt(plan.loss / size))
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(days, [math.sqrt(size) for size in days], "s:", label="a release every day", markersize=4)
    axes.plot(days, [math.sqrt((size + 1) / 2) for size in days], "^--", label="noisy days, added up", markersize=4)
    axes.plot(days, plans, "o-", label="one plan for all days", markersize=4)
    axes.set(xlabel="days", ylabel="root mean squared error of a total", ylim=(0, 20))
    axes.set_xticks([7, *days[2:]])
    axes.legend(frameon=False)
    figure.savefig(file, dpi=150)


def main() -> None:
    """A row for each number of days, and with steps of two days and of seven."""
    if "--picture" in sys.argv:
        drawn(Path(sys.argv[sys.argv.index("--picture") + 1]))
        return
    slow = core()
    print(
        "| days | steps | separate | summed | trees | square root | Toeplitz | weights | bound | above | plan, CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for size in [int(one) for one in sys.argv[1:]] or SIZES:
        for steps in (None, 2, 7):
            print(row(size, steps, slow), flush=True)


if __name__ == "__main__":
    main()
