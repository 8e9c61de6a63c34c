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

from dxgeom.errors import DataError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.selection import small_databases as small_database_file
from dxgeom.mechanisms.selection.small_databases import DATABASE_LIMIT, _count_up_to, small_database
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
    """12 random queries on 5 possible records, 1,000 records: the best attainable error, by trying every database."""
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


PLACES = verify_metric(np.abs(np.subtract.outer([0.0, 0.05, 0.4, 2.0], [0.0, 0.05, 0.4, 2.0])))
STEEP = np.array([[0, 30, 20, 25], [10, 0, 40, 5]])


def least_uniform_bound(rows, distances, records, per_scale):
    """n·bias(c) + per_scale·c at 0 and at every meeting of two pairs' lines, or of one with 0."""
    lines = [(0.0, 0.0)] + [
        (abs(float(row[i] - row[j])), distances[i, j]) for row in rows for i, j in itertools.combinations(range(4), 2)
    ]
    scales = [0.0] + [(a - b) / (s - t) for (a, s), (b, t) in itertools.combinations(lines, 2) if s != t]
    return min(records * max(rise - c * run for rise, run in lines) / 2 + per_scale * c for c in scales if c >= 0)


@pytest.mark.parametrize("records", [2, 20, 60, 150])
def test_changed_queries_have_the_bound_of_the_best_breakpoint(records):
    every = np.arange(4)
    asked, changed = (small_database(PLACES, queries(STEEP), 0.6, records=given) for given in (None, records))
    per_scale = 2 * (math.log(asked.databases) - math.log(0.05))
    best = least_uniform_bound(STEEP, PLACES.distance(every[:, None], every), records, per_scale)
    reached = records * 40 * math.sqrt(math.log(4) / (2 * asked.size))
    assert changed.error_bound(records) <= asked.error_bound(records)
    assert changed.error_bound(records) <= (reached + best) * (1 + 1e-3)
    if changed.planned is not None:
        off = np.abs(changed.queries.matrix - STEEP).max()
        assert float(changed.shift) == off
        rises = np.abs(changed.numerators[:, :, None] - changed.numerators[:, None, :]).max(axis=0)
        assert np.all(rises <= changed.steepest * PLACES.distance(every[:, None], every) * (1 + 1e-12))


@pytest.mark.parametrize("counts", [[0, 20, 0, 0], [20, 0, 0, 0], [5, 5, 5, 5]])
def test_the_bound_with_changed_queries_holds_whatever_the_records_are(counts):
    """1,000 draws: more than 50 misses by 7.5 standard deviations have chance below 1e-8, were the bound tight."""
    mechanism = small_database(PLACES, queries(STEEP), 0.6, records=20)
    assert mechanism.planned == 20
    x, randomness = np.array(counts), InsecureSeededRandomness(3)
    errors = [np.abs(mechanism.draw(x, Fraction(1), randomness).answers - STEEP @ x).max() for _ in range(1000)]
    assert np.sum(np.array(errors) > mechanism.error_bound(20)) <= 50 + 7.5 * math.sqrt(47.5)


def test_with_many_records_the_queries_stay_as_they_are():
    mechanism = small_database(PLACES, queries(STEEP), 0.6, records=10_000)
    assert mechanism.planned is None
    assert mechanism.fingerprint == small_database(PLACES, queries(STEEP), 0.6).fingerprint


def test_queries_changed_for_one_number_of_records_are_not_asked_of_another():
    mechanism = small_database(PLACES, queries(STEEP), 0.6, records=20)
    mechanism.check(np.array([20, 0, 0, 0]), Fraction(1))
    with pytest.raises(DataError, match="changed for 20 records, these are 21"):
        mechanism.check(np.array([20, 1, 0, 0]), Fraction(1))
    with pytest.raises(UnsupportedCombination, match="positive number"):
        small_database(PLACES, queries(STEEP), 0.6, records=0)


def test_the_same_weights_for_everybody_have_no_bias_to_pay():
    mechanism = small_database(PLACES, queries([[3, 3, 3, 3]]), 0.6, records=5)
    assert mechanism.shift == 0
