from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import DxgeomError
from dxgeom.lab.finite_mechanism import (
    FiniteMechanism,
    is_private,
    most_hidden,
    most_learned,
    posterior,
    privacy_level,
)


def truncated_geometric():
    """k = 5, steps of 1, ε = ln 2: the ends take the tails."""
    rows = []
    for y in range(6):
        inside = [Fraction(1, 3) / 2 ** abs(y - z) for z in range(6)]
        inside[0], inside[5] = Fraction(2, 3) / 2**y, Fraction(2, 3) / 2 ** (5 - y)
        rows.append(tuple(inside))
    return FiniteMechanism(tuple(rows))


def line(size):
    return [[Fraction(abs(x - y)) for y in range(size)] for x in range(size)]


def test_the_truncated_geometric_rows_are_the_known_ones():
    rows = truncated_geometric().rows
    assert rows[0] == tuple(Fraction(*pair) for pair in [(2, 3), (1, 6), (1, 12), (1, 24), (1, 48), (1, 48)])
    assert rows[1] == tuple(Fraction(*pair) for pair in [(1, 3), (1, 3), (1, 6), (1, 12), (1, 24), (1, 24)])
    assert rows[2] == tuple(Fraction(*pair) for pair in [(1, 6), (1, 6), (1, 3), (1, 6), (1, 12), (1, 12)])


def test_the_truncated_geometric_attains_its_metric_on_every_pair():
    mechanism = truncated_geometric()
    for x, y in product(range(6), repeat=2):
        assert mechanism.odds_between(x, y) == 2 ** abs(x - y)
    level = privacy_level(mechanism, line(6))
    assert level.lower <= math.log(2) <= level.upper
    assert level.upper - level.lower < 1e-15
    assert level.odds == 2**level.distance
    assert is_private(mechanism, [[Fraction(2) ** abs(x - y) for y in range(6)] for x in range(6)])
    assert not is_private(mechanism, [[Fraction(2) ** abs(x - y) * Fraction(999, 1000) for y in range(6)]] * 6)


def test_the_witness_shows_the_worst_quotient():
    rows = ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 8), Fraction(7, 8)))
    level = privacy_level(FiniteMechanism(rows), [[0, 1, 3], [1, 0, Fraction(1, 2)], [3, Fraction(1, 2), 0]])
    assert (level.secrets, level.answer, level.odds, level.distance) == ((1, 2), 0, 2, Fraction(1, 2))
    assert level.lower <= 2 * math.log(2) <= level.upper


def test_an_answer_that_rules_a_secret_out_is_infinitely_revealing():
    mechanism = FiniteMechanism(((Fraction(1), Fraction(0)), (Fraction(1, 2), Fraction(1, 2))))
    level = privacy_level(mechanism, line(2))
    assert (level.upper, level.secrets, level.answer) == (math.inf, (1, 0), 1)
    assert privacy_level(mechanism, [[0, math.inf], [math.inf, 0]]).upper == 0
    assert most_learned(mechanism, [0, 1]) == math.inf
    assert most_hidden(mechanism, [1, 0]) == math.inf


def test_secrets_at_distance_0_must_look_the_same():
    rows = ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 3), Fraction(2, 3)))
    assert privacy_level(FiniteMechanism(rows), [[0, 0], [0, 0]]).upper == math.inf
    assert privacy_level(FiniteMechanism(rows[:1] * 2), [[0, 0], [0, 0]]).upper == 0


def test_what_is_learned_within_a_neighbourhood_is_its_diameter():
    mechanism = truncated_geometric()
    assert most_learned(mechanism, range(6)) == 2**5
    assert most_learned(mechanism, [2, 3, 4]) == 2**2
    assert most_learned(mechanism, [3]) == 1


def test_hiding_a_secret_changes_conclusions_by_at_most_twice_the_distance():
    mechanism = truncated_geometric()
    assert most_hidden(mechanism, [1, 0, 3, 2, 5, 4]) == 2**2
    assert most_hidden(mechanism, [3, 4, 5, 0, 1, 2]) == 2**6
    assert most_hidden(mechanism, range(6)) == 1


weights = st.lists(st.integers(1, 12), min_size=4, max_size=4)


def normalised(numbers):
    return tuple(Fraction(number, sum(numbers)) for number in numbers)


@settings(deadline=None)
@given(st.lists(weights, min_size=3, max_size=3), st.lists(st.integers(1, 10**6), min_size=3, max_size=3))
def test_no_prior_learns_more_than_the_bounds(rows, prior):
    mechanism, prior = FiniteMechanism(tuple(map(normalised, rows))), normalised(prior)
    hidden = [1, 2, 0]
    disguised = FiniteMechanism(tuple(mechanism.rows[y] for y in hidden))
    for z in range(4):
        after, disguise = posterior(mechanism, prior, z), posterior(disguised, prior, z)
        for x in range(3):
            assert 1 / most_learned(mechanism, range(3)) <= after[x] / prior[x] <= most_learned(mechanism, range(3))
            assert 1 / most_hidden(mechanism, hidden) <= after[x] / disguise[x] <= most_hidden(mechanism, hidden)
    furthest = max(mechanism.odds_between(x, hidden[x]) for x in range(3))
    assert most_hidden(mechanism, hidden) <= furthest**2


@settings(deadline=None)
@given(st.lists(weights, min_size=2, max_size=4))
def test_the_bounds_are_approached_by_priors_that_all_but_rule_a_secret_out(rows):
    mechanism = FiniteMechanism(tuple(map(normalised, rows)))
    tiny = Fraction(1, 10**12)
    best = max(
        posterior(mechanism, [tiny if k == x else 1 - tiny if k == y else 0 for k in range(len(rows))], z)[x] / tiny
        for x, y, z in product(range(len(rows)), range(len(rows)), range(4))
        if x != y
    )
    assert best >= most_learned(mechanism, range(len(rows))) * (1 - Fraction(1, 10**9))


@settings(deadline=None)
@given(st.lists(weights, min_size=3, max_size=3))
def test_the_level_encloses_every_quotient(rows):
    mechanism = FiniteMechanism(tuple(map(normalised, rows)))
    level = privacy_level(mechanism, line(3))
    quotients = [
        abs(math.log(mechanism.rows[x][z] / mechanism.rows[y][z])) / abs(x - y)
        for x, y, z in product(range(3), range(3), range(4))
        if x != y
    ]
    assert max(quotients) == pytest.approx(level.upper, abs=1e-12)
    assert level.lower <= level.upper <= math.nextafter(math.nextafter(level.lower, math.inf), math.inf)


@pytest.mark.parametrize(
    "rows", [(), ((Fraction(1, 2),),), ((Fraction(3, 2), Fraction(-1, 2)),), ((Fraction(1),), ()), ((0.5, 0.5),)]
)
def test_rows_that_are_no_probabilities_are_refused(rows):
    with pytest.raises(DxgeomError):
        FiniteMechanism(rows)


def test_tables_and_priors_that_do_not_fit_are_refused():
    mechanism = truncated_geometric()
    for table in ([[Fraction(0)]], [[0.5] * 6] * 6, [[Fraction(-1)] * 6] * 6):
        with pytest.raises(DxgeomError):
            privacy_level(mechanism, table)
    with pytest.raises(DxgeomError, match="sum to 1"):
        posterior(mechanism, [Fraction(1, 5)] * 6, 0)
    with pytest.raises(DxgeomError, match="names a secret"):
        most_hidden(mechanism, [6] * 6)
    certain = FiniteMechanism(((Fraction(1), Fraction(0)),))
    with pytest.raises(DxgeomError, match="cannot occur"):
        posterior(certain, [Fraction(1)], 1)
