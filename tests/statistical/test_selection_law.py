"""How often candidates are picked against their exact chances.

Fixed seeds; were they random, a correct sampler would fail one of the 6 tests with a chance below 6e-8.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.selection_law import CHANCES
from scipy import stats

from dxgeom.noise.noisy_maximum import noisy_largest
from dxgeom.numeric.randomness import InsecureSeededRandomness

FALSE_ALARM = 1e-8
DRAWS = 8_000
SCORES = ([0, 3, 3, 5, 6], [0, 0, 0, 1], [10, 0, 9, 2, 2, 7, 8])


@pytest.mark.parametrize("law", sorted(CHANCES))
@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_candidates_are_picked_as_often_as_the_law_says(law, scores):
    rate, randomness = Fraction(1, 3), InsecureSeededRandomness(21)
    given = np.array(scores, dtype=np.int64)
    picked = np.bincount([noisy_largest(given, rate, law, randomness) for _ in range(DRAWS)], minlength=len(scores))
    expected = np.array([float(chance) for chance in CHANCES[law](scores, rate)]) * DRAWS
    assert stats.chi2.sf(np.sum((picked - expected) ** 2 / expected), len(scores) - 1) > FALSE_ALARM
