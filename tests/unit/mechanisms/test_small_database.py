from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.selection_law import CHANCES

from dxgeom.errors import TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms import small_database as small_database_file
from dxgeom.mechanisms.small_database import DATABASE_LIMIT, _count_up_to, small_database
from dxgeom.metrics.verification import verify_metric
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.queries import LinearQueries

LINE = verify_metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
ROWS = np.array([[1, 0, 0], [0, 1, 2], [0, 0, 1]])


def queries(rows):
    return LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], rows)


def multisets(types, size):
    return list(itertools.combinations_with_replacement(range(types), size))


def histogram(records, types):
    return np.bincount(records, minlength=types)


def scores_by_definition(rows, x, size):
    """−max_q |q(x) − (n/m)·q(y)| for every y, in exact rationals."""
    n, types = int(sum(x)), len(x)
    return [
        -max(abs(int(row @ x) - Fraction(n, size) * int(row @ histogram(y, types))) for row in rows)
        for y in multisets(types, size)
    ]


@given(st.lists(st.integers(0, 40), min_size=3, max_size=3).filter(any), st.sampled_from([0.4, 0.6, 0.9]))
def test_every_database_has_the_score_of_the_definition(counts, alpha):
    mechanism = small_database(LINE, queries(ROWS), alpha)
    databases = mechanism._every_database()
    assert [tuple(one) for one in databases.tolist()] == multisets(3, mechanism.size)
    assert len(databases) == mechanism.databases
    found = mechanism._scores(np.array(counts), databases)
    assert [Fraction(int(s), mechanism.size) for s in found] == scores_by_definition(ROWS, counts, mechanism.size)


def test_blocks_of_databases_score_as_all_at_once(monkeypatch):
    mechanism = small_database(LINE, queries(ROWS), 0.5)
    databases = mechanism._every_database()
    at_once = mechanism._scores(np.array([5, 2, 9]), databases)
    monkeypatch.setattr(small_database_file, "_SCORES_AT_ONCE", 12)
    assert np.array_equal(at_once, mechanism._scores(np.array([5, 2, 9]), databases))


@pytest.mark.parametrize("law", sorted(CHANCES))
def test_the_odds_of_every_database_stay_within_the_distance(law):
    """All histograms of three records and all their neighbours; the law's chances from the definition."""
    mechanism, spend = small_database(LINE, queries(ROWS), 0.8, law), Fraction(3, 2)
    rate = spend / (2 * Fraction(mechanism.steepest))
    logs = {}
    for x in multisets(3, 3):
        chances = CHANCES[law](scores_by_definition(ROWS, histogram(x, 3), mechanism.size), rate)
        logs[x] = [mpmath.log(chance) for chance in chances]
    worst = 0.0
    for shared, i, j in itertools.product(multisets(3, 2), range(3), range(3)):
        if i != j:
            one, other = (logs[tuple(sorted((*shared, end)))] for end in (i, j))
            gap = max(abs(a - b) for a, b in zip(one, other, strict=True))
            worst = max(worst, float(gap) / float(spend * abs(i - j)))
    assert 0.3 < worst <= 1 + 1e-12


def test_the_draw_uses_the_rate_that_the_scores_unit_asks_for(monkeypatch):
    mechanism, seen = small_database(LINE, queries(ROWS), 0.6), []

    def noted(scores, largest_change, spend, law, randomness):
        seen.append((largest_change, spend, law))
        return 0

    monkeypatch.setattr(small_database_file, "choose", noted)
    mechanism.draw(np.array([1, 2, 3]), Fraction(1, 7), InsecureSeededRandomness(0))
    assert mechanism.size == math.ceil(math.log(3) / 0.36) == 4
    assert seen == [(2 * 4 * Fraction(mechanism.steepest), Fraction(1, 7), "permute-and-flip")]
    assert 1 <= mechanism.steepest <= 1 + 1e-15


def test_answers_are_scaled_to_all_records():
    answer = small_database(LINE, queries(ROWS), 0.6).draw(
        np.array([500, 250, 250]), Fraction(100), InsecureSeededRandomness(1)
    )
    assert answer.record_types == (0, 0, 1, 2)
    assert answer.exact_answers == (500, 750, 250)
    assert answer.answers.tolist() == [500, 750, 250]
    assert answer.histogram.tolist() == [500, 250, 250]


def test_the_error_bound_holds_as_often_as_it_says():
    mechanism, x = small_database(LINE, queries(ROWS), 0.5), np.array([11, 5, 24])
    for spend, level in itertools.product((Fraction(1, 4), Fraction(4)), (0.5, 0.9)):
        scores = scores_by_definition(ROWS, x, mechanism.size)
        for law in CHANCES:
            chances = CHANCES[law](scores, spend / (2 * Fraction(mechanism.steepest)))
            bound = mechanism.error_bound(40, level, spend)
            assert sum(p for p, s in zip(chances, scores, strict=True) if -s > bound) <= 1 - level, law


def test_a_single_query_may_find_no_database_within_alpha_of_it():
    """The theorem that Proposition 1 rests on: at K = 1 the size is 1, and one record cannot say one half."""
    mechanism = small_database(verify_metric([[0, 1], [1, 0]]), queries([[1, 0]]), 0.1)
    assert mechanism.size == 1
    best = max(scores_by_definition(mechanism.numerators, [50, 50], 1))
    assert -best == 50 > 0.1 * 100
    assert mechanism.error_bound(100) > 50


def test_without_scaling_no_small_database_comes_near():
    """12 random queries on 5 record types, 1,000 records: the best attainable error, by trying every database."""
    generator = np.random.default_rng(0)
    rows = generator.integers(0, 101, (12, 5))
    x = generator.multinomial(1000, generator.dirichlet(np.ones(5)))
    mechanism = small_database(verify_metric(1 - np.eye(5)), queries(rows), 0.45)
    scaled = -max(scores_by_definition(rows, x, mechanism.size)) / 100
    unscaled = min(
        max(abs(int(row @ x) - int(row @ histogram(y, 5))) for row in rows) / 100 for y in multisets(5, mechanism.size)
    )
    assert scaled < 0.05 * 1000
    assert unscaled > 0.55 * 1000


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 60))
def test_databases_are_counted_up_to_the_limit(types, size):
    true = math.comb(types + size - 1, size)
    counted = _count_up_to(types, size)
    assert counted == true if true <= DATABASE_LIMIT else counted > DATABASE_LIMIT


def test_what_is_beyond_enumeration_is_refused_by_name():
    many = verify_metric(1 - np.eye(60))
    with pytest.raises(TooLarge, match="1,000,000"):
        small_database(many, queries(np.eye(60, dtype=int)), 0.3)
    with pytest.raises(TooLarge):
        small_database(LINE, queries(ROWS), 1e-5)
    for alpha in (0, -1, 2, float("nan")):
        with pytest.raises(UnsupportedCombination, match="alpha"):
            small_database(LINE, queries(ROWS), alpha)
    with pytest.raises(UnsupportedCombination, match="no law"):
        small_database(LINE, queries(ROWS), 0.5, "softmax")
    with pytest.raises(UnboundedLoss):
        small_database(verify_metric([[0, 0], [0, 0]]), queries([[1, 0]]), 0.5)
    mechanism = small_database(LINE, queries(ROWS), 0.5)
    with pytest.raises(UnsupportedCombination, match="at least one record"):
        mechanism.check_size(0, Fraction(1))
    with pytest.raises(TooLarge):
        mechanism.check_size(2**60, Fraction(1))
