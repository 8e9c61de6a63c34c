"""Counts, marginals and prefixes over a million and ten million record types: read, plan, answer.

Against the same queries laid out row by row, where they fit.
Every measurement runs in a process of its own. Run: .venv/bin/python benchmarks/workloads.py
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

import dxgeom as dx
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.queries.queries_file import parse_queries

SURVEY = """
policy: survey
universe:
  attributes:
    sex: [Female, Male]
    race: [a, b, c, d, e]
    marital: [a, b, c, d, e, f, g]
    education: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    age: {range: [0, 99], step: 1}
    hours: {range: [0, 80], step: 10}
    work: WORK
rules:
  - {change: [sex, education, work], epsilon: 1}
  - {change: race, epsilon: 0.2}
  - {change: marital, values: {a: 0.1, b: 0.25}, otherwise: 1}
  - {change: age, epsilon: 0.5, per: 10}
  - {change: hours, epsilon: 0.5, per: 10}
"""
SIZES = {"1,008,000 record types": "[a]", "10,080,000 record types": "[a, b, c, d, e, f, g, h, i, j]"}
COUNTS = ["age < 18", "age >= 65", "sex == 'Male'", "race == 'a' and age < 30", "hours >= 40"]
COUNTS += ["hours < 10 and sex == 'Male'", "education in ['o', 'p']", "marital == 'a'", "age < 5", "race == 'b'"]
WORKLOADS = {
    "10 counts": "queries:\n" + "".join(f'  - {{name: q{k}, count: "{text}"}}\n' for k, text in enumerate(COUNTS)),
    "all two-way marginals": "queries: [{marginals: {ways: 2}}]\n",
    "prefixes": "queries: [{prefixes: age}, {prefixes: hours}]\n",
}


def survey(size: str) -> Policy:
    """The policy with so many record types."""
    return parse_policy(SURVEY.replace("WORK", SIZES[size]))


def measure(size: str, workload: str, way: str) -> None:
    """Read, plan and answer one workload, and print the seconds of each."""
    policy = survey(size)
    metric = policy.compile()
    counts = np.random.default_rng(0).integers(0, 3, policy.universe.size)
    started = time.perf_counter()
    queries = parse_queries(WORKLOADS[workload], policy)
    if way == "laid out":
        rows = np.ascontiguousarray(queries.numerators)
        queries = dx.LinearQueries(queries.names, rows, queries.units, policy.universe)
    read = time.perf_counter()
    if way == "laid out":
        optimal_laplace(sensitivity_of(metric, queries))
    else:
        dx.plan(metric, queries)
    planned = time.perf_counter()
    queries.answers(counts)
    answered = time.perf_counter()
    print(
        f"{queries.count:>6,} queries: read {read - started:.2f} s, plan {planned - read:.2f} s, "
        f"answer {answered - planned:.2f} s"
    )


def main() -> None:
    """One line per measurement, with the peak memory of its process; "laid out" plans Laplace noise only."""
    if len(sys.argv) > 1:
        measure(*sys.argv[1:])
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    for size in SIZES:
        for workload in WORKLOADS:
            for way in ("tables", "laid out"):
                if way == "laid out" and workload == "all two-way marginals":
                    print(f"{size}, {workload}, laid out: more than 40 GB, not tried", flush=True)
                    continue
                if way == "laid out" and workload == "prefixes" and size.startswith("10"):
                    print(f"{size}, {workload}, laid out: more than 8 GB, not tried", flush=True)
                    continue
                command = [sys.executable, __file__, size, workload, way]
                output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                line, peak = output.splitlines()
                print(f"{size}, {workload}, {way}: {line}, peak memory {peak} MB", flush=True)


if __name__ == "__main__":
    main()
