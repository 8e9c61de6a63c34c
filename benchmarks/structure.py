"""Counts along a line of any size: what was asked of their errors beside what plans have, and the bound.

Setting: ordinary privacy in its concentrated form (a record comes or goes at 1), prefixes of n values; and the same
with values a step apart nearer. Errors are root mean squares over the answers at spend 1, as plans tell them before
data; the bound is the plan's own, of all additive noise that stretches to every spend. With --draws a release is drawn,
too.
Asked: what the work on structure was to reach.

Then prefixes, windows of 32 values and all ranges, under presence alone, beside what HDMM's authors printed in the same
setting: see ``hdmm.py``, which states it and the source. Independent noise in every value, and trees, are this
package's, and so are the figures of noise in running totals. Nothing here depends on a seed.

With --ranges, instead: two-way tables of which two attributes have every range in place of every value, 669,002 queries
in the sizes 75, 16, 5, 2 and 20, pure, presence 1. HDMM's figures are totals of two runs of its authors' program each
(github.com/dpcomp-org/hdmm at commit 08c1ba46): one product 1.378e9 and 1.559e9, marginals 6.83e8 and 9.37e8.

With --lists, instead: how long lists of many answers are planned by a quick search, in seconds of the processor and in
these seconds times .48 over what ten million additions take here; and beside a list the same question made in Python.

With --rectangles, instead: 2,000 rectangles on 256 by 256 cells, of which both ends along both sides are drawn evenly
from all cuts, as a list of linear queries, concentrated, presence 1. Asked: 5.5; what is beside that (HB, a tree of
quarters) is as it was stated there, for other rectangles of that kind. Medians of so many seeds as --rectangles=3 says.
Of another number of rectangles, each once, with --count=100000.

With --around, instead: windows of values that go round, each from one value on, over the end of the round, where a
record comes or goes at 1, or their number is public, and a step costs 1/7. Beside them the least that any normal noise
has, by a formula with one variable (Theorem 3 of the theory); the same for cells; and how long either takes.

With --all, everything in one run: rectangles as medians of ten seeds, which takes an hour.
Run: .venv/bin/python benchmarks/structure.py [--draws | --lists | --ranges | --rectangles=1 | --around | --all]
"""

from __future__ import annotations

import math
import sys
import time
from fractions import Fraction

import numpy as np
from hdmm import ADULT, PUBLISHED, intervals
from products import slow_core

import dxgeom as dx
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.box_mechanism import NORMAL
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ
from dxgeom.numeric.randomness import SystemRandomness
from dxgeom.planner.boxes.as_candidates import BoxCandidates
from dxgeom.policy.policy import Policy
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries

ASKED: tuple[tuple[int, Fraction | None, float], ...] = (
    (365, None, 2.67),
    (1024, None, 3.00),
    (4096, None, 3.43),
    (65_536, None, 4.35),
    (128, Fraction(1, 2), 2.63),
    (365, Fraction(1, 7), 7.09),
)
LISTED = (200, 400, 401, 500, 1000, 3000)
BOUNDED = 1 << 12
"""Bounds of more values take minutes."""


def policy(size: int, steps: Fraction | None) -> Policy:
    """One attribute, presence, and perhaps steps along it."""
    moved = [] if steps is None else [{"change": "t", "per": steps.denominator, "epsilon": steps.numerator}]
    return Policy.from_dict(
        {
            "policy": "a line",
            "privacy": "concentrated",
            "universe": {"attributes": {"t": {"range": [0, size - 1], "step": 1}}},
            "rules": [{"presence": True, "epsilon": 1}, *moved],
        }
    )


def beside_others() -> None:
    """A row for each workload of HDMM's authors that is planned here."""
    print("\n| queries | values | each value alone | trees | running totals | HDMM's convex program | their bound |")
    print("|---|---|---|---|---|---|---|")
    for (workload, size), (alone, optimum, bound) in PUBLISHED.items():
        own, asked = policy(size, None), intervals(workload, size)
        metric, queries = own.compile(), BoxQueries.of(own.universe, [{"t": ends} for ends in asked])
        found = {}
        for noise in (NORMAL, TOEPLITZ):
            found[noise] = math.sqrt(dx.plan(metric, queries, mechanism=noise).loss / queries.count)
        row = f"| {workload} | {size:,} | {alone:.3f} | {found[NORMAL]:.3f} | {found[TOEPLITZ]:.3f} |"
        print(f"{row} {optimum:.3f} | {bound:.3f} |")


def lists() -> None:
    """A row for each list: prefixes under presence, then all two-way tables in the sizes of Adult."""
    slow = slow_core()
    print(
        "| list | privacy | answers | noise | RMSE | seconds | CPU s | RMSE as boxes or tables |\n" + "|---" * 8 + "|"
    )
    for size in LISTED:
        own = policy(size, None)
        asked = dx.LinearQueries.prefixes(own.universe, "t"), BoxQueries.prefixes(own.universe, "t")
        row_of_list("prefixes", own, *asked, slow)
    for privacy in ("pure", "concentrated"):
        attributes = {f"a{place}": {"range": [0, count - 1], "step": 1} for place, count in enumerate(ADULT)}
        rules = [{"presence": True, "epsilon": 1}]
        adult = {"policy": "cells", "privacy": privacy, "universe": {"attributes": attributes}, "rules": rules}
        own = Policy.from_dict(adult)
        asked = dx.LinearQueries.marginals(own.universe, ways=2), MarginalQueries.of(own.universe, ways=2)
        row_of_list("two-way cells of Adult", own, *asked, slow)


def row_of_list(
    title: str, own: Policy, listed: dx.LinearQueries, made: BoxQueries | MarginalQueries, slow: float
) -> None:
    """How long the list is planned, and what it errs beside the same that is made in Python."""
    metric = own.compile()
    started = time.process_time()
    found = dx.plan(metric, listed)
    took = time.process_time() - started
    errors = [math.sqrt(one.loss / listed.count) for one in (found, dx.plan(metric, made))]
    print(
        f"| {title} | {metric.privacy} | {listed.count:,} | {found.mechanism.name} | {errors[0]:.4f} | {took:.2f} | "
        f"{took * slow:.2f} | {errors[1]:.4f} |",
        flush=True,
    )


def range_tables() -> None:
    """One row."""
    attributes = {f"a{place}": {"range": [0, count - 1], "step": 1} for place, count in enumerate((75, 16, 5, 2, 20))}
    rules = [{"presence": True, "epsilon": 1}]
    own = Policy.from_dict({"policy": "ranges", "universe": {"attributes": attributes}, "rules": rules})
    metric, queries = own.compile(), BoxQueries.ranges_by_cells(own.universe, ["a0", "a4"], ways=2)
    started = time.process_time()
    plan = dx.plan(metric, queries)
    planned = time.process_time()
    bound, slow = plan.lower_bound, slow_core()
    print("| queries | HDMM, best | asked | measured | bound | plan, CPU s | bound, CPU s |\n" + "|---" * 7 + "|")
    taken = f"{(planned - started) * slow:.1f} | {(time.process_time() - planned) * slow:.1f}"
    print(f"| {queries.count:,} | 6.83e8 | 6.8e8 | {plan.loss:.4g} | {bound:.3g} | {taken} |")


def rectangles(seeds: int, count: int = 2000) -> None:
    """One row."""
    side, slow, found = 256, slow_core(), []
    attributes = {name: {"range": [0, side - 1], "step": 1} for name in "xy"}
    rules = [{"presence": True, "epsilon": 1}]
    said = {"policy": "map", "privacy": "concentrated", "universe": {"attributes": attributes}, "rules": rules}
    own = Policy.from_dict(said)
    metric = own.compile()
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        ends = np.array([[np.sort(generator.choice(side + 1, 2, replace=False)) for _ in range(count)] for _ in "xy"])
        drawn = dict.fromkeys((tuple(x), tuple(y)) for x, y in zip(*ends.tolist(), strict=True))
        boxes = [{"x": x, "y": y} for x, y in drawn]
        queries = dx.LinearQueries.boxes(own.universe, boxes)
        started = time.process_time()
        plan = dx.plan(metric, queries)
        taken = (time.process_time() - started) * slow
        parts = dx.plan(metric, BoxQueries.of(own.universe, boxes), mechanism=NORMAL)
        losses = (plan.loss, plan.lower_bound, parts.loss)
        found.append([*(math.sqrt(one / len(boxes)) for one in losses), taken])
    error, bound, in_trees, seconds = np.median(found, axis=0)
    print("| rectangles | HB | quarters | trees here | asked | measured | bound | plan, CPU s |\n" + "|---" * 8 + "|")
    print(f"| {count:,} | 8.5 | 7.7 | {in_trees:.2f} | 5.5 | {error:.3f} | {bound:.3f} | {seconds:.1f} |")


AROUND: tuple[tuple[int, int], ...] = ((24, 6), (52, 4), (168, 24), (365, 30), (365, 1))
"""Values, and how many a window has."""


def least_around(size: int, width: int, presence: bool, step: float) -> float:
    """(Σ √(w·(m + (1 − m)·(2 − 2cos ω)/d²)))²/n, w the spectrum of a window, at the best m; 0 without presence."""
    spectrum = np.abs(np.fft.fft((np.arange(size) < width).astype(np.float64))) ** 2
    moved = (2 - 2 * np.cos(2 * np.pi * np.arange(size) / size)) / step**2

    def value(share: float) -> float:
        return float(np.sqrt(spectrum * (share + (1 - share) * moved)).sum()) ** 2 / size

    low, high = 0.0, 1.0 if presence else 0.0
    for _ in range(100):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if value(one) < value(other) else (low, other)
    return value((low + high) / 2)


def around() -> None:
    """A row for each size and width, with presence and without."""
    slow = slow_core()
    print("| values | window | presence | the least there is | measured | bound | plan, CPU s | bound, CPU s |")
    print("|---" * 8 + "|")
    for (size, width), presence in ((one, said) for one in AROUND for said in (True, False)):
        hour = {"range": [0, size - 1], "step": 1, "wraps": True}
        rules: list[dict[str, object]] = [{"change": "t", "per": 7, "epsilon": 1}]
        rules += [{"presence": True, "epsilon": 1}] if presence else []
        said = {"policy": "round", "privacy": "concentrated", "universe": {"attributes": {"t": hour}}, "rules": rules}
        own = Policy.from_dict(said)
        inside = [[int((value - first) % size < width) for value in range(size)] for first in range(size)]
        asked = dx.LinearQueries.from_matrix([f"from {first}" for first in range(size)], inside, own.universe)
        started = time.process_time()
        candidate = BoxCandidates(sensitivity_of(own.compile(), asked), None, worst=False)
        made = candidate.built(TOEPLITZ)
        planned = time.process_time()
        bound = candidate.bound
        taken = (planned - started) * slow, (time.process_time() - planned) * slow
        totals = least_around(size, width, presence, 1 / 7), float(made.ideal_variances.sum()), bound
        errors = " | ".join(f"{math.sqrt(total / size):.4f}" for total in totals)
        row = f"| {size} | {width} | {'1' if presence else '–'} | {errors} | {taken[0]:.2f} | {taken[1]:.2f} |"
        print(row, flush=True)


def everything() -> None:
    """All tables in one run."""
    as_asked(draws=False)
    beside_others()
    around()
    range_tables()
    rectangles(10)
    rectangles(1, 100_000)
    lists()


def main() -> None:
    """A row for each size, and for each workload of others."""
    if "--all" in sys.argv:
        everything()
        return
    if "--around" in sys.argv:
        around()
        return
    for word in sys.argv[1:]:
        if word.startswith("--rectangles"):
            counts = [int(one.partition("=")[2]) for one in sys.argv if one.startswith("--count=")]
            rectangles(int(word.partition("=")[2] or 1), *counts)
            return
    if "--ranges" in sys.argv:
        range_tables()
        return
    if "--lists" in sys.argv:
        lists()
        return
    as_asked("--draws" in sys.argv)
    beside_others()


def as_asked(draws: bool) -> None:
    """A row for each size."""
    print("| values | step | asked | measured | bound | noise | plan, s |" + (" draw, s |" if draws else ""))
    print("|---|---|---|---|---|---|---|" + ("---|" if draws else ""))
    for size, steps, asked in ASKED:
        own = policy(size, steps)
        metric, queries = own.compile(), BoxQueries.prefixes(own.universe, "t")
        began = time.process_time()
        plan = dx.plan(metric, queries)
        planned = time.process_time() - began
        error = math.sqrt(plan.loss / size)
        bound = f"{math.sqrt(plan.lower_bound / size):.3f}" if size <= BOUNDED else "–"
        row = f"| {size:,} | {steps or '–'} | {asked:.2f} | {error:.3f} | {bound} | {plan.mechanism.name} |"
        row += f" {planned:.2f} |"
        if draws:
            began = time.process_time()
            plan.mechanism.law_of(0, float(plan.mechanism.step))[0].draw(1, SystemRandomness())
            row += f" {time.process_time() - began:.2f} |"
        print(row + ("" if error <= asked else " more than asked"))


if __name__ == "__main__":
    main()
