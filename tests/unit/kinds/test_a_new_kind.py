"""A kind of question that a test registers is read, planned, kept, compared, released and shown like any other."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from reference import toy_kind
from reference.json_schema import is_valid
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.kinds import registry
from dxgeom.plan_files import differences, plan_schema, release_schema
from dxgeom.queries.schema import queries_schema
from dxgeom.report import read_release, review_page

POLICY = """policy: wards
universe: {attributes: {ward: [a, b, c], ill: ["y", "n"]}}
budget: 3
rules: [{change: ward, epsilon: 1}, {change: ill, epsilon: 1}]
"""
TASKS = "tasks:\n  - {mode: ward, name: most, share: 3/4}\n  - {queries: [{count: ill == 'y'}], share: 1/4}\n"
ROWS = "ward,ill\n" + "b,y\n" * 40 + "a,n\n" * 3


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "KINDS", (*registry.KINDS, "reference.toy_kind:MODE"))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {"policy.yaml": POLICY, "tasks.yaml": TASKS, "people.csv": ROWS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def plan(files):
    policy = dx.load_policy(files / "policy.yaml")
    return dx.plan(policy.compile(), dx.load_queries(files / "tasks.yaml", policy))


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


def asked(*tasks, policy=POLICY):
    return dx.queries_from_dict({"tasks": [*tasks]}, dx.parse_policy(policy))


def test_it_is_one_short_file():
    assert len([one for one in Path(toy_kind.__file__).read_text().splitlines() if one.strip()]) <= 60


def test_its_words_are_in_the_schema_and_mistakes_in_them_have_places():
    forms = queries_schema()["properties"]["tasks"]["items"]["anyOf"]
    assert "mode" in [form["title"] for form in forms]
    assert is_valid({"tasks": [{"mode": "ward", "share": "1"}]}, queries_schema())
    for task, words in (
        ({"mode": "wrad"}, "tasks"),
        ({"mods": "ward"}, "did you mean 'mode'"),
        ({"mode": ["a"]}, "single word"),
    ):
        with pytest.raises(dx.QueryError, match=words):
            asked(task)


def test_what_it_does_not_heed_is_refused(plan):
    mode, counts = (part.question for part in plan.tasks.parts)
    with pytest.raises(dx.UnsupportedCombination, match="a plan of a mode heeds nothing of this, and not 'objective'"):
        dx.plan(plan.metric, mode, objective="max")
    assert dx.plan(plan.metric, mode).fingerprint == plan.parts[0].fingerprint
    assert counts.fingerprint != mode.fingerprint


def test_its_plan_is_a_file_and_two_differ_in_words(files, plan):
    policy = dx.load_policy(files / "policy.yaml")
    kept = dx.save_plan(plan, files / "plan.json", policy=policy, spend="1/2")
    document = json.loads((files / "plan.json").read_text())
    assert is_valid(document, plan_schema())
    assert kept.fingerprint == plan.fingerprint
    other = dx.plan(policy.compile(), dx.parse_queries(TASKS.replace("mode: ward", "mode: ill"), policy))
    again = dx.save_plan(other, files / "other.json", policy=policy, spend="1/2")
    told = differences(kept, again).lines()
    assert "queries: tasks[0].mode was ward and is ill" in told
    assert run("plan", files / "policy.yaml", files / "tasks.yaml").count("its value has at most") == 1


def test_a_release_of_it_is_shown_in_every_form_and_again(files, plan):
    ledger = files / "l.db"
    release = plan.release(files / "people.csv", ledger=ledger, spend=1, id="once", insecure_test_seed=1)
    assert release["most"].by_name == {"ward": 1}
    document = json.loads(release.to_json())
    assert is_valid(document, release_schema())
    assert release.to_arrow("most").to_pydict()["value"] == [1]
    assert "ward" in release._repr_html_() and "most" in plan._repr_html_()
    assert (
        plan.release(files / "people.csv", ledger=ledger, spend=1, id="once").answer.as_dict()
        == release.answer.as_dict()
    )
    shown = run("ledger", "show", ledger, "--entry", 1)
    assert "most (mode" in shown
    assert "ward" in shown
    (files / "release.json").write_text(release.to_json())
    (part, _) = read_release(files / "release.json").parts
    assert part.tables[0].columns["value"] == [1.0]
    policy = dx.load_policy(files / "policy.yaml")
    page = review_page(policy, plan, spend=1, ledger=ledger)
    assert "its value has at most" in page.html()
    said = run("ledger", "show", ledger, "--entry", 1, "--format", "csv")
    assert {"task": "most", "name": "ward", "value": "1.0"}.items() <= next(csv.DictReader(said.splitlines())).items()
    assert plan.rehearse(spend=1).rehearsal


@pytest.mark.needs("opendp")
def test_it_is_a_measurement_of_opendp(files, plan):
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    measured = plan.to_opendp(ledger=files / "l.db", spend="1/2")
    assert measured.map(1) >= 0.5
    released = measured(str(files / "people.csv"))
    assert released["most"].by_name.keys() == {"ward"}
