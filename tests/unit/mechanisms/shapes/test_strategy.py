"""Strategies of more sums than dimensions: what they hide, what they save, and what is released."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.shapes import exact_least_squares
from scipy.optimize import linprog

import dxgeom as dx
from dxgeom.mechanisms.linear.bars import half_widths
from dxgeom.mechanisms.linear.containment import largest_load
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.round_spaces import round_space
from dxgeom.mechanisms.shapes.strategy import determined_rows
from dxgeom.metrics.combinations import CapMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.verification import verify
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import build
from dxgeom.planner.objectives.objective import Objective
from dxgeom.policy.policy import parse_policy

pytestmark = pytest.mark.long

POLICY = """policy: p
universe:
  attributes:
    a: [x, y, z]
    b: {range: [0, 3], step: 1}
    c: [u, v]
rules:
  - {change: a, epsilon: 1}
  - {change: b, epsilon: 0.5}
  - {change: c, epsilon: 2}
"""


def named(matrix):
    return dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(matrix))], matrix)


def prefixes(cells):
    return named(np.tril(np.ones((cells, cells), dtype=np.int64))[:-1])


def equally_far(cells):
    return dx.verify_metric(1.0 - np.eye(cells))


def total(shared, name):
    return float(build(name, shared).variances().sum())


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(3, 7), st.integers(2, 5))
def test_every_difference_is_absorbed_by_a_shift_of_the_very_noise_that_is_drawn(seed, records, queries):
    generator = np.random.default_rng(seed)
    distances = generator.uniform(1, 2, (records, records))
    distances = np.triu(distances, 1) + np.triu(distances, 1).T
    asked = sensitivity_of(dx.verify_metric(distances), named(generator.integers(0, 3, (queries, records))))
    space = round_space(asked)
    if space is None or space.dimension < 2:
        return
    law = build("strategy", CandidateBuilder(asked)).law
    scales = law.inner.scales if isinstance(law.inner, LaplaceNoise) else np.ones(law.map.shape[1])
    assert np.all(scales == 1)
    for difference, bound in zip(asked.differences[:, space.noisy], asked.bounds, strict=True):
        shift = exact_least_squares(law.map, difference)
        assert sum(abs(entry) for entry in shift) <= Fraction(float(bound))


def test_a_load_through_a_wide_map_is_never_said_to_be_less_than_it_is():
    law = LinearImageNoise(LaplaceNoise(np.array([1.0, 2.0])), np.array([[1.0, 1.0]]))
    # The shortest shift for 3 is (1.5, 1.5): its load is 1.5 + 0.75.
    assert 2.25 <= largest_load(law, np.array([[3]]), np.ones(1)) < 2.25 * (1 + 1e-13)


def test_sums_of_blocks_answer_prefixes_far_better_than_the_prefixes_or_a_rotation():
    """Ordinary ε-DP: the literature's case for hierarchies."""
    shared = CandidateBuilder(sensitivity_of(equally_far(24), prefixes(24)))
    strategy = total(shared, "strategy")
    assert strategy < total(shared, "laplace") / 30
    assert strategy < total(shared, "rotated-laplace") / 2
    # Noise on the cells alone, 1/2 of a unit each: a prefix of k of 24 has 2·4·k·(24 − k)/24 when their sum is known.
    cells = sum(8 * k * (24 - k) / 24 for k in range(1, 24))
    assert strategy < 0.97 * cells
    assert strategy > shared.lower_bound()


def test_where_consecutive_values_are_near_nothing_is_gained_over_laplace():
    line = dx.verify_metric(np.abs(np.subtract.outer(np.arange(16.0), np.arange(16.0))))
    shared = CandidateBuilder(sensitivity_of(line, prefixes(16)))
    assert total(shared, "strategy") == pytest.approx(total(shared, "laplace"), rel=1e-6)
    assert dx.plan(line, prefixes(16)).mechanism.name == "laplace"


def test_marginals_that_are_alike_gain_what_their_consistency_is_worth():
    """Noise on all 27 cells of three tables, projected on the 18 dimensions they have: exactly two thirds are left."""
    cells = np.array(np.unravel_index(np.arange(27), (3, 3, 3)))
    rows = [(cells[a] == x) & (cells[b] == y) for a, b in combinations(range(3), 2) for x, y in np.ndindex(3, 3)]
    shared = CandidateBuilder(sensitivity_of(equally_far(27), named(np.array(rows, dtype=np.int64))))
    # Rounding to the lattice does not shrink with the noise.
    assert total(shared, "strategy") == pytest.approx(total(shared, "laplace") * 18 / 27, rel=1e-3)


def test_counts_that_the_answers_determine_are_found_and_others_are_not():
    policy = parse_policy(POLICY)
    queries = dx.LinearQueries.marginals(policy.universe, [["a", "b"], ["c"]])
    space = round_space(sensitivity_of(policy.compile(), queries))
    # Every cell of a × b, every a, every b and every c; the total is a constant.
    assert len(determined_rows(space, "cells")) == 12 + 3 + 4 + 2
    # Of a one block of two values, of b two: alone, and with each other's values and blocks.
    assert len(determined_rows(space, "blocks")) == (3 + 1 + 1) * (4 + 2 + 1) - 1 + 2
    few = round_space(sensitivity_of(policy.compile(), named(np.random.default_rng(0).integers(0, 9, (3, 24)))))
    assert len(determined_rows(few, "cells")) == 0


def test_a_strategy_is_chosen_where_it_is_best_and_says_how_large_it_is():
    chosen = dx.plan(equally_far(12), prefixes(12), thorough=True)
    assert chosen.mechanism.name == "strategy"
    taken = next(each for each in chosen.candidates if each.name == "strategy")
    assert taken.build_cost == f"{chosen.mechanism.law.inner.dimension} sums in 11 dimensions around 66 differences"
    assert chosen.fingerprint == dx.plan(equally_far(12), prefixes(12), thorough=True).fingerprint


@pytest.fixture(scope="module")
def mechanism():
    return build("strategy", CandidateBuilder(sensitivity_of(equally_far(12), prefixes(12))))


def test_released_answers_have_the_predicted_error(mechanism):
    """A false alarm, were the seed drawn at random, has a chance below 3e-8: six standard errors for 11 answers."""
    draws = mechanism.law.draw(200_000, InsecureSeededRandomness(3)) @ mechanism.float_mixing.T
    error = 6 * (draws**2).std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs((draws**2).mean(axis=0) - mechanism.variances()) <= error)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_error_bars_cover_as_often_as_they_say_and_hardly_more(mechanism, level):
    widths = half_widths(mechanism, level, Fraction(1), None)
    draws = mechanism.law.draw(200_000, InsecureSeededRandomness(4)) @ mechanism.float_mixing.T
    covered = (np.abs(draws) <= widths).mean(axis=0)
    error = 6 * np.sqrt(level * (1 - level) / len(draws))
    assert np.all(covered >= level - error)
    assert np.all(covered <= level + error + 0.02)


def test_answers_are_exact_but_for_the_noise(mechanism):
    counts = np.arange(12)
    released = mechanism.draw(counts, Fraction(10**9), InsecureSeededRandomness(5))
    exact = np.cumsum(counts)[:-1]
    assert all(
        abs(value - int(truth)) <= step
        for value, truth, step in zip(released, exact, mechanism.sensitivity.queries.steps, strict=True)
    )


def test_the_least_squares_shift_is_never_shorter_than_the_shortest(mechanism):
    """What is certified is an upper bound on the norm that the noise hides shifts up to, found here by a linear
    programme."""
    law, asked = mechanism.law, mechanism.sensitivity
    sums = law.map.shape[1]
    for difference, bound in list(zip(asked.differences, asked.bounds, strict=True))[::7]:
        both = np.hstack([law.map, -law.map])
        found = linprog(np.ones(2 * sums), A_eq=both, b_eq=difference.astype(float), method="highs")
        assert found.status == 0
        assert found.fun <= bound * (1 + 1e-7)


def test_a_search_that_leaves_float64_goes_on_without_a_warning():
    """Warnings are errors in these tests: a spread that rounding made negative has no logarithm."""
    far = SumMetric(
        (DiscreteMetric(4, Fraction(919558, 18287)), LineMetric((Fraction(0), Fraction(208)), Fraction(3, 7)))
    )
    weights = [
        [-1110900, 72000, -350000, 1902600, 483, -1094800, 70200, 1617],
        [-1089900, 93000, -329000, 1923600, 21483, -1073800, 91200, 22617],
        [1, 0, 0, 0, 0, 0, 1, 1],
        [0, 0, 0, 1, 1, 1, 0, 0],
    ]
    metric = verify(CapMetric(far, Fraction(10**5)), title="far", fingerprint="far", budget=Fraction(1))
    asked = sensitivity_of(metric, named(np.array(weights)))
    mechanism = build("strategy", CandidateBuilder(asked, Objective("max")))
    assert largest_load(mechanism.law, asked.differences, asked.bounds) <= 1
