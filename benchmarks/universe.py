"""Ten million record types: compile, verify, Lipschitz constant, and the differences of a workload.

Every measurement runs in a process of its own. Run: .venv/bin/python benchmarks/universe.py
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dxgeom as dx
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.policy.policy import Policy, parse_policy

CENSUS = """
policy: census
universe:
  attributes:
    sex: [Female, Male]
    native: ["Yes", "No"]
    race: [a, b, c, d, e]
    marital: [a, b, c, d, e, f, g]
    education: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    age: {range: [0, 99], step: 1}
    income: {range: [0, 44], step: 1}
rules:
  - {change: [sex, native, education], epsilon: 1}
  - {change: race, epsilon: 0.2}
  - {change: marital, values: {a: 0.1, b: 0.25}, otherwise: 1}
  - {change: age, epsilon: 0.5, per: 10}
  - {change: income, epsilon: 0.5, per: 5}
"""
COUNTS = ["age < 18", "age >= 65", "sex == 'Male'", "race == 'a' and age < 30", "income >= 12"]
COUNTS += ["income < 10 and native == 'No'", "education in ['o', 'p']", "marital == 'a'", "age < 5", "race == 'b'"]


def census(incomes: int) -> Policy:
    """The policy with so many income classes, each of which multiplies the universe."""
    return parse_policy(CENSUS.replace("[0, 44]", f"[0, {incomes - 1}]"))


def written_out(conditions: list[str]) -> str:
    """A query file of counts."""
    return "queries:\n" + "".join(f'  - {{name: q{k}, count: "{text}"}}\n' for k, text in enumerate(conditions))


def compiling() -> None:
    """Load and verify; the record types are never listed."""
    census(45).compile()


def dense_map(kind: str) -> None:
    """One map with a value of its own in every cell, against NumPy's maximum minus minimum along each attribute."""
    metric = census(45).compile().metric
    shape = census(45).universe.shape
    generator = np.random.default_rng(0)
    values = generator.integers(0, 1000, metric.size) if kind == "integers" else generator.random(metric.size)
    lipschitz(metric, values)
    ours = timed(lambda: lipschitz(metric, values))
    grid = values.reshape(shape)
    ranges = timed(lambda: [float(np.ptp(grid, axis=axis).max()) for axis in range(len(shape))])
    print(f"    {ours:.2f} s; the ranges alone in NumPy {ranges:.2f} s, {ranges / ours:.1f} times as long", flush=True)


def workload(incomes: int) -> None:
    """Ten counts, each about an attribute or two."""
    from dxgeom.queries.queries_file import parse_queries

    policy = census(incomes)
    queries = parse_queries(written_out(COUNTS), policy)
    taken = timed(lambda: sensitivity_of(policy.compile(), queries))
    print(f"    differences of {queries.count} counts {taken:.2f} s", flush=True)


def adult() -> None:
    """The seven queries that the Adult policy can be asked."""
    folder = Path(__file__).resolve().parent.parent / "policies"
    policy = dx.load_policy(folder / "adult" / "policy.yaml")
    queries = dx.load_queries(folder / "adult" / "queries.yaml", policy)
    taken = timed(lambda: sensitivity_of(policy.compile(), queries))
    print(f"    differences of {queries.count} queries {taken:.2f} s", flush=True)


def timed(work: Callable[[], object]) -> float:
    """The best of three runs."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


TASKS: dict[str, Callable[[], None]] = {
    "import": lambda: None,
    "compile": compiling,
    "dense map, integers": lambda: dense_map("integers"),
    "dense map, floats": lambda: dense_map("floats"),
    "Adult": adult,
    "3,360,000 record types": lambda: workload(15),
    "10,080,000 record types": lambda: workload(45),
}


def main() -> None:
    """One line per task: seconds of all of it, and the peak memory of its process."""
    if len(sys.argv) > 1:
        TASKS[sys.argv[1]]()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    for task in TASKS:
        started = time.perf_counter()
        output = subprocess.run([sys.executable, __file__, task], capture_output=True, text=True, check=True).stdout
        *lines, peak = output.splitlines()
        print(f"{task}: {time.perf_counter() - started:.2f} s in all, peak memory {peak} MB", *lines, sep="\n")


if __name__ == "__main__":
    main()
