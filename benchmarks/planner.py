"""Plans for many queries: the error over the lower bound and over optimal Laplace noise, processor seconds, memory.

Workloads: random conditions on Adult's attributes, random subsets of the cells of two of them, random subsets of all
record types; random counts and random weights on 100 places, where medians over seeds are told with their range.
Every measurement runs in a process of its own.

Run: .venv/bin/python benchmarks/planner.py [--seeds N] [family K ...]     (all families and seed 0 when left out)
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

import dxgeom as dx
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import VerifiedMetric, verify
from dxgeom.universe.weight_table import WeightTable, tabulated
from dxgeom.universe.weight_tables import over_universe

ADULT = Path(__file__).parent.parent / "policies" / "adult" / "policy.yaml"
PLACES = 100
Workload = tuple[VerifiedMetric, dx.LinearQueries]


def conditions(count: int, seed: int) -> Workload:
    """Each query a condition on one to three attributes of Adult, on each a random half of its values."""
    generator = np.random.default_rng(seed)
    shape = dx.load_policy(ADULT).universe.shape
    return _on_adult([_condition(generator, shape) for _ in range(count)])


def _condition(generator: np.random.Generator, shape: tuple[int, ...]) -> WeightTable:
    axes = sorted(generator.choice(len(shape), size=int(generator.integers(1, 4)), replace=False).tolist())
    weights = np.ones((1,) * (1 + len(axes)), dtype=np.int64)
    for place, axis in enumerate(axes):
        chosen = generator.integers(0, 2, shape[axis])
        while not 0 < chosen.sum() < len(chosen):
            chosen = generator.integers(0, 2, shape[axis])
        along = [1] * (1 + len(axes))
        along[1 + place] = len(chosen)
        weights = weights * chosen.reshape(along)
    return tabulated(axes, weights)


def cells(count: int, seed: int) -> Workload:
    """Each query counts a random half of the cells of two attributes of Adult."""
    generator = np.random.default_rng(seed)
    shape = dx.load_policy(ADULT).universe.shape
    tables = []
    for _ in range(count):
        axes = sorted(generator.choice(len(shape), size=2, replace=False).tolist())
        tables.append(tabulated(axes, generator.integers(0, 2, (1, *(shape[axis] for axis in axes)))))
    return _on_adult(tables)


def _on_adult(tables: list[WeightTable]) -> Workload:
    policy = dx.load_policy(ADULT)
    weights = over_universe(policy.universe, tables)
    names = tuple(f"q{k}" for k in range(len(tables)))
    return policy.compile(), dx.LinearQueries(names, weights, (Fraction(1),) * len(tables), policy.universe)


def records(count: int, seed: int) -> Workload:
    """Each query counts a random half of Adult's 33,600 record types."""
    policy = dx.load_policy(ADULT)
    return policy.compile(), named(np.random.default_rng(seed).integers(0, 2, (count, policy.universe.size)))


def binary(count: int, seed: int) -> Workload:
    """Random counts on 100 random places."""
    return _on_places(seed, lambda generator: generator.integers(0, 2, (count, PLACES)))


def uniform(count: int, seed: int) -> Workload:
    """Random weights on 100 random places."""
    return _on_places(seed, lambda generator: generator.random((count, PLACES)))


def _on_places(seed: int, draw: Callable[[np.random.Generator], np.ndarray]) -> Workload:
    generator = np.random.default_rng(seed)
    spots = PointsMetric(generator.random((PLACES, 2)) * 100, "plane", Fraction(1))
    return verify(spots, title="places", fingerprint="places", budget=Fraction(1)), named(draw(generator))


def named(matrix: np.ndarray) -> dx.LinearQueries:
    return dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(matrix))], matrix)


FAMILIES: dict[str, Callable[[int, int], Workload]] = {
    one.__name__: one for one in (conditions, cells, records, binary, uniform)
}
COLUMNS = ("gap", "laplace", "blocks", "seconds", "mb")
ALL = [(family, count) for family in ("conditions", "cells") for count in (30, 40, 100, 130, 200, 410)]
ALL += [("records", 30), ("binary", 40), ("uniform", 40), ("uniform", 200)]


def measured(family: str, count: int, seed: int) -> None:
    """One plan, as JSON."""
    metric, queries = FAMILIES[family](count, seed)
    started = time.process_time()
    plan = dx.plan(metric, queries, objective="mse", thorough=True)
    seconds = time.process_time() - started
    losses = {one.name: one.loss for one in plan.candidates if one.loss is not None}
    laplace = None if "laplace" not in losses else losses["laplace"] / plan.loss
    blocks = losses["block-hulls"] / losses["coarse-hull"] if {"block-hulls", "coarse-hull"} <= {*losses} else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    found = {"chosen": plan.mechanism.name, "gap": plan.gap, "laplace": laplace, "blocks": blocks}
    found |= {"seconds": seconds, "mb": peak}
    print(json.dumps({**found, "candidates": {name: loss / plan.lower_bound for name, loss in losses.items()}}))


def summary(values: list[float]) -> str:
    """The median, and the range where there are several."""
    middle = statistics.median(values)
    return f"{middle:.3g}" if len(values) == 1 else f"{middle:.3g} ({min(values):.3g}–{max(values):.3g})"


def main() -> None:
    """A row for each family and number of queries."""
    words = sys.argv[1:]
    if words[:1] == ["--measure"]:
        measured(words[1], int(words[2]), int(words[3]))
        return
    seeds = 1
    if words[:1] == ["--seeds"]:
        seeds, words = int(words[1]), words[2:]
    wanted = list(zip(words[::2], map(int, words[1::2]), strict=True)) or ALL
    print(f"seeds 0 to {seeds - 1}; error / bound, Laplace / chosen, blocks / coarse hull, processor seconds, peak MB")
    for family, count in wanted:
        runs = []
        for seed in range(seeds):
            command = [sys.executable, __file__, "--measure", family, str(count), str(seed)]
            runs.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        columns = [summary([run[key] or float("nan") for run in runs]) for key in COLUMNS]
        chosen = ", ".join(sorted({run["chosen"] for run in runs}))
        print(f"{family:>10} {count:>4}  {'  '.join(f'{column:>22}' for column in columns)}  {chosen}", flush=True)
        if seeds == 1:
            told = ", ".join(f"{name} {ratio:.3g}" for name, ratio in runs[0]["candidates"].items())
            print(f"{'':>17}{told}", flush=True)


if __name__ == "__main__":
    main()
