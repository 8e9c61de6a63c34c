from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import DataError, UnsupportedCombination

FEW, MANY = 3, 2000
METRIC = np.abs(np.subtract.outer([0.0, 0.1, 1.0, 3.0], [0.0, 0.1, 1.0, 3.0]))
WEIGHTS = [[0, 8, 2, 3]]
TWO = [[0, 8, 2, 3], [1, 1, 0, 5]]


def queries(matrix=WEIGHTS, records=None):
    asked = dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(matrix))], matrix)
    return replace(asked, records=records)


def planned(matrix=WEIGHTS, **options):
    return dx.plan(dx.verify_metric(METRIC), queries(matrix), **options)


def names(plan):
    return [candidate.name for candidate in plan.candidates]


def test_few_records_get_answers_with_a_bias_and_less_error():
    plan, unbiased = planned(records=FEW), planned()
    assert plan.mechanism.name == "changed-queries"
    assert plan.loss < 0.5 * unbiased.loss
    assert 0 < plan.biases[0] < np.sqrt(plan.predicted_mse)
    assert plan.predicted_mse == pytest.approx(float(plan.mechanism.ideal_variances[0]) + plan.biases[0] ** 2, rel=1e-2)


def test_where_the_number_of_records_is_not_stated_nothing_is_changed():
    assert "changed-queries" not in names(planned())
    with pytest.raises(UnsupportedCombination, match="public number of records"):
        planned(mechanism="changed-queries")


def test_the_number_of_records_may_come_with_the_queries():
    plan = dx.plan(dx.verify_metric(METRIC), queries(records=FEW))
    assert plan.mechanism.name == "changed-queries"
    assert plan.fingerprint == planned(records=FEW).fingerprint
    with pytest.raises(UnsupportedCombination, match="3, as the queries say; found 4"):
        dx.plan(dx.verify_metric(METRIC), queries(records=FEW), records=4)
    with pytest.raises(UnsupportedCombination, match="a positive number; found 0"):
        planned(records=0)


def test_many_records_are_not_worth_a_try_and_no_bias_is_worth_a_percent():
    plan = planned(records=200_000)
    reason = next(each.reason for each in plan.candidates if each.name == "changed-queries")
    assert "saves Laplace noise less than 1 %" in reason
    tried = planned(records=MANY)
    losses = {each.name: each.loss for each in tried.candidates}
    assert 0.99 * losses["laplace"] < losses["changed-queries"] < losses["laplace"]
    assert tried.mechanism.name != "changed-queries"
    assert "which is not worth a bias" in tried.reason
    assert planned(records=200_000, mechanism="changed-queries").mechanism.name == "changed-queries"


def test_a_private_number_of_records_cannot_be_stated(policies):
    policy = dx.load_policy(policies / "shelter" / "policy.yaml")
    asked = dx.load_queries(policies / "shelter" / "queries.yaml", policy)
    with pytest.raises(UnsupportedCombination, match="keeps private"):
        dx.plan(policy.compile(), asked, records=5)


def test_a_plan_tells_its_bias_and_what_the_lower_bound_is_about():
    plan = planned(TWO, records=FEW)
    text = "\n".join(plan.lines())
    assert "answers are to changed queries: with 3 records none is further off than" in text
    assert f"this plan's, for changed queries with a bias, is {plan.gap:.3g} times that" in text
    assert "within a factor" not in text
    document = json.loads(plan.to_json())
    assert document["records"] == FEW
    assert [each["bias"]["changed"] for each in document["queries"]] == plan.biases.tolist()
    unbiased = json.loads(planned(TWO).to_json())
    assert unbiased["records"] is None
    assert [each["bias"]["changed"] for each in unbiased["queries"]] == [0, 0]


def test_a_biased_plan_can_be_below_what_bounds_all_noise_on_exact_answers():
    plan = planned(records=FEW)
    assert plan.lower_bound == planned().lower_bound
    assert plan.gap < 1


@pytest.mark.long
@pytest.mark.parametrize("matrix", [WEIGHTS, TWO])
@pytest.mark.parametrize("counts", [[3, 0, 0, 0], [0, 3, 0, 0]])
def test_intervals_hold_whatever_the_records_are(matrix, counts):
    """400 releases with fixed seeds; misses beyond the level by seven standard deviations have chance below 1e-8."""
    plan = planned(matrix, records=FEW)
    truth = np.array(matrix) @ counts
    missed = np.zeros(len(matrix))
    for seed in range(400):
        release = plan.release(counts, ledger=":memory:", spend=1, insecure_test_seed=seed)
        low, high = release.intervals(0.9).T
        missed += (truth < low) | (truth > high)
    assert np.all(missed <= 40 + 7 * np.sqrt(400 * 0.09))


def test_a_release_for_another_number_of_records_is_refused_before_anything_is_spent(tmp_path):
    plan = planned(records=FEW)
    path = str(tmp_path / "ledger.db")
    with pytest.raises(DataError, match="changed for 3 records, these are 4"):
        plan.release([4, 0, 0, 0], ledger=path, spend=1)
    assert plan.release([3, 0, 0, 0], ledger=path, spend=1, insecure_test_seed=1).remaining == 0


def test_a_release_tells_its_bias():
    plan = planned(records=FEW)
    document = json.loads(plan.release([3, 0, 0, 0], ledger=":memory:", spend=1, insecure_test_seed=1).to_json())
    assert document["answers"][0]["bias"]["changed"] == plan.biases[0]
    assert document["mechanism"] == "changed-queries"


def test_consistent_answers_agree_as_the_answers_asked_for_would():
    """Three parts and their sum: changed queries need not add up, what was asked for does."""
    matrix = [[0, 8, 0, 0], [0, 0, 2, 0], [1, 0, 0, 3], [1, 8, 2, 3]]
    plan = planned(matrix, records=FEW, mechanism="changed-queries")
    changed = plan.mechanism.sensitivity.queries.numerators * plan.mechanism.sensitivity.queries.float_steps[:, None]
    assert not np.allclose(changed[:3].sum(axis=0), changed[3])
    release = plan.release([1, 1, 0, 1], ledger=":memory:", spend=1, insecure_test_seed=3)
    found = release.consistent().exact_values
    assert sum(found[:3]) == found[3]
    for counts in ([3, 0, 0, 0], [0, 3, 0, 0], [1, 1, 0, 1]):
        truth = plan.queries.answers(np.array(counts))
        weights = [float(v) for v in plan.mechanism.variances()]
        before = sum(float(a - b) ** 2 / v for a, b, v in zip(release.exact_values, truth, weights, strict=True))
        after = sum(float(a - b) ** 2 / v for a, b, v in zip(found, truth, weights, strict=True))
        assert after <= before * 1.01


def test_the_least_spend_counts_the_bias_which_no_spend_makes_smaller():
    plan = planned(records=FEW, mechanism="changed-queries", errors=[50])
    spend = plan.least_spend
    assert plan.rmse(spend)[0] == pytest.approx(50, rel=1e-4)
    too_exact = planned(records=FEW, mechanism="changed-queries", errors=[float(plan.biases[0]) / 2])
    with pytest.raises(UnsupportedCombination, match="bias of changed queries"):
        _ = too_exact.least_spend
    assert "changed-queries" not in names(planned(records=FEW, errors=[50]))


def test_the_worst_answer_counts_where_it_is_asked_for():
    plan = planned(TWO, records=FEW, objective="max")
    variances = plan.mechanism.variances()
    assert plan.loss == variances.max()
    assert plan.loss <= min(each.loss for each in plan.candidates if each.loss is not None) / 0.99


def test_plans_for_different_numbers_of_records_have_different_fingerprints():
    plans = [planned(records=number, mechanism="changed-queries") for number in (3, 4)]
    assert plans[0].fingerprint != plans[1].fingerprint
    assert plans[0].fingerprint == planned(records=3, mechanism="changed-queries").fingerprint


def test_the_odds_of_two_answers_are_within_the_metric():
    """The exact law of Laplace noise: the largest log-ratio is |Δ'|/c, at most the distance, on every pair."""
    plan = planned(records=FEW)
    lattice = plan.mechanism.sensitivity.queries
    scale = Fraction(float(plan.mechanism.law.scales[0]))
    for i in range(4):
        for j in range(4):
            change = abs(int(lattice.numerators[0, i]) - int(lattice.numerators[0, j]))
            assert Fraction(change) / scale <= Fraction(float(METRIC[i, j]))
