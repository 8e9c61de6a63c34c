"""Very many boxes: planned in, error, bound, ratio and memory, under pure and concentrated privacy.

Every measurement runs in a process of its own. Run: .venv/bin/python benchmarks/boxes.py
"""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dxgeom as dx

SEED = 0


def policy(sizes: tuple[int, ...], privacy: str, lines: tuple[int, ...] = ()) -> dx.Policy:
    """Attributes a0, a1, …, with a constant 1 each, or 1 for every step along a line."""
    names = [f"a{place}" for place in range(len(sizes))]
    attributes = {name: {"range": [0, size - 1], "step": 1} for name, size in zip(names, sizes, strict=True)}
    rules = [{"change": name, "epsilon": 1, **({"per": 1} if at in lines else {})} for at, name in enumerate(names)]
    return dx.Policy.from_dict(
        {"policy": "boxes", "privacy": privacy, "universe": {"attributes": attributes}, "rules": rules}
    )


def mixed(universe: Any, most: int) -> Any:
    """1,500 counts: cells of two-way tables, in order, and ranges along one to ``most`` attributes, by a seed."""
    names, sizes = universe.names, universe.shape
    asked: list[dict[str, tuple[int, int]]] = []
    for one, two in itertools.combinations(range(len(names)), 2):
        cells = itertools.product(range(sizes[one]), range(sizes[two]))
        asked += [{names[one]: (i, i + 1), names[two]: (j, j + 1)} for i, j in cells]
    asked, generator = asked[:1000], np.random.default_rng(SEED)
    while len(asked) < 1500:
        box = {}
        for place in sorted(generator.choice(len(names), generator.integers(1, most + 1), replace=False)):
            low, high = sorted(generator.choice(sizes[place] + 1, 2, replace=False))
            box[names[place]] = (int(low), int(high))
        asked.append(box)
    return dx.universe.BoxQueries.of(universe, asked)


def prefixes(universe: Any) -> Any:
    """Of the first attribute."""
    return dx.universe.BoxQueries.prefixes(universe, "a0")


def ranges(universe: Any) -> Any:
    """All of the first attribute."""
    size = universe.shape[0]
    asked = [{"a0": (low, high)} for low in range(size) for high in range(low + 1, size + 1) if high - low < size]
    return dx.universe.BoxQueries.of(universe, asked)


WORKLOADS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Callable[[Any], Any]]] = {
    "1,500 mixed, ranges of 1 or 2, 10^6 cells": ((10,) * 6, (), lambda universe: mixed(universe, 2)),
    "1,500 mixed, ranges of 1 to 3, 10^6 cells": ((10,) * 6, (), lambda universe: mixed(universe, 3)),
    "1,500 mixed, ranges of 1 or 2, three lines": ((10,) * 6, (0, 1, 2), lambda universe: mixed(universe, 2)),
    "all ranges of 64, alike": ((64,), (), ranges),
    "all ranges of 256, alike": ((256,), (), ranges),
    "10^5 prefixes, on a line": ((100_000,), (0,), prefixes),
    "10^5 prefixes, alike": ((100_000,), (), prefixes),
}


def measure(name: str, privacy: str) -> None:
    """Plan one workload, and print what came of it."""
    sizes, lines, asked = WORKLOADS[name]
    own = policy(sizes, privacy, lines)
    metric, queries = own.compile(), asked(own.universe)
    started = time.process_time()
    plan = dx.plan(metric, queries)
    planned = time.process_time() - started
    bound = plan.lower_bound
    bounded = time.process_time() - started - planned
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    figures = f"{planned:>7.2f} {plan.loss:>12.6g} {bound:>12.6g} {plan.gap:>8.3g} {bounded:>7.2f} {peak:>6}"
    print(f"{name:<44} {privacy:<13} {figures}", flush=True)


def main() -> None:
    """One line per workload and currency."""
    if len(sys.argv) > 1:
        measure(*sys.argv[1:])
        return
    print(
        f"{'seed ' + str(SEED) + ', processor seconds':<58} planned        error        bound    ratio bounded     MB"
    )
    for name, privacy in itertools.product(WORKLOADS, ("concentrated", "pure")):
        subprocess.run([sys.executable, __file__, name, privacy], check=True)


if __name__ == "__main__":
    main()
