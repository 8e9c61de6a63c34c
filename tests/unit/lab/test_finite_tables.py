"""Exact tables: what they are made of, what they are held to, and how they are drawn."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dxgeom as dx
from dxgeom.errors import (
    CertificateRefused,
    DxgeomError,
    NotAMetric,
    TooLarge,
    UnboundedLoss,
    UnsupportedCombination,
)
from dxgeom.lab.finite_mechanism import (
    FiniteMechanism,
    PrivateTable,
    bayes_remap,
    honouring,
    is_private,
    likelihood_ratio_bounds,
    likelihood_ratio_bounds_of_table,
    odds_below,
    privacy_level,
    remapped_loss,
    rounded_and_mixed,
)
from dxgeom.lab.laplace_tables import (
    finite_laplace,
    halved_exponential,
    truncated_geometric,
    truncated_geometric_law,
)
from dxgeom.lab.optimal_tables import greedy_spanner, optimal_table
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness


def line(size, rate):
    metric = LineMetric(tuple(Fraction(i) for i in range(size)), Fraction(rate))
    return verify(metric, title="line", fingerprint=f"line {size} {rate}", budget=Fraction(1))


def grid(side, rate):
    points = np.array([[x, y] for x in range(side) for y in range(side)], dtype=float)
    return verify(PointsMetric(points, "plane", Fraction(rate)), title="grid", fingerprint="grid", budget=Fraction(1))


def along(size, rate):
    """The distances of a line, not rounded."""
    return [[Fraction(rate) * abs(x - y) for y in range(size)] for x in range(size)]


def exact_table(metric):
    places = np.arange(metric.size)
    return [[Fraction(entry) for entry in row] for row in metric.distance(places[:, None], places).tolist()]


def absolute(size):
    return [[Fraction(abs(x - w)) for w in range(size)] for x in range(size)]


def uniform(size):
    return [Fraction(1, size)] * size


@given(st.fractions(0, 1100), st.integers(16, 200))
def test_odds_are_rounded_down_and_only_just(distance, bits):
    below = odds_below(distance, bits)
    with mpmath.workprec(bits + 2000):
        exact = mpmath.exp(mpmath.mpf(distance.numerator) / distance.denominator)
        found = mpmath.mpf(below.numerator) / below.denominator
        assert found < exact or (distance == 0 and below == 1)
        if distance <= 1024:
            assert found >= exact * (1 - mpmath.mpf(2) ** (2 - bits))


def test_a_negative_distance_has_no_odds():
    with pytest.raises(DxgeomError, match="not negative"):
        odds_below(Fraction(-1))


def test_the_truncated_geometric_rows_are_the_known_ones():
    rows = truncated_geometric_law(5, Fraction(2)).rows
    assert rows[0] == tuple(Fraction(*pair) for pair in [(2, 3), (1, 6), (1, 12), (1, 24), (1, 48), (1, 48)])
    assert rows[1] == tuple(Fraction(*pair) for pair in [(1, 3), (1, 3), (1, 6), (1, 12), (1, 24), (1, 24)])
    assert rows[2] == tuple(Fraction(*pair) for pair in [(1, 6), (1, 6), (1, 3), (1, 6), (1, 12), (1, 12)])
    assert rows[3:] == tuple(row[::-1] for row in rows[2::-1])


@given(st.integers(0, 8), st.fractions(Fraction(11, 10), 50, max_denominator=100))
@settings(max_examples=40)
def test_the_truncated_geometric_attains_its_metric_on_every_pair(steps, odds):
    law = truncated_geometric_law(steps, odds)
    for x in range(steps + 1):
        for y in range(steps + 1):
            assert law.odds_between(x, y) == odds ** abs(x - y)


def test_a_single_point_is_answered_exactly():
    assert truncated_geometric_law(0, Fraction(2)).rows == ((Fraction(1),),)
    assert truncated_geometric(line(1, 1)).law.rows == ((Fraction(1),),)


def test_a_query_of_sensitivity_5_needs_the_metric_over_5():
    """C §5.1 forgets the division: the mechanism for ε itself reveals 5ε along one step of the query's input."""
    answers = [0, 5, 10]
    wrong = truncated_geometric(line(11, 1)).law
    level = privacy_level(FiniteMechanism(tuple(wrong.rows[y] for y in answers)), absolute(3))
    assert level.lower == pytest.approx(5)
    right = truncated_geometric(line(11, Fraction(1, 5))).law
    assert privacy_level(FiniteMechanism(tuple(right.rows[y] for y in answers)), absolute(3)).upper <= 1


@pytest.mark.parametrize("build", [truncated_geometric, finite_laplace, halved_exponential])
@pytest.mark.parametrize("spend", [Fraction(1), Fraction(1, 3)])
def test_every_table_honours_its_metric_and_hardly_less(build, spend):
    metric = line(7, Fraction(2, 3))
    table = build(metric, spend)
    level = privacy_level(table.law, along(7, Fraction(2, 3)))
    assert level.upper <= float(spend)
    assert level.lower > float(spend) * (1 - 1e-9) or build is halved_exponential
    assert level.lower > float(spend) / 2


def test_a_finite_laplace_mechanism_on_a_line_is_the_truncated_geometric_one():
    metric = line(6, Fraction(7, 10))
    one, other = truncated_geometric(metric).law, finite_laplace(metric).law
    assert max(abs(p - q) for r, s in zip(one.rows, other.rows, strict=True) for p, q in zip(r, s, strict=True)) < (
        Fraction(1, 10**12)
    )


def test_rows_of_exp_minus_d_normalised_for_themselves_are_not_private():
    metric = line(3, 1)
    distances = along(3, 1)
    weights = [[1 / odds_below(entry) for entry in row] for row in distances]
    law = FiniteMechanism.from_weights(weights)
    assert 1.1 < privacy_level(law, distances).lower < 2
    with pytest.raises(CertificateRefused, match="more than the metric hides"):
        honouring(metric, law, "printed")
    assert privacy_level(halved_exponential(metric).law, distances).upper <= 1


def test_dense_grids_of_the_plane_have_no_laplace_mechanism():
    with pytest.raises(UnsupportedCombination, match=r"would need the scale -0\.04"):
        finite_laplace(grid(5, Fraction(1, 2)))
    assert halved_exponential(grid(5, Fraction(1, 2))).law.secrets == 25


def test_secrets_that_are_never_hidden_from_each_other_are_told_apart():
    metric = dx.verify_metric(np.array([[0.0, 1.0, np.inf], [1.0, 0.0, np.inf], [np.inf, np.inf, 0.0]]))
    law = finite_laplace(metric).law
    assert law.rows[2][0] < Fraction(1, 10**9)
    assert law.rows[0][1] > Fraction(1, 10)


@pytest.mark.parametrize("build", [finite_laplace, halved_exponential])
def test_secrets_at_distance_0_are_listed_once(build):
    with pytest.raises(UnboundedLoss, match="list one of them"):
        build(dx.verify_metric(np.zeros((2, 2))))


def test_what_is_no_line_has_no_truncated_geometric_mechanism():
    with pytest.raises(CertificateRefused):
        truncated_geometric(dx.verify_metric(np.ones((4, 4)) - np.eye(4)))
    with pytest.raises(UnsupportedCombination, match="positive, finite"):
        truncated_geometric(dx.verify_metric(np.where(np.eye(3), 0, np.inf)))


def test_tables_have_a_largest_size():
    with pytest.raises(TooLarge):
        truncated_geometric_law(513, Fraction(2))
    with pytest.raises(TooLarge):
        finite_laplace(grid(17, 1))
    with pytest.raises(TooLarge):
        finite_laplace(line(10_001, 1))
    with pytest.raises(TooLarge):
        likelihood_ratio_bounds(line(2049, 1))


def test_a_hair_too_much_is_refused():
    most = Fraction(3, 2)
    hidden = likelihood_ratio_bounds_of_table([[Fraction(1), most], [most, Fraction(1)]])
    p = Fraction(6, 10)
    fair = FiniteMechanism(((p, 1 - p), (1 - p, p)))
    assert hidden.excess(fair) is None
    p += Fraction(1, 2**200)
    assert hidden.excess(FiniteMechanism(((p, 1 - p), (1 - p, p)))) == (0, 1, 0)


def test_an_answer_that_only_one_secret_gives_is_refused():
    metric = line(2, 1)
    with pytest.raises(CertificateRefused, match="odds inf"):
        honouring(metric, FiniteMechanism(((Fraction(1), Fraction(0)), (Fraction(1, 2), Fraction(1, 2)))), "leaky")


def test_a_private_table_is_never_made_by_hand():
    with pytest.raises(DxgeomError, match="never directly"):
        PrivateTable("mine", line(2, 1), truncated_geometric_law(1, Fraction(9)), Fraction(1))
    with pytest.raises(UnsupportedCombination, match="positive multiple"):
        honouring(line(2, 1), truncated_geometric_law(1, Fraction(2)), "nothing", Fraction(0))
    with pytest.raises(UnsupportedCombination, match="verified metrics only"):
        likelihood_ratio_bounds(LineMetric((Fraction(0), Fraction(1)), Fraction(1)))


@given(
    st.lists(st.lists(st.floats(-1, 1), min_size=4, max_size=4), min_size=4, max_size=4),
    st.sampled_from([1e-12, 1e-9, 1e-6]),
)
@settings(max_examples=40)
def test_a_law_that_is_a_little_off_is_repaired_to_be_private_exactly(noise, size):
    metric = line(4, 1)
    ideal = truncated_geometric(metric).law
    weights = [
        [max(p + Fraction(e) * Fraction(size), Fraction(0)) for p, e in zip(row, errors, strict=True)]
        for row, errors in zip(ideal.rows, noise, strict=True)
    ]
    hidden = likelihood_ratio_bounds(metric)
    law = rounded_and_mixed(weights, hidden)
    table = [[odds_below(entry) for entry in row] for row in along(4, 1)]
    assert is_private(law, table)
    moved = max(abs(p - q) for r, s in zip(law.rows, ideal.rows, strict=True) for p, q in zip(r, s, strict=True))
    assert moved < 60 * size


def test_what_is_far_from_private_is_not_repaired():
    with pytest.raises(CertificateRefused, match="too far"):
        rounded_and_mixed([[Fraction(9), Fraction(1)], [Fraction(1), Fraction(9)]], likelihood_ratio_bounds(line(2, 1)))
    with pytest.raises(DxgeomError, match="positive sum"):
        rounded_and_mixed([[Fraction(0), Fraction(0)], [Fraction(1), Fraction(9)]], likelihood_ratio_bounds(line(2, 1)))


def test_draws_follow_their_row():
    """A correct sampler fails with a chance of 1e-8."""
    law = truncated_geometric_law(4, Fraction(3, 2))
    randomness = InsecureSeededRandomness(31)
    for secret in (0, 2):
        counts = np.bincount([law.draw(secret, randomness) for _ in range(30_000)], minlength=5)
        assert stats.chisquare(counts, [30_000 * float(p) for p in law.rows[secret]]).pvalue > 1e-8


def test_an_impossible_answer_is_never_drawn():
    law = FiniteMechanism(((Fraction(0), Fraction(1, 2), Fraction(0), Fraction(1, 2), Fraction(0)),))
    randomness = InsecureSeededRandomness(32)
    assert {law.draw(0, randomness) for _ in range(200)} == {1, 3}
    with pytest.raises(IndexError):
        law.draw(1, randomness)
    with pytest.raises(IndexError):
        law.draw(-1, randomness)


weights = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)


@given(st.lists(weights, min_size=3, max_size=3), st.lists(st.integers(0, 5), min_size=9, max_size=9), weights)
@settings(max_examples=30)
def test_no_other_remap_loses_less_than_the_bayes_remap(rows, costs, prior):
    law = FiniteMechanism.from_weights(rows)
    losses = [[Fraction(cost) for cost in costs[3 * x : 3 * x + 3]] for x in range(3)]
    prior = [Fraction(p, sum(prior)) for p in prior]
    best = min(
        law.followed_by((a, b, c), 3).expected_loss(prior, losses) for a in range(3) for b in range(3) for c in range(3)
    )
    assert remapped_loss(law, prior, losses) == best


def test_a_remap_hides_at_least_as_much():
    metric = line(5, 1)
    table = truncated_geometric(metric)
    guessed = table.with_best_guesses(
        [Fraction(1, 2), Fraction(1, 8), Fraction(1, 8), Fraction(1, 8), Fraction(1, 8)], absolute(5)
    )
    assert guessed.name == "truncated geometric, remapped"
    assert privacy_level(guessed.law, along(5, 1)).upper <= 1
    assert guessed.fingerprint != table.fingerprint


def test_losses_priors_and_remaps_that_do_not_fit_are_refused():
    law = truncated_geometric_law(2, Fraction(2))
    for wrong in (
        lambda: law.expected_loss([Fraction(1)], absolute(3)),
        lambda: law.expected_loss(uniform(3), absolute(2)),
        lambda: law.followed_by([0, 1], 3),
        lambda: law.followed_by([0, 1, 3], 3),
        lambda: bayes_remap(law, uniform(3), absolute(2)),
        lambda: bayes_remap(law, uniform(3), [[Fraction(0)], [Fraction(0)], []]),
        lambda: optimal_table(line(3, 1), uniform(3), absolute(2)),
        lambda: optimal_table(line(3, 1), uniform(3), absolute(3), stretch=Fraction(1, 2)),
        lambda: FiniteMechanism.from_weights([[Fraction(0)]]),
        lambda: likelihood_ratio_bounds_of_table([[Fraction(1), Fraction(2)], [Fraction(3), Fraction(1)]]),
        lambda: likelihood_ratio_bounds_of_table([[Fraction(1), Fraction(1, 2)], [Fraction(1, 2), Fraction(1)]]),
    ):
        with pytest.raises(DxgeomError):
            wrong()


def test_a_spanner_keeps_the_distances_it_promises():
    points = np.random.default_rng(3).random((40, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    first, second = np.triu_indices(40, 1)
    for stretch in (1.0, 1.2, 2.0):
        kept = greedy_spanner(40, first, second, distances[first, second], stretch)
        paths = np.where(np.eye(40), 0, np.inf)
        paths[first[kept], second[kept]] = distances[first[kept], second[kept]]
        closed = dx.repair_metric(np.minimum(paths, paths.T)).entries
        assert np.all(closed <= distances * stretch * (1 + 1e-9))
    assert len(kept) < 100


def test_on_a_line_only_neighbours_remain():
    first, second = np.triu_indices(9, 1)
    kept = greedy_spanner(9, first, second, (second - first).astype(float), 1.0)
    assert [(first[k], second[k]) for k in kept] == [(i, i + 1) for i in range(8)]


def test_a_stretched_programme_is_private_and_loses_little_more():
    metric = grid(3, 1)
    losses = [[Fraction(abs(x // 3 - w // 3) + abs(x % 3 - w % 3)) for w in range(9)] for x in range(9)]
    best = optimal_table(metric, uniform(9), losses)
    loose = optimal_table(metric, uniform(9), losses, stretch=Fraction(6, 5))
    for table in (best, loose):
        assert privacy_level(table.law, exact_table(metric)).upper <= 1
    assert best.expected_loss(uniform(9), losses) <= loose.expected_loss(uniform(9), losses)
    assert loose.expected_loss(uniform(9), losses) < best.expected_loss(uniform(9), losses) * Fraction(3, 2)


def test_no_table_loses_less_than_the_optimal_one():
    metric = grid(3, 1)
    losses = [[Fraction((x // 3 - w // 3) ** 2 + (x % 3 - w % 3) ** 2) for w in range(9)] for x in range(9)]
    prior = [Fraction(k + 1, 45) for k in range(9)]
    best = optimal_table(metric, prior, losses, Fraction(1, 2))
    assert best.spend == Fraction(1, 2)
    assert privacy_level(best.law, exact_table(metric)).upper <= 0.5
    other = halved_exponential(metric, Fraction(1, 2)).with_best_guesses(prior, losses)
    assert best.expected_loss(prior, losses) <= other.expected_loss(prior, losses) * (1 + Fraction(1, 10**6))


def test_a_programme_with_too_many_constraints_says_how_to_shrink_it():
    far = np.abs(np.subtract.outer(np.arange(60.0), np.arange(60.0))) + 100
    np.fill_diagonal(far, 0)
    with pytest.raises(TooLarge, match="larger stretch"):
        optimal_table(dx.verify_metric(far), uniform(60), [[Fraction(0)] * 120] * 60)


def test_secrets_at_distance_0_have_no_programme():
    with pytest.raises(UnboundedLoss):
        optimal_table(dx.verify_metric(np.zeros((2, 2))), uniform(2), absolute(2))


def test_a_table_that_is_no_metric_never_gets_here():
    with pytest.raises(NotAMetric):
        dx.verify_metric([[0, 5, 1], [5, 0, 1], [1, 1, 0]])


def test_the_loss_of_each_secret_is_exact():
    law = truncated_geometric_law(1, Fraction(3))
    assert law.expected_losses(absolute(2)) == (Fraction(1, 4), Fraction(1, 4))
    assert law.expected_loss(uniform(2), absolute(2)) == Fraction(1, 4)
    assert math.isclose(float(law.rows[0][0]), 0.75)
