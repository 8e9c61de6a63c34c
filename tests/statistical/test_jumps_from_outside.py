"""Gaussian noise with jumps seen from outside: a million exact draws, and the events that tell most of the worst shift.

False alarm: six standard deviations at each of 60 thresholds for each shift, below 1e-6 in all for random seeds, which
are fixed here. Without its jumps the same noise is caught.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.jump_shifts import JumpShifts
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.numeric.randomness import InsecureSeededRandomness

pytestmark = pytest.mark.long
DRAWS = 1_000_000
SURE = 6.0
STEPS = np.array([[30, 0], [0, 24], [25, -20]])
DISTANCES = np.array([1.0, 1.0, 1.25])
GAUSSIAN = GaussianNoise(Ellipsoid(np.array([[60.0, 0.0], [-10.0, 52.0]])))
LAW = GaussianWithJumps.around(GAUSSIAN, JumpShifts.listed(STEPS, DISTANCES))


def excess(draws, step, distance, law):
    """By how many standard deviations a half-plane is likelier around the shifted answer than e^d allows, at most."""
    along = np.linalg.solve(law.second_moment, step)
    statistic = draws @ along
    moved = float(step @ along)
    worst = -math.inf
    for threshold in np.quantile(statistic, 1 - np.geomspace(0.5, 1e-4, 60)):
        true, other = float(np.mean(statistic + moved > threshold)), float(np.mean(statistic > threshold))
        allowed = math.exp(distance)
        off = math.sqrt((true + allowed**2 * other) / len(draws))
        worst = max(worst, (true - allowed * other) / off)
    return worst


@pytest.mark.parametrize("place", range(len(STEPS)))
def test_no_half_plane_is_likelier_than_its_shift_allows(place):
    draws = LAW.draw(DRAWS, InsecureSeededRandomness(11 + place))
    assert excess(draws, STEPS[place], DISTANCES[place], LAW) < SURE


def test_the_same_noise_without_its_jumps_is_caught():
    draws = GAUSSIAN.draw(DRAWS, InsecureSeededRandomness(21))
    assert max(excess(draws, step, far, GAUSSIAN) for step, far in zip(STEPS, DISTANCES, strict=True)) > SURE
