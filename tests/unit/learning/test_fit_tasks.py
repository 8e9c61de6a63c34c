"""Fits that a queries file asks for: what is asked, every mistake with its code, and the same file all the way."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from reference.json_schema import is_valid

import dxgeom as dx
from dxgeom.errors import PlanError
from dxgeom.learning import Coefficients, FitToCounts, plan_linear, plan_logistic
from dxgeom.queries.schema import queries_schema
from dxgeom.universe.tasks import FitTask

TEXT = """
policy: wages
universe:
  attributes:
    age: {range: [20, 60], step: 10}
    word: [a, b, c]
    gone: {range: [0, 4], step: 2, missing: {epsilon: 1}}
    pay: {range: [0, 100], step: 25}
    rich: [no, yes]
rules:
  - {change: [age, word, gone, pay, rich], epsilon: 1}
budget: 100
"""
POLICY = dx.parse_policy(TEXT)
LINEAR = {"fit": {"linear": "pay", "by": ["age", "word"]}, "name": "pay"}
LOGISTIC = {"fit": {"logistic": "rich", "by": "pay", "ridge": 2}, "name": "rich"}


def people(count=4000):
    generator = np.random.default_rng(0)
    age, word = generator.integers(20, 61, count), generator.choice(["a", "b", "c"], count)
    pay = np.clip(30 + 0.8 * (age - 40) + 15 * (word == "b") + generator.normal(0, 8, count), 0, 100)
    return pd.DataFrame({"age": age, "word": word, "gone": 1.0, "pay": pay, "rich": np.where(pay > 40, "yes", "no")})


def asked(*tasks, policy=POLICY):
    return dx.queries_from_dict({"tasks": list(tasks)}, policy)


def test_a_fit_names_a_model_a_response_and_what_it_is_told_from():
    first, second, third = (part.question for part in asked(LINEAR, LOGISTIC, {"fit": {"linear": "pay"}}).parts)
    assert isinstance(first, FitTask)
    assert (first.model, first.response, first.by, first.ridge) == ("linear", "pay", ("age", "word"), None)
    assert (second.model, second.response, second.by, second.ridge) == ("logistic", "rich", ("pay",), 2)
    assert third.by is None
    assert len({first.fingerprint, second.fingerprint, third.fingerprint}) == 3


ONCE = {"people": {"column": "who", "count": "once"}}
MISTAKES = [
    ({"fit": {}}, "DX230", "found neither"),
    ({"fit": {"linear": "pay", "logistic": "rich"}}, "DX230", "found linear and logistic"),
    ({"fit": "pay"}, "DX108", "is a mapping with"),
    ({"fit": {"linear": "pya"}}, "DX201", "did you mean 'pay'?"),
    ({"fit": {"linear": "pay", "by": ["age", "wrd"]}}, "DX201", "did you mean 'word'?"),
    ({"fit": {"linear": "pay", "by": []}}, "DX108", "names an attribute at least"),
    ({"fit": {"linear": "pay", "ridge": "-1"}}, "DX232", "a ridge is a number"),
    ({"fit": {"linear": "pay", "by": "pay"}}, "DX233", "told from other attributes"),
    ({"fit": {"linear": "word"}}, "DX233", "predicts numbers"),
    ({"fit": {"linear": "gone"}}, "DX233", "may be missing"),
    ({"fit": {"logistic": "word"}}, "DX233", "one of two values"),
    ({"fit": {"linear": "pay", "of": "age"}}, "DX105", "the key 'of' is not known here"),
]


@pytest.mark.parametrize(("task", "code", "said"), MISTAKES)
def test_every_mistake_is_told_with_its_code_and_place(task, code, said):
    with pytest.raises(dx.QueryError) as caught:
        asked(task)
    first = caught.value.diagnostics[0]
    assert first.code == code
    assert first.path.startswith("tasks")
    assert said in str(caught.value)


def test_people_who_count_once_have_no_logistic_fit_but_a_linear_one():
    policy = dx.parse_policy(TEXT + "people: {column: who, count: once}\n")
    with pytest.raises(dx.QueryError, match="DX233: people count once"):
        asked(LOGISTIC, policy=policy)
    assert asked(LINEAR, policy=policy).names == ("pay",)


def test_the_schema_knows_a_fit():
    assert is_valid({"tasks": [LINEAR, LOGISTIC]}, queries_schema())
    assert not is_valid({"tasks": [{"fit": {"linear": ["pay"]}}]}, queries_schema())


def test_fits_beside_queries_are_one_release_with_tables_of_coefficients(tmp_path):
    tasks = asked(LINEAR, LOGISTIC, {"queries": [{"count": True, "by": "word"}]})
    plan = dx.plan(POLICY.compile(), tasks)
    release = plan.release(people(), ledger=tmp_path / "x.db", spend=30, insecure_test_seed=1)
    line, odds = release.answer["pay"], release.answer["rich"]
    assert isinstance(line, Coefficients)
    assert line.names == ("intercept", "age", "word=b", "word=c")
    low, high = line.by_name["word=b"].low, line.by_name["word=b"].high
    assert low < 15 < high
    assert odds.response == "log-odds of rich=yes"
    assert odds.by_name["pay"].value > 0
    assert odds.by_name["pay"].low is None
    assert json.loads(release.to_json())["tasks"][0]["coefficients"][1]["name"] == "age"
    assert release.spent == 30
    assert "no intervals are known" in odds.note
    assert "-" in odds.lines()[1]


@pytest.mark.long
def test_a_plan_s_file_is_the_same_plan(tmp_path):
    (tmp_path / "tasks.yaml").write_text(
        "tasks:\n  - fit: {linear: pay, by: [age]}\n  - fit: {logistic: rich, by: age}\n"
    )
    tasks = dx.load_queries(tmp_path / "tasks.yaml", POLICY)
    plan = dx.plan(POLICY.compile(), tasks)
    dx.save_plan(plan, tmp_path / "plan.json", policy=POLICY)
    loaded = dx.load_plan(tmp_path / "plan.json")
    assert loaded.plan.fingerprint == plan.fingerprint
    first, second = (
        one.release(people(), ledger=tmp_path / f"{k}.db", spend=2, insecure_test_seed=3)
        for k, one in enumerate([plan, loaded])
    )
    assert np.array_equal(first.answer.answers[0].values, second.answer.answers[0].values)
    text = (tmp_path / "plan.json").read_text()
    assert '"fit 1"' in text
    (tmp_path / "wrong.json").write_text(text.replace('"fit 1"', '"fit 9"', 1))
    with pytest.raises(PlanError):
        dx.load_plan(tmp_path / "wrong.json")


def test_a_planned_logistic_fit_is_the_estimator_s():
    plan = plan_logistic(POLICY, "rich", ["age"], records=4000)
    assert isinstance(plan.mechanism, FitToCounts)
    data = people()
    with dx.learning.open_ledger(":memory:", 1) as _:
        model = dx.learning.PrivateLogisticRegression(policy=POLICY, label="rich", features=["age"], spend=2)
        model.set_params(
            ledger=dx.Ledger.open(
                ":memory:", policy_fingerprint=POLICY.fingerprint, policy_name="wages", budget=Fraction(100)
            ),
            insecure_test_seed=4,
        )
        model.fit(data)
    released = plan.release(data, ledger=":memory:", spend=2, insecure_test_seed=4)
    assert released.answer.values / released.answer.worth == pytest.approx(
        [model.intercept_[0], *model.coef_[0]], abs=1e-5
    )
    assert "logistic regression of rich on age" in plan.lines()[0]
    assert '"logistic": "rich"' in plan.to_json()
    assert plan.fingerprint != plan_logistic(POLICY, "rich", ["pay"]).fingerprint


def test_labels_alone_are_fitted_by_the_estimator():
    policy = dx.Policy.from_dict(
        {
            "policy": "labels",
            "universe": {"attributes": {"x": ["a", "b"], "y": ["no", "yes"]}},
            "rules": [{"change": "y", "epsilon": 1}],
            "unconnected": "allow",
        }
    )
    with pytest.raises(dx.DxgeomError, match="labels alone are protected"):
        plan_logistic(policy, "y")


def test_a_line_s_statement_is_in_the_sums_own_units():
    (said,) = plan_linear(POLICY, "pay", ["age"], mechanism="laplace").statements(2)
    assert "by laplace" in said
