from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.selection_law import CHANCES, exponential_chances, permute_and_flip_chances

import dxgeom as dx
from dxgeom.errors import TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.linear import score_sensitivities
from dxgeom.mechanisms.linear.score_sensitivities import over_common_unit, query_sensitivities, range_sensitivity
from dxgeom.mechanisms.selection.selections import selection
from dxgeom.metrics.matrices import repair_metric
from dxgeom.metrics.verification import verify_metric
from dxgeom.universe.queries import LinearQueries

LAWS = sorted(CHANCES)


def candidates(matrix):
    return LinearQueries.from_matrix([f"c{k}" for k in range(len(matrix))], matrix)


def histograms(size, records):
    for records_of in itertools.combinations_with_replacement(range(size), records):
        yield tuple(np.bincount(records_of, minlength=size).tolist())


def metric_of(entries, size):
    table = [[Fraction(0)] * size for _ in range(size)]
    for (i, j), entry in zip(itertools.combinations(range(size), 2), entries, strict=True):
        table[i][j] = table[j][i] = entry
    return verify_metric(repair_metric(table).entries)


def loss_over_distance(mechanism, law, records, spend):
    """The largest |ln P(r | x)/P(r | x')| over spend·d(i, j), over all neighbours and candidates."""
    size = mechanism.metric.size
    rate = spend / Fraction(mechanism.range_sensitivity)
    chances = {}
    for x in histograms(size, records):
        scores = [int(row @ np.array(x)) for row in mechanism.numerators]
        chances[x] = CHANCES[law](scores, rate)
    worst = mpmath.mpf(0)
    for x, i, j in itertools.product(chances, range(size), range(size)):
        if i == j or x[i] == 0:
            continue
        neighbour = tuple(count - (k == i) + (k == j) for k, count in enumerate(x))
        gap = max(
            abs(mpmath.log(one) - mpmath.log(other)) for one, other in zip(chances[x], chances[neighbour], strict=True)
        )
        worst = max(worst, gap / float(spend * Fraction(float(mechanism.metric.distance(i, j)))))
    return float(worst)


@pytest.mark.parametrize("law", LAWS)
@settings(max_examples=25)
@given(data=st.data())
def test_every_neighbour_of_every_small_histogram_keeps_its_odds(law, data):
    size, count = data.draw(st.integers(2, 4)), data.draw(st.integers(2, 3))
    entries = data.draw(st.lists(st.fractions(Fraction(1, 10), 3, max_denominator=10), min_size=6, max_size=6))
    metric = metric_of(entries[: size * (size - 1) // 2], size)
    weights = data.draw(
        st.lists(st.lists(st.integers(-5, 5), min_size=size, max_size=size), min_size=count, max_size=count)
    )
    mechanism = selection(metric, candidates(weights), law)
    if mechanism.range_sensitivity > 0:
        assert loss_over_distance(mechanism, law, 3, Fraction(1, 2)) <= 1 + 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_the_odds_come_near_their_bound_so_the_noise_is_not_wasteful(law):
    metric = verify_metric([[0, 1], [1, 0]])
    mechanism = selection(metric, candidates([[1, 0], [0, 1]]), law)
    assert mechanism.range_sensitivity == pytest.approx(2)
    assert loss_over_distance(mechanism, law, 8, Fraction(1)) > 0.95


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(-9, 9), min_size=5, max_size=5), min_size=1, max_size=4))
def test_the_spread_is_the_largest_change_of_a_lead_over_all_pairs(rows):
    places = np.array([0, 1, 3, 4, 9])
    metric = verify_metric(np.abs(places[:, None] - places)).metric
    table = np.array(rows, dtype=np.int64)
    expected = max(
        Fraction(int(np.ptp(table[:, i] - table[:, j])), abs(int(places[i] - places[j])))
        for i, j in itertools.combinations(range(5), 2)
    )
    found = range_sensitivity(metric, table)
    assert expected <= Fraction(found) <= expected * (1 + Fraction(1, 2**50))
    assert found <= 2 * query_sensitivities(metric, table).max() * (1 + 1e-15)


def test_beyond_the_comparison_limit_twice_the_steepness_stands_in(monkeypatch):
    metric = verify_metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]]).metric
    rows = np.array([[0, 3, 3], [0, 2, 2]])
    assert range_sensitivity(metric, rows) == pytest.approx(1)
    monkeypatch.setattr(score_sensitivities, "COMPARISON_LIMIT", 1)
    assert range_sensitivity(metric, rows) == pytest.approx(6)


def test_scores_that_move_together_need_half_the_noise():
    metric = verify_metric([[0, 1], [1, 0]])
    assert selection(metric, candidates([[1, 0], [0, 0]])).range_sensitivity == pytest.approx(1)
    assert selection(metric, candidates([[1, 0], [0, 1]])).range_sensitivity == pytest.approx(2)


def test_a_constant_normaliser_never_helps_with_linear_scores_of_two_records():
    """ln Σ e^(rate·score) is strictly convex along e_i + e_i, e_i + e_j, e_j + e_j unless all scores move alike."""
    rate = Fraction(1, 2)
    columns = [(1, 0, 0), (0, 1, 0)]
    normalisers = []
    for i, j in ((0, 0), (0, 1), (1, 1)):
        scores = [a + b for a, b in zip(columns[i], columns[j], strict=True)]
        normalisers.append(math.log(sum(math.exp(rate * score) for score in scores)))
    assert normalisers[0] == normalisers[2]
    assert normalisers[1] < normalisers[0] - 0.01


@settings(max_examples=50)
@given(st.lists(st.integers(-30, 0), min_size=2, max_size=6), st.fractions(Fraction(1, 10), 2, max_denominator=10))
def test_permute_and_flip_never_expects_a_worse_score(scores, rate):
    one = sum(p * s for p, s in zip(permute_and_flip_chances(scores, rate), scores, strict=True))
    other = sum(p * s for p, s in zip(exponential_chances(scores, rate), scores, strict=True))
    assert one >= other - mpmath.mpf(10) ** -30
    assert max(scores) - other <= math.log(len(scores)) / rate + 1e-12


@settings(max_examples=50)
@given(
    st.lists(st.integers(-30, 0), min_size=2, max_size=6),
    st.fractions(Fraction(1, 10), 2, max_denominator=10),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_the_shortfall_is_exceeded_no_more_often_than_it_says(scores, rate, level):
    metric = verify_metric([[0, 1], [1, 0]])
    count = len(scores)
    mechanism = selection(metric, candidates([[1, 0], *[[0, 1]] * (count - 1)]))
    shortfall = mechanism.shortfall(level, rate * Fraction(mechanism.range_sensitivity))
    for chances in (permute_and_flip_chances(scores, rate), exponential_chances(scores, rate)):
        missed = sum(p for p, s in zip(chances, scores, strict=True) if s <= max(scores) - shortfall)
        assert missed <= (1 - level) * (1 + 1e-9)


def test_theorem_4_as_printed_adds_what_it_should_subtract():
    """With u' = u + δ the printed bound u(Z) > δ + max u' − 2c(ln R + t) exceeds max u, once δ > c(ln R + t)."""
    scores, delta, rate, t = [0, -4], 50, Fraction(1, 2), 1.0
    chances = exponential_chances([score + delta for score in scores], rate)
    slack = (math.log(2) + t) / float(rate)
    printed = delta + (max(scores) + delta) - slack
    corrected = -delta + (max(scores) + delta) - slack
    missed = {
        name: sum(p for p, score in zip(chances, scores, strict=True) if score <= bound)
        for name, bound in (("printed", printed), ("corrected", corrected))
    }
    assert missed["printed"] > 0.999999
    assert missed["corrected"] <= math.exp(-t)


def test_candidates_nobody_can_influence_are_compared_without_noise():
    metric = verify_metric([[0, np.inf], [np.inf, 0]])
    mechanism = selection(metric, candidates([[1, 0], [0, 1]]))
    assert mechanism.range_sensitivity == 0
    picked = {
        dx.release(mechanism, [3, 4], ledger=":memory:", spend="1/1000", insecure_test_seed=seed).answer
        for seed in range(10)
    }
    assert picked == {1}


def test_a_lead_that_differs_at_distance_zero_is_refused():
    metric = verify_metric([[0, 0], [0, 0]])
    with pytest.raises(UnboundedLoss):
        selection(metric, candidates([[1, 0], [0, 1]]))
    assert selection(metric, candidates([[1, 0], [1, 0]])).range_sensitivity == 0


def test_weights_share_one_unit_exactly():
    queries = candidates([[Fraction(1, 6), Fraction(1, 3)], [Fraction(1, 4), Fraction(0)]])
    rows, unit = over_common_unit(queries)
    assert unit == Fraction(1, 12)
    assert rows.tolist() == [[2, 4], [3, 0]]
    with pytest.raises(TooLarge):
        over_common_unit(candidates([[Fraction(1, 2**40 + 1), Fraction(1)], [Fraction(1, 2**40 - 1), Fraction(1)]]))


def test_what_does_not_fit_is_refused_before_anything_is_charged(tmp_path):
    metric = verify_metric([[0, 1], [1, 0]])
    with pytest.raises(UnsupportedCombination):
        selection(metric, candidates([[1, 0, 0], [0, 1, 0]]))
    with pytest.raises(UnsupportedCombination, match="no law"):
        selection(metric, candidates([[1, 0], [0, 1]]), "softmax")
    mechanism = selection(metric, candidates([[2**49, 0], [0, 1]]))
    place = str(tmp_path / "a.db")
    with pytest.raises(TooLarge):
        dx.release(mechanism, [2**20, 1], ledger=place, spend=1)
    assert dx.release(mechanism, [2, 1], ledger=place, spend=1).remaining == 0


def test_a_row_of_zeros_is_over_any_common_unit_however_fine():
    rows, unit = over_common_unit(
        LinearQueries(("a", "b"), np.array([[0, 1], [0, 0]]), (Fraction(1, 10**30), Fraction(1)))
    )
    assert (rows.tolist(), unit) == ([[0, 1], [0, 0]], Fraction(1, 10**30))
