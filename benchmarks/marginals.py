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
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dxgeom as dx
from dxgeom.mechanisms.parts.program import Budgets, least_cost_rates
from dxgeom.mechanisms.parts.scales import best_gaussian_scales, best_laplace_scales
from dxgeom.mechanisms.parts.tables import MarginalQuestion, family_of
from dxgeom.mechanisms.parts.volumes import tables_volume_bound
from dxgeom.policy.policy import Policy, load_policy
from dxgeom.universe.workloads.whole_tables import MarginalQueries

POLICIES = Path(__file__).parents[1] / "policies"
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
    rows = [place[number] for number in family.workload_sets.tolist()]
    return least_cost_rates(
        Budgets(budgets.shares[rows], budgets.limits), 2 * family.cells[family.workload_sets], 2
    ).value


def errors() -> None:
    """Total squared errors of the reference workloads."""
    print("| values | tables | Laplace alone | with smaller ones | Gaussian | bound | pure bound | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for sizes, ways in ((SIX, 2), (SIX, 3), ((2,) * 20, 2), ((4,) * 4, 2), ((10,) * 6, 2), ((16, 9, 7, 5), 2)):
        began = time.perf_counter()
        question = question_of(sizes, ways)
        normal, pure = best_gaussian_scales(question), best_laplace_scales(question)
        volumes = tables_volume_bound(question.family, question.constants, question.costs, worst=False)
        took = time.perf_counter() - began
        named = ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else f"{len(sizes)} × {sizes[0]}"
        figures = (alone(question), pure.value, normal.value, normal.bound, max(volumes, 2 * normal.bound))
        print(f"| {named} | {ways}-way | " + " | ".join(f"{figure:,.6g}" for figure in figures) + f" | {took:.2f} |")


PUBLISHED = {
    "Adult": ((100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2), (3.047, 6.359, 10.515, 10.665)),
    "CPS": ((100, 50, 7, 4, 2), (1.744, 2.035, 2.048, 2.276)),
    "Loans": ((101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15), (2.875, 5.634, 8.702, 8.876)),
}
"""Root mean squared errors of a cell that ResidualPlanner's authors print (arXiv 2305.08175, the table of RMSE of
marginal workloads), at privacy cost 1 under ordinary privacy: one record comes or goes. One-, two-, three-way, and all
up to three with the number of records."""


def published() -> None:
    """The optimum is unique, so that equality is the test: presence at 1, and no other rule."""
    print("| domain | tables | ResidualPlanner printed | here |")
    print("|---|---|---|---|")
    for name, (sizes, figures) in PUBLISHED.items():
        for ways, figure in zip(((1,), (2,), (3,), (0, 1, 2, 3)), figures, strict=True):
            asked = [one for way in ways for one in itertools.combinations(range(len(sizes)), way)]
            nothing = np.full(len(sizes), math.inf)
            question = MarginalQuestion(family_of(sizes, asked), nothing, 1.0, np.ones(len(asked)))
            cells = question.family.cells[question.family.workload_sets].sum()
            found = math.sqrt(best_gaussian_scales(question).value / cells)
            print(f"| {name} | {'up to 3' if len(ways) > 1 else ways[0]}-way | {figure:.3f} | {found:.3f} |")


def adult() -> None:
    """All two-way marginals of the census example, for pure privacy, over the Gaussian dual at equal distance."""
    policy = load_policy(POLICIES / "adult" / "policy.yaml")
    plan = dx.plan(policy.compile(), MarginalQueries.of(policy.universe, ways=2))
    print(
        f"policies/adult, {plan.queries.count} two-way cells: {plan.mechanism.name} has a total squared error of ",
        end="",
    )
    print(f"{plan.loss:,.0f}, the bound is {plan.lower_bound:,.0f}: within a factor {plan.gap:.3g}")


def worst() -> None:
    """The worst cell made small, and how near that is to its bound."""
    sizes = wide_policy()[1]
    for some, ways in ((SIX, 2), (SIX, 3), (sizes[:12], 2), (sizes, 2)):
        began = time.process_time()
        found = best_gaussian_scales(question_of(some, ways), worst=True)
        took = time.process_time() - began
        print(f"worst cell of {ways}-way tables of {len(some)} attributes: {found.value:.6g}, ", end="")
        print(f"within {found.gap:.1e} of the bound, {took:.1f} s of processor")


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
    plan = dx.plan(metric, queries, mechanism="marginal-gaussian")
    took = time.perf_counter() - began
    print(
        f"{ways}-way: {len(queries.attribute_sets):,} tables, {queries.count:,} cells: planned in {took:.2f} s", end=""
    )
    print(f", within {plan.gap - 1:.1e} of the bound")
    if release:
        with tempfile.TemporaryDirectory() as folder:
            # In a process of its own, so that making the rows is no part of the peak.
            with ProcessPoolExecutor(1, get_context("spawn")) as other:
                path = other.submit(table_of, Path(folder), sizes).result()
            began = time.perf_counter()
            plan.release(path, ledger=Path(folder) / "one.db", spend=1)
            took = time.perf_counter() - began
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"released from {ROWS:,} rows in {took:.1f} s, with {memory:,.0f} MB at the peak of all this")


if __name__ == "__main__":
    errors()
    published()
    adult()
    worst()
    end_to_end(2, release=True)
    if "--three-way" in sys.argv[1:]:
        end_to_end(3, release=False)
