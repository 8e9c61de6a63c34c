"""Whole tables of counts: total errors beside independent noise and the bound, and a hundred attributes end to end.

Seconds are of one run on whatever machine this is; errors do not depend on it. Memory is the process's peak.
Run: .venv/bin/python benchmarks/marginals.py [--three-way]
"""

from __future__ import annotations

import itertools
import math
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dxgeom.mechanisms.linear.marginals.gaussian_scales import best_gaussian_scales
from dxgeom.mechanisms.linear.marginals.laplace_scales import best_laplace_scales
from dxgeom.mechanisms.linear.marginals.program import Budgets, least_cost_rates
from dxgeom.mechanisms.linear.marginals.question import MarginalQuestion
from dxgeom.mechanisms.linear.marginals.set_family import family_of
from dxgeom.planner.marginals.marginal_plan import plan_tables
from dxgeom.policy.policy import Policy
from dxgeom.universe.workloads.whole_tables import MarginalQueries

SIX = (2, 5, 7, 16, 15, 2)
ATTRIBUTES, ROWS, SEED = 100, 100_000, 0


def question_of(sizes: Sequence[int], ways: int) -> MarginalQuestion:
    """All tables of so many attributes under a constant 1 for each."""
    asked = list(itertools.combinations(range(len(sizes)), ways))
    return MarginalQuestion(family_of(sizes, asked), np.ones(len(sizes)), math.inf, np.ones(len(asked)))


def alone(question: MarginalQuestion) -> float:
    """The least total error of independent Laplace noise in the tables asked for."""
    family, budgets = question.family, question.laplace_budgets
    place = {number: row for row, number in enumerate(question.measurable.tolist())}
    rows = [place[number] for number in family.asked.tolist()]
    return least_cost_rates(Budgets(budgets.shares[rows], budgets.limits), 2 * family.cells[family.asked], 2).value


def errors() -> None:
    """Total squared errors of the reference workloads."""
    print("| values | tables | Laplace alone | with smaller ones | Gaussian | bound | seconds |")
    print("|---|---|---|---|---|---|---|")
    for sizes, ways in ((SIX, 2), (SIX, 3), ((2,) * 20, 2), ((4,) * 4, 2)):
        began = time.perf_counter()
        question = question_of(sizes, ways)
        normal, pure = best_gaussian_scales(question), best_laplace_scales(question)
        took = time.perf_counter() - began
        named = ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else f"{len(sizes)} × {sizes[0]}"
        figures = (alone(question), pure.value, normal.value, normal.bound)
        print(f"| {named} | {ways}-way | " + " | ".join(f"{figure:,.6g}" for figure in figures) + f" | {took:.2f} |")


def wide_policy() -> tuple[Policy, list[int]]:
    """A hundred attributes of 2 to 60 values."""
    sizes = np.random.default_rng(SEED).integers(2, 61, ATTRIBUTES).tolist()
    names = [f"a{place}" for place in range(ATTRIBUTES)]
    attributes = {
        name: {"values": [f"v{code}" for code in range(size)]} for name, size in zip(names, sizes, strict=True)
    }
    rules = [{"change": name, "epsilon": 1} for name in names]
    stated = {"policy": "wide", "privacy": "concentrated", "universe": {"attributes": attributes}, "rules": rules}
    return Policy.from_dict(stated), sizes


def table_of(folder: Path, sizes: Sequence[int]) -> Path:
    """A file of rows, of any values alike."""
    generator, path = np.random.default_rng(SEED + 1), folder / "rows.parquet"
    columns = {
        f"a{place}": pa.DictionaryArray.from_arrays(
            generator.integers(0, size, ROWS).astype(np.int32), [f"v{code}" for code in range(size)]
        ).cast(pa.string())
        for place, size in enumerate(sizes)
    }
    pq.write_table(pa.table(columns), path)
    return path


def end_to_end(ways: int, release: bool) -> None:
    """Plan, and release."""
    policy, sizes = wide_policy()
    metric = policy.compile()
    began = time.perf_counter()
    queries = MarginalQueries.of(policy.universe, ways=ways)
    plan = plan_tables(metric, queries, mechanism="marginal-gaussian")
    took = time.perf_counter() - began
    print(f"{ways}-way: {len(queries.asked):,} tables, {queries.count:,} cells: planned in {took:.2f} s", end="")
    print(f", within {plan.gap - 1:.1e} of the bound")
    if release:
        with tempfile.TemporaryDirectory() as folder:
            path = table_of(Path(folder), sizes)
            began = time.perf_counter()
            plan.release(path, ledger=Path(folder) / "one.db", spend=1)
            took = time.perf_counter() - began
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"released from {ROWS:,} rows in {took:.1f} s, with {memory:,.0f} MB at the peak of all this")


if __name__ == "__main__":
    errors()
    end_to_end(2, release=True)
    if "--three-way" in sys.argv[1:]:
        end_to_end(3, release=False)
