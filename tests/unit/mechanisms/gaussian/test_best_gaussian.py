"""The best covariance: known optima, certificates by another route, exact spans, containment, bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb_mat, ctx

import dxgeom as dx
from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.gaussian.design import PairedShifts, Problem, ScaledPoints, WeighedColumns, fidelity_at
from dxgeom.mechanisms.gaussian.mechanism import exact_span_of, hiding_gaussian
from dxgeom.mechanisms.gaussian.program import GAP, best_covariance
from dxgeom.mechanisms.linear import containment
from dxgeom.mechanisms.linear.containment import require_hiding


def pairs(rows):
    first, second = np.triu_indices(len(rows), 1)
    return rows[first] - rows[second]


def largest_load(axes, points):
    """max_e v_eᵀΣ⁻¹v_e, by Σ itself in 200 bits."""
    with ctx.workprec(200):
        covariance = arb_mat(axes.tolist()) * arb_mat(axes.tolist()).transpose()
        inverse = covariance.inv()
        loads = [(arb_mat([point]) * inverse * arb_mat([point]).transpose())[0, 0].upper() for point in points.tolist()]
        return max(float(load) for load in loads)


@pytest.mark.parametrize(
    ("points", "optimum"),
    [
        (np.eye(5), 25 / 5),  # every answer has a record of its own: variance 1 each
        (np.array([[1.0], [-0.5]]), 1.0),
        (pairs(np.eye(2))[:, :1], 1.0),
        (np.tril(np.ones((64, 64))), 282.201421),  # prefixes, presence at d = 1
    ],
)
def test_known_optima(points, optimum):
    found = best_covariance(points, np.eye(points.shape[1]))
    assert found.value == pytest.approx(optimum, rel=1e-8)
    assert abs(found.gap) <= GAP


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_value_and_bound_hold_by_another_route(seed, worst):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2 + seed, (25, 5)).astype(float)
    points = pairs(rows)
    points = points[np.any(points != 0, axis=1)] / rng.uniform(0.2, 2, np.any(points != 0, axis=1).sum())[:, None]
    answers = rng.normal(size=(7, 5))
    found = best_covariance(points, answers, worst)
    assert found.gap <= GAP
    assert largest_load(found.axes, points) <= 1 + 1e-12
    variances = np.sum((answers @ found.axes) ** 2, axis=1)
    assert (variances.max() if worst else variances.sum()) == pytest.approx(found.value, rel=1e-10)
    # The bound: tr (A^½·C·A^½)^½ is the sum of the singular values of any product of roots of A and C.
    costs = found.costs / found.costs.sum() if worst else np.ones(len(answers))
    product = (points[found.places] * np.sqrt(found.weights)[:, None]) @ (answers * np.sqrt(costs)[:, None]).T
    assert np.linalg.svd(product, compute_uv=False).sum() ** 2 == pytest.approx(found.bound, rel=1e-10)
    assert np.all(found.weights >= 0) and found.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("size", [6, 70])
def test_derivatives_are_those_of_the_function(size):
    rng = np.random.default_rng(size)
    points, answers = rng.normal(size=(size + 4, size)), rng.normal(size=(size + 2, size))
    weights, costs = rng.uniform(0.5, 1, size + 4), rng.uniform(0.5, 1, size + 2)
    here, _ = fidelity_at(weights, points, costs, answers)
    step = 1e-5
    up, _ = fidelity_at(weights + step * np.eye(len(weights))[1], points, costs, answers)
    down, _ = fidelity_at(weights - step * np.eye(len(weights))[1], points, costs, answers)
    assert (up.value - down.value) / step == pytest.approx(here.loads[1], rel=1e-6)
    bent = here.curvature(True)
    curvature = np.column_stack([bent.times(one) for one in np.eye(len(weights) + len(costs))])
    assert bent.diagonal == pytest.approx(np.diag(curvature), rel=1e-4)
    assert (down.loads - up.loads) / (2 * step) == pytest.approx(
        curvature[1, : len(weights)], rel=2e-2, abs=1e-2 * np.abs(curvature).max()
    )
    assert (down.variances - up.variances) / (2 * step) == pytest.approx(
        curvature[1, len(weights) :], rel=2e-2, abs=1e-2 * np.abs(curvature).max()
    )
    more, _ = fidelity_at(weights, points, costs + step * np.eye(len(costs))[2], answers)
    less, _ = fidelity_at(weights, points, costs - step * np.eye(len(costs))[2], answers)
    assert (more.value - less.value) / step == pytest.approx(here.variances[2], rel=1e-6)
    assert (less.variances - more.variances) / (2 * step) == pytest.approx(
        curvature[len(weights) + 2, len(weights) :], rel=2e-2, abs=1e-2 * np.abs(curvature).max()
    )


@pytest.mark.parametrize("size", [1, 2**44, 2**56])
@pytest.mark.parametrize("seed", range(6))
def test_spans_are_exact_and_answers_that_follow_are_told_apart_from_those_that_nearly_do(seed, size):
    """In float64 while every sum is exact there, in integers of 64 bits while these hold them, and of any size."""
    rng = np.random.default_rng(seed)
    free = rng.integers(-9, 10, (400, 4)) * size + rng.integers(-9, 10, (400, 4))
    follows = np.array([[1, 1, 0, 0], [2, -3, 1, 0], [0, 0, 0, 0]])
    differences = np.hstack([free, free @ follows.T])
    span = exact_span_of(differences)
    assert len(span.pivots) == 4
    assert np.all(differences[:, span.pivots].astype(object) @ span.combinations.T == differences)
    # One difference in 400 that does not follow makes another dimension.
    differences[int(rng.integers(400)), 5] += 1
    assert len(exact_span_of(differences).pivots) == 5


def test_a_covariance_that_is_too_small_is_stretched_and_proved():
    rng = np.random.default_rng(1)
    shifts = rng.integers(-50, 51, (300, 3))
    bounds = rng.uniform(0.1, 2, 300)
    axes = np.tril(rng.normal(size=(3, 3))) + 2 * np.eye(3)
    law = hiding_gaussian(axes, lambda law: containment.largest_load(law, shifts, bounds))
    loads = [largest_load(law.body.axes, (shift / bound)[None]) for shift, bound in zip(shifts, bounds, strict=True)]
    assert 1 - 1e-9 < max(loads) <= 1 + 1e-12


def mechanism(privacy="concentrated", rows=((1, 0, 0, 0), (0, 1, 2, 3), (0, 0, 1, 1))):
    matrix = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) * 0.75
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], np.array(rows))
    return dx.plan(dx.verify_metric(matrix, privacy=privacy), queries)


def test_a_mechanism_with_less_noise_is_refused():
    found = mechanism().mechanism
    require_hiding(found)
    less = dx.noise.GaussianNoise(dx.geometry.Ellipsoid(found.law.body.axes * (1 - 1e-7)))
    with pytest.raises(CertificateRefused, match="too narrow"):
        require_hiding(type(found)(found.name, found.sensitivity, less, found.mixing))


def test_bounds_have_names_and_an_order():
    plan, pure = mechanism(), mechanism("pure")
    assert plan.mechanism.name == "gaussian"
    assert plan.covariance_gap <= GAP
    assert set(plan.bounds) == set(pure.bounds) == {"gaussian", "additive", "unbiased"}
    assert 0 < plan.bounds["unbiased"] < plan.bounds["gaussian"] == plan.bounds["additive"] == plan.lower_bound
    assert plan.objective.loss(plan.mechanism.ideal_variances) >= plan.lower_bound
    # Pure privacy is concentrated: what no Gaussian beats, no pure additive noise does, with twice as much at least.
    assert pure.bounds["gaussian"] == pytest.approx(plan.bounds["gaussian"], rel=1e-8)
    assert pure.bounds["additive"] >= max(pure.lower_bound, 2 * pure.bounds["gaussian"])
    assert pure.lower_bound == pytest.approx(pure.bounds["additive"], rel=0.02)
    assert pure.loss > pure.bounds["additive"]
    # 4·sinh²(d/2) and e^{d²} − 1 are both nearly d² for small d.
    assert pure.bounds["unbiased"] < pure.bounds["gaussian"]


def test_bounds_of_one_count_are_closed_forms():
    rows = ((1, 0),)
    matrix, queries = [[0, 0.5], [0.5, 0]], dx.LinearQueries.from_matrix(["q"], np.array(rows))
    plan = dx.plan(dx.verify_metric(matrix, privacy="concentrated"), queries)
    assert plan.bounds["gaussian"] == pytest.approx(4, rel=1e-8)
    assert plan.bounds["unbiased"] == pytest.approx(1 / np.expm1(0.25), rel=1e-6)
    pure = dx.plan(dx.verify_metric(matrix), queries)
    assert pure.bounds["unbiased"] == pytest.approx(1 / (4 * np.sinh(0.25) ** 2), rel=1e-6)
    assert pure.bounds["additive"] == pytest.approx(8, rel=1e-6)


def test_currencies_are_compared_at_equal_distance_and_at_equal_epsilon():
    compared = mechanism().privacy_measures
    assert compared.ratio > 1
    epsilons = list(compared.at_equal_epsilon.values())
    assert epsilons == sorted(epsilons, reverse=True) and max(epsilons) < 1
    assert "for one release" in compared.lines()[1] and "Gaussian noise for many" in compared.lines()[1]
    assert mechanism("pure").privacy_measures is None


def test_worst_answers_and_wanted_errors_get_gaussian_noise_too():
    matrix = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) * 0.75
    queries = dx.LinearQueries.from_matrix(["a", "b"], np.array([[1, 0, 0, 0], [0, 1, 2, 3]]))
    metric = dx.verify_metric(matrix, privacy="concentrated")
    worst = dx.plan(metric, queries, objective="max")
    assert worst.mechanism.name == "gaussian" and worst.covariance_gap <= GAP
    wanted = dx.plan(metric, queries, errors=[4, 8])
    assert wanted.mechanism.name == "gaussian"
    assert np.all(wanted.rmse(wanted.least_spend) <= np.array([4, 8]) * (1 + 1e-9))
    assert wanted.least_spend < dx.plan(metric, queries, errors=[4, 8], mechanism="laplace").least_spend


def test_answers_that_follow_from_others_get_the_same_combination_of_noise():
    rows = ((1, 0, 0, 0), (0, 1, 1, 0), (0, 0, 0, 1), (1, 1, 1, 0), (1, 1, 1, 1))
    plan = mechanism(rows=rows)
    assert plan.mechanism.name == "gaussian" and plan.mechanism.law.dimension == 2
    values = plan.mechanism.draw(np.array([5, 6, 7, 8]), Fraction(1, 2), dx.noise.SystemRandomness())
    assert values[0] + values[1] == values[3] and values[4] == 26 and sum(values[:3]) == 26


def test_a_million_differences_in_ten_dimensions_have_a_certificate():
    points = pairs(np.random.default_rng(0).normal(size=(600, 10)))
    found = best_covariance(points, np.eye(10))
    assert found.gap <= GAP and len(found.places) < 200


def test_an_optimum_that_very_many_differences_share_has_a_certificate():
    """Prefixes of 64 under replacement: a thousand of 2,016 differences have weight."""
    found = best_covariance(pairs(np.tril(np.ones((64, 64)))[:, 1:]), np.eye(63))
    assert found.gap <= GAP
    assert found.value == pytest.approx(385.948949, rel=1e-8)


def interrupted_below(points, gap):
    """The search, interrupted when it says that the gap is smaller."""

    def interrupt(words):
        if float(words.rsplit(" ", 1)[1]) < gap:
            raise KeyboardInterrupt

    return best_covariance(points, np.eye(points.shape[1]), progress=interrupt)


def test_an_interrupt_leaves_the_best_so_far_with_its_gap():
    points = pairs(np.random.default_rng(3).normal(size=(60, 20)))
    found = interrupted_below(points, 1e-2)
    assert GAP < found.gap < 1e-2
    assert largest_load(found.axes, points) <= 1 + 1e-12


def test_an_early_interrupt_leaves_what_its_weights_prove():
    """While weights are still multiplied, and no covariance was kept: the first one is made of what there is."""
    points = pairs(np.random.default_rng(3).normal(size=(60, 20)))
    told = []

    def interrupt(words):
        told.append(words)
        if len(told) == 2:
            raise KeyboardInterrupt

    found = best_covariance(points, np.eye(20), progress=interrupt)
    assert GAP < found.gap < np.inf
    assert largest_load(found.axes, points) <= 1 + 1e-12
    assert found.bound < best_covariance(points, np.eye(20)).value < found.value


def test_an_interrupt_before_anything_was_found_is_one():
    with pytest.raises(KeyboardInterrupt):
        interrupted_below(pairs(np.random.default_rng(3).normal(size=(60, 20))), np.inf)


@pytest.mark.long
def test_a_hundred_queries_with_a_million_differences_have_a_certificate():
    found = best_covariance(pairs(np.random.default_rng(0).normal(size=(1414, 100))), np.eye(100))
    assert found.gap <= GAP


@pytest.mark.long
def test_two_hundred_queries_on_three_hundred_records_have_a_certificate():
    found = best_covariance(pairs(np.random.default_rng(0).normal(size=(300, 200))), np.eye(200))
    assert found.gap <= GAP


def all_pairs(count, seed):
    """Every difference of some columns, in pairs, with distances that are alike, or not; and answers."""
    generator = np.random.default_rng(seed)
    columns = generator.integers(-3, 4, (count, 6)).astype(np.float64)
    first, second = np.triu_indices(count, 1)
    distances = generator.uniform(0.5, 2.0, len(first)) if seed else np.ones(len(first))
    answers = generator.standard_normal((9, 6))
    shifts = PairedShifts(columns, first, second)
    return Problem(ScaledPoints(shifts, distances, np.ones(6)), answers, worst=False)


@pytest.mark.parametrize("seed", [0, 1])
def test_weights_on_pairs_of_columns_are_those_on_differences_laid_out(seed):
    problem = all_pairs(14, seed)
    pairs = WeighedColumns.of(problem)
    pairs.weights = np.random.default_rng(seed).random(len(problem.points))
    found, _, loads = pairs.at_once()
    same, onto = fidelity_at(pairs.weights, problem.points.rows(slice(None)), np.ones(9), problem.answers)
    assert np.allclose(found.roots, same.roots, rtol=1e-7)
    assert np.allclose(loads, same.loads, rtol=1e-6)
    assert np.allclose(found.variances, same.variances, rtol=1e-6)
    assert np.allclose(problem.points.lengths(onto / np.sqrt(same.roots)), loads, rtol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_over_all_pairs_at_once_ends_near_the_optimum(seed):
    """Held against the search to the end, which takes more multiplications than are allowed here."""
    problem = all_pairs(14, seed)
    best = best_covariance(problem.points, problem.answers)
    near = best_covariance(problem.points, problem.answers, work=3e6)
    assert near.gap < 2.1e-3 and best.gap <= 1e-9
    assert near.bound <= best.value * (1 + 1e-9) and best.bound * (1 - 1e-9) <= near.value <= best.value * (1 + 2.1e-3)
    loads = problem.points.lengths(np.linalg.inv(near.axes).T)
    assert loads.max() <= 1 + 1e-9
