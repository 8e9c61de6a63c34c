"""Counts along a line and on a map where records are few: what a plan of boxes releases, and one table of it.

Run: .venv/bin/python benchmarks/few_in_boxes.py [SEEDS] [lines] [maps]
Ordinary protection: a record that comes or goes, ε = .1; the number of records is public. Of a line a tree of boxes
is asked for, and one model of it answers all prefixes; of a map two grids, spread evenly, answer 2,000 rectangles. How
fine they are follows from the public number of records. Errors are root mean squares times ε, medians of seeds and of
shapes that this file makes up: they have no data of anybody's. Recorded, of the authors' codes on other shapes of the
same sizes: DAWA on lines, adaptive grids on maps. Adaptive grids are also run here, on the same shapes.
Seconds of the processor; divide them by the calibration that is printed, and multiply by .48.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import dxgeom as dx

EPSILON = 0.1
VALUES, SIDE, RECTANGLES = 1024, 256, 2000
LINES = {1_000: 5.05, 10_000: 6.82}
MAPS = {10_000: 14.0, 100_000: 43.5, 1_000_000: 36.0}


def calibration() -> float:
    """Seconds of ten million additions in a plain loop."""
    begin, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - begin


def plan_of(sizes: dict[str, int], boxes: list[dict[str, tuple[int, int]]], records: int) -> dx.Plan:
    """A certified plan of these boxes."""
    policy = dx.Policy.from_dict(
        {
            "policy": "boxes",
            "universe": {"attributes": {name: {"range": [0, size - 1], "step": 1} for name, size in sizes.items()}},
            "budget": "1",
            "rules": [{"presence": "true", "epsilon": str(EPSILON)}],
            "unconnected": "allow",
        }
    )
    return dx.plan(policy.compile(), dx.universe.BoxQueries.of(policy.universe, boxes))


def tried(plan: dx.Plan, rows: pd.DataFrame) -> tuple[NDArray[np.float64], float]:
    """The histogram of one model of what is released, and its seconds."""
    release = plan.release(rows, ledger=":memory:", spend=1)
    begin = time.process_time()
    found = release.estimate("model", totals={"all records": len(rows)}).histogram
    return found, time.process_time() - begin


def tree(size: int, depth: int) -> list[tuple[int, int]]:
    """Halves, quarters and so on, as codes."""
    return [
        (place * (size >> level), (place + 1) * (size >> level))
        for level in range(1, depth + 1)
        for place in range(1 << level)
    ]


def line_shapes() -> Iterator[NDArray[np.float64]]:
    """Falling, two bumps, forty single values, sixteen blocks."""
    draws, places = np.random.default_rng(77), np.arange(VALUES)
    yield 1 / (1.0 + places)
    yield np.exp(-(((places - 200) / 20) ** 2)) + np.exp(-(((places - 700) / 80) ** 2)) / 2
    few = np.full(VALUES, 1e-9)
    few[draws.choice(VALUES, 40, replace=False)] = draws.dirichlet(np.full(40, 0.5))
    yield few
    yield np.repeat(draws.dirichlet(np.full(16, 0.4)), VALUES // 16)


def map_shapes() -> Iterator[NDArray[np.float64]]:
    """Clusters of many sizes, a road, and one town on even land."""
    draws = np.random.default_rng(78)
    one, other = np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")

    def town(x: float, y: float, width: float) -> NDArray[np.float64]:
        return np.exp(-((one - x) ** 2 + (other - y) ** 2) / (2 * width**2)) / width**2

    yield sum(town(*draws.uniform(0, SIDE, 2), draws.uniform(2, 20)) for _ in range(30)) + 1e-9
    yield np.exp(-(((one - other - 20 * np.sin(other / 30)) / 3) ** 2)) + 1e-4
    yield town(90, 160, 8) + 1 / SIDE**2


def lines(seeds: int) -> None:
    """All prefixes of 1,024 values."""
    for records, recorded in LINES.items():
        depth = min(10, round(math.log2(2 * (records * EPSILON) ** (2 / 3))))
        plan = plan_of({"v": VALUES}, [{"v": ends} for ends in tree(VALUES, depth)], records)
        errors, seconds = [], []
        for seed in range(seeds):
            for shape in line_shapes():
                counts = np.random.default_rng(seed).multinomial(records, shape / shape.sum())
                rows = pd.DataFrame({"v": np.repeat(np.arange(VALUES), counts)})
                found, took = tried(plan, rows)
                off = np.cumsum(found) - np.cumsum(counts)
                errors.append(EPSILON * math.sqrt(float(np.mean(off**2))))
                seconds.append(took)
        said = f"{np.median(errors):.2f} ({min(errors):.2f} to {max(errors):.2f}), {np.median(seconds):.2f} s"
        print(
            f"prefixes, {records:,} records: depth {depth}, {plan.mechanism.name}: {said}; DAWA, recorded, {recorded}",
            flush=True,
        )


def adaptive_grid(counts: NDArray[np.int64], draws: np.random.Generator) -> NDArray[np.float64]:
    """The table of Qardaji, Yang & Li 2013, adaptive grids, spread evenly: half of ε on a first grid, half on the cells
    that each of its cells is cut into, as many as its noisy count has it. In floats: to be compared with, not used."""
    records, half = int(counts.sum()), EPSILON / 2
    first = edges(0, SIDE, max(10, math.ceil(math.sqrt(records * EPSILON / 10) / 4)))
    found = np.zeros(counts.shape)
    for a, b in pairwise(first):
        for c, d in pairwise(first):
            noisy = counts[a:b, c:d].sum() + draws.laplace(0, 1 / half)
            side = max(1, math.ceil(math.sqrt(max(noisy, 0) * half / 5)))
            rows, columns = edges(a, b, side), edges(c, d, side)
            within = np.add.reduceat(np.add.reduceat(counts[a:b, c:d], rows[:-1] - a, 0), columns[:-1] - c, 1)
            inside = within + draws.laplace(0, 1 / half, within.shape)
            whole = (noisy * inside.size + inside.sum()) / (inside.size + 1)
            inside += (whole - inside.sum()) / inside.size
            sizes = np.outer(np.diff(rows), np.diff(columns))
            found[a:b, c:d] = np.repeat(np.repeat(inside / sizes, np.diff(rows), 0), np.diff(columns), 1)
    return found


def edges(low: int, high: int, parts: int) -> NDArray[np.int64]:
    """The ends of so many parts of a range, as even as whole numbers allow; no more parts than it has."""
    return low + np.round(np.linspace(0, high - low, min(parts, high - low) + 1)).astype(np.int64)


def grids(records: int) -> list[int]:
    """Sides of two grids, by the public number of records: a fine one, and one of an eighth of its side."""
    fine = min(SIDE, 1 << round(math.log2(math.sqrt(records * EPSILON / 5))))
    return [fine] if fine < 16 else [fine // 8, fine]


def maps(seeds: int) -> None:
    """2,000 rectangles on 256 by 256 places."""
    draws = np.random.default_rng(5)
    low = draws.integers(0, SIDE, (RECTANGLES, 2))
    high = low + 1 + draws.integers(0, SIDE - low)
    for records, recorded in MAPS.items():
        sides = grids(records)
        cells = [
            {"x": (a * w, (a + 1) * w), "y": (b * w, (b + 1) * w)}
            for w in (SIDE // side for side in sides)
            for a in range(SIDE // w)
            for b in range(SIDE // w)
        ]
        plan = plan_of({"x": SIDE, "y": SIDE}, cells, records)
        errors, seconds, others = [], [], []
        for seed in range(seeds):
            for shape in map_shapes():
                counts = (
                    np.random.default_rng(seed).multinomial(records, (shape / shape.sum()).ravel()).reshape(SIDE, SIDE)
                )
                x, y = np.divmod(np.repeat(np.arange(SIDE**2), counts.ravel()), SIDE)
                release = plan.release(pd.DataFrame({"x": x, "y": y}), ledger=":memory:", spend=1)
                begin = time.process_time()
                found = release.answer.histogram(records)
                seconds.append(time.process_time() - begin)
                errors.append(missed(found - counts, low, high))
                others.append(missed(adaptive_grid(counts, np.random.default_rng([seed, 1])) - counts, low, high))
        said = f"{np.median(errors):.1f} ({min(errors):.1f} to {max(errors):.1f}), {np.median(seconds):.2f} s"
        print(
            f"rectangles, {records:,} records: grids {' and '.join(map(str, sides))}, {plan.mechanism.name}: {said}; "
            f"AG here {np.median(others):.1f} ({min(others):.1f} to {max(others):.1f}); AG, recorded, {recorded}",
            flush=True,
        )


def missed(off: NDArray[np.float64], low: NDArray[np.int64], high: NDArray[np.int64]) -> float:
    """Root mean square over the rectangles, times ε."""
    sums = np.pad(np.cumsum(np.cumsum(off, axis=0), axis=1), ((1, 0), (1, 0)))
    (a, b), (c, d) = low.T, high.T
    return EPSILON * math.sqrt(float(np.mean((sums[c, d] - sums[a, d] - sums[c, b] + sums[a, b]) ** 2)))


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    parts = sys.argv[2:] or ["lines", "maps"]
    print(f"epsilon {EPSILON}; {seeds} seeds; calibration {calibration():.2f} s", flush=True)
    if "lines" in parts:
        lines(seeds)
    if "maps" in parts:
        maps(seeds)


if __name__ == "__main__":
    main()
