"""Quantiles by inversion are those of closed forms, of sums that are integrated otherwise, and of simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.inversion import BEYOND, quantile, quantile_of_laplace, waves_beside_normal
from dxgeom.noise.jump_shifts import JumpShifts
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.noise.round_laws import LaplaceNoise

LEVELS = st.floats(1e-4, 0.5)


def law_with_jumps() -> GaussianWithJumps:
    steps, distances = np.array([[30, 0], [0, 20], [30, -20], [10, 10]]), np.array([1.0, 1.0, 1.25, 0.875])
    return GaussianWithJumps.around(
        GaussianNoise(Ellipsoid(np.diag([90.0, 60.0]))), JumpShifts.listed(steps, distances)
    )


@given(LEVELS, st.floats(7, 60))
def test_of_a_normal_number_it_is_the_known_one(missed, furthest):
    many, rest = waves_beside_normal(1.0, furthest)
    waves = np.exp(-((np.arange(1, many + 1) * math.pi / furthest) ** 2) / 2)
    least = float(norm.isf(missed / 2))
    assert least <= quantile(waves, rest, furthest, missed) <= least * (1 + 1e-5)


@given(st.lists(st.floats(0.2, 3), min_size=3, max_size=9, unique=True), LEVELS)
def test_of_a_sum_of_laplace_numbers_it_is_that_of_partial_fractions(scales, missed):
    """P[|X| > t] = Σ_j w_j·e^(−t/c_j), w_j = Π_{i ≠ j} c_j²/(c_j² − c_i²), for scales that are not near each other."""
    squares = np.sort(np.array(scales)) ** 2
    gaps = np.min(np.diff(squares) / squares[1:])
    found = quantile_of_laplace(np.array(scales), missed)
    assert found is not None
    if gaps < 0.02:
        return
    weights = [np.prod([own / (own - other) for other in squares if other != own]) for own in squares]
    chance = sum(weight * math.exp(-found / math.sqrt(own)) for weight, own in zip(weights, squares, strict=True))
    blurred = 1e-13 * float(np.abs(weights).sum())
    assert missed - 2e-9 - 1e-8 * missed * 40 - blurred <= chance <= missed + blurred


@pytest.mark.parametrize("many", [3, 4, 12])
@pytest.mark.parametrize("missed", [0.4, 0.05, 1e-3])
def test_of_equal_scales_it_is_that_of_a_difference_of_gammas(many, missed):
    """Given E, the sum of the positive parts, Gamma(n), the chance of the other side is integrated."""
    found = quantile_of_laplace(np.full(many, 1.5), missed)
    assert found is not None
    size = found / 1.5
    from scipy.special import gammaincc, gammaln

    def density(x: float) -> float:
        return math.exp((many - 1) * math.log(x) - x - gammaln(many)) if x > 0 else 0.0

    chance = 2 * quad(lambda x: density(x) * gammaincc(many, x + size), 0, 80, epsabs=1e-13, limit=400)[0]
    assert missed * (1 - 1e-6) - 2e-9 <= chance <= missed


def test_one_and_two_scales_have_closed_forms_and_none_is_still():
    assert quantile_of_laplace(np.array([]), 0.05) == 0.0
    assert quantile_of_laplace(np.array([2.0]), 0.05) == pytest.approx(2 * math.log(20), rel=1e-8)
    two = quantile_of_laplace(np.array([1.0, 2.0]), 0.05)
    assert two is not None
    assert (4 * math.exp(-two / 2) - math.exp(-two)) / 3 == pytest.approx(0.05, rel=1e-7)


def test_who_would_need_too_many_waves_simulates():
    assert quantile_of_laplace(np.array([1.0, 1e-4, 1e-5]), 0.05) is None


@pytest.mark.parametrize("missed", [0.5, 0.05, 1e-3])
def test_noise_with_jumps_has_the_quantiles_of_its_mixture(missed):
    """Along one axis, from the density by a fine grid of the characteristic function: nothing of the sums here."""
    law = law_with_jumps()
    rows = np.array([[1.0, 0.0], [0.5, -0.25], [0.0, 0.0]])
    found = law.quantiles_along(rows, missed)
    assert found is not None
    assert found[2] == 0.0
    for row, width in zip(rows[:2], found[:2], strict=True):
        rng = np.random.default_rng(7)
        errors = np.abs(law.simulate(1 << 18, rng) @ row)
        chance = float(np.mean(errors > width))
        # False alarm: 5 standard deviations, below 1e-6.
        assert abs(chance - missed) < 5 * math.sqrt(missed * (1 - missed) / len(errors))


def test_noise_with_jumps_is_inverted_as_its_density_says():
    """The density of one coordinate on a grid by FFT, added up beyond the width."""
    law, missed = law_with_jumps(), 0.05
    row = np.array([1.0, -1.0])
    found = law.quantiles_along(row[None], missed)
    assert found is not None
    cells, width = 1 << 14, float(found[0]) / 400
    turns = 2 * np.pi * np.fft.fftfreq(cells, width)
    along = law.shifts.points(slice(None)) @ row
    rates = law._float_rates
    jumping = sum(
        r * np.cos(s * turns * a) / (1 + (turns * a) ** 2)
        for r, s, a in zip(rates, law.reaches / 16, along, strict=True)
    )
    normal = np.exp(-(turns**2) * float(row @ law.gaussian.second_moment @ row) / 2)
    density = np.fft.fftshift(np.fft.ifft(normal * (1 - law.rate) / (1 - jumping)).real)
    places = (np.arange(cells) - cells // 2) * width
    inside = (
        density[np.abs(places) < found[0] - width / 4].sum()
        + density[np.abs(np.abs(places) - found[0]) <= width / 4].sum() / 2
    )
    assert 1 - inside == pytest.approx(missed, abs=1e-6)


def test_an_image_of_laplace_noise_is_as_its_rows_say():
    inner = LaplaceNoise(np.array([1.0, 2.0, 0.5, 1.5]))
    image = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
    law, rows = LinearImageNoise(inner, image), np.array([[1.0, -1.0], [0.0, 2.0]])
    found, expected = law.quantiles_along(rows, 0.1), inner.quantiles_along(rows @ image, 0.1)
    assert found is not None and expected is not None
    assert np.array_equal(found, expected)
    errors = np.abs(law.simulate(1 << 18, np.random.default_rng(3)) @ rows.T)
    assert np.allclose(np.mean(errors > found, axis=0), 0.1, atol=5 * math.sqrt(0.09 / (1 << 18)))


@pytest.mark.parametrize("missed", [0.05, BEYOND / 2, 1e-30])
def test_two_laplace_numbers_have_a_closed_form_at_any_chance(missed):
    law = LaplaceNoise(np.array([1.0, 2.0, 0.5]))
    rows = np.array([[1.0, 0.0, 0.0], [0.0, -3.0, 4.0], [0.0, 0.0, 0.0]])
    found = law.quantiles_along(rows, missed)
    assert found is not None
    t, a, b = found[1], 6.0, 2.0
    assert found[0] == pytest.approx(-math.log(missed), rel=1e-8)
    beyond = (a**2 * math.exp(-t / a) - b**2 * math.exp(-t / b)) / (a**2 - b**2)
    assert beyond == pytest.approx(missed, rel=1e-6)
    assert found[2] == 0


@pytest.mark.parametrize("law", [law_with_jumps(), LaplaceNoise(np.array([1.0, 2.0, 3.0]))])
def test_of_chances_below_what_is_left_beyond_nothing_is_said(law):
    rows = np.ones((2, law.dimension))
    assert law.quantiles_along(rows, BEYOND / 2) is None
    assert law.quantiles_along(rows, BEYOND) is not None
