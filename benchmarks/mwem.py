"""Multiplicative weights: a step by slices against the dense step on a million cells, and the error on census data.

Run: .venv/bin/python benchmarks/mwem.py [rounds]
"""

from __future__ import annotations

import itertools
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.mechanisms.box_workload import BoxWorkload, marginal_workload
from dxgeom.mechanisms.mwem import mwem
from dxgeom.numeric.randomness import InsecureSeededRandomness, SystemRandomness

POLICIES = Path(__file__).parent.parent / "policies"
DENSE_BLOCK = 100
"""Rows of the dense matrix that are held at once: the whole of it would take 4 GB."""


def million_cells() -> tuple[dx.VerifiedMetric, BoxWorkload]:
    """Six attributes of ten values, and the 1,000 cells of ten of their two-way marginals."""
    names = "abcdef"
    universe = {"attributes": {name: [f"{name}{value}" for value in range(10)] for name in names}}
    rules = [{"change": list(names), "epsilon": 1}]
    metric = dx.Policy.from_dict({"policy": "cells", "universe": universe, "rules": rules}).compile()
    assert metric.universe is not None
    return metric, marginal_workload(metric.universe, list(itertools.combinations(names, 2))[:10])


def dense_step(rows: NDArray[np.float32], model: NDArray[np.float32], queries: int) -> float:
    """Seconds for one dense step: reweigh every cell by a row, scale the sum to 1, answer every query."""
    started = time.perf_counter()
    model *= np.exp(np.float32(0.01) * rows[0])
    model /= model.sum()
    for _ in range(queries // len(rows)):
        rows @ model
    return time.perf_counter() - started


def steps(rounds: int) -> None:
    """Selection, measurement, update and all answers of a round, against the dense update and answers alone."""
    metric, workload = million_cells()
    counts = np.random.default_rng(0).multinomial(10**6, np.random.default_rng(1).dirichlet(np.full(10**6, 0.1)))
    started = time.perf_counter()
    mechanism = mwem(metric, workload, rounds=rounds, together=False)
    built = time.perf_counter() - started
    print(f"1,000,000 cells, {workload.count:,} cells of two-way marginals; built in {built:.1f} s")
    mechanism.draw(counts, Fraction(1), SystemRandomness())
    exact = workload.totals(counts) * mechanism.fineness
    model = workload.model(mechanism.start)
    seconds = []
    for number in range(rounds):
        started = time.perf_counter()
        mechanism._round(number, exact, Fraction(1, 2 * rounds), (model, 10**6), SystemRandomness())
        seconds.append(time.perf_counter() - started)
    ours = float(np.median(seconds))
    print(f"  a whole round by slices: median {1e3 * ours:.2f} ms, mean {1e3 * np.mean(seconds):.2f} ms")
    rows = np.random.default_rng(2).integers(0, 2, (DENSE_BLOCK, 10**6)).astype(np.float32)
    flat = np.full(10**6, 1e-6, dtype=np.float32)
    dense = float(np.median([dense_step(rows, flat, workload.count) for _ in range(5)]))
    print(f"  the dense update and answers, float32: median {1e3 * dense:.0f} ms, {dense / ours:.0f} times as long")


def census() -> None:
    """The largest and the mean error over all two-way marginals of the census data, by rounds."""
    metric = dx.load_policy(POLICIES / "adult.yaml").compile()
    assert metric.universe is not None
    workload = marginal_workload(metric.universe, list(itertools.combinations(metric.universe.names, 2)))
    counts = histogram_of_table(POLICIES / "adult.csv", metric.universe).counts
    truth, records = workload.totals(counts), int(counts.sum())
    flat = np.abs(workload.model(np.ones(workload.size)).answers() * records - truth)
    print(f"adult: {records:,} records, {workload.size:,} cells, {workload.count} marginal cells; seed 1")
    print(f"  {'':>32} {'average':>18} {'refitted':>18}")
    print(f"  {'measured':>8} {'spend':>6} {'rounds':>16} " + 2 * f"{'largest':>9} {'mean':>8} " + f"{'proved':>9}")
    print(f"  {'nothing':>8} {'':>6} {0:>16} {flat.max():>9,.0f} {flat.mean():>8,.0f}")
    ways = {"cell": (False, 0), "marginal": (True, 0), "replayed": (True, 3)}
    for (what, (together, replays)), spend in itertools.product(ways.items(), (Fraction(1), Fraction(1, 4))):
        default = mwem(metric, workload).rounds_for(records, spend)
        for rounds in (5, 20, default):
            mechanism = mwem(metric, workload, rounds=rounds, together=together, replays=replays)
            answer = mechanism.draw(counts, spend, InsecureSeededRandomness(1))
            errors = [np.abs(one.answers - truth) for one in (answer, answer.refitted())]
            shown = " ".join(f"{error.max():>9,.0f} {error.mean():>8,.0f}" for error in errors)
            chosen = f"default {rounds}" if rounds == default else str(rounds)
            print(f"  {what:>8} {spend!s:>6} {chosen:>16} {shown} {answer.largest_error():>9,.0f}", flush=True)


if __name__ == "__main__":
    steps(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    census()
