from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dxgeom.errors import DxgeomError
from dxgeom.noise.layered_line import LayeredLineNoise, staircase_mean_absolute, union_of


@pytest.mark.parametrize("width", [0, 3])
@pytest.mark.parametrize("differences", [[(0, 1), (20, 21)], [(2, 9)], [(0, 21)]])
def test_the_mean_is_that_of_the_density_on_a_fine_grid(differences, width):
    noise = LayeredLineNoise(union_of(differences), Fraction(width), 0.8)
    edges = np.arange(-1700, 1700)
    layer = np.full(len(edges), -1)
    for i, ball in enumerate(noise.balls(80)):
        inside = np.zeros(len(edges), dtype=bool)
        for low, high in ball.parts:
            inside |= (edges >= low) & (edges + 1 <= high)
        layer[inside & (layer < 0)] = i
    density = np.where(layer >= 0, np.exp(-0.8 * layer), 0)
    assert noise.mean_absolute == pytest.approx(np.sum(density * np.abs(edges + 0.5)) / density.sum(), rel=1e-9)


def test_moving_the_answer_by_what_a_record_can_do_moves_the_layer_by_one_at_most():
    noise = LayeredLineNoise(union_of([(0, 1), (20, 21)]), Fraction(2), 1.0)
    balls, step = noise.balls(12), noise.symmetric_differences
    for inner, outer in pairwise(balls):
        moved = inner + step
        assert all(any(a <= low and high <= b for a, b in outer.parts) for low, high in moved.parts)


def test_a_shift_costs_epsilon_for_each_difference_that_it_takes():
    noise = LayeredLineNoise(union_of([(0, 1), (20, 21)]), Fraction(2), 0.5)
    for shift, number in ((0, 0), (Fraction(1, 2), 1), (20, 1), (2, 2), (-22, 2), (3, 3), (19, 2), (10, 10)):
        assert noise.loss(shift) == 0.5 * number
    with pytest.raises(DxgeomError, match="add up"):
        LayeredLineNoise(union_of([(1, 1), (2, 3)]), Fraction(0), 1.0).loss(10**6)


def test_layered_noise_has_a_digest_of_what_defines_it():
    one = LayeredLineNoise(union_of([(0, 1)]), Fraction(2), 0.5)
    others = [
        LayeredLineNoise(union_of([(0, 1)]), Fraction(2), 0.25),
        LayeredLineNoise(union_of([(0, 1)]), Fraction(3), 0.5),
        LayeredLineNoise(union_of([(0, 2)]), Fraction(2), 0.5),
    ]
    assert one.digest == LayeredLineNoise(union_of([(0, Fraction(1))]), 2, 0.5).digest
    assert len({law.digest for law in (one, *others)}) == 4


def test_one_sided_differences_are_made_symmetric():
    """As printed, V = [0, 1] ∪ [1000, 1001] holds no way back: an answer could rise but never fall."""
    noise = LayeredLineNoise(union_of([(5, 6)]), Fraction(0), 1.0)
    assert noise.symmetric_differences.parts == ((-6, -5), (0, 0), (5, 6))


def test_the_staircase_mean_is_the_known_one():
    assert staircase_mean_absolute(1001, 1) == pytest.approx(1001 * math.exp(0.5) / (math.e - 1), rel=1e-12)


def test_noise_that_would_be_none_or_endless_is_refused():
    interval = union_of([(0, 1)])
    for wrong in (
        lambda: LayeredLineNoise(union_of([(1, 1)]), Fraction(0), 1.0),
        lambda: LayeredLineNoise(interval, Fraction(-1), 1.0),
        lambda: LayeredLineNoise(interval, Fraction(0), 0.0),
        lambda: LayeredLineNoise(interval, Fraction(0), 1e-5).mean_absolute,
        lambda: staircase_mean_absolute(0, 1),
    ):
        with pytest.raises(DxgeomError):
            wrong()
