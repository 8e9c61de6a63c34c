"""Noise in products on HDMM's census workload: total squared error, in three settings, one row for each.

A record comes or goes at 1, pure; the same, concentrated; and concentrated, any record for any other at 2, where the
number of records is public. With normal noise the plan's own bound is stated, and the seconds for it.

SF1: 4,151 counts of persons of 2 sexes, 2 origins, 64 sets of races, 17 relationships and 115 ages, as HDMM's authors
wrote its tables down (github.com/dpcomp-org/hdmm, experiments/journal/census_workloads.py at commit 54d996d0). HDMM's
own total, its best product of two runs, pure, is 222,260. Stated are the total of the plan, what was asked for, and
seconds of one core for all of ``dx.plan``: sensitivity, search, what answers take, and its proof.
Run: .venv/bin/python benchmarks/products.py [--thorough] [--setting=pure|presence|replacement]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import dxgeom as dx

HDMM = 222_260
SIZES = {"sex": 2, "hispanic": 2, "race": 64, "relationship": 17, "age": 115}
AGES = (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85, 115)
FINE_AGES = (*range(101), 105, 110, 115)
Rows = NDArray[np.int64]


def between(ends: tuple[int, ...]) -> Rows:
    """How many are of each of these ages, from one end to before the next."""
    ages = np.arange(SIZES["age"])
    return np.array([(low <= ages) & (ages < high) for low, high in pairwise(ends)], dtype=np.int64)


def races() -> tuple[Rows, Rows]:
    """One race each, and two or more; and all sets but the empty one, by how many, and two or more."""
    sets = np.arange(64)
    sizes = np.array([one.bit_count() for one in sets.tolist()])
    alone = np.array([sets == 2**bit for bit in range(6)], dtype=np.int64)
    by_size = np.array([sizes == size for size in range(1, 7)], dtype=np.int64)
    each = np.eye(64, dtype=np.int64)[1:]
    return np.vstack([alone, 1 - alone.sum(axis=0)]), np.vstack([each, by_size, by_size[1:].sum(axis=0)])


def tables() -> Iterator[dict[str, Rows]]:
    """Each as the rows of the attributes that it looks at, in all combinations."""
    each, with_total = np.eye(2, dtype=np.int64), np.vstack([np.eye(2, dtype=np.int64), [[1, 1]]])
    few, all_sets = races()
    hispanic, other, adult = each[:1], each[1:], between((18, 115))
    everybody: dict[str, Rows] = {}
    yield from (everybody, {"race": few}, everybody, {"hispanic": each}, everybody)
    yield from ({"hispanic": each, "race": few}, {"hispanic": with_total}, {"race": all_sets}, everybody)
    yield from ({"hispanic": each}, {"hispanic": other, "race": all_sets}, everybody)
    yield from ({"race": all_sets, "age": adult}, {"age": adult}, {"hispanic": each, "age": adult})
    yield from ({"hispanic": other, "race": all_sets, "age": adult}, {"age": adult})
    for ages, own in ((between(AGES), np.eye(64, dtype=np.int64)[1:2]), (between(FINE_AGES), few)):
        for rest in (everybody, {"race": few}, {"hispanic": hispanic}, {"hispanic": other, "race": own}):
            yield {"sex": each, **rest, "age": ages}
            yield {"sex": with_total, **rest}


def workload(universe: dx.universe.Universe) -> dx.LinearQueries:
    """All of them."""
    parts: list[dx.LinearQueries] = []
    start = 0
    for factors in tables():
        count = math.prod(len(rows) for rows in factors.values())
        names = [f"count {number}" for number in range(start, start + count)]
        start += count
        parts.append(dx.LinearQueries.kronecker(names, universe, factors))
    return dx.LinearQueries.stack(parts)


def slow_core() -> float:
    """Seconds of a slow core, in which 10**7 additions take .48, for each of this processor."""
    began, total = time.process_time(), 0
    for number in range(10**7):
        total += number
    return 0.48 / (time.process_time() - began)


SETTINGS: dict[str, tuple[str, dict[str, object], int]] = {
    "pure": ("pure", {"presence": True, "epsilon": 1}, 175_000),
    "presence": ("concentrated", {"presence": True, "epsilon": 1}, 15_400),
    "replacement": ("concentrated", {"between": "everything", "epsilon": 2}, 7_700),
}
"""Privacy, the rule, and the total that was asked of a thorough plan."""


def main(setting: str, thorough: bool) -> None:
    """SF1."""
    privacy, rule, asked = SETTINGS[setting]
    attributes = {name: {"range": [0, size - 1], "step": 1} for name, size in SIZES.items()}
    whole = {"policy": "SF1", "privacy": privacy, "universe": {"attributes": attributes}, "rules": [rule]}
    policy = dx.Policy.from_dict(whole)
    metric, queries, factor = policy.compile(), workload(policy.universe), slow_core()
    began = time.process_time()
    plan = dx.plan(metric, queries, thorough=thorough)
    seconds, total = time.process_time() - began, plan.predicted_mse
    row = f"SF1, {setting}, {queries.count:,} counts, by {plan.mechanism.name}: {total:,.0f}, asked {asked:,}"
    if setting == "pure":
        print(f"{row}, {total / HDMM:.3f} of HDMM's {HDMM:,}; {seconds:.1f} s, {seconds * factor:.1f} s of a slow core")
        return
    began = time.process_time()
    bound = plan.lower_bound
    more = time.process_time() - began
    print(
        f"{row}, bound {bound:,.1f} in {more:.1f} s; {seconds:.1f} s, {(seconds + more) * factor:.1f} s of a slow core "
        "with the bound"
    )


if __name__ == "__main__":
    chosen = [one.removeprefix("--setting=") for one in sys.argv[1:] if one.startswith("--setting=")]
    for own in chosen or SETTINGS:
        main(own, "--thorough" in sys.argv[1:])
