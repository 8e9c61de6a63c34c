"""Plans of tasks as files: kept, made anew, and refused where anything in them was forged."""

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
from dxgeom.planner.kind import Planning
from dxgeom.planner.wish import Wish
from dxgeom.universe.tasks.tasks import Tasks

POLICY = """policy: wards
universe:
  attributes:
    ward: [A, B]
    age: {range: [0, 9], step: 1, whole: true}
rules:
  - {change: [ward, age], epsilon: 1}
"""
MWEM = "synthesize: {workload: [{marginal: ward}], rounds: 1}"
TASKS = """records: 200
tasks:
  - {name: sums, share: 1/2, queries: [{marginal: ward}, {sum: age}]}
  - {name: ages, share: 1/4, queries: [{median: age}]}
  - {name: most, share: 1/4, select: {best: ward}}
"""


@pytest.fixture(scope="module")
def policy():
    return dx.parse_policy(POLICY)


@pytest.fixture(scope="module")
def plan(policy):
    return dx.plan(policy.compile(), dx.parse_queries(TASKS, policy), spend="1/2")


@pytest.fixture
def document(plan, policy, tmp_path):
    dx.save_plan(plan, tmp_path / "original.json", policy=policy, spend="1/2")
    return read(tmp_path / "original.json")


def test_a_plan_of_tasks_is_kept(plan, document, tmp_path):
    loaded = dx.load_plan(tmp_path / "original.json")
    assert (loaded.fingerprint, loaded.spend) == (plan.fingerprint, plan.spend)
    assert loaded.to_json() == (tmp_path / "original.json").read_text("ascii")
    assert is_valid(document, plan_schema())
    counts = np.full(20, 10)
    drawn = [one.release(counts, ledger=":memory:", spend="1/2", insecure_test_seed=7) for one in (plan, loaded)]
    assert drawn[0].as_dict()["tasks"] == drawn[1].as_dict()["tasks"]
    assert differences(loaded, loaded).lines() == ["the two plans are the same"]


def refused(document, tmp_path):
    path = tmp_path / "forged.json"
    write(path, {**document, "digest": digest_of(document)})
    with pytest.raises(PlanError) as caught:
        dx.load_plan(path)
    (first,) = caught.value.diagnostics
    return first.code, first.path


FORGED = [
    (("parts", 0, "mechanism", "name"), "best", "DX305", "parts[0].mechanism.name"),
    (("parts", 0, "objective", "name"), "best", "DX302", "parts[0].objective.name"),
    (("parts", 0, "errors", 0, "rmse"), "1.0", "DX307", "parts[0].errors"),
    (("parts", 0, "name"), "other", "DX302", "parts"),
    (("parts", 0), {"name": "sums", "fingerprint": "0" * 64}, "DX302", "parts[0]"),
    (("parts", 1, "forms"), [["laplace", "laplace"]], "DX305", "parts[1].forms"),
    (("parts", 1), {"name": "ages", "fingerprint": "0" * 64}, "DX302", "parts[1]"),
    (("parts", 2, "fingerprint"), "0" * 64, "DX307", "parts[2].fingerprint"),
    (("parts", 2), {"name": "most", "forms": [["laplace"]]}, "DX302", "parts[2]"),
    (("parts",), [], "DX302", "parts"),
    (("queries", "written", "tasks", 0, "share"), "3/4", "DX304", "queries.written"),
    (("queries", "written", "tasks", 2, "select", "best"), "age", "DX304", "queries.fingerprint"),
    (("queries", "written"), {"queries": [{"count": "true"}]}, "DX304", "queries.written"),
    (("queries", "written"), None, "DX302", "queries"),
    (("policy", "written", "rules", 0, "epsilon"), "9", "DX303", "policy.fingerprint"),
    (("spend",), "2", "DX308", "spend"),
    (("compared_at_spend",), "a half", "DX302", "compared_at_spend"),
    (("fingerprint",), "0" * 64, "DX307", "fingerprint"),
    (("mechanism",), {}, "DX302", "mechanism"),
]


@pytest.mark.parametrize(("place", "value", "code", "where"), FORGED)
def test_a_forged_plan_of_tasks_is_refused(document, place, value, code, where, tmp_path):
    found, at = refused(changed(document, place, value), tmp_path)
    assert (found, at.startswith(where)) == (code, True)


def test_less_noise_than_the_policy_asks_for_is_refused(policy, tmp_path):
    plan = dx.plan(policy.compile(), dx.parse_queries(TASKS, policy), mechanism="laplace")
    dx.save_plan(plan, tmp_path / "laplace.json", policy=policy)
    place = ("parts", 0, "mechanism", "law", "scales", "floats")
    document = read(tmp_path / "laplace.json")
    scales = document["parts"][0]["mechanism"]["law"]["scales"]["floats"]
    smaller = [(float.fromhex(one) / 2).hex() for one in scales]
    code, where = refused(changed(document, place, smaller), tmp_path)
    assert (code, where) == ("DX306", "parts[0].mechanism.law")


def test_no_field_may_be_missing_and_an_edited_file_is_refused(document, tmp_path):
    for name in [*document]:
        code, _ = refused(without(document, (name,)), tmp_path) if name != "digest" else ("DX302", "")
        assert code in ("DX301", "DX302")
    path = tmp_path / "edited.json"
    path.write_text(json.dumps({**document, "spend": "1/4"}), encoding="ascii")
    with pytest.raises(PlanError, match="DX307"):
        dx.load_plan(path)


def test_what_changed_between_two_plans_is_told(policy, document, tmp_path):
    text = TASKS.replace("best: ward", "best: age").replace("name: ages", "name: years")
    other = dx.plan(policy.compile(), dx.parse_queries(text, policy))
    dx.save_plan(other, tmp_path / "other.json", policy=policy)
    told = differences(dx.load_plan(tmp_path / "original.json"), dx.load_plan(tmp_path / "other.json")).lines()
    assert "queries: 'ages' is no longer asked" in told
    assert "queries: tasks[2].select.best was ward and is age" in told
    assert any(line.startswith("tasks: [2].fingerprint was ") for line in told)


def test_tasks_made_by_hand_are_not_written(policy, plan, tmp_path):
    by_hand = Tasks(plan.tasks.parts, policy.universe, 200)
    with pytest.raises(dx.UnsupportedCombination, match="tasks that were read"):
        dx.save_plan(dx.plan(policy.compile(), by_hand), tmp_path / "p.json", policy=policy)


def test_another_law_of_a_selection_is_a_difference(tmp_path):
    policy = dx.parse_policy(POLICY.replace("universe:", "privacy: concentrated\nuniverse:", 1))
    loaded = []
    for law in ("permute-and-flip", "exponential"):
        asked = f"tasks:\n  - {{name: most, select: {{best: ward, law: {law}}}}}\n"
        made = dx.plan(policy.compile(), dx.parse_queries(asked, policy))
        dx.save_plan(made, tmp_path / f"{law}.json", policy=policy)
        loaded.append(dx.load_plan(tmp_path / f"{law}.json"))
    said = "task 'most': picked by permute-and-flip before, by exponential at half now"
    assert said in differences(*loaded).lines()
    assert not any("picked by" in one for one in differences(loaded[0], loaded[0]).lines())


@pytest.mark.parametrize(
    ("task", "before"), [("select: {best: ward, law: exponential}", "exponential"), (MWEM, "permute-and-flip")]
)
def test_the_laws_of_earlier_versions_are_told_apart(task, before):
    policy = dx.parse_policy(POLICY.replace("universe:", "privacy: concentrated\nuniverse:", 1))
    asked = dx.parse_queries(f"records: 200\ntasks:\n  - {{name: a, {task}}}\n", policy)
    (part,) = dx.plan(policy.compile(), asked).parts
    how = Planning(part.metric, Wish(records=200))
    earlier = next(iter(part.kind.earlier(part.question, how)))
    assert (part.kind.picked_by(part), earlier.kind.picked_by(earlier)) == ("exponential at half", before)
