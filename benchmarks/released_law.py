"""The released laws against exact cell probabilities, millions of draws each, and all samplers against each other.

Run: .venv/bin/python benchmarks/released_law.py
These are the comparisons of ``tests/statistical`` at full size. A correct sampler fails one of them with a chance below
4e-6, since bits come from the operating system here and no run repeats another.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from reference.cell_law import cell_law, window_counts
from reference.released_law import interval_law
from statistical.test_samplers_agree import MANY, SAMPLERS, check_agreement

from dxgeom.geometry.bodies.polytope import hull_of_differences
from dxgeom.noise.laws.envelope import tightest_rejection
from dxgeom.noise.laws.facet_cones import FacetConeNoise
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.rejection import RejectionNoise
from dxgeom.numeric.randomness import SystemRandomness

DRAWS = 10_000_000
BY_REJECTION = 1_000_000
PER_BATCH = 500_000
FALSE_ALARM = 1e-8


def p_value(law: NoiseLaw, probabilities: NDArray[np.float64], window: int, draws: int) -> float:
    """χ² over the cells of a window with at least ten draws expected, all else pooled."""
    observed = np.zeros(len(probabilities))
    for _ in range(draws // PER_BATCH):
        observed += window_counts(law.draw(PER_BATCH, SystemRandomness()), window)
    expected = draws * probabilities
    large = expected >= 10
    rest = draws - np.array([observed[large].sum(), expected[large].sum()])
    statistic = np.sum((observed[large] - expected[large]) ** 2 / expected[large]) + (rest[0] - rest[1]) ** 2 / rest[1]
    return float(stats.chi2.sf(statistic, large.sum()))


def main() -> None:
    """One row per law; a failure ends the run."""
    line = interval_law(Fraction(7), 60)
    cases: list[tuple[str, NoiseLaw, NDArray[np.float64], int]] = [
        ("Laplace, m = 1", LaplaceNoise(np.array([7.0])), np.array([float(line[z]) for z in sorted(line)]), 60)
    ]
    for size, window in ((2, 12), (3, 4)):
        eye = np.eye(size, dtype=np.int64)
        differences = np.vstack([eye, eye - np.roll(eye, 1, 1)])
        body = hull_of_differences(differences, np.ones(len(differences)))
        cells = cell_law(body, window)
        probabilities = np.array([float(cells[cell]) for cell in sorted(cells)])
        cases.append((f"facet cones, m = {size}", FacetConeNoise(body), probabilities, window))
        cases.append((f"rejection, m = {size}", tightest_rejection(body), probabilities, window))
    print(f"{'law':>20} {'draws':>11} {'cells':>6} {'p-value':>8}")
    for name, law, probabilities, window in cases:
        draws = BY_REJECTION if isinstance(law, RejectionNoise) else DRAWS
        p = p_value(law, probabilities, window, draws)
        print(f"{name:>20} {draws:>11,} {len(probabilities):>6,} {p:>8.4f}", flush=True)
        if p < FALSE_ALARM:
            raise SystemExit(f"{name} does not follow its law")
    for name, laws in SAMPLERS.items():
        check_agreement(laws)
        print(f"{len(laws)} samplers agree, {MANY:,} draws each: {name}", flush=True)


if __name__ == "__main__":
    main()
