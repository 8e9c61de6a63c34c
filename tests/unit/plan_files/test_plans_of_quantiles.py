from __future__ import annotations

import json

import numpy as np
import pytest
from reference.json_schema import is_valid
from reference.plan_documents import changed, read, without, write

import dxgeom as dx
from dxgeom.errors import PlanError
from dxgeom.plan_files.codec import plan_schema
from dxgeom.plan_files.diff import differences
from dxgeom.plan_files.text.json_text import digest_of
from dxgeom.universe.quantile_queries import QuantileQueries

POLICY = """policy: wards
unconnected: allow
universe:
  attributes:
    ward: [A, B]
    age: {range: [0, 9], step: 1, whole: true}
rules:
  - {change: age, epsilon: 1, per: 1}
"""
QUERIES = """records: 50
queries:
  - median: age
  - {name: by ward, quantiles: age, at: [1/4, 3/4], by: ward}
"""


@pytest.fixture
def policy():
    return dx.parse_policy(POLICY)


@pytest.fixture
def plan(policy):
    return dx.plan(policy.compile(), dx.parse_queries(QUERIES, policy), spend="1/2")


@pytest.fixture
def document(plan, policy, tmp_path):
    dx.save_plan(plan, tmp_path / "original.json", policy=policy, spend="1/2")
    return read(tmp_path / "original.json")


def test_a_plan_of_quantiles_is_kept(plan, policy, document, tmp_path):
    loaded = dx.load_plan(tmp_path / "original.json")
    assert (loaded.fingerprint, loaded.spend) == (plan.fingerprint, plan.spend)
    assert [part.forms for part in loaded.plan.parts] == [part.forms for part in plan.parts]
    assert loaded.to_json() == (tmp_path / "original.json").read_text("ascii")
    assert is_valid(document, plan_schema())
    counts = np.full(20, 5)
    drawn = [one.release(counts, ledger=":memory:", spend="1/2", insecure_test_seed=7) for one in (plan, loaded)]
    assert drawn[0].answer.as_dicts() == drawn[1].answer.as_dicts()
    with pytest.raises(dx.UnsupportedCombination, match="made for the spend 1/2"):
        loaded.release(counts, ledger=":memory:", spend=1)


def test_nothing_is_compared_when_it_is_loaded(document, tmp_path, monkeypatch):
    def compared(*_, **__):
        raise AssertionError("forms were compared")

    monkeypatch.setattr("dxgeom.planner.quantile_plan.choice_between", compared)
    assert dx.load_plan(tmp_path / "original.json").plan.records == 50


def refused(document, tmp_path):
    path = tmp_path / "forged.json"
    write(path, {**document, "digest": digest_of(document)})
    with pytest.raises(PlanError) as caught:
        dx.load_plan(path)
    (first,) = caught.value.diagnostics
    return first.code, first.path


FORGED = [
    (("forms", 0), ["laplace", "laplace"], "DX305", "forms"),
    (("forms", 1), ["transport"], "DX305", "forms"),
    (("forms", 0, 0), "best", "DX302", "forms[0][0]"),
    (("forms",), [["transport"]], "DX302", "forms"),
    (("queries", "written", "queries", 0, "median"), "ward", "DX304", "queries.written"),
    (("queries", "written", "queries", 1, "at"), ["1/4", "1/2"], "DX304", "queries.fingerprint"),
    (("queries", "written", "queries"), [{"count": "true"}], "DX304", "queries.written"),
    (("queries", "written"), None, "DX302", "queries"),
    (("policy", "written", "rules", 0, "epsilon"), "9", "DX303", "policy.fingerprint"),
    (("spend",), "2", "DX308", "spend"),
    (("spend",), "0", "DX308", "spend"),
    (("compared_at_spend",), "a half", "DX302", "compared_at_spend"),
    (("fingerprint",), "0" * 64, "DX307", "fingerprint"),
    (("mechanism",), {}, "DX302", "mechanism"),
]


@pytest.mark.parametrize(("place", "value", "code", "where"), FORGED)
def test_a_forged_plan_of_quantiles_is_refused(document, place, value, code, where, tmp_path):
    found, at = refused(changed(document, place, value), tmp_path)
    assert (found, at.startswith(where)) == (code, True)


def test_another_form_is_another_plan(plan, document, tmp_path):
    other = {"transport": "laplace", "laplace": "transport"}[plan.parts[0].forms[0]]
    assert refused(changed(document, ("forms", 0, 0), other), tmp_path) == ("DX307", "fingerprint")


def test_no_field_may_be_missing_and_an_edited_file_is_refused(document, tmp_path):
    for name in [*document]:
        code, _ = refused(without(document, (name,)), tmp_path) if name != "digest" else ("DX302", "")
        assert code in ("DX301", "DX302")
    path = tmp_path / "edited.json"
    path.write_text(json.dumps({**document, "spend": "1/4"}), encoding="ascii")
    with pytest.raises(PlanError, match="DX307"):
        dx.load_plan(path)


def test_a_condition_that_the_policy_hides_is_refused_on_loading(policy, document, tmp_path):
    """A forger may write any query; the policy is asked again whether the records it is about are public."""
    text = "queries:\n  - {name: m, median: age, where: age > 3}\n"
    asked = dx.parse_queries(text, policy, records=50)
    forged = changed(
        document, ("queries", "written"), {"queries": [{"name": "m", "median": "age", "where": "age > 3"}]}
    )
    forged = changed(changed(forged, ("queries", "fingerprint"), asked.fingerprint), ("forms",), [["transport"]])
    code, where = refused(forged, tmp_path)
    assert (code, where) == ("DX305", "forms")


def test_what_changed_between_two_plans_is_told(plan, policy, document, tmp_path):
    other = dx.parse_queries("queries:\n  - median: age\n", policy)
    dx.save_plan(dx.plan(policy.compile(), other), tmp_path / "other.json", policy=policy)
    told = differences(dx.load_plan(tmp_path / "original.json"), dx.load_plan(tmp_path / "other.json")).lines()
    assert "queries: 'by ward' is no longer asked" in told
    assert "spend: was 1/2 and is left open" in told
    counts = dx.plan(policy.compile(), dx.parse_queries("queries:\n  - count: true\n", policy))
    dx.save_plan(counts, tmp_path / "counts.json", policy=policy)
    assert differences(dx.load_plan(tmp_path / "original.json"), dx.load_plan(tmp_path / "counts.json")).lines()


def test_queries_made_by_hand_are_not_written(policy, plan, tmp_path):
    by_hand = QuantileQueries(plan.queries.questions, policy.universe, 50)
    with pytest.raises(dx.UnsupportedCombination, match="queries that were read"):
        dx.save_plan(dx.plan(policy.compile(), by_hand), tmp_path / "p.json", policy=policy)
