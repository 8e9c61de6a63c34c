"""What a plan makes small: the total, the worst, with importance, or just the errors that were asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.laplace import max_min_laplace, optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of


def metric(size=12, seed=0):
    points = np.random.default_rng(seed).random((size, 2)) * 10
    return dx.verify_metric(
        np.round(np.linalg.norm(points[:, None] - points[None], axis=2), 6) + 0.5 * (1 - np.eye(size))
    )


def queries(count=4, size=12, seed=1):
    return dx.LinearQueries.from_matrix(
        [f"q{k}" for k in range(count)], np.random.default_rng(seed).integers(0, 4, (count, size))
    )


def feasible(sensitivity, scales):
    return np.max(np.abs(sensitivity.differences) @ (1 / scales) / sensitivity.bounds)


@pytest.mark.parametrize("seed", range(5))
def test_importance_moves_laplace_scales_to_the_weighted_optimum(seed):
    sensitivity = sensitivity_of(metric(seed=seed), queries(seed=seed))
    importance = np.random.default_rng(seed).choice([0.1, 1.0, 10.0], 4)
    rows = np.abs(sensitivity.differences) / sensitivity.bounds[:, None]
    costs = importance * sensitivity.queries.float_steps**2
    largest = rows.max(axis=0)
    costs = costs * largest**2 / np.max(costs * largest**2)
    answer = minimize(
        lambda w: np.sum(costs / w**2) / 100,
        np.full(4, 0.2),
        jac=lambda w: -2 * costs / w**3 / 100,
        constraints={"type": "ineq", "fun": lambda w: 1 - rows / largest @ w, "jac": lambda w: -rows / largest},
        bounds=[(1e-6, 1)] * 4,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    found = largest / optimal_laplace(sensitivity, importance).law.scales
    assert np.sum(costs / found**2) == pytest.approx(100 * answer.fun, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_no_scales_have_a_smaller_worst_error_than_the_fairest(seed):
    """Scales at which all weighted errors are equal are the best for the worst of them."""
    sensitivity = sensitivity_of(metric(seed=seed), queries(seed=seed))
    importance = np.random.default_rng(seed).choice([0.1, 1.0, 10.0], 4)
    equal = 1 / np.sqrt(importance) / sensitivity.queries.float_steps
    equal *= feasible(sensitivity, equal)
    worst = np.max(importance * 2 * (equal * sensitivity.queries.float_steps) ** 2)
    fairest = max_min_laplace(sensitivity, importance)
    assert np.max(importance * fairest.ideal_variances) == pytest.approx(worst, rel=1e-9)
    assert feasible(sensitivity, fairest.law.scales) <= 1
    assert np.all(fairest.ideal_variances <= 2 * (equal * sensitivity.queries.float_steps) ** 2 * (1 + 1e-8))


def test_what_the_worst_answer_does_not_need_goes_to_the_others():
    """The third query changes only where the others do not, so it keeps the noise it would have alone."""
    matrix = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    distances = np.full((4, 4), 100.0)
    distances[:2, :2] = distances[2:, 2:] = 1
    np.fill_diagonal(distances, 0)
    workload = dx.LinearQueries.from_matrix(["a", "b", "c"], matrix)
    fairest = max_min_laplace(sensitivity_of(dx.verify_metric(distances), workload))
    assert fairest.ideal_variances == pytest.approx([8, 8, 2], rel=0.1)


@pytest.mark.parametrize("objective", ["mse", "max"])
@pytest.mark.parametrize("importance", [None, [1, 10, "0.1", 3]])
def test_the_chosen_mechanism_has_the_least_loss_of_all_candidates(objective, importance):
    chosen = dx.plan(metric(), queries(), objective=objective, importance=importance, thorough=True)
    factors = np.ones(4) if importance is None else np.array([float(one) for one in importance])
    for candidate in chosen.candidates:
        weighted = factors * candidate.per_query
        assert candidate.loss == pytest.approx(weighted.sum() if objective == "mse" else weighted.max())
    assert chosen.loss <= min(candidate.loss for candidate in chosen.candidates) * (1 + 1e-8)
    assert 0 < chosen.lower_bound <= chosen.loss
    assert chosen.as_dict()["objective"] == objective


def test_each_objective_is_best_at_its_own():
    plans = {name: dx.plan(metric(), queries(), objective=name, mechanism="laplace") for name in ("mse", "max")}
    variances = {name: plan.mechanism.variances() for name, plan in plans.items()}
    assert variances["mse"].sum() < variances["max"].sum()
    assert variances["max"].max() < variances["mse"].max()


def test_root_mean_square_is_the_same_plan_as_mean_square():
    assert dx.plan(metric(), queries(), objective="rmse").fingerprint == dx.plan(metric(), queries()).fingerprint


def test_equal_importance_changes_nothing():
    plain, threefold = (dx.plan(metric(), queries(), importance=one) for one in (None, [3] * 4))
    assert threefold.mechanism.variances() == pytest.approx(plain.mechanism.variances(), rel=1e-6)
    assert threefold.loss == pytest.approx(3 * plain.loss, rel=1e-6)
    assert threefold.gap == pytest.approx(plain.gap, rel=1e-6)


def test_importance_stated_by_the_queries_holds_unless_the_caller_says_otherwise():
    asked = queries()
    stated = dx.LinearQueries(asked.names, asked.weights, asked.units, None, None, (Fraction(9), *(Fraction(1),) * 3))
    plain = dx.plan(metric(), asked, mechanism="laplace").rmse()
    assert dx.plan(metric(), stated, mechanism="laplace").rmse()[0] < plain[0]
    again = dx.plan(metric(), stated, importance=[1, 1, 1, 1], mechanism="laplace")
    assert again.rmse() == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("mechanism", ["auto", "laplace"])
def test_the_least_spend_reaches_the_errors_and_no_smaller_one_does(mechanism):
    wanted = [3, "0.5", 2, 10]
    chosen = dx.plan(metric(), queries(), errors=wanted, mechanism=mechanism)
    limits = np.array([float(one) for one in wanted])
    assert np.all(chosen.rmse(chosen.least_spend) <= limits)
    assert np.any(chosen.rmse(chosen.least_spend * Fraction("0.9999")) > limits)
    plain = dx.plan(metric(), queries(), mechanism="laplace")
    needed = np.sqrt(np.max(plain.mechanism.ideal_variances / (limits**2 - plain.mechanism.rounding_variances)))
    assert chosen.least_spend <= Fraction(float(needed)) * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"importance": [1, 2]}, "one importance for each of 4 queries, found 2"),
        ({"importance": [1, 2, 3, 0]}, "positive number"),
        ({"errors": [1, 2, 3, -1]}, "positive number"),
        ({"errors": [1]}, "one wanted error for each"),
        ({"errors": [1] * 4, "importance": [1] * 4}, "leave 'importance' out"),
        ({"objective": "least"}, "there is no objective 'least'"),
    ],
)
def test_an_objective_that_does_not_fit_is_refused(arguments, message):
    with pytest.raises(UnsupportedCombination, match=message):
        dx.plan(metric(), queries(), **arguments)


def test_the_least_spend_of_a_plan_without_wanted_errors_is_no_number():
    with pytest.raises(UnsupportedCombination, match="errors"):
        _ = dx.plan(metric(), queries()).least_spend
    tiny = dx.plan(metric(), queries(), errors=["1e-9"] * 4)
    with pytest.raises(UnsupportedCombination, match="rounding to the lattice"):
        _ = tiny.least_spend


SALARIES = """
policy: pay
universe: {attributes: {sex: [F, M], salary: {range: [0, 10000], step: 500}}}
rules: [{change: sex, epsilon: 1}, {change: salary, epsilon: 1, per: 1000}]
"""
ASKED = """
records: 5000
queries:
  - {count: sex == 'F', name: women}
  - {count: salary >= 5000, name: well paid}
  - {sum: salary, name: payroll}
"""


def payroll(asked=ASKED):
    policy = dx.parse_policy(SALARIES)
    return policy.compile(), dx.parse_queries(asked, policy)


def test_one_sum_of_salaries_does_not_spoil_the_counts_beside_it():
    metric, queries = payroll()
    balanced, total = dx.plan(metric, queries), dx.plan(metric, queries, objective="mse")
    counts = queries.by_measure["records"]
    alone = dx.plan(metric, queries.only(counts)).rmse()
    assert balanced.objective.name == "balanced"
    assert np.all(balanced.rmse()[counts] < 3 * alone)
    assert total.rmse()[counts].max() > 3 * balanced.rmse()[counts].max()
    assert total.rmse()[2] <= balanced.rmse()[2] * (1 + 1e-9)


def test_a_balanced_loss_adds_up_each_units_errors_relative_to_the_unit_alone():
    metric, queries = payroll()
    chosen = dx.plan(metric, queries, mechanism="laplace")
    assert [unit.unit for unit in chosen.units] == ["records", "salary"]
    for unit, places in zip(chosen.units, queries.by_measure.values(), strict=True):
        alone = dx.plan(metric, queries.only(places)).predicted_mse
        assert unit.ratio == pytest.approx(chosen.mechanism.variances()[places].sum() / alone, rel=1e-5)
    assert chosen.loss == pytest.approx(sum(unit.ratio for unit in chosen.units), rel=1e-9)
    assert chosen.lower_bound <= chosen.loss
    assert [unit["unit"] for unit in chosen.as_dict()["units"]] == ["records", "salary"]


def test_one_unit_needs_no_balance():
    metric, queries = payroll()
    counts = queries.only([0, 1])
    assert dx.plan(metric, counts).fingerprint == dx.plan(metric, counts, objective="mse").fingerprint
    stated = payroll(ASKED.replace("name: payroll", "name: payroll, unit: records"))[1]
    assert dx.plan(metric, stated).objective.name == "mse"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_some_of_the_queries_are_the_same_queries(size):
    _, queries = payroll()
    kept = [0, 1, 2][-size:]
    part = queries.only(kept)
    assert part.names == tuple(queries.names[place] for place in kept)
    assert np.array_equal(part.matrix, queries.matrix[kept])
    plain = dx.LinearQueries.from_matrix("abc", np.arange(12).reshape(3, 4))
    assert np.array_equal(plain.only(kept).matrix, plain.matrix[kept])


def test_errors_wanted_by_name_are_reached_and_the_others_stay_within_reason():
    metric, queries = payroll()
    chosen = dx.plan(metric, queries, errors={"women": 4})
    spend = chosen.least_spend
    assert chosen.rmse(spend)[0] <= 4
    assert chosen.rmse(spend * Fraction("0.9999"))[0] > 4
    alone = [dx.plan(metric, queries.only([place])).rmse(spend)[0] for place in range(3)]
    assert np.all(chosen.rmse(spend) <= 15 * np.array(alone))
    in_file = payroll(ASKED.replace("name: women", "name: women, error: 4"))[1]
    assert dx.plan(metric, in_file).least_spend == spend
    assert dx.plan(metric, in_file, objective="mse").objective.wanted is None
    with pytest.raises(UnsupportedCombination, match=r"no query is called 'wimen'; did you mean 'women'\?"):
        dx.plan(metric, queries, errors={"wimen": 4})


def test_an_answer_nobody_can_use_is_named_with_the_spend_that_would_help():
    metric, queries = payroll()
    chosen = dx.plan(metric, queries)
    (useless, *_) = found = chosen.useless_answers("1/10000")
    assert useless.name == "women"
    assert (useless.low, useless.high) == (0, 5000)
    assert chosen.rmse("1/10000")[0] > 5000
    for one in found:
        place = queries.names.index(one.name)
        assert chosen.rmse(one.spend)[place] <= float(one.high - one.low) / 10 * (1 + 1e-9)
        assert one.in_words.startswith(f"the answer to '{one.name}' is useless")
    assert chosen.useless_answers() == ()
    by_hand = dx.plan(dx.verify_metric([[0, 1], [1, 0]]), dx.LinearQueries.from_matrix("a", [[1, 0]]))
    assert by_hand.useless_answers("1/1000") == ()
    assert [one.name for one in by_hand.useless_answers("1/1000", records=7)] == ["a"]
    released = by_hand.release([3, 4], ledger=":memory:", spend="1/1000")
    assert released.as_dict()["warnings"][0]["query"] == "a"
