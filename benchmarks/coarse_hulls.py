"""Facets against error: the coarsened hull at several sizes, next to the hull itself and what else plans choose from.

Errors are total mean squared errors over the lower bound; seconds are of one processor. Of several seeds: how much less
the error of a coarsened hull is than that of hulls of blocks, median and range, at two numbers of facets.
Run: .venv/bin/python benchmarks/coarse_hulls.py [--seeds N] [K ...]     (3 to 10 when left out; five minutes)
"""

from __future__ import annotations

import sys
import time

import numpy as np
from planner import FAMILIES, summary

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.sensitivity import Sensitivity, sensitivity_of
from dxgeom.mechanisms.shapes.hulls import coarse_hull, hull_mechanism, sensitivity_hull
from dxgeom.mechanisms.shapes.round_spaces import round_space
from dxgeom.mechanisms.shapes.strategy import best_strategy, rotated_laplace
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.numeric.qhull import HullLimits
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import build

FACETS = (250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
COMPARED_FACETS = (8_000, 32_000)
LIMITS = HullLimits(facets=60_000, seconds=60.0)


def main() -> None:
    """One block per workload."""
    words = sys.argv[1:]
    seeds, words = (int(words[1]), words[2:]) if words[:1] == ["--seeds"] else (1, words)
    for count in [int(word) for word in words] or range(3, 11):
        for kind in ("uniform", "binary"):
            title = f"{count} {kind} queries on 100 places"
            if seeds == 1:
                show(title, sensitivity_of(*FAMILIES[kind](count, 0)))
            else:
                compare(title, [sensitivity_of(*FAMILIES[kind](count, seed)) for seed in range(seeds)])


def compare(title: str, workloads: list[Sensitivity]) -> None:
    print(f"{title}, seeds 0 to {len(workloads) - 1}: per cent less error than hulls of blocks")
    for facets in COMPARED_FACETS:
        saved = [one for one in (saving(sensitivity, facets) for sensitivity in workloads) if one is not None]
        told = summary(saved) if saved else "none"
        print(f"{facets:>8,} facets: {told}, {len(saved)} of {len(workloads)} have such a hull", flush=True)


def saving(sensitivity: Sensitivity, facets: int) -> float | None:
    space = round_space(sensitivity)
    if space is None:
        return None
    strategy = best_strategy(space)
    try:
        coarse = coarse_hull(space, strategy, facets)
    except (TooLarge, CertificateRefused):
        return None
    blocks = build("block-hulls", CandidateBuilder(sensitivity))
    return 100 * (1 - float(np.sum(coarse.variances()) / np.sum(blocks.variances())))


def show(title: str, sensitivity: Sensitivity) -> None:
    space = round_space(sensitivity)
    if space is None:
        return
    strategy = best_strategy(space)
    shapes = CandidateBuilder(sensitivity)
    bound = shapes.lower_bound()
    blocks = build("block-hulls", shapes)
    print(f"\n{title}: lower bound {bound:.4g}; error over it:")
    row("rotated-laplace", rotated_laplace(space, strategy), bound)
    row("block-hulls", blocks, bound)
    facets_of_last = 0
    for facets in FACETS:
        started = time.process_time()
        try:
            coarse = coarse_hull(space, strategy, facets)
        except (TooLarge, CertificateRefused):
            continue
        seconds = time.process_time() - started
        if facets_of(coarse) > facets_of_last:
            facets_of_last = facets_of(coarse)
            row("coarse-hull", coarse, bound, seconds)
    started = time.process_time()
    try:
        hull = sensitivity_hull(sensitivity, LIMITS)
    except (TooLarge, CertificateRefused) as error:
        print(f"{'hull':>16} {error}", flush=True)
        return
    row("hull", hull_mechanism(sensitivity, hull), bound, time.process_time() - started)


def row(name: str, mechanism: AdditiveMechanism, bound: float, seconds: float | None = None) -> None:
    took = "" if seconds is None else f"{seconds:>7.2f} s"
    over = float(np.sum(mechanism.variances())) / bound
    print(f"{name:>16} {facets_of(mechanism) or '':>7} {over:>7.3f} {took}", flush=True)


def facets_of(mechanism: AdditiveMechanism) -> int:
    law = mechanism.law
    inner = law.inner if isinstance(law, LinearImageNoise) else law
    return inner.body.facets if isinstance(inner, FacetConeNoise) else 0


if __name__ == "__main__":
    main()
