"""Searches for the least covariance: processor seconds of all of it, the gap told, memory.

Random weights, and random counts, on random places in a plane or under one constant distance; random conditions on
Adult. Every measurement runs in a process of its own; ``--stop`` interrupts it after so many of these, as Control-C
does.

Run: .venv/bin/python benchmarks/covariances.py [--seeds N] [--stop SECONDS] [case ...]     (seed 0, and all but
"thousand", when left out)
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from planner import Workload, conditions, named

import dxgeom as dx
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify


def _under(metric: Metric, weights: np.ndarray) -> Workload:
    verified = verify(metric, title="benchmark", fingerprint="benchmark", budget=Fraction(1), privacy="concentrated")
    return verified, named(weights)


def _adult(count: int, seed: int) -> Workload:
    pure, queries = conditions(count, seed)
    words = {"title": "benchmark", "fingerprint": "benchmark", "budget": Fraction(1)}
    return verify(pure.metric, universe=pure.universe, privacy="concentrated", **words), queries


def _places(count: int, places: int, seed: int, counts: bool) -> Workload:
    generator = np.random.default_rng(seed)
    spots = PointsMetric(generator.random((places, 2)) * 100, "plane", Fraction(1))
    weights = generator.integers(0, 2, (count, places)) if counts else generator.random((count, places))
    return _under(spots, weights)


def _apart(count: int, records: int, seed: int) -> Workload:
    weights = np.random.default_rng(seed).random((count, records))
    return _under(DiscreteMetric(records, Fraction(1)), weights)


CASES: dict[str, tuple[str, Callable[[int], Workload]]] = {
    "million": ("10 weights, 1,415 records, 10⁶ pairs", lambda seed: _apart(10, 1_415, seed)),
    "places": ("200 weights, 300 places", lambda seed: _places(200, 300, seed, counts=False)),
    "counts": ("200 counts, 300 places", lambda seed: _places(200, 300, seed, counts=True)),
    "records": ("100 weights, 1,415 records, 10⁶ pairs", lambda seed: _apart(100, 1_415, seed)),
    "adult": ("100 conditions on Adult", lambda seed: _adult(100, seed)),
    "thousand": ("1,000 weights, 1,200 places", lambda seed: _places(1_000, 1_200, seed, counts=False)),
}


def measured(case: str, seed: int, stop: float | None) -> None:
    """One plan by the name of its mechanism, as JSON; the words that it told last go to stderr."""
    metric, queries = CASES[case][1](seed)
    told = [""]
    if stop is not None:
        # The signal that Control-C sends, from outside of whatever is being done.
        signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_PROF, stop)
    started = time.process_time()
    plan = dx.plan(metric, queries, objective="mse", mechanism="gaussian", progress=lambda words: told.append(words))
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    found = {"seconds": seconds, "gap": plan.covariance_gap, "mb": peak, "interrupted": plan.interrupted}
    print(json.dumps(found | {"told": told[-1], "times": len(told) - 1}))


def summary(values: list[float]) -> str:
    """The median, and the range where there are several."""
    middle = statistics.median(values)
    return f"{middle:.3g}" if len(values) == 1 else f"{middle:.3g} ({min(values):.3g}–{max(values):.3g})"


def main() -> None:
    """A row for each case."""
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--stop", type=float)
    options.add_argument("--measure", type=int)
    options.add_argument("cases", nargs="*", default=[case for case in CASES if case != "thousand"])
    given = options.parse_args()
    if given.measure is not None:
        measured(given.cases[0], given.measure, given.stop)
        return
    print(f"seeds 0 to {given.seeds - 1}; processor seconds, gap of the covariance, peak MB")
    for case in given.cases:
        runs = []
        for seed in range(given.seeds):
            command = [sys.executable, __file__, "--measure", str(seed), case]
            command += [] if given.stop is None else ["--stop", str(given.stop)]
            runs.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout))
        columns = [summary([run[key] for run in runs]) for key in ("seconds", "gap", "mb")]
        print(f"{CASES[case][0]:>40}  {'  '.join(f'{column:>22}' for column in columns)}", flush=True)
        if runs[0]["interrupted"]:
            print(f"{'':>42}interrupted at: {runs[0]['told']} ({runs[0]['times']} messages)", flush=True)


if __name__ == "__main__":
    main()
