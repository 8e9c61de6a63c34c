"""Values that stand for many numbers: what answers about them can be off by is stated, and bars hold all the same."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination

ATTRIBUTE = "policy: p\nuniverse:\n  attributes:\n    age: {age}\n    sex: [F, M]\nrules:\n"
RULE = "  - {change: [age, sex], epsilon: 1}\n"
HERE = "  - {presence: true, epsilon: 1}\n"


def planned(age, queries, rules=RULE, **options):
    policy = dx.parse_policy(ATTRIBUTE.replace("{age}", age) + rules)
    return dx.plan(policy.compile(), dx.parse_queries(queries, policy), **options)


def table_of(ages, sexes=None):
    import pandas

    return pandas.DataFrame({"age": ages, "sex": sexes or ["F"] * len(ages)})


def released(plan, ages, seed, sexes=None, spend=1):
    return plan.release(table_of(ages, sexes), ledger=":memory:", spend=spend, insecure_test_seed=seed)


MEAN = "records: 100\nqueries:\n  - mean: age\n"


@pytest.mark.parametrize(
    ("age", "bias"),
    [
        ("{range: [0, 100], step: 5}", "5/2"),
        ("{range: [0, 100], step: 5, whole: true}", "2"),
        ("{range: [0, 100], step: 1}", "1/2"),
        ("{range: [0, 100], step: 1, whole: true}", "0"),
        ("{range: [0, 100], step: 5, whole: true, clamp: [0, 121]}", "21/2"),
        ("{bins: [0, 18, 65, 100]}", "47/2"),
        ("{bins: [0, 18, 65, 100], whole: true}", "23"),
        ("{bins: [0, 18, 65, 100], clamp: [-60, 100]}", "39"),
    ],
)
def test_the_bias_of_a_mean_is_half_the_widest_interval(age, bias):
    plan = planned(age, MEAN)
    (rounding,) = plan.queries.each_rounding
    assert rounding.per_record * 100 == Fraction(bias)
    assert plan.rounding_biases == pytest.approx([float(Fraction(bias))], rel=1e-15)
    (told,) = plan.as_dict()["queries"]
    assert told["bias"] == {
        "rounding": float(plan.rounding_biases[0]),
        "rounding_per_record": str(rounding.per_record),
        "changed": 0.0,
    }
    assert any("stand for many numbers" in line for line in plan.lines()) == (bias != "0")


def test_a_hundred_people_of_24_are_covered_in_groups_of_five_years():
    plan = planned("{range: [0, 100], step: 5}", MEAN)
    answers = [released(plan, [24] * 100, seed) for seed in range(20)]
    assert all(low <= 24 <= high for one in answers for low, high in one.intervals(0.95))
    # Noise alone would have told another story: the middle of 20 to 25 is 22.5.
    noise = plan.mechanism.ideal_variances[0] ** 0.5
    assert all(abs(one.values[0] - 22.5) < 20 * noise for one in answers)
    assert answers[0].biases == pytest.approx([2.5], rel=1e-15)
    assert answers[0].rmse == pytest.approx([np.hypot(2.5, np.sqrt(plan.mechanism.variances()[0]))])


def test_the_mean_age_of_a_hospital_is_covered():
    """20,000 ages whose mean is 51.489; in ten-year groups their lower ends have the mean 49.501 or so."""
    ages = [51 + (k % 1000 < 489) for k in range(20_000)]
    assert np.mean(ages) == 51.489
    plan = planned("{range: [0, 120], step: 10}", "records: 20000\nqueries:\n  - mean: age\n")
    ((low, high),) = released(plan, ages, 3).intervals()
    assert low <= 51.489 <= high


def test_a_value_is_counted_as_the_middle_of_what_it_stands_for():
    policy = dx.parse_policy(ATTRIBUTE.replace("{age}", "{range: [0, 12], step: 5, whole: true}") + RULE)
    queries = dx.parse_queries("queries:\n  - sum: age\n", policy)
    assert [int(n) * queries.units[0] for n in queries.numerators[0, ::2]] == [2, 7, 11]
    assert queries.each_rounding[0].per_record == 2


def test_only_the_records_that_a_condition_selects_are_rounded():
    queries = "records: 10\nqueries:\n  - {sum: age, where: age < 18}\n  - {sum: age, where: sex == 'F'}\n"
    plan = planned("{bins: [0, 18, 65, 100]}", queries)
    assert plan.rounding_biases.tolist() == [90, 235]


def test_conditions_still_lie_on_edges():
    with pytest.raises(dx.errors.QueryError, match="no value of 'age'"):
        planned("{range: [0, 100], step: 5, whole: true}", "queries:\n  - count: age >= 17\n")
    with pytest.raises(dx.errors.QueryError, match="cuts through the bin"):
        planned("{bins: [0, 18, 100], clamp: [0, 120]}", "queries:\n  - count: age <= 100\n")


def test_numbers_that_are_not_whole_are_refused_where_whole_ones_were_declared():
    plan = planned("{range: [0, 100], step: 5, whole: true}", "queries:\n  - count: age >= 15\n")
    with pytest.raises(dx.errors.DataError, match=r"age is '24.5', accepted are whole numbers from 0 to 100"):
        released(plan, [24.5], 1)


def test_clamped_numbers_count_in_the_end_cells_and_beyond_the_true_ends_are_refused():
    policy = dx.parse_policy(ATTRIBUTE.replace("{age}", "{range: [10, 20], step: 5, clamp: [0, 40]}") + RULE)
    age = policy.universe.attributes[0]
    assert age.encode([0, 9.5, 10, 17, 39, 40, -1, 41, np.nan]).tolist() == [0, 0, 0, 1, 2, 2, -1, -1, -1]
    assert age.stands_for.intervals == ((0, 15), (15, 20), (20, 40))
    anything = dx.parse_policy(ATTRIBUTE.replace("{age}", "{bins: [10, 15, 20], clamp: true}") + RULE)
    assert anything.universe.attributes[0].encode([-1e9, 12, 20, 1e9, np.inf, np.nan]).tolist() == [0, 0, 1, 1, -1, -1]


def test_without_true_ends_bars_say_that_they_are_about_clamped_numbers():
    plan = planned("{range: [10, 20], step: 5, clamp: true}", "queries:\n  - sum: age\n")
    said = "numbers beyond an end count as that end: answers are about clamped 'age', and bars say nothing of the"
    assert f"{said} difference" in plan.lines()
    stated = planned("{range: [10, 20], step: 5, clamp: [0, 40]}", "queries:\n  - sum: age\n")
    assert not any("clamped" in line for line in stated.lines())


def test_a_sum_whose_number_of_records_is_private_is_bounded_by_the_answer_that_counts_them():
    sums = "queries:\n  - {sum: age, where: sex == 'F'}\n"
    alone = planned("{range: [0, 100], step: 5}", sums, RULE + HERE)
    one = released(alone, [24] * 50, 5)
    assert np.isinf(one.half_widths()).all() and one.as_dict()["answers"][0]["interval"] == [None, None]
    json.loads(one.to_json())
    counted = planned("{range: [0, 100], step: 5}", sums + "  - count: sex == 'F'\n", RULE + HERE)
    assert counted.queries.each_rounding[0].counted_by == 1
    one = released(counted, [24] * 50, 5)
    (width, _), count = one.half_widths(), one.values[1]
    noise = one.answer.mechanism
    assert 2.5 * count < width < 2.5 * (count + one.half_widths()[1]) + one.half_widths(0.99)[0]
    assert noise.change is None and any(
        "go by the answer that counts them" in said for said in one.answer.bars.in_words()
    )


@pytest.mark.parametrize(("rules", "stated"), [(RULE, "records: 5000\n"), (RULE + HERE, "")])
def test_an_error_and_its_bar_count_the_same_records(rules, stated):
    """Of 100 women and 4,900 men; counting all of them in one and the women in the other, they were 17 to 1."""
    asked = "queries:\n  - {sum: age, where: sex == 'F'}\n  - count: sex == 'F'\n"
    plan = planned("{range: [0, 100], step: 5}", stated + asked, rules)
    assert np.all(plan.rmse() < plan.half_widths())
    one = released(plan, [24] * 5000, 5, ["F"] * 100 + ["M"] * 4900)
    noise = plan.mechanism.variances()
    most = one.values[1] + one.half_widths()[1]
    assert one.rmse == pytest.approx(np.sqrt(noise + np.array([(2.5 * most) ** 2, 0.0])))
    assert np.all(one.rmse < one.half_widths())
    assert one.as_dict()["answers"][0]["rmse"] == one.rmse[0]


def test_a_plan_says_what_each_record_adds_where_their_number_is_not_stated():
    plan = planned("{range: [0, 100], step: 5}", "queries:\n  - sum: age\n")
    assert plan.records is None and np.isinf(plan.biases).all() and np.isfinite(plan.rmse()).all()
    assert any("at most 2.5 for each record that it counts; their number is not stated" in one for one in plan.lines())
    stated = planned("{range: [0, 100], step: 5}", "queries:\n  - sum: age\n", records=40)
    assert stated.rounding_biases.tolist() == [100.0]


def test_errors_that_rounding_alone_exceeds_cannot_be_bought():
    plan = planned("{range: [0, 100], step: 5}", MEAN, errors=[2])
    with pytest.raises(UnsupportedCombination, match="values that stand for many numbers"):
        plan.least_spend  # noqa: B018
    assert planned("{range: [0, 100], step: 5, whole: true}", MEAN, errors=[3]).least_spend > 0


def test_weights_given_directly_are_not_rounded():
    queries = dx.LinearQueries.from_matrix(["w"], [[1, 2, 3]])
    assert queries.rounding == () and queries.each_rounding[0].per_record == 0


def test_what_was_rounded_changes_the_fingerprint_of_queries_and_stays_when_they_are_stacked():
    policy = dx.parse_policy(ATTRIBUTE.replace("{age}", "{range: [0, 20], step: 5}") + RULE)
    one = dx.parse_queries("queries:\n  - {sum: age, where: sex == 'F'}\n  - count: sex == 'F'\n", policy)
    two = dx.LinearQueries.stack([dx.LinearQueries.marginals(policy.universe, [["sex"]]), one])
    assert two.each_rounding[2].counted_by == 3 and two.each_rounding[2].per_record == Fraction(5, 2)
    bare = dx.LinearQueries(one.names, one.weights, one.units, one.universe)
    assert bare.fingerprint != one.fingerprint


def test_integers_that_the_policy_does_not_call_whole_are_advised_about():
    plan = planned("{range: [0, 100], step: 5}", MEAN)
    assert released(plan, [24] * 100, 1).advice == (
        "the column 'age' holds integers: with 'whole: true' in the policy its values stand for fewer numbers",
    )
    assert released(plan, [24.5] * 100, 1).advice == ()
    declared = planned("{range: [0, 100], step: 5, whole: true}", MEAN)
    assert released(declared, [24] * 100, 1).advice == ()
    counted = planned("{range: [0, 100], step: 5}", "queries:\n  - count: age >= 20\n")
    assert released(counted, [24] * 100, 1).advice == ()
