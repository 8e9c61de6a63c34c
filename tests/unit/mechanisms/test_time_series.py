from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.errors import DxgeomError, TooLarge
from dxgeom.mechanisms.time_series import SeriesMechanism
from dxgeom.numeric.randomness import InsecureSeededRandomness


def test_readings_err_as_predicted():
    """Six standard errors over independent draws: a correct sampler fails with a chance of about 4e-9."""
    mechanism = SeriesMechanism(6, Fraction(1, 3), Fraction(1, 8))
    truth = np.array([8, -16, 0, 40, 8, 8])
    drawn = np.array(
        [[float(z) for z in mechanism.answer(truth, InsecureSeededRandomness(seed))] for seed in range(2000)]
    )
    errors = drawn - truth / 8
    for found, expected in (
        (np.abs(errors).mean(axis=1), mechanism.mean_absolute),
        ((errors**2).mean(axis=1), mechanism.root_mean_square**2),
    ):
        assert abs(found.mean() - expected) < 6 * found.std() / np.sqrt(2000) + 1e-3 * expected


def test_the_cube_covers_every_change_of_one_unit():
    mechanism = SeriesMechanism(3, Fraction(1, 7), Fraction(1, 10))
    assert all(Fraction(width) >= 70 for width in mechanism.law.body.half_widths.tolist())


def test_answers_lie_on_the_lattice_and_a_smaller_spend_widens_them():
    mechanism = SeriesMechanism(4, Fraction(1), Fraction(1, 8))
    one = mechanism.answer([0] * 4, InsecureSeededRandomness(3))
    wide = mechanism.answer([0] * 4, InsecureSeededRandomness(3), Fraction(1, 100))
    assert all((8 * z).denominator == 1 for z in one)
    assert max(map(abs, wide)) == pytest.approx(100 * float(max(map(abs, one))), rel=0.02)


def test_what_does_not_fit_is_refused():
    mechanism = SeriesMechanism(2, Fraction(1), Fraction(1))
    for wrong in (
        lambda: mechanism.answer([1], InsecureSeededRandomness(1)),
        lambda: mechanism.answer([1, 0.5], InsecureSeededRandomness(1)),
        lambda: mechanism.answer([1, 2], InsecureSeededRandomness(1), Fraction(0)),
        lambda: SeriesMechanism(151, Fraction(1), Fraction(1)),
        lambda: SeriesMechanism(1, Fraction(0), Fraction(1)),
    ):
        with pytest.raises(DxgeomError):
            wrong()
    with pytest.raises(TooLarge):
        mechanism.answer([1, 2], InsecureSeededRandomness(1), Fraction(1, 10**18))
