"""Noise for whole tables of counts: reference figures, the general solver, exact budgets, exact answers that agree."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dxgeom as dx
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.gaussian.mechanism import best_gaussian, gaussian_space
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.loads import within_budgets
from dxgeom.mechanisms.parts.scales import LAPLACE, NORMAL, best_gaussian_scales, best_laplace_scales, cell_variances
from dxgeom.mechanisms.parts.table_candidates import marginal_gaussian, marginal_laplace, marginal_space, proved
from dxgeom.mechanisms.parts.tables import MarginalQuestion, family_of
from dxgeom.numeric.randomness import InsecureSeededRandomness

SIX = (2, 5, 7, 16, 15, 2)
"""Sizes, ways, and the least total error: Laplace in these tables alone, with smaller ones, Gaussian at equal d."""
FIGURES = [
    (SIX, 2, 152_049, 112_558, 5_604.5),
    (SIX, 3, 4_622_579, 2_854_132, 71_173),
    ((2,) * 20, 2, 2_194_880, 606_480, 6_332.48),
    ((4,) * 4, 2, 6_912, 4_752, 393.272),
]


def question(sizes, ways, constants=None, presence=math.inf):
    asked = list(itertools.combinations(range(len(sizes)), ways))
    constants = np.ones(len(sizes)) if constants is None else np.array(constants)
    return MarginalQuestion(family_of(sizes, asked), constants, presence, np.ones(len(asked)))


def policy(sizes, epsilons, presence=None, privacy="pure"):
    names = [f"a{place}" for place in range(len(sizes))]
    rules = [{"change": name, "epsilon": epsilon} for name, epsilon in zip(names, epsilons, strict=True) if epsilon]
    free = [] if all(epsilons) else [("unconnected", "allow")]
    return dx.Policy.from_dict(
        {
            "policy": "tables",
            "universe": {
                "attributes": {
                    name: {"values": [f"v{code}" for code in range(size)]}
                    for name, size in zip(names, sizes, strict=True)
                }
            },
            "rules": rules + ([{"presence": True, "epsilon": presence}] if presence else []),
            "privacy": privacy,
            "budget": 10,
            **dict(free),
        }
    )


def space(sizes, epsilons, presence=None, privacy="pure", groups=None, factors=None, worst=False, ways=2):
    own = policy(sizes, epsilons, presence, privacy)
    queries = dx.LinearQueries.marginals(own.universe, groups, ways=None if groups else ways)
    return marginal_space(sensitivity_of(own.compile(), queries), factors, worst), queries


@pytest.mark.parametrize(("sizes", "ways", "alone", "laplace", "gaussian"), FIGURES)
def test_total_errors_are_those_of_reference(sizes, ways, alone, laplace, gaussian):
    asked = question(sizes, ways)
    best = best_gaussian_scales(asked)
    assert best.value == pytest.approx(gaussian, rel=1e-5)
    assert best.gap < 1e-9
    pure = best_laplace_scales(asked)
    assert pure.value <= laplace * (1 + 1e-5) < alone
    assert pure.value > best.bound


PUBLISHED = [
    ((100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2), (3.047, 6.359, 10.515, 10.665)),
    ((100, 50, 7, 4, 2), (1.744, 2.035, 2.048, 2.276)),
    ((101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15), (2.875, 5.634, 8.702, 8.876)),
]
"""Adult, CPS, Loans in arXiv 2305.08175: errors of one-, two-, three-way tables and of all up to three, at cost 1."""


@pytest.mark.parametrize(("sizes", "figures"), PUBLISHED)
def test_errors_under_ordinary_privacy_are_those_that_residual_planner_prints(sizes, figures):
    for ways, figure in zip(((1,), (2,), (3,), (0, 1, 2, 3)), figures, strict=True):
        asked = [one for way in ways for one in itertools.combinations(range(len(sizes)), way)]
        nothing = np.full(len(sizes), math.inf)
        question = MarginalQuestion(family_of(sizes, asked), nothing, 1.0, np.ones(len(asked)))
        cells = float(question.family.cells[question.family.workload_sets].sum())
        assert math.sqrt(best_gaussian_scales(question).value / cells) == pytest.approx(figure, abs=5.1e-4)


def test_cells_of_one_marginal_have_one_variance_and_add_up_to_the_total():
    asked = question(SIX, 3)
    best = best_gaussian_scales(asked)
    cells = asked.family.cells[asked.family.workload_sets]
    assert float((cell_variances(asked, best.variances) * cells).sum()) == pytest.approx(best.value, rel=1e-12)


def test_the_worst_cell_is_as_good_as_its_bound():
    asked = question((2, 3, 4), 2)
    best = best_gaussian_scales(asked, worst=True)
    assert float(cell_variances(asked, best.variances).max()) == pytest.approx(best.value, rel=1e-12)
    assert 0 <= best.gap < 1e-6


@pytest.mark.parametrize("sizes", [SIX, (2, 3, 5, 4, 7, 9, 3)])
def test_the_worst_cell_of_many_unlike_tables_is_as_good_as_its_bound(sizes):
    best = best_gaussian_scales(question(sizes, 2), worst=True)
    assert 0 <= best.gap < 1e-6


@pytest.mark.parametrize("presence", [None, "0.7"])
@pytest.mark.parametrize("epsilons", [(1, 1, 1), (1, "0.5", 2), (1, None, 2)])
def test_the_general_solver_finds_no_better_covariance(epsilons, presence):
    found, _ = space((2, 3, 4), epsilons, presence, "concentrated")
    general = best_gaussian(gaussian_space(found.sensitivity, None, False), found.sensitivity, None)
    mechanism = marginal_gaussian(found)
    assert float(mechanism.ideal_variances.sum()) == pytest.approx(general.value, rel=1e-8)
    assert found.bound == pytest.approx(general.bound, rel=1e-8)


def test_the_general_solver_agrees_where_some_tables_count_more_and_cells_of_one_alike():
    queries = dx.LinearQueries.marginals(policy((3, 4, 2), (1, 1, 1)).universe, [["a0", "a1"], ["a1", "a2"], ["a2"]])
    factors = np.array([3.0] * 12 + [1.0] * 8 + [10.0] * 2)
    own = policy((3, 4, 2), (1, 1, 1), privacy="concentrated")
    sensitivity = sensitivity_of(own.compile(), queries)
    found = marginal_space(sensitivity, factors, False)
    general = best_gaussian(gaussian_space(sensitivity, factors, False), sensitivity, None)
    assert found.best.value == pytest.approx(general.value, rel=1e-8)
    worst = marginal_space(sensitivity, factors, True)
    general = best_gaussian(gaussian_space(sensitivity, factors, True), sensitivity, None)
    assert worst.best.value == pytest.approx(general.value, rel=1e-6)
    assert worst.bound <= general.value


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_no_difference_is_heavier_than_its_distance_by_the_covariance_or_the_scales(privacy):
    """By another route: the noise of the answers themselves, against every difference that the policy generates."""
    found, _ = space((2, 3, 4), (1, "0.5", 2), "0.7", privacy)
    mechanism = (marginal_laplace if privacy == "pure" else marginal_gaussian)(found)
    sensitivity = mechanism.sensitivity
    steps = sensitivity.queries.float_steps
    if privacy == "concentrated":
        rows = mechanism.float_mixing
        covariance = rows @ mechanism.law.second_moment @ rows.T
        changes = sensitivity.differences * steps
        loads = np.einsum("ek,kl,el->e", changes, np.linalg.pinv(covariance, rcond=1e-10), changes)
        back = changes @ np.linalg.pinv(covariance, rcond=1e-10) @ covariance
        assert np.allclose(back, changes, atol=1e-8)
        assert np.all(np.sqrt(loads) <= sensitivity.bounds * (1 + 1e-9))
        assert np.max(np.sqrt(loads) / sensitivity.bounds) == pytest.approx(1, abs=1e-6)
    else:
        assert _largest_odds(mechanism) <= 1 + 1e-12


def _largest_odds(mechanism):
    """max_e of the least Σ |w_j|/b_j over shifts w of the noise that move the answers as the difference does."""
    from scipy.optimize import linprog

    sensitivity, rows = mechanism.sensitivity, mechanism.mixing.floats
    scales, largest = mechanism.law.laplace_scales, 0.0
    both = np.hstack([rows, -rows])
    for change, bound in zip(sensitivity.differences, sensitivity.bounds, strict=True):
        found = linprog(np.tile(1 / scales, 2), A_eq=both, b_eq=change, bounds=(0, None))
        assert found.status == 0
        largest = max(largest, found.fun / bound)
    return largest


@pytest.mark.parametrize(("presence", "privacy"), list(itertools.product([None, "0.7"], ["pure", "concentrated"])))
def test_answers_agree_exactly_and_are_as_wrong_as_predicted(presence, privacy):
    found, queries = space((2, 3, 4), (1, "0.5", 2), presence, privacy)
    mechanism = (marginal_laplace if privacy == "pure" else marginal_gaussian)(found)
    histogram = np.random.default_rng(0).integers(0, 30, mechanism.metric.size)
    if mechanism.absent is not None:
        histogram[mechanism.absent] = 0
    drawn = mechanism.draws(histogram, Fraction(1, 2), 4000, InsecureSeededRandomness(1))
    answer = np.array(drawn[0], dtype=object)
    first, second = answer[:6].reshape(2, 3), answer[6:14].reshape(2, 4)
    assert list(first.sum(axis=1)) == list(second.sum(axis=1))
    assert presence is not None or answer[:6].sum() == histogram.sum()
    errors = np.array([[float(value) for value in one] for one in drawn]) - [
        float(a) for a in queries.answers(histogram)
    ]
    expected = mechanism.variances(Fraction(1, 2))
    assert np.allclose((errors**2).mean(axis=0), expected, rtol=0.25)
    assert float((errors**2).mean(axis=0).sum()) == pytest.approx(float(expected.sum()), rel=0.05)
    assert np.all(np.abs(errors.mean(axis=0)) < 6 * np.sqrt(expected / len(drawn)))


@pytest.mark.long
def test_the_law_of_the_rounded_normal_numbers_in_two_dimensions_by_cells():
    """χ² of a draw's two differences, over cells; a correct law fails with a chance below 1e-6 (the seed is fixed)."""
    from dxgeom.noise.triangular import DifferencedNormals

    law = DifferencedNormals(1.3, np.array([3.0]))
    drawn = law.draw(2_000_000, InsecureSeededRandomness(5))
    edges = np.arange(-3, 3)
    normal = stats.multivariate_normal(cov=law.second_moment)
    expected, seen = [], []
    for one, two in itertools.product(edges, edges):
        corners = [(x + dx_, y + dy) for x, y in [(one, two)] for dx_ in (0.5, -0.5) for dy in (0.5, -0.5)]
        signs = [1, -1, -1, 1]
        expected.append(sum(sign * normal.cdf(corner) for sign, corner in zip(signs, corners, strict=True)))
        seen.append(int(np.sum((drawn[:, 0] == one) & (drawn[:, 1] == two))))
    expected, seen = np.append(expected, 1 - sum(expected)) * len(drawn), np.append(seen, len(drawn) - sum(seen))
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-6


def test_scales_that_are_a_trifle_too_small_are_refused():
    found, _ = space((2, 3, 4), (1, "0.5", 2), "0.7")
    for name, build in ((LAPLACE, marginal_laplace),):
        scales = build(found).mixing.measured.scales
        assert within_budgets(found.family, found.distance_bounds, scales, normal=False)
        tight = np.where(scales > 0, scales * (1 - 1e-12), 0.0)
        assert not within_budgets(found.family, found.distance_bounds, tight, normal=False)
        with pytest.raises(CertificateRefused):
            proved(name, found, tight)


def test_a_residual_without_noise_is_refused():
    found, _ = space((2, 3, 4), (1, 1, 1), privacy="concentrated")
    scales = marginal_gaussian(found).mixing.measured.scales.copy()
    scales[-1] = 0.0
    with pytest.raises(CertificateRefused):
        proved(NORMAL, found, scales * 10)


def test_laplace_noise_that_leaves_a_residual_without_any_is_refused():
    """A plan file may state any scales: of one wide table alone nobody would learn more than its budget, but all other
    tables would be released as they are."""
    found, _ = space((3, 3, 3), (1, 1, 1))
    scales = np.zeros(2 * found.family.count)
    scales[found.family.workload_sets[0]] = 100.0
    with pytest.raises(CertificateRefused):
        proved(LAPLACE, found, scales)


def test_differences_alone_leave_what_they_do_not_tell_without_noise():
    found, _ = space((2, 3), (1, 1), groups=[["a0", "a1"]])
    scales = np.zeros(2 * found.family.count)
    scales[found.family.count + found.family.workload_sets[0]] = 100.0
    with pytest.raises(CertificateRefused):
        proved(LAPLACE, found, scales)


def test_tables_that_hardly_count_get_noise_nevertheless():
    found, _ = space((3, 3, 3), (1, 1, 1), factors=np.array([1.0] * 9 + [1e-30] * 18))
    scales = marginal_laplace(found).mixing.measured.scales
    assert np.all(scales[found.family.workload_sets] > 0)


def test_a_budget_is_summed_exactly():
    """Eight tables of ⅛ each fill a budget of 1, and one unit in the last place less does not fit."""
    asked = [(0, place) for place in range(1, 9)]
    family = family_of([2] * 9, asked)
    scales = np.zeros(family.count)
    scales[family.workload_sets] = 16.0
    from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds

    ones = (Fraction(1), *[None] * 8)
    promise = DistanceBounds(ones, ones, None)
    assert within_budgets(family, promise, scales, normal=False)
    scales[family.workload_sets[3]] = np.nextafter(16.0, 0)
    assert not within_budgets(family, promise, scales, normal=False)


def test_tables_are_recognised_whatever_wrote_them():
    own = policy((2, 3, 4), (1, 1, 1), "0.7")
    queries = dx.LinearQueries.marginals(own.universe, [["a1", "a0"], ["a2"]])
    found = marginal_space(sensitivity_of(own.compile(), queries), None, False)
    assert found.tables.attribute_sets == ((0, 1), (2,))
    assert [len(one) for one in found.tables.queries] == [6, 4]


def test_what_is_no_whole_table_is_refused():
    own = policy((2, 3), (1, 1))
    whole = dx.LinearQueries.marginals(own.universe, [["a0", "a1"]])
    with pytest.raises(TooLarge, match="not whole tables"):
        marginal_space(sensitivity_of(own.compile(), whole.only(range(5))), None, False)
    ranges = dx.LinearQueries.kronecker(["x"], own.universe, {"a0": [1, 2]})
    with pytest.raises(TooLarge, match="not whole tables"):
        marginal_space(sensitivity_of(own.compile(), ranges), None, False)


def test_an_attribute_with_other_distances_is_given_its_least_and_bounded_by_its_most():
    own = dx.Policy.from_dict(
        {
            "policy": "line",
            "privacy": "concentrated",
            "universe": {"attributes": {"age": {"range": [0, 4], "step": 1}, "sex": {"values": ["f", "m"]}}},
            "rules": [{"change": "age", "epsilon": 1, "per": 1}, {"change": "sex", "epsilon": 1}],
        }
    )
    queries = dx.LinearQueries.marginals(own.universe, [["age", "sex"]])
    sensitivity = sensitivity_of(own.compile(), queries)
    found = marginal_space(sensitivity, None, False)
    assert [float(one) for one in found.distance_bounds.least] == pytest.approx([1, 1], rel=1e-14)
    assert not found.optimal
    general = best_gaussian(gaussian_space(sensitivity, None, False), sensitivity, None)
    assert found.bound <= general.value <= found.best.value * (1 + 1e-9)


def test_scales_that_leave_a_protected_part_without_noise_are_refused():
    policy = dx.Policy.from_dict(
        {
            "policy": "p",
            "universe": {"attributes": {"a": {"values": ["x", "y", "z"]}, "b": {"values": ["u", "v"]}}},
            "rules": [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": 1}],
        }
    )
    metric, queries = policy.compile(), dx.LinearQueries.marginals(policy.universe, ways=2)
    whole = dx.universe.MarginalQueries.of(policy.universe, ways=2)
    space = marginal_space(sensitivity_of(metric, queries), None, worst=False)
    made, forged = dx.plan(metric, whole, mechanism="marginal-laplace").mechanism, np.zeros(8)
    forged[1] = 4.0  # the table of one attribute alone, within every budget
    with pytest.raises(CertificateRefused):
        proved("marginal-laplace", space, forged)
    with pytest.raises(CertificateRefused):
        dataclasses.replace(made, scales=forged)
    with pytest.raises(CertificateRefused, match="'bases' are a tuple"):
        dataclasses.replace(made, bases=None)
