"""Mechanisms on a finite space of datasets, and the printed formulas that are not private."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import CertificateRefused, DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.lab.dataset_space import UNREACHABLE, DatasetSpace, neighbouring_datasets
from dxgeom.lab.finite_mechanism import FiniteMechanism, privacy_level
from dxgeom.lab.layers import (
    calibrated_table,
    composed_layers,
    global_sensitivity,
    ladder_layers,
    layered_law,
    layered_table,
    penalised_layers,
    privacy_first_layers,
    staircase_layers,
    tuned_composed_table,
    utility_first_layers,
)
from dxgeom.numeric.randomness import InsecureSeededRandomness


def path(values):
    places = np.arange(len(values))
    return neighbouring_datasets(values, places[:-1], places[1:])


@st.composite
def spaces(draw):
    """Connected: a random tree and some edges more, unit lengths."""
    size = draw(st.integers(2, 8))
    values = draw(st.lists(st.integers(0, 12), min_size=size, max_size=size))
    tree = [(draw(st.integers(0, child - 1)), child) for child in range(1, size)]
    pairs = [(x, y) for x in range(size) for y in range(x + 1, size)]
    edges = sorted({*tree, *draw(st.lists(st.sampled_from(pairs), max_size=4))})
    first, second = np.array(edges).T
    return neighbouring_datasets([Fraction(value, 2) for value in values], first, second)


def designs(space):
    width = Fraction(3, 2)
    ones = [1] * len(space.answers)
    favoured = np.arange(len(space.answers)) % 2 == 0
    step = global_sensitivity(space) * space.unit
    return {
        "staircase": staircase_layers(space),
        "offset staircase": staircase_layers(space, step / 3),
        "ladder": ladder_layers(space),
        "privacy first": privacy_first_layers(space),
        "composed": composed_layers(space, [width] * space.size),
        "uneven widths": composed_layers(space, [Fraction(x % 3) for x in range(space.size)]),
        "utility first": utility_first_layers(space, ones),
        "penalised composed": penalised_layers(composed_layers(space, [width] * space.size), favoured, 2),
        "penalised utility first": penalised_layers(utility_first_layers(space, ones), favoured, 3),
    }


def distances_of(space):
    return [[Fraction(d) if d < UNREACHABLE else np.inf for d in row] for row in space.distances.tolist()]


@given(spaces())
@settings(max_examples=25)
def test_every_design_honours_twice_epsilon_by_another_route(space):
    for name, layers in designs(space).items():
        table = layered_table(space, layers, Fraction(2, 3), name)
        assert privacy_level(table.law, distances_of(space)).upper <= 2 / 3


@given(spaces())
@settings(max_examples=40)
def test_layers_of_neighbours_differ_by_at_most_one(space):
    for layers in designs(space).values():
        assert layers.min() >= 0
        both = layers[space.first] - layers[space.second]
        assert np.abs(both).max(initial=0) <= 1


@given(spaces(), st.lists(st.fractions(0, 5, max_denominator=9), min_size=8, max_size=8))
@settings(max_examples=30)
def test_composed_layers_are_the_definition(space, widths):
    """Balls grow; layer i is ball i without ball i − 1."""
    layers = composed_layers(space, widths[: space.size])
    distances = space.distances.tolist()
    for r, answer in enumerate(space.range):
        covering = [y for y in range(space.size) if abs(answer - space.values[y]) <= widths[y]]
        for x in range(space.size):
            balls = [radius for radius in range(space.size) if any(distances[x][y] <= radius for y in covering)]
            assert layers[x, r] == balls[0]


@given(spaces())
@settings(max_examples=30)
def test_utility_first_layers_are_the_definition(space):
    stairs, reported = staircase_layers(space).tolist(), list(space.range)
    layers = utility_first_layers(space, [1] * len(reported))
    near = {
        (reported.index(space.values[z]), reported.index(space.values[w]))
        for z, w in product(range(space.size), repeat=2)
        if space.distances[z, w] <= 1
    }
    for x, r in product(range(space.size), range(len(reported))):
        assert layers[x, r] == min(stairs[x][v] for v in range(len(reported)) if (v, r) in near)


@given(spaces())
@settings(max_examples=30)
def test_calibration_loses_no_privacy_and_no_more_than_the_proof(space):
    for name in ("privacy first", "ladder"):
        layers = designs(space)[name]
        table = calibrated_table(space, layers, Fraction(1), name)
        level = privacy_level(table.law, distances_of(space))
        assert level.upper <= 1
        proof = layered_table(space, layers, Fraction(1), name)
        assert level.lower >= privacy_level(proof.law, distances_of(space)).lower - 1e-6


def test_a_calibrated_table_uses_the_whole_of_its_level():
    table = calibrated_table(path([0, 1, 2, 3, 4]), privacy_first_layers(path([0, 1, 2, 3, 4])), Fraction(1), "p")
    level = privacy_level(table.law, distances_of(path([0, 1, 2, 3, 4])))
    assert 1 - 1e-8 < level.lower <= level.upper <= 1


def test_the_printed_ladder_never_gives_the_true_answer_where_its_neighbour_can():
    """Rungs Σ_{j<i} Δ_j < |r − f(x)| ≤ Σ_{j≤i} Δ_j leave out f(x) itself."""
    space = path([0, 1, 2])
    rows = []
    for x in range(3):
        rung = [next((i for i in range(9) if i < miss <= i + 1), None) for miss in space.misses[x].tolist()]
        assert rung[x] is None
        rows.append([Fraction(0) if i is None else Fraction(1, 2**i) for i in rung])
    assert privacy_level(FiniteMechanism.from_weights(rows), distances_of(space)).upper == np.inf
    right = layered_table(space, ladder_layers(space), Fraction(1), "ladder")
    assert privacy_level(right.law, distances_of(space)).upper <= 1


def test_theorem_3_with_shells_is_no_partition_and_its_layers_jump():
    """Taking away the shell of radius i − 1 only, an answer can be on the layers 0 and 2, or 0 and 3, of a dataset.

    Both readings of such a table fail: summing an answer's layers, and the last layer that has it.
    """
    space = path([0, 5, 5, 0, 5, 5, 5, 0])
    value = space.integers
    layers = [
        [
            [
                i
                for i in range(8)
                if answer in shell_values(value, x, i) and (i == 0 or answer not in shell_values(value, x, i - 1))
            ]
            for answer in (0, 5)
        ]
        for x in range(8)
    ]
    assert layers[0][0] == [0, 3, 7]
    last = np.array([[max(found) for found in row] for row in layers])
    assert np.abs(np.diff(last, axis=0)).max() > 1
    with pytest.raises(CertificateRefused):
        layered_table(space, last, Fraction(1), "printed")
    right = composed_layers(space, [Fraction(0)] * 8)
    assert np.abs(np.diff(right, axis=0)).max() <= 1
    layered_table(space, right, Fraction(1), "corrected")


def shell_values(values, x, radius):
    return {value for y, value in enumerate(values) if abs(x - y) == radius}


def test_without_bounds_in_the_proof_a_penalty_may_depend_on_no_dataset():
    """Favouring the true answer itself would be private no more."""
    space = path([0, 1, 2, 3])
    layers = privacy_first_layers(space)
    cheating = np.where(layers == 0, 0, layers + 4)
    with pytest.raises(CertificateRefused):
        layered_table(space, cheating, Fraction(1), "cheating")


def test_a_very_revealing_rate_is_still_honoured():
    space = path([0, 1, 2])
    table = layered_table(space, privacy_first_layers(space), Fraction(601, 3), "p")
    assert privacy_level(table.law, distances_of(space)).upper <= 601 / 3


def test_longer_edges_hide_less():
    space = DatasetSpace((Fraction(0), Fraction(4), Fraction(5)), np.array([0, 1]), np.array([1, 2]), np.array([3, 1]))
    table = layered_table(space, privacy_first_layers(space), Fraction(1), "p")
    assert privacy_level(table.law, distances_of(space)).upper <= 1
    assert privacy_first_layers(space).tolist() == [[0, 3, 4], [3, 0, 1], [4, 1, 0]]
    assert global_sensitivity(space) == Fraction(4, 3)
    with pytest.raises(UnsupportedCombination, match="length 1"):
        ladder_layers(space)


def test_separate_parts_of_a_space_never_give_each_others_answers():
    space = neighbouring_datasets([0, 1, 7], np.array([0]), np.array([1]))
    table = layered_table(space, privacy_first_layers(space), Fraction(1), "p")
    assert table.law.rows[2] == (0, 0, 1)
    assert table.law.rows[0][2] == 0


def test_an_answer_that_only_one_of_two_neighbours_can_give_is_refused():
    space = path([0, 1])
    with pytest.raises(CertificateRefused):
        calibrated_table(space, np.array([[0, UNREACHABLE], [1, 0]]), Fraction(1), "wrong")


def test_the_tuned_width_is_the_best_of_those_offered():
    space = path([0, 3, 4, 4, 9, 10])
    prior = [Fraction(1, 6)] * 6
    widths = [Fraction(0), Fraction(1), Fraction(2), Fraction(5)]
    best = tuned_composed_table(space, Fraction(1), widths, prior, space.losses)
    for width in widths:
        other = tuned_composed_table(space, Fraction(1), [width], prior, space.losses)
        assert best.expected_loss(prior, space.losses) <= other.expected_loss(prior, space.losses)
    assert 0 <= best.report(3, InsecureSeededRandomness(1)) < 5
    with pytest.raises(DxgeomError, match="at least one width"):
        tuned_composed_table(space, Fraction(1), [], prior, space.losses)


def test_a_constant_query_is_answered_exactly():
    space = path([Fraction(7, 3)] * 3)
    for layers in (staircase_layers(space), ladder_layers(space), privacy_first_layers(space)):
        assert layered_law(layers, Fraction(2)).rows == ((1,),) * 3


def test_what_does_not_fit_is_refused():
    space = path([0, 1, 2])
    edge = np.array([0])
    for wrong in (
        lambda: composed_layers(space, [Fraction(0)]),
        lambda: composed_layers(space, [Fraction(-1)] * 3),
        lambda: utility_first_layers(space, [0]),
        lambda: penalised_layers(ladder_layers(space), np.array([True]), 1),
        lambda: penalised_layers(ladder_layers(space), np.array([True] * 3), -1),
        lambda: staircase_layers(space, Fraction(1)),
        lambda: neighbouring_datasets([0], edge, edge + 5),
        lambda: DatasetSpace((Fraction(0),) * 2, edge, edge + 1, np.array([0])),
        lambda: DatasetSpace((Fraction(0),) * 2, edge, edge + 1, np.array([1, 1])),
    ):
        with pytest.raises(DxgeomError):
            wrong()
    with pytest.raises(TooLarge):
        neighbouring_datasets([0, 2**31], edge, edge + 1)
