"""The released laws against exact cell probabilities, ten million draws each, a million where draws are rejected.

Bits come from the operating system, so no run repeats another: a correct sampler fails one of these tests with a chance
below 5e-8.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.cell_law import cell_law, window_counts
from reference.released_law import interval_law
from scipy import stats

from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.rejection import tightest_rejection
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import SystemRandomness

DRAWS = 10_000_000
BY_REJECTION = 1_000_000
PER_BATCH = 500_000
FALSE_ALARM = 1e-8
WINDOWS = {2: 12, 3: 4}


def p_value(law, probabilities, window, draws):
    """χ² over the cells of a window with at least ten draws expected, all else pooled."""
    observed = np.zeros(len(probabilities))
    for _ in range(draws // PER_BATCH):
        observed += window_counts(law.draw(PER_BATCH, SystemRandomness()), window)
    expected = draws * probabilities
    large = expected >= 10
    rest = draws - np.array([observed[large].sum(), expected[large].sum()])
    statistic = np.sum((observed[large] - expected[large]) ** 2 / expected[large]) + (rest[0] - rest[1]) ** 2 / rest[1]
    return stats.chi2.sf(statistic, large.sum())


def in_order(law):
    return np.array([float(law[cell]) for cell in sorted(law)])


@pytest.mark.long
def test_laplace_noise_follows_its_law():
    probabilities = in_order(interval_law(Fraction(7), 60))
    assert p_value(LaplaceNoise(np.array([7.0])), probabilities, 60, DRAWS) > FALSE_ALARM


@pytest.mark.long
@pytest.mark.parametrize("size", WINDOWS)
@pytest.mark.parametrize(("law_on", "draws"), [(FacetConeNoise, DRAWS), (tightest_rejection, BY_REJECTION)])
def test_noise_of_a_polytope_follows_its_law(size, law_on, draws):
    eye = np.eye(size, dtype=np.int64)
    differences = np.vstack([eye, eye - np.roll(eye, 1, 1)])
    body = hull_of_differences(differences, np.ones(len(differences)))
    probabilities = in_order(cell_law(body, WINDOWS[size]))
    assert p_value(law_on(body), probabilities, WINDOWS[size], draws) > FALSE_ALARM
