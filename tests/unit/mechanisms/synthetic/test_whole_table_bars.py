"""Bars of whole tables: their chances beside integrals and draws, and figures that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import ncx2

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.synthetic import table_model as bars
from dxgeom.mechanisms.synthetic.table_model import most_root_mean_square

KNOWN = {28: (0.75, 0.81), 1000: (0.28, 0.38), 16128: (0.14, 0.29)}
"""Medians in deviations by cells, of a perfect model and of one that is a quarter off."""


@pytest.mark.parametrize("cells", KNOWN)
def test_medians_are_the_known_ones(cells):
    for off, known in zip((0.0, 0.25), KNOWN[cells], strict=True):
        usual = np.full(cells, math.sqrt(ncx2.median(cells, cells * off**2) / cells))
        assert most_root_mean_square(usual, 1.0, 0.0, 0.95, normal=True) == pytest.approx(known, abs=0.025)


@pytest.mark.parametrize("error", [0.0, 0.5, 3.0, 20.0])
def test_moments_of_laplace_noise_are_their_integrals(error):
    for rate, found in list(zip(bars._RATES, bars._log_moment(error), strict=True))[::12]:
        parts = [
            quad(lambda v, t=rate: 0.5 * math.exp(-abs(v) - t * (error + v) ** 2), low, high, epsabs=0, limit=200)[0]
            for low, high in ((-60, -error), (-error, 0), (0, 60))
            if low < high
        ]
        assert found == pytest.approx(math.log(sum(parts)), abs=1e-6)


def test_one_large_error_shows_itself_least_among_errors_of_one_sum_of_squares():
    """What the bound of Laplace noise rests on."""
    for square in (0.3, 4.0, 50.0):
        for part in (0.1, 0.5, 0.9):
            apart = bars._log_moment(math.sqrt(square * part)) + bars._log_moment(math.sqrt(square * (1 - part)))
            assert np.all(bars._log_moment(0.0) + bars._log_moment(math.sqrt(square)) >= apart - 1e-9)


@pytest.mark.parametrize("normal", [True, False])
def test_bounds_are_larger_for_less_risk_and_more_rounding_and_scale_with_the_noise(normal):
    off = np.random.default_rng(2).normal(size=30) * 2
    found = [most_root_mean_square(off, 1.0, 0.0, level, normal=normal) for level in (0.5, 0.9, 0.99)]
    assert found == sorted(found)
    assert most_root_mean_square(off, 1.0, 0.1, 0.9, normal=normal) > found[1]
    assert most_root_mean_square(7 * off, 7.0, 0.0, 0.9, normal=normal) == pytest.approx(7 * found[1], rel=1e-6)
    with pytest.raises(UnsupportedCombination):
        most_root_mean_square(off, 1.0, 0.0, 1.0, normal=normal)


def test_normal_bounds_are_where_the_law_has_the_chance_and_valid_beyond_what_is_summed():
    off = np.full(50, 3.0)
    found = most_root_mean_square(off, 1.0, 0.0, 0.9, normal=True)
    assert ncx2.cdf(450, 50, 50 * found**2) == pytest.approx(0.1, rel=1e-3)
    far = most_root_mean_square(np.full(50, 1e6), 1.0, 0.0, 0.9, normal=True)
    assert 1e6 < far < 1e6 + 3
