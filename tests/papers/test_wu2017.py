"""Figures of "The policies of designing differentially private mechanisms: utility first vs. privacy first"."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.geometry.interval_union import union_of
from dxgeom.mechanisms.dataset_space import neighbouring_datasets
from dxgeom.mechanisms.layered import calibrated_table, layered_table
from dxgeom.mechanisms.layers import ladder_layers, privacy_first_layers
from dxgeom.noise.layered_line import LayeredLineNoise, staircase_mean_absolute
from dxgeom.universe.small_graphs import small_graphs

RATES = {
    "0.5": (0.722, 3.796, 5.231, 0.992),
    "1": (0.727, 2.052, 2.754, 0.995),
    "2": (0.806, 0.875, 1.103, 0.997),
    "5": (0.825, 0.056, 0.074, 1.0),
}
CALIBRATED = {"0.5": 3.190, "1": 1.131}
LINEAR = {
    ((0, 1), (1000, 1001)): (0.942, 0.465, 0.231),
    ((0, 100), (1000, 1001)): (0.942, 0.538, 0.272),
    ((0, 1001),): (1.119, 2.015, 2.565),
}


@pytest.fixture(scope="module")
def triangles():
    graphs = small_graphs(7)
    return neighbouring_datasets(graphs.triangles().tolist(), graphs.first, graphs.second)


def test_the_graphs_of_seven_nodes_are_the_space_that_is_described(triangles):
    assert (triangles.size, len(triangles.answers), len(triangles.first)) == (1044, 28, 6558)
    assert triangles.distances.max() == 21


@pytest.mark.parametrize("epsilon", RATES)
def test_privacy_first_against_the_ladder_at_the_same_guarantee(triangles, epsilon):
    rate = 2 * Fraction(epsilon)
    first, ladder = (
        np.array([float(loss) for loss in layered_table(triangles, layers, rate, "t").law.expected_losses(losses)])
        for layers, losses in (
            (privacy_first_layers(triangles), triangles.losses),
            (ladder_layers(triangles), triangles.losses),
        )
    )
    found = (np.mean(first / ladder), first.mean(), ladder.mean(), np.mean(first < ladder))
    assert found == pytest.approx(RATES[epsilon], abs=6e-4)


@pytest.mark.parametrize("epsilon", CALIBRATED)
def test_calibration_to_the_whole_space_is_worth_what_was_found_elsewhere(triangles, epsilon):
    table = calibrated_table(triangles, privacy_first_layers(triangles), 2 * Fraction(epsilon), "calibrated")
    prior = [Fraction(1, triangles.size)] * triangles.size
    assert float(table.expected_loss(prior, triangles.losses)) == pytest.approx(CALIBRATED[epsilon], abs=6e-4)


@pytest.mark.parametrize("differences", LINEAR)
def test_linear_queries_against_the_optimal_staircase(differences):
    for epsilon, expected in zip((1, 3, 5), LINEAR[differences], strict=True):
        noise = LayeredLineNoise(union_of(differences), Fraction(10), epsilon)
        rate = noise.mean_absolute / staircase_mean_absolute(1001, epsilon)
        assert rate == pytest.approx(expected, abs=6e-4)


def test_the_optimal_staircase_has_its_known_errors():
    found = [staircase_mean_absolute(1001, epsilon) for epsilon in (1, 3, 5)]
    assert found == pytest.approx([960.5, 235.1, 82.7], abs=0.06)
