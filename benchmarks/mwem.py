"""Multiplicative weights: rounds by slices against the dense step on a million cells, and errors on census data.

Run: .venv/bin/python benchmarks/mwem.py [--seeds 5] [--steps] [--other-python PYTHON]
--steps: the rounds alone, in seconds of the processor, which other work beside them changes least.
PYTHON: the interpreter of an environment with smartnoise-synth, to run its MWEM on the same data (minutes per seed).
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.mechanisms.linear.laplace import max_min_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.synthetic.graphical_model import by_graphical_model
from dxgeom.mechanisms.synthetic.multiplicative_weights import mwem
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness, SystemRandomness
from dxgeom.universe.queries import LinearQueries

POLICIES = Path(__file__).parent.parent / "policies"
OTHER = Path(__file__).parent / "smartnoise_mwem.py"
DENSE_BLOCK = 100
"""Rows of the dense matrix that are held at once: the whole of it would take 4 GB."""
ROUNDS = 200
DRAWS = 10
"""After a first one, which finds what all of them share."""


def million_cells() -> tuple[dx.VerifiedMetric, LinearQueries, LinearQueries]:
    """Six attributes of ten values; ten of their two-way marginals, whole and as 990 cells that are measured singly."""
    names = "abcdef"
    universe = {"attributes": {name: [f"{name}{value}" for value in range(10)] for name in names}}
    rules = [{"change": list(names), "epsilon": 1}]
    metric = dx.Policy.from_dict({"policy": "cells", "universe": universe, "rules": rules}).compile()
    assert metric.universe is not None
    pairs = list(itertools.combinations(names, 2))[:10]
    cells = [
        {one: (i, i + 1), other: (j, j + 1)} for one, other in pairs for i in range(10) for j in range(10) if i + j < 18
    ]
    return metric, LinearQueries.marginals(metric.universe, pairs), LinearQueries.boxes(metric.universe, cells)


def dense_step(rows: NDArray[np.float32], model: NDArray[np.float32], queries: int) -> float:
    """Seconds for one dense step: reweigh every cell by a row, scale the sum to 1, answer every query."""
    started = time.process_time()
    model *= np.exp(np.float32(0.01) * rows[0])
    model /= model.sum()
    for _ in range(queries // len(rows)):
        rows @ model
    return time.process_time() - started


def steps() -> None:
    """All of a round, with the fit to what was measured before, against the dense update and answers alone."""
    metric, marginals, cells = million_cells()
    counts = np.random.default_rng(0).multinomial(10**6, np.random.default_rng(1).dirichlet(np.full(10**6, 0.1)))
    for workload, rounds in ((cells, ROUNDS), (marginals, 10)):
        mechanism = mwem(metric, workload, rounds=rounds)
        each = []
        for _ in range(1 + DRAWS):
            started = time.process_time()
            mechanism.draw(counts, Fraction(1), SystemRandomness())
            each.append((time.process_time() - started) / rounds)
        each, ours = each[1:], statistics.median(each[1:])
        whole = "marginals" if workload is marginals else "single cells"
        print(
            f"1,000,000 cells, {workload.count} queries, {rounds} rounds of {whole}, {DRAWS} draws: {1e3 * ours:.2f} "
            f"ms of the processor each, in all ({1e3 * min(each):.2f} to {1e3 * max(each):.2f})"
        )
        if workload is cells:
            rows = np.random.default_rng(2).integers(0, 2, (DENSE_BLOCK, 10**6)).astype(np.float32)
            flat = np.full(10**6, 1e-6, dtype=np.float32)
            dense = float(np.median([dense_step(rows, flat, 1000) for _ in range(5)]))
            print(f"  the dense update and answers, float32: {1e3 * dense:.0f} ms, {dense / ours:.0f} times as long")


def census(seeds: int, other: str | None) -> None:
    """Errors over all two-way marginals of the census data: under ordinary differential privacy and under a policy."""
    policy = dx.load_policy(POLICIES / "adult" / "policy.yaml").compile()
    universe = policy.universe
    assert universe is not None
    ordinary = verify(
        DiscreteMetric(universe.size, Fraction(1)),
        title="ordinary",
        fingerprint="ordinary",
        budget=Fraction(1),
        universe=universe,
    )
    pairs = list(itertools.combinations(universe.names, 2))
    workload = LinearQueries.marginals(universe, pairs)
    counts = histogram_of_table(POLICIES / "adult" / "people.csv", universe).counts
    truth = np.array([int(total) for total in workload.answers(counts)])
    flat = np.abs(
        np.array(workload.answers(np.ones(workload.size, dtype=np.int64)), dtype=np.float64)
        / workload.size
        * counts.sum()
        - truth
    )
    print(f"adult: {counts.sum():,} records, {workload.size:,} cells, {workload.count} marginal cells; {seeds} seeds")
    print(f"  {'metric':<9} {'spend':>5}  {'':<40} {'largest':>8} {'mean':>7} {'proved':>7} {'seconds':>8}")
    show("", "", "the uniform start", [(float(flat.max()), float(flat.mean()), 0.0, 0.0)])
    for (title, metric), spend in itertools.product(
        (("ordinary", ordinary), ("adult", policy)), (Fraction(1), Fraction(1, 4), Fraction(1, 25), Fraction(1, 100))
    ):
        laplace = max_min_laplace(sensitivity_of(metric, workload))

        def plain(seed: int) -> tuple[float, float, float, float]:
            started = time.perf_counter()
            values = laplace.draw(counts, spend, InsecureSeededRandomness(seed))  # noqa: B023
            return _errors(np.array(values, dtype=np.float64) - truth, 0.0, started)

        show(title, spend, "plain: Laplace noise, fairest scales", [plain(seed) for seed in range(seeds)])
        chosen = mwem(metric, workload).rounds_for(int(counts.sum()), spend)
        for rounds in sorted({0, 3, 5, 8, chosen}):
            mechanism = mwem(metric, workload, rounds=rounds)

            def learnt(seed: int) -> tuple[float, float, float, float]:
                started = time.perf_counter()
                answer = mechanism.draw(counts, spend, InsecureSeededRandomness(seed))  # noqa: B023
                return _errors(answer.answers - truth, answer.largest_error(), started)

            what = f"mwem, {rounds} rounds{', its own choice' if rounds == chosen else ''}"
            show(title, spend, what, [learnt(seed) for seed in range(seeds)])
            if rounds == chosen and spend >= Fraction(1, 4):

                def estimated(seed: int) -> tuple[float, float, float, float]:
                    answer = mechanism.draw(counts, spend, InsecureSeededRandomness(seed))  # noqa: B023
                    started = time.perf_counter()
                    made = by_graphical_model(answer)
                    return _errors(made.answers - truth, made.largest_error(), started)

                show(title, spend, "  the same, estimated by mbi, 3 seeds", [estimated(seed) for seed in range(3)])
                show(title, spend, "  the same without, these 3 seeds", [learnt(seed) for seed in range(3)])
        if other is not None and title == "ordinary" and spend == 1:
            smartnoise(other, counts, universe.shape, spend)


def smartnoise(python: str, counts: NDArray[np.int64], shape: tuple[int, ...], spend: Fraction, seeds: int = 2) -> None:
    """Its ε is for a person who comes or goes: somebody who is replaced does both, so that ε/2 gives our guarantee."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "histogram.npz"
        np.savez(place, counts=counts, shape=shape)
        for part, said in ((2, "same guarantee"), (1, "half as private")):
            found = []
            for seed in range(seeds):
                command = [python, str(OTHER), str(place), str(float(spend) / part), str(seed)]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                made = json.loads(output.splitlines()[-1])
                found.append((made["largest"], made["mean"], 0.0, made["seconds"]))
            show("ordinary", spend, f"SmartNoise's MWEM, {said}, {seeds} seeds", found)


def show(title: str, spend: object, what: str, found: list[tuple[float, float, float, float]]) -> None:
    """Means over the seeds."""
    largest, mean, proved, seconds = np.mean(found, axis=0)
    bound = f"{proved:>7,.0f}" if proved else f"{'':>7}"
    print(f"  {title:<9} {spend!s:>5}  {what:<40} {largest:>8,.0f} {mean:>7,.1f} {bound} {seconds:>8.2f}", flush=True)


def _errors(differences: NDArray[np.float64], proved: float, started: float) -> tuple[float, float, float, float]:
    errors = np.abs(differences)
    return float(errors.max()), float(errors.mean()), proved, time.perf_counter() - started


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seeds", type=int, default=5)
    reader.add_argument("--steps", action="store_true")
    reader.add_argument("--other-python")
    given = reader.parse_args()
    steps()
    if not given.steps:
        census(given.seeds, given.other_python)
