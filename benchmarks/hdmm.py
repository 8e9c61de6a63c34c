"""HDMM's figures beside this planner's, on HDMM's workloads: root mean squared error of a query at sensitivity one.

Setting of all: ordinary privacy, neighbours add or remove a record (a rule about presence, epsilon 1, and no other).
Published: github.com/dpcomp-org/hdmm, experiments/journal/oned.csv and hderror.csv at commit 08c1ba46, the authors' own
runs, for Gaussian noise, sensitivity in the 2-norm. There ``YuanConvex`` is the convex program for one attribute,
``SVDB`` the bound by singular values; ``marg`` HDMM's marginals. Root mean squared errors scale with the noise alike.
Not compared: the ratios of the VLDB 2018 paper for Laplace noise, which were not at hand as text; Adult's two-way
prefixes and cps (millions of ranges), which are not planned here; loans and census, whose workloads the published code
leaves in doubt. For Laplace noise OPT_0 is run here instead, as the paper says: p-identity strategies, p = n/16, by
L-BFGS from seeds 0 to 9, a local optimum each; the last column is the bound of all noise that stretches to every spend.
Run: .venv/bin/python benchmarks/hdmm.py [--large]
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import dxgeom as dx
from dxgeom.mechanisms.gaussian.program import best_covariance
from dxgeom.mechanisms.parts.scales import best_gaussian_scales
from dxgeom.mechanisms.parts.tables import MarginalQuestion, family_of
from dxgeom.policy.policy import Policy
from dxgeom.universe.workloads.box_queries import BoxQueries

PUBLISHED = {  # identity, YuanConvex, SVDB
    ("all-range", 128): (6.582805886043833, 2.599181805478603, 2.5734725086329013),
    ("prefix", 128): (8.031189202104505, 2.3120911713428396, 2.2544140344498174),
    ("width32", 128): (5.656854249492381, 2.3000442155559924, 2.200986867973526),
    ("all-range", 256): (9.273618495495704, 2.902169221655514, 2.8763585581409346),
    ("prefix", 256): (11.335784048754634, 2.528223367467486, 2.4714459649021547),
    ("width32", 256): (5.656854249492381, 2.357662276180983, 2.3037582987210774),
    ("prefix", 1024): (22.638462845343543, 3.0652911247160457, 2.9095843877394243),
    ("width32", 1024): (5.656854249492381, 2.388717141433618, 2.3725505668946116),
}
SOLVED = 256
"""Up to so many values the general solver runs, too."""
LAPLACE = 128
ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
ADULT_MARGINALS = 11.2938
"""hderror.csv: adult, workload 1 (all tables of up to three attributes), approx, marg."""


def intervals(workload: str, size: int) -> list[tuple[int, int]]:
    """Its queries, each from one value to before another."""
    if workload == "prefix":
        return [(0, end) for end in range(1, size + 1)]
    if workload == "width32":
        return [(start, start + 32) for start in range(size - 31)]
    return [(start, end) for start in range(size) for end in range(start + 1, size + 1)]


def gram(queries: Sequence[tuple[int, int]], size: int) -> NDArray[np.float64]:
    """WᵀW."""
    found = np.zeros((size + 1, size + 1))
    for start, end in queries:
        found[start, start] += 1
        found[start, end] -= 1
        found[end, start] -= 1
        found[end, end] += 1
    return np.cumsum(np.cumsum(found, axis=0), axis=1)[:size, :size]


def policy(size: int, privacy: str) -> Policy:
    """One attribute, and presence."""
    return Policy.from_dict(
        {
            "policy": "ordinary",
            "privacy": privacy,
            "universe": {"attributes": {"a": {"range": [0, size - 1], "step": 1}}},
            "rules": [{"presence": True, "epsilon": 1}],
        }
    )


def by_boxes(queries: Sequence[tuple[int, int]], size: int, privacy: str) -> float:
    """Root mean squared error of a plan for boxes."""
    own = policy(size, privacy)
    plan = dx.plan(own.compile(), BoxQueries.of(own.universe, [{"a": (start, end)} for start, end in queries]))
    return math.sqrt(plan.loss / len(queries))


def by_solver(square: NDArray[np.float64], count: int) -> tuple[float, float]:
    """That of the best Gaussian noise, and its bound."""
    values, vectors = np.linalg.eigh(square)
    answers = np.sqrt(np.maximum(values, values[-1] * 1e-13))[:, None] * vectors.T
    found = best_covariance(np.eye(len(square)), answers)
    return math.sqrt(found.value / count), math.sqrt(found.bound / count)


def p_identity(square: NDArray[np.float64], count: int, seed: int) -> float:
    """OPT_0 (McKenna et al. 2018, §5): A = [1; Θ]·D with columns of sum 1; 2·tr(WᵀW(AᵀA)⁻¹) by L-BFGS over Θ ≥ 0."""
    size, rows = len(square), len(square) // 16

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        theta = flat.reshape(rows, size)
        sums = 1 + theta.sum(axis=0)
        inner = np.linalg.inv(np.eye(rows) + theta @ theta.T)
        scaled = square * sums * sums[:, None]
        turned = scaled @ theta.T @ inner
        value = float(np.trace(scaled) - np.sum(turned * theta.T))
        # Of (1 + ΘᵀΘ)⁻¹ = 1 − Θᵀ(1 + ΘΘᵀ)⁻¹Θ = B: d tr(S·B) = −2·(Θ·B·S·B)·dΘ, and S grows with the sums.
        middle = scaled - turned @ theta
        right = middle - (theta.T @ (inner @ (theta @ middle)))
        by_theta = -2 * theta @ right
        by_sums = 2 * np.diag(middle) / sums
        return value, (by_theta + by_sums).ravel()

    begun = np.random.default_rng(seed).random(rows * size)
    found = minimize(loss, begun, jac=True, method="L-BFGS-B", bounds=[(0, None)] * (rows * size))
    return math.sqrt(2 * float(found.fun) / count)


def along_one_attribute(large: bool) -> None:
    """Prefixes and ranges."""
    print("| workload | values | identity | HDMM published | boxes-gaussian | best Gaussian | SVDB published |", end="")
    print(" boxes over HDMM | best over HDMM | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (workload, size), (identity, hdmm, bound) in PUBLISHED.items():
        if size > SOLVED and not large:
            continue
        began, queries = time.process_time(), intervals(workload, size)
        square, boxes = gram(queries, size), by_boxes(queries, size, "concentrated")
        own = math.sqrt(float(np.trace(square)) / len(queries))
        if abs(own / identity - 1) > 1e-9:
            raise SystemExit(f"{workload} of {size} is another workload than was published: {own} and not {identity}")
        best = by_solver(square, len(queries))[0] if size <= SOLVED else math.nan
        took = time.process_time() - began
        print(f"| {workload} | {size} | {identity:.4f} | {hdmm:.4f} | {boxes:.4f} | {best:.4f} | {bound:.4f} |", end="")
        print(f" {boxes / hdmm:.4f} | {best / hdmm:.4f} | {took:.1f} |")


def with_laplace_noise() -> None:
    """Under pure privacy, OPT_0 beside plans for boxes."""
    print(
        f"\nLaplace noise, {LAPLACE} values: OPT_0, median of seeds 0 to 9 and range; boxes-laplace; its ratio to the"
    )
    print("median and to the best; Gaussian bound")
    for workload in ("prefix", "width32", "all-range"):
        queries = intervals(workload, LAPLACE)
        square = gram(queries, LAPLACE)
        found = [p_identity(square, len(queries), seed) for seed in range(10)]
        middle, best = statistics.median(found), min(found)
        boxes, bound = by_boxes(queries, LAPLACE, "pure"), by_solver(square, len(queries))[1]
        print(f"{workload:9s} {middle:.4f} ({best:.4f}–{max(found):.4f}) {boxes:.4f} {boxes / middle:.3f} ", end="")
        print(f"{boxes / best:.3f} {bound:.4f}", flush=True)


def tables() -> None:
    """All tables of up to three of Adult's attributes in many bins."""
    asked = [one for ways in range(4) for one in itertools.combinations(range(len(ADULT)), ways)]
    family = family_of(ADULT, asked)
    began = time.process_time()
    found = best_gaussian_scales(MarginalQuestion(family, np.full(len(ADULT), math.inf), 1.0, np.ones(len(asked))))
    own = math.sqrt(found.value / float(family.cells[family.workload_sets].sum()))
    took = time.process_time() - began
    print(
        f"\nAdult, all tables of up to three attributes: HDMM published {ADULT_MARGINALS}, marginal-gaussian {own:.4f}"
    )
    print(
        f"ratio {own / ADULT_MARGINALS:.4f}; within {max(0.0, found.gap):.1e} of the best Gaussian noise; {took:.1f} s"
    )


if __name__ == "__main__":
    along_one_attribute("--large" in sys.argv[1:])
    tables()
    with_laplace_noise()
