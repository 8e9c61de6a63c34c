"""Estimates of whole tables: total variation and squared errors beside raw noise, bars, and seconds of processor.

Adult's fourteen attributes in the sizes of HDMM's benchmark (148,137 cells in 91 two-way tables), 48,842 rows. Nine of
the columns are those of policies/adult, of which rows are drawn again; the others, which are not in this repository,
are made up in a like shape: weights of persons, gains and losses that are mostly 0, hours that are mostly 40. The six
attributes of policies/adult (823 cells) are as they are. One record comes or goes; concentrated, at the spend that is
ε = 1 at δ = 1e-9. The number of records is taken to be public, as others who compare do.
Run: .venv/bin/python benchmarks/estimates.py
"""

from __future__ import annotations

import csv
import itertools
import math
import time
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize

import dxgeom as dx
from dxgeom.universe.workloads.whole_tables import MarginalQueries

PEOPLE: Final = Path(__file__).parents[1] / "policies" / "adult" / "people.csv"
SIZES: Final = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
ROWS, SEEDS, DELTA = 48_842, range(3), 1e-9
SIX: Final = ("sex", "race", "marital-status", "education", "age", "salary-class")


def spend_of(epsilon: float) -> Fraction:
    """The μ of Gaussian privacy that is this ε at δ, rounded down. Balle & Wang 2018, Theorem 8."""
    phi = NormalDist().cdf

    def delta(mu: float) -> float:
        return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)

    return Fraction(f"{optimize.brentq(lambda mu: delta(mu) - DELTA, 0.02, 2) - 5e-5:.4f}")


class Case(NamedTuple):
    """A table of codes, and how many values each column has."""

    name: str
    table: pd.DataFrame
    sizes: tuple[int, ...]


def adult() -> tuple[Case, Case]:
    """Fourteen columns, and six."""
    people = list(csv.DictReader(PEOPLE.open(encoding="utf-8")))
    draw = np.random.default_rng(0)
    chosen = draw.integers(0, len(people), ROWS)

    def column(name: str) -> NDArray[Any]:
        _, codes = np.unique([one[name] for one in people], return_inverse=True)
        return codes

    ages = np.array([int(one["age"]) for one in people]) - 15
    married = column("marital-status")[chosen]
    usual, gains, losses = draw.random(ROWS) < 0.47, draw.random(ROWS) < 0.08, draw.random(ROWS) < 0.05
    related = (married + (draw.random(ROWS) < 0.2) * draw.integers(0, 6, ROWS)) % 6
    named = ("native-country", "education", "occupation", "workclass")
    columns = [
        draw.lognormal(3, 0.5, ROWS),
        np.where(gains, draw.geometric(0.07, ROWS), 0),
        np.where(losses, draw.normal(43, 8, ROWS), 0),
        np.where(usual, 40, draw.normal(41, 14, ROWS)),
        ages[chosen],
        *(column(name)[chosen] for name in named),
        married,
        related,
        *(column(name)[chosen] for name in ("race", "sex", "salary-class")),
    ]
    codes = {
        f"a{place}": np.clip(one, 0, size - 1).astype(int)
        for place, (one, size) in enumerate(zip(columns, SIZES, strict=True))
    }
    six = {f"a{place}": column(name) if name != "age" else ages // 5 for place, name in enumerate(SIX)}
    few = pd.DataFrame({name: np.clip(one, 0, 14 if name == "a4" else None) for name, one in six.items()})
    return Case("14 attributes", pd.DataFrame(codes), SIZES), Case("6 attributes", few, (2, 5, 7, 16, 15, 2))


def truths(case: Case) -> list[NDArray[np.float64]]:
    """All two-way tables, exactly."""
    found = []
    for one, two in itertools.combinations(range(len(case.sizes)), 2):
        cells = np.zeros((case.sizes[one], case.sizes[two]))
        np.add.at(cells, (case.table[f"a{one}"].to_numpy(), case.table[f"a{two}"].to_numpy()), 1)
        found.append(cells)
    return found


def plan_of(case: Case, privacy: str) -> dx.Plan:
    """All two-way tables where one record comes or goes."""
    attributes = {f"a{place}": {"values": [str(k) for k in range(size)]} for place, size in enumerate(case.sizes)}
    rules = [{"presence": True, "epsilon": 1}]
    stated = {"policy": case.name, "privacy": privacy, "universe": {"attributes": attributes}, "rules": rules}
    policy = dx.Policy.from_dict(stated)
    return dx.plan(policy.compile(), MarginalQueries.of(policy.universe, ways=2))


def measured(case: Case, privacy: str, spend: Fraction) -> None:
    """A line of the table: medians over the seeds."""
    plan, truth, rows = plan_of(case, privacy), truths(case), len(case.table)
    figures = []
    for seed in SEEDS:
        release = plan.release(case.table.astype(str), ledger=":memory:", spend=spend, insecure_test_seed=seed)
        raw = [release.answer.table(name) for name in release.names]
        began = time.process_time()
        estimate: Any = release.estimate(totals={"all records": rows})
        took = time.process_time() - began
        both = (raw, estimate.tables)
        squares = [sum(float(((a - t) ** 2).sum()) for a, t in zip(some, truth, strict=True)) for some in both]
        far = [
            float(np.mean([np.abs(a - t).sum() / 2 / rows for a, t in zip(some, truth, strict=True)])) for some in both
        ]
        width = release.answer.half_widths(0.95)
        held = [np.abs(a - t) <= w for a, t, w in zip(raw, truth, width, strict=True)]
        covered = float(np.mean(np.concatenate([one.ravel() for one in held])))
        guessed = estimate.errors.estimated or math.nan
        figures.append((*far, *squares, guessed, math.sqrt(estimate.errors.at_most), covered, took))
    far, near, before, after, guessed, bound, covered, took = np.median(figures, axis=0)
    cells = sum(one.size for one in truth)
    print(
        f"| {case.name} | {cells:,} | {privacy} | {far:.4f} | {near:.4f} | {before:.4g} | {after:.4g} | "
        f"{guessed:.4g} | {bound**2:.4g} | {covered:.4f} | {took:.2f} |"
    )


def main() -> None:
    """The table."""
    spend = spend_of(1.0)
    print(
        f"concentrated at spend {spend}, which is ε = 1 at δ = {DELTA:g}; pure at 1. Medians of {len(SEEDS)} seeds.\n"
    )
    print(
        "| table | cells | privacy | mean TV, raw | estimate | total, raw | estimate | by Stein | bound "
        "| bars hold | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for case in adult():
        measured(case, "concentrated", spend)
        measured(case, "pure", Fraction(1))


if __name__ == "__main__":
    main()
