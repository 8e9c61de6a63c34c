"""Strategies of more sums than dimensions, against optimal Laplace noise, rotated Laplace noise and the lower bound.

Prefixes and ranges over ordered values, all two-way marginals, and random queries; under ordinary ε-DP, and where near
values, or records that differ in one attribute, are harder to tell apart.
Run: .venv/bin/python benchmarks/strategies.py [values ...]     (64 and 128 when left out)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.composed import ProductNoise
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import build
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.universe.queries import LinearQueries

LARGEST_RANGES = 27
"""Ranges over more values are more than 400 queries."""


def policy_of(sizes: tuple[int, ...], rules: str) -> Policy:
    """A policy on ordered attributes a0, a1, … of so many values."""
    attributes = "".join(f"    a{k}: {{range: [0, {size - 1}], step: 1}}\n" for k, size in enumerate(sizes))
    return parse_policy(f"policy: p\nuniverse:\n  attributes:\n{attributes}rules:\n{rules}")


def everything(sizes: tuple[int, ...]) -> Policy:
    return policy_of(sizes, "  - {between: everything, epsilon: 1}\n")


def each(sizes: tuple[int, ...]) -> Policy:
    return policy_of(sizes, "".join(f"  - {{change: a{k}, epsilon: 1}}\n" for k in range(len(sizes))))


def random_counts(policy: Policy, count: int) -> LinearQueries:
    matrix = np.random.default_rng(count).integers(0, 2, (count, policy.universe.size))
    return LinearQueries.from_matrix([f"q{k}" for k in range(count)], matrix, policy.universe)


def workloads(values: int) -> Iterator[tuple[str, VerifiedMetric, LinearQueries]]:
    """Those over one attribute of so many values."""
    plain, line = everything((values,)), policy_of((values,), "  - {change: a0, epsilon: 1, per: 1}\n")
    for kind, policy in (("ε-DP", plain), ("per unit", line)):
        yield f"prefixes of {values}, {kind}", policy.compile(), LinearQueries.prefixes(policy.universe, "a0")
    for kind, policy in (("ε-DP", plain), ("per unit", line)):
        yield f"{values // 2} random counts of {values}, {kind}", policy.compile(), random_counts(policy, values // 2)


def of_one_size() -> Iterator[tuple[str, VerifiedMetric, LinearQueries]]:
    """Ranges and marginals."""
    policy = everything((LARGEST_RANGES,))
    yield f"ranges of {LARGEST_RANGES}, ε-DP", policy.compile(), LinearQueries.ranges(policy.universe, "a0")
    for sizes in ((4, 4, 4, 4), (2, 5, 7, 4)):
        for kind, policy in (("ε-DP", everything(sizes)), ("per attribute", each(sizes))):
            words = " × ".join(map(str, sizes))
            queries = LinearQueries.marginals(policy.universe, ways=2)
            yield f"two-way marginals of {words}, {kind}", policy.compile(), queries
    policy = everything((12, 12))
    below = np.tril(np.ones((12, 12), dtype=np.int64))
    names = [f"q{k}" for k in range(144)]
    queries = LinearQueries.kronecker(names, policy.universe, {"a0": below, "a1": below})
    yield "prefixes × prefixes of 12, ε-DP", policy.compile(), queries


def show(words: str, metric: VerifiedMetric, queries: LinearQueries) -> None:
    shared = CandidateBuilder(sensitivity_of(metric, queries))
    figures = {}
    for name in ("laplace", "rotated-laplace", "strategy"):
        started = time.perf_counter()
        mechanism = build(name, shared)
        figures[name] = float(mechanism.variances().sum()), time.perf_counter() - started
    strategy, seconds = figures["strategy"]
    inner = mechanism.law.inner
    sums = inner.parts[0] if isinstance(inner, ProductNoise) else inner
    print(
        f"{words:<44} {queries.count:>4} {sums.dimension:>5} {strategy:>10.4g} "
        f"{figures['laplace'][0] / strategy:>9.3g} {figures['rotated-laplace'][0] / strategy:>9.3g} "
        f"{strategy / shared.lower_bound():>8.3g} {figures['rotated-laplace'][1]:>9.1f} {seconds:>9.1f}",
        flush=True,
    )


def main() -> None:
    """One line per workload: how many times the strategy's total squared error the others have."""
    print(
        f"{'workload':<44} {'K':>4} {'sums':>5} {'error':>10} {'Laplace/':>9} {'rotated/':>9} {'/bound':>8} "
        f"{'rotated s':>9} {'further s':>9}"
    )
    for case in of_one_size():
        show(*case)
    for values in [int(word) for word in sys.argv[1:]] or [64, 128]:
        for case in workloads(values):
            show(*case)


if __name__ == "__main__":
    main()
