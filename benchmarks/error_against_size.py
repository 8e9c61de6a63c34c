"""Error against size: prefixes of a line by each way to answer them, and the bound; and the picture of the guide.

Setting: a record comes or goes at 1, concentrated privacy, all prefixes of n values; root mean squared error of a
prefix at spend 1. HB and Privelet are made here from their definitions, each with normal noise at its own ℓ₂
sensitivity and least squares, so that all have the same privacy: HB with equal noise in all levels of a tree, of the
branching number that errs least (Qardaji, Yang & Li, Understanding hierarchical methods for differentially private
histograms, 2013); Privelet with the Haar wavelet (Xiao, Wang & Gehrke, Differential privacy via wavelet transforms,
2010). Both were published for Laplace noise, which is not shown. HDMM's are what its authors printed, see ``hdmm.py``.
The bound is in closed form, see ``dxgeom.mechanisms.bounds.lines``. Nothing here depends on a seed.
Run: .venv/bin/python benchmarks/error_against_size.py [--picture FILE.png]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from hdmm import PUBLISHED
from structure import policy

import dxgeom as dx
from dxgeom.mechanisms.bounds.lines import prefixes_bound
from dxgeom.mechanisms.parts.box_mechanism import NORMAL
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ
from dxgeom.universe.workloads.box_queries import BoxQueries

SIZES = (16, 64, 256, 1024, 4096, 16_384, 65_536)
LARGEST_GRAM, LARGEST_TREE = 1024, 4096
"""Beyond these HB and Privelet, and trees, are left out: they take minutes."""
BRANCHING = (2, 4, 8, 16, 32)
WAYS = ("each value alone", "Privelet", "HB", "trees", "running totals", "HDMM, printed", "bound")


def of_gram(gram: np.ndarray, sensitivity: float) -> float:
    """The root mean squared error of all prefixes by least squares, from a strategy's Gram matrix."""
    size = len(gram)
    prefixes = np.tril(np.ones((size, size)))
    spread = np.einsum("ij,ij->", prefixes, np.linalg.solve(gram, prefixes.T).T)
    return sensitivity * math.sqrt(spread / size)


def hierarchy(size: int, branching: int) -> float:
    """HB: sums of every node of a tree, single values among them, all with the same noise; the root, too."""
    gram, width, levels = np.eye(size), 1, 1
    places = np.arange(size)
    while width < size:
        width, levels = min(width * branching, size), levels + 1
        block = places // width
        gram += block[:, None] == block
    return of_gram(gram, math.sqrt(levels))


def wavelet(size: int) -> float:
    """Privelet: the total, and of each node of a binary tree its left half less its right half."""
    places, levels = np.arange(size), size.bit_length() - 1
    gram = np.ones((size, size))
    for level in range(levels):
        half = size >> (level + 1)
        sign = 1 - 2 * (places // half % 2)
        gram += (places[:, None] // (2 * half) == places // (2 * half)) * np.outer(sign, sign)
    return of_gram(gram, math.sqrt(levels + 1))


def errors(size: int) -> dict[str, float]:
    """Of each way that is found at this size."""
    own = policy(size, None)
    metric, queries = own.compile(), BoxQueries.prefixes(own.universe, "t")
    # The mean of 1 … n, each with one independent noise of variance 1 a value.
    found = {WAYS[0]: math.sqrt((size + 1) / 2)}
    if size <= LARGEST_GRAM:
        found["Privelet"] = wavelet(size)
        found["HB"] = min(hierarchy(size, branching) for branching in BRANCHING if branching <= size)
    if size <= LARGEST_TREE:
        found["trees"] = math.sqrt(dx.plan(metric, queries, mechanism=NORMAL).loss / size)
    found["running totals"] = math.sqrt(dx.plan(metric, queries, mechanism=TOEPLITZ).loss / size)
    if ("prefix", size) in PUBLISHED:
        found["HDMM, printed"] = PUBLISHED[("prefix", size)][1]
    return {**found, "bound": math.sqrt(prefixes_bound(size) / size)}


def drawn(found: dict[int, dict[str, float]], file: Path) -> None:
    """The picture: a line for each way but HDMM's, whose figures are points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for way in WAYS:
        line = [(size, own[way]) for size, own in found.items() if way in own]
        style = {"bound": "k--", "HDMM, printed": "k^", "HB": "s:"}.get(way, "o-")
        axes.plot(*zip(*line, strict=True), style, label=way, markersize=4)
    axes.set(xscale="log", xlabel="number of values", ylabel="root mean squared error of a prefix", ylim=(1.5, 5))
    axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(file, dpi=150)


def main() -> None:
    """A row for each size, and the picture where it is asked for."""
    print(f"| values | {' | '.join(WAYS)} |\n|{'---|' * (len(WAYS) + 1)}", flush=True)
    found = {}
    for size in SIZES:
        found[size] = errors(size)
        cells = (f"{found[size][way]:.3f}" if way in found[size] else "–" for way in WAYS)
        print(f"| {size:,} | {' | '.join(cells)} |", flush=True)
    if "--picture" in sys.argv:
        drawn(found, Path(sys.argv[sys.argv.index("--picture") + 1]))


if __name__ == "__main__":
    main()
