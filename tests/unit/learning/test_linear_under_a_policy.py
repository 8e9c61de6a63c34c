"""Linear regression under a policy: its sums, what they hide, what of a policy it carries, and what it refuses."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

import dxgeom as dx
from dxgeom.errors import ArrayError, BudgetExceeded, DataError, DxgeomError
from dxgeom.learning import PrivateLinearRegression, plan_linear
from dxgeom.learning.linear_plan import linear_plan_of, totals_queries
from dxgeom.learning.policy_rows import encoded, feature_rows

ATTRIBUTES = {"age": {"range": [20, 60], "step": 10}, "word": ["a", "b", "c"], "pay": {"range": [0, 100], "step": 25}}
EACH = {"change": ["age", "word", "pay"], "epsilon": 1}
TWO = {"change": ["age", "pay"], "epsilon": 1}
PAIR = {name: ATTRIBUTES[name] for name in ("age", "pay")}
ANY = {"between": "everything", "epsilon": 1}


def policy_of(*rules, attributes=None, **others):
    universe = {"attributes": ATTRIBUTES if attributes is None else attributes}
    return dx.Policy.from_dict(
        {"policy": "test", "universe": universe, "rules": list(rules), "budget": 10**6, **others}
    )


def people(count=3000, seed=0):
    generator = np.random.default_rng(seed)
    age, word = generator.integers(20, 61, count), generator.choice(["a", "b", "c"], count)
    pay = 30 + 0.8 * (age - 40) + np.where(word == "b", 15, 0) + generator.normal(0, 8, count)
    return pd.DataFrame({"age": age, "word": word, "pay": np.clip(pay, 0, 100)})


def model_of(policy, tmp_path, **others):
    return PrivateLinearRegression(
        **{"policy": policy, "label": "pay", "spend": 2, "ledger": tmp_path / "x.db", "mechanism": "laplace", **others}
    )


def least_squares(policy, data):
    """Of the encoded values, without noise: the coefficients that a fit has to be near."""
    rows = feature_rows(policy.compile().universe, "pay", None, beside_first=True)
    response = encoded(policy.compile().universe.attribute("pay"))
    codes = policy.compile().universe.attribute("pay").encode(data["pay"].to_numpy())
    truth = response.table[codes, 0] * float(response.half) + float(response.middle)
    return np.linalg.lstsq(rows.rows(data), truth, rcond=None)[0]


def test_the_sums_are_those_of_the_encoded_rows_exactly():
    policy, data = policy_of(EACH), people(400)
    universe = policy.compile().universe
    rows = feature_rows(universe, "pay", None, beside_first=True)
    response = encoded(universe.attribute("pay"))
    asked = totals_queries(universe, rows.used, response)
    counts = np.bincount(universe.encode(data), minlength=universe.size)
    codes = universe.attribute("pay").encode(data["pay"].to_numpy())
    z = np.column_stack([rows.rows(data), response.table[codes]])
    found = asked.layout.matrices(np.array([float(x) for x in asked.queries.answers(counts)]))
    found[0, 0] = 400
    assert found == pytest.approx(z.T @ z)
    assert rows.names == ("age", "word=b", "word=c")


@pytest.mark.parametrize("rule", [TWO, ANY], ids=["attributes apart", "everything"])
@pytest.mark.parametrize("mechanism", ["laplace", "box", "ellipsoid"])
def test_noise_hides_what_any_two_records_change(rule, mechanism):
    """Every pair of the universe: the loss of the very law, in the totals' own coordinates, against the distance."""
    policy = policy_of(rule, attributes=PAIR)
    plan = plan_linear(policy, "pay", mechanism=mechanism)
    mechanism, metric = plan.totals.mechanism, policy.compile()
    whole = mechanism.sensitivity.queries.tables.matrix()
    carried = mechanism.sensitivity.of_each_query > 0
    pairs = np.array(list(itertools.combinations(range(metric.size), 2)))
    shifts = (whole[:, pairs[:, 0]] - whole[:, pairs[:, 1]]).T[:, carried].astype(float)
    losses = mechanism.law.loss_upper_bounds(shifts, np.zeros_like(shifts))
    told = losses / metric.distance(pairs[:, 0], pairs[:, 1])
    assert told.max() <= 1 + 1e-9
    assert told.max() > 0.99


def test_a_concentrated_policy_gets_the_gaussian_of_least_trace_with_its_certificate():
    plan = plan_linear(policy_of(ANY, privacy="concentrated"), "pay", mechanism="gaussian")
    assert plan.totals.mechanism.law.normal
    assert plan.totals.covariance_gap < 1e-6
    pure = plan_linear(policy_of(ANY), "pay", mechanism="laplace")
    assert plan.totals.predicted_mse < pure.totals.predicted_mse / 5


@pytest.mark.long
def test_the_best_of_all_shapes_is_taken_for_a_small_universe():
    metric = policy_of(TWO, attributes=PAIR).compile()
    thorough = partial(dx.plan, metric, objective="mse", thorough=True)
    plan = linear_plan_of(metric.universe, "pay", None, None, thorough)
    built = {one.name: one.predicted_mse for one in plan.totals.candidates if one.predicted_mse is not None}
    assert plan.totals.mechanism.name == min(built, key=built.__getitem__)
    assert {"hull", "coarse-hull", "box", "block-hulls", "laplace"} <= set(built)
    assert plan.totals.predicted_mse < built["epsilon-dp"] / 3


def test_with_little_noise_it_is_least_squares(tmp_path):
    policy, data = policy_of(EACH), people()
    model = model_of(policy, tmp_path, spend=50_000).fit(data)
    assert np.array([model.intercept_, *model.coef_]) == pytest.approx(least_squares(policy, data), abs=0.02)
    assert list(model.encoded_names_) == ["age", "word=b", "word=c"]
    assert model.score(data, data["pay"]) > 0.6
    table = model.coefficients_.by_name
    assert table["age"].value == pytest.approx(
        model.coef_[0] / float(encoded(policy.compile().universe.attribute("age")).half)
    )
    assert table["age"].low < 0.8 < table["age"].high
    assert "word=b" in "\n".join(model.coefficients_.lines())
    assert '"coefficients"' in model.release_.to_json()
    assert model.release_.to_pandas()["value"].tolist() == pytest.approx([one.value for one in table.values()])


@pytest.mark.parametrize(
    ("rules", "others"),
    [
        ([ANY], {}),
        ([ANY], {"privacy": "concentrated"}),
        ([ANY, {"presence": True, "epsilon": 1}], {}),
        ([EACH], {"people": {"column": "who", "count": "once"}}),
        ([EACH], {"people": {"column": "who", "count": "rows", "at_most": 2, "order": "day"}}),
        ([EACH], {"people": {"column": "who", "count": "single"}}),
    ],
    ids=["pure", "concentrated", "presence", "once", "rows", "single"],
)
def test_whatever_a_policy_says_of_people_and_presence_is_carried(rules, others, tmp_path):
    policy, data = policy_of(*rules, **others), people(2000)
    apart = 1 if others.get("people", {}).get("count") == "single" else 2
    data["who"], data["day"] = np.arange(2000) // apart, np.arange(2000)
    model = model_of(policy, tmp_path, spend=1000).fit(data)
    assert np.array([model.intercept_, *model.coef_]) == pytest.approx(least_squares(policy, data), abs=0.5)
    private = policy.compile().absent is not None
    assert (model.release_.records is None) == private


def test_missing_numbers_derived_and_dated_attributes_are_carried(tmp_path):
    attributes = {
        "day": {"dates": ["2026-01-01", "2026-01-10"], "step": 1},
        "size": {"range": [0, 4], "step": 2, "missing": {"epsilon": 1}},
        "rate": {"range": [0, 2], "step": 1, "from": "work / hours"},
        "pay": {"range": [0, 100], "step": 2},
    }
    policy = policy_of({"change": [*attributes], "epsilon": 1}, attributes=attributes)
    generator = np.random.default_rng(0)
    days, sizes = generator.integers(1, 11, 2000), generator.choice([0.0, 3.0, np.nan], 2000)
    work = generator.choice([1.0, 3.0], 2000)
    pay = np.clip(20 + 2 * days + np.where(np.isnan(sizes), 20, 0) + 5 * work, 0, 100)
    named = [f"2026-01-{day:02d}" for day in days]
    data = pd.DataFrame({"day": named, "size": sizes, "work": work, "hours": 2.0, "pay": pay})
    model = model_of(policy, tmp_path, spend=50_000).fit(data)
    assert list(model.encoded_names_) == ["day", "size", "size is missing", "rate"]
    found = model.coefficients_.by_name
    assert found["day"].value == pytest.approx(2, abs=0.3)
    assert found["size is missing"].value == pytest.approx(20, abs=2)
    assert found["rate"].value == pytest.approx(10, abs=1)
    new = data.sample(frac=1, random_state=1)
    assert model.predict(new) == pytest.approx(pay[new.index], abs=3)
    assert model.predict({name: new[name].to_numpy() for name in new}) == pytest.approx(model.predict(new))
    with pytest.raises(DxgeomError, match="1 of 5 rows have a 'rate' that the policy does not list"):
        model.predict(new[:5].assign(work=[1.0, 3.0, 9.0, 1.0, 1.0]))
    with pytest.raises(DxgeomError, match="no column named 'hours'"):
        model.predict(new.drop(columns="hours"))


def test_columns_of_a_model_can_be_named_and_responses_stand_apart(tmp_path):
    policy, data = policy_of(EACH), people()
    model = model_of(policy, tmp_path, spend=50_000, features=["age"])
    model.fit(data[["age", "word"]], data["pay"])
    assert list(model.feature_names_in_) == ["age"]
    assert model.predict({"age": [30, 50]}).shape == (2,)
    with pytest.raises(BudgetExceeded, match="fits=2"):
        model.fit(data)


def test_the_same_plan_is_released_rehearsed_and_kept(tmp_path):
    plan = plan_linear(policy_of(EACH), "pay", ["word"], mechanism="laplace")
    data, file = people(), tmp_path / "x.db"
    first = plan.release(data, ledger=file, spend=1, id="pay")
    again = plan.release(data, ledger=file, spend=1, id="pay")
    assert again.repeated
    assert np.array_equal(first.answer.values, again.answer.values)
    assert plan.rehearse(spend=1).rehearsal
    assert plan.fingerprint != plan_linear(policy_of(EACH), "pay", ["word"], ridge=3, mechanism="laplace").fingerprint
    assert "least squares of pay on word=b, word=c" in plan.lines()[0]
    assert '"linear": "pay"' in plan.to_json()


HIDDEN = {"age": {"range": [20, 60], "step": 10}, "pay": {**ATTRIBUTES["pay"], "missing": {"epsilon": 1}}}


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"label": None}, "label="),
        ({"label": "other"}, "no attribute 'other'"),
        ({"label": "word"}, "predicts numbers"),
        ({"features": ["pay"]}, "told from other attributes"),
        ({"features": ["other"]}, "found 'other'"),
        ({"features": []}, "name some"),
        ({"spend": None}, "spend=0.5"),
        ({"epsilon": 1}, "the policy's own"),
        ({"bounds": (0, 1)}, "the policy's own"),
        ({"response": (0, 1)}, "the policy's own"),
        ({"fit_intercept": False}, "has an intercept"),
        ({"outside": "clip"}, "outside the universe are refused"),
        ({"mechanism": "other"}, "no mechanism 'other'"),
        ({"mechanism": "gaussian"}, "privacy: concentrated"),
        ({"ledger": None}, "a fit is a release"),
        ({"policy": "policy.yaml"}, "dx.load_policy"),
        ({"policy": policy_of(TWO, attributes=HIDDEN)}, "may be missing"),
        ({"fits": 0}, "whole number"),
    ],
)
def test_nothing_is_spent_on_a_refusal(changed, refusal, tmp_path):
    with pytest.raises(DxgeomError, match=refusal):
        model_of(**{"policy": policy_of(EACH), "tmp_path": tmp_path, **changed}).fit(people(30))
    assert not (tmp_path / "x.db").exists()


def test_rows_that_the_policy_does_not_list_are_refused_when_fitting_and_when_predicting(tmp_path):
    data = people(100)
    with pytest.raises(DataError, match="word"):
        model_of(policy_of(EACH), tmp_path).fit(data.assign(word="z"))
    with pytest.raises(DataError, match="pay"):
        model_of(policy_of(EACH), tmp_path).fit(data[["age", "word"]])
    with pytest.raises(ArrayError, match="inconsistent numbers"):
        model_of(policy_of(EACH), tmp_path).fit(data, data["pay"][:5])
    assert not (tmp_path / "x.db").exists()
    model = model_of(policy_of(EACH), tmp_path, spend=100).fit(data)
    with pytest.raises(ArrayError, match="'word' that the policy does not list"):
        model.predict(data.assign(word="z"))


def test_a_policy_s_words_on_plain_arrays_are_refused():
    with pytest.raises(DxgeomError, match="go with a policy"):
        PrivateLinearRegression(epsilon=1, bounds=(0, 1), response=(0, 1), label="pay").fit([[0]], [1])


@pytest.mark.parametrize("records", [1, 3])
def test_so_few_rows_have_a_finite_answer_and_are_warned_of(records, tmp_path):
    with pytest.warns(UserWarning, match="next to nothing"):
        model = model_of(policy_of(ANY), tmp_path, spend=Fraction(1, 100)).fit(people(records))
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.intervals()))


@pytest.mark.long
@pytest.mark.parametrize(
    ("spend", "others"), [("1/4", ()), (1, ()), (20, ()), (1, ({"presence": True, "epsilon": 1},))], ids=str
)
def test_intervals_cover_under_resampling_of_real_people(spend, others, policies):
    """Adult's 30,162 people resampled 60 times, 4,000 each, 3 coefficients at 90 %: fewer than 80 % covered has a
    chance below 1e-4, where intervals cover as they say."""
    attributes = {"age": {"range": [15, 95], "step": 5}, "sex": ["Female", "Male"], "salary-class": ["<=50K", ">50K"]}
    policy = policy_of({"change": [*attributes], "epsilon": 1}, *others, attributes=attributes)
    data = pd.read_csv(policies / "adult" / "people.csv", usecols=[*attributes])
    plan = plan_linear(policy, "age", mechanism="laplace")
    universe = policy.compile().universe
    counts = np.bincount(universe.encode(data), minlength=universe.size)
    truth = plan.release(counts, ledger=":memory:", spend=10**6).answer.values
    generator, covered = np.random.default_rng(0), []
    for _ in range(60):
        drawn = generator.multinomial(4000, counts / counts.sum())
        low, high = plan.release(drawn, ledger=":memory:", spend=spend).answer.intervals(0.9).T
        covered.append((low <= truth) & (truth <= high))
    assert np.mean(covered) >= 0.8
