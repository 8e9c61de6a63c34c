"""Expected norms and quantiles of errors, as objectives of plans."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import dxgeom as dx
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.noise.law import mean_sizes, mean_sizes_of_laplace
from dxgeom.planner.objectives.error_sizes import SIZES

NAMES = list(SIZES)


def metric(seed=0, size=12):
    points = np.random.default_rng(seed).random((size, 2)) * 10
    return dx.verify_metric(
        np.round(np.linalg.norm(points[:, None] - points[None], axis=2), 6) + 0.5 * (1 - np.eye(size))
    )


def queries(seed=1, size=12, count=4):
    weights = np.random.default_rng(seed).integers(0, 4, (count, size))
    return dx.LinearQueries.from_matrix([f"q{k}" for k in range(count)], weights)


def simulated(name, errors):
    """By definition, and the standard error of that."""
    largest = np.abs(errors).max(axis=1)
    if name.startswith("quantile"):
        level = int(name[-2:]) / 100
        ranks = len(errors) * level + np.array([-1, 0, 1]) * math.sqrt(len(errors) * level * (1 - level))
        low, middle, high = np.sort(largest)[ranks.astype(int)]
        return middle, (high - low) / 2
    sizes = {"l1": np.abs(errors).sum(axis=1), "l2": np.linalg.norm(errors, axis=1), "linf": largest}[name]
    return sizes.mean(), sizes.std() / math.sqrt(len(errors))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scales", [[1.0], [3.0, 1.0, 0.2], [1.0, 1e-3, 0.5, 0.5], [1000.0, 1, 1, 1]])
def test_sizes_of_laplace_noise_are_those_of_their_definition(name, scales):
    """200,000 draws of a fixed seed; six standard errors, a false alarm below 1e-8 for a random one."""
    scales = np.array(scales)
    draws = np.random.default_rng(5).laplace(size=(200_000, len(scales))) * scales
    expected, error = simulated(name, draws)
    assert abs(SIZES[name].of_laplace(scales)[0] - expected) < 6 * error


@pytest.mark.parametrize("name", NAMES)
def test_slopes_of_sizes_are_their_differences(name):
    scales = np.array([3.0, 1.0, 0.2])
    of, step = SIZES[name].of_laplace, 1e-5
    found = [(of(scales + step * e)[0] - of(scales - step * e)[0]) / (2 * step) for e in np.eye(3)]
    assert of(scales)[1] == pytest.approx(np.array(found), rel=1e-3, abs=1e-6)


def test_mean_sizes_of_signed_exponentials_are_those_of_two_laplace_numbers_and_of_one_side():
    """E|X + Y| = (a² + ab + b²)/(a + b) for Laplace X, Y of scales a, b, by its density."""
    a, b = np.array([2.0, 1.0, 3.0]), np.array([5.0, 1.0, 0.0])
    assert mean_sizes_of_laplace(np.column_stack([a, b])) == pytest.approx((a * a + a * b + b * b) / (a + b))
    assert mean_sizes(np.array([[1.0, 2.0]]), np.zeros((1, 2))) == pytest.approx([3.0])
    assert mean_sizes(np.zeros((1, 2)), np.zeros((1, 1))) == [0.0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.long) for seed in range(5)])
def test_no_scales_of_laplace_noise_have_a_smaller_size(name, seed):
    """Beside a general solver, from three starts, under importance."""
    sensitivity = sensitivity_of(metric(seed), queries(seed))
    importance = np.random.default_rng(seed).choice([0.5, 1.0, 4.0], 4)
    plan = dx.plan(metric(seed), queries(seed), objective=name, mechanism="laplace", importance=importance.tolist())
    rows = np.abs(sensitivity.differences) / sensitivity.bounds[:, None]
    units, size, least = sensitivity.queries.float_steps * importance, SIZES[name], math.inf

    def at(rates):
        value, slopes = size.of_laplace(units / rates)
        return value / plan.loss, -slopes * units / rates**2 / plan.loss

    for start in range(3):
        first = np.random.default_rng(start).uniform(0.5, 1, 4) / rows.max(axis=0) / 4
        found = minimize(
            at,
            first,
            jac=True,
            constraints={"type": "ineq", "fun": lambda w: 1 - rows @ w, "jac": lambda w: -rows},
            bounds=[(1e-6, None)] * 4,
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 1000},
        )
        if (rows @ found.x).max() < 1 + 1e-9:
            least = min(least, found.fun)
    assert least == pytest.approx(1, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mechanism", ["laplace", "hull", "rotated-laplace", "ellipsoid", "box", "block-hulls"])
def test_a_plan_s_loss_is_the_size_of_its_noise_or_at_most_that_and_not_below_its_bound(name, mechanism):
    """200,000 draws of a fixed seed; six standard errors."""
    try:
        plan = dx.plan(metric(), queries(), objective=name, mechanism=mechanism, thorough=True)
    except TooLarge as error:
        assert (name, mechanism) == ("l1", "box") and "not known" in str(error)
        return
    made = plan.mechanism
    draws = made.law.simulate(200_000, np.random.default_rng(3)) @ made.float_mixing.T
    found, error = simulated(name, draws)
    exact = name == "l1" or mechanism == "laplace"
    assert plan.objective.is_exact(made) == exact
    assert found < plan.loss + 6 * error
    assert not exact or found > plan.loss - 6 * error
    assert plan.lower_bound < found + 6 * error


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_of_all_noise_the_least_is_taken_and_what_is_a_bound_is_called_one(name):
    plan = dx.plan(metric(), queries(), objective=name, thorough=True)
    built = [one for one in plan.candidates if one.loss is not None]
    assert plan.loss <= min(one.loss for one in built) * (1 + 1e-8)
    assert {one.name for one in built if not one.reason} >= {"laplace", "epsilon-dp"}
    exact = plan.objective.is_exact(plan.mechanism)
    assert plan.as_dict().get("loss_is") == (None if exact else "at most")
    assert exact or "as far as bounded" in plan.reason
    assert plan.objective.title in plan.bound_in_words


def test_sizes_grow_with_importance_and_not_with_what_has_no_noise():
    plain = dx.plan(metric(), queries(count=2), objective="l1", mechanism="laplace")
    doubled = dx.plan(metric(), queries(count=2), objective="l1", mechanism="laplace", importance=[2, 2])
    assert doubled.loss == pytest.approx(2 * plain.loss)
    assert doubled.objective.title == "weighted expected ℓ₁ error"
    still = dx.LinearQueries.from_matrix(["all"], np.ones((1, 12), dtype=int))
    assert dx.plan(metric(), still, objective="quantile-95").loss == 0


@pytest.mark.long
def test_what_these_objectives_are_not_for_is_refused_by_name():
    with pytest.raises(UnsupportedCombination, match="leave objective 'l1' out"):
        dx.plan(metric(), queries(), objective="l1", errors=[1, None, None, None])
    with pytest.raises(UnsupportedCombination, match="changed queries is not known"):
        dx.plan(metric(), queries(), objective="linf", mechanism="changed-queries", records=100)
    with pytest.raises(UnsupportedCombination, match="quantile-90, quantile-95, quantile-99"):
        dx.plan(metric(), queries(), objective="quantile")


@pytest.mark.long
@pytest.mark.parametrize("name", ["l1", "quantile-95"])
def test_a_plan_of_such_an_objective_comes_back_from_its_file(name, tmp_path):
    policy = dx.Policy.from_dict(
        {
            "policy": "p",
            "about": "p",
            "universe": {"attributes": {"a": ["x", "y"], "b": ["u", "v"]}},
            "rules": [{"change": "a", "epsilon": 0.5}, {"change": "b", "epsilon": 1}],
            "budget": 1,
        }
    )
    asked = dx.queries_from_dict({"queries": [{"count": "a == 'x'"}, {"count": "b == 'u'"}]}, policy)
    plan = dx.plan(policy.compile(), asked, objective=name, mechanism="laplace")
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    again = dx.load_plan(tmp_path / "plan.json").plan
    assert (again.fingerprint, again.loss, again.objective.name) == (plan.fingerprint, plan.loss, name)
    other = dx.plan(policy.compile(), asked, objective="mse", mechanism="laplace")
    assert other.fingerprint != plan.fingerprint
