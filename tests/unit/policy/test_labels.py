"""Titles, labels and names of places: what readers see, and nothing that an answer or an account depends on."""

from __future__ import annotations

import csv
import json
import re

import pytest
from reference.json_schema import is_valid
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.cli.showing import _labelled
from dxgeom.errors import PolicyError
from dxgeom.plan_files import release_schema
from dxgeom.report.facts import comparisons
from dxgeom.report.short_policy import policy_screen

BARE = """\
policy: people
universe:
  attributes:
    sex: {values: [F, M]}
    age: {range: [0, 40], step: 10, unit: years}
    town: {points: towns.csv, key: id, latitude: north, longitude: east}
rules:
  - {change: sex, epsilon: 1}
  - {change: age, epsilon: 1, per: 10}
  - {change: town, epsilon: 1, per: 50 km}
"""
CALLED = (
    BARE.replace("policy: people", "policy: people\ntitle: People of two towns")
    .replace("[F, M]", "[F, M], title: Sex, labels: {F: women, M: men}")
    .replace("unit: years", "unit: years, title: Age")
    .replace("longitude: east", "longitude: east, name: [name, state]")
)
TOWNS = "id,name,state,north,east\n1,Springfield,IL,40,-90\n2,Springfield,IL,40,-80\n3,Salem,OR,45,-123\n"
QUERIES = "queries:\n  - {name: by sex, marginal: sex}\n  - {name: old, count: age >= 20}\n"
PEOPLE = "sex,age,town\nF,10,1\nM,20,3\n"


@pytest.fixture
def folder(tmp_path):
    files = {
        "towns.csv": TOWNS,
        "queries.yaml": QUERIES,
        "people.csv": PEOPLE,
        "bare.yaml": BARE,
        "called.yaml": CALLED,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_titles_and_labels_are_in_no_fingerprint(folder):
    bare, called = (dx.load_policy(folder / f"{name}.yaml") for name in ("bare", "called"))
    assert (bare.fingerprint, bare.meaning) == (called.fingerprint, called.meaning)
    plans = [
        dx.plan(one.compile(), dx.load_queries(folder / "queries.yaml", one), mechanism="laplace")
        for one in (bare, called)
    ]
    assert plans[0].fingerprint == plans[1].fingerprint
    assert not bare.labels and called.labels
    assert dx.parse_policy(called.to_yaml(), folder=folder).labels == called.labels


def test_values_are_called_by_labels_and_by_columns_and_alike_ones_by_both(folder):
    policy = dx.load_policy(folder / "called.yaml")
    shown = {one.name: one.labels for one in comparisons(policy, policy.review().attributes)}
    assert shown["sex"] == ("women", "men")
    assert shown["town"] == ("Springfield IL (1)", "Springfield IL (2)", "Salem OR")
    screen = "\n".join(policy_screen(policy, policy.review()).lines())
    assert screen.startswith("People of two towns:") and re.search(r"Age +1?.*for every 10 years", screen)
    assert "Salem OR" in screen


def test_answers_are_called_by_labels_on_screens_and_in_a_column_of_their_own(folder):
    words = ["release", folder / "called.yaml", folder / "people.csv", folder / "queries.yaml", "--spend", "0.5"]
    words += ["--mechanism", "laplace", "--ledger"]
    text = CliRunner().invoke(app, [*map(str, [*words, folder / "a.db"])]).stdout
    assert re.search(r"^by sex: women +-?[\d,.]+ +± ", text, re.MULTILINE) and "Sex 0.5" in text
    again = CliRunner().invoke(app, ["ledger", "show", str(folder / "a.db"), "--entry", "1"]).stdout
    # A ledger keeps the labels of the first release, and they may have been exchanged since.
    assert re.search(r"^by sex: sex=F +-?[\d,.]+ +± ", again, re.MULTILINE) and "women" not in again
    words_of_plan = ["plan", folder / "called.yaml", folder / "queries.yaml", "--mechanism", "laplace"]
    plan = CliRunner().invoke(app, [*map(str, words_of_plan)]).stdout
    assert plan.startswith("People of two towns: 3 answers") and "by sex: men " in plan
    table = CliRunner().invoke(app, [*map(str, [*words, folder / "b.db", "--format", "csv"])]).stdout
    rows = list(csv.DictReader(table.splitlines()))
    assert [(row["name"], row["label"]) for row in rows] == [
        ("by sex: sex=F", "by sex: women"),
        ("by sex: sex=M", "by sex: men"),
        ("old", "old"),
    ]
    assert list(rows[0])[-1] == "label"


def test_labels_of_what_is_no_value_and_names_in_no_column_are_mistakes(folder):
    wrong = CALLED.replace("F: women", "W: women").replace("[name, state]", "[name, county]")
    with pytest.raises(PolicyError, match=r"no value 'W' to label") as caught:
        dx.parse_policy(wrong, folder=folder)
    assert [one.code for one in caught.value.diagnostics] == ["DX133", "DX126"]
    assert "has no column 'county' of names" in str(caught.value)


def test_a_label_stands_for_its_own_attribute_only_and_two_alike_are_told_apart():
    text = """\
policy: p
universe:
  attributes:
    ax: {values: [A, B, C], labels: {A: "one, max=A", B: alike, C: alike}}
    max: {values: [A, B, C], labels: {B: C}}
rules:
  - {change: [ax, max], epsilon: 1}
"""
    labels = dx.parse_policy(text).labels
    assert labels.answer("n, max=A, ax=A", {"max": "A", "ax": "A"}) == "n, max=A, one, max=A"
    assert labels.answer("n, ax=A, max=B", {"ax": "A", "max": "B"}) == "n, one, max=A, C (B)"
    assert [labels.value("ax", one) for one in "ABC"] == ["one, max=A", "alike (B)", "alike (C)"]
    assert labels.value("max", "C") == "C (C)"


def test_concentrated_odds_are_said_of_the_first_step_only():
    # Of two steps they move farther than by the square of this; those of pure privacy just by the square.
    for privacy, words in (("pure", "for every 10 years"), ("concentrated", "for the first 10 years")):
        policy = dx.Policy.from_dict(
            {
                "policy": "p",
                "privacy": privacy,
                "universe": {"attributes": {"age": {"range": [0, 40], "step": 10, "unit": "years"}}},
                "rules": [{"change": "age", "epsilon": 1, "per": 10}],
            }
        )
        assert words in "\n".join(policy_screen(policy, policy.review()).lines())


def test_every_part_of_a_long_table_has_the_same_columns(folder):
    labels = dx.load_policy(folder / "called.yaml").labels
    parts = [{"name": [name], "sex": [value], "value": [1.0]} for name, value in (("old", None), ("n, sex=F", "F"))]
    assert [_labelled(part, labels)["label"] for part in parts] == [["old"], ["n, women"]]
    assert _labelled({**parts[1], "label": ["x"]}, labels) == {**parts[1], "label": ["x"], "label shown": ["n, women"]}


def test_rules_and_people_are_called_by_their_own_words_and_answers_in_json_have_labels(folder):
    told = CALLED.replace("title: People of two towns", "title: Two towns\ncalled: residents")
    told = told.replace("{change: sex, epsilon: 1}", "{change: sex, epsilon: 1, title: Women and men}")
    told += "  - {change: [sex, age], epsilon: 3, title: Facts}\n"
    (folder / "called.yaml").write_text(told)
    policy = dx.load_policy(folder / "called.yaml")
    screen = " ".join(" ".join(policy_screen(policy, policy.review()).lines()).split())
    assert all(words in screen for words in ("two residents", "number of residents", "Women and men", "Facts: Age"))
    asked = [folder / name for name in ("people.csv", "queries.yaml")]
    words = [
        "release",
        folder / "called.yaml",
        *asked,
        "--ledger",
        folder / "l.db",
        "--spend",
        "1/2",
        "--format",
        "json",
    ]
    document = json.loads(CliRunner().invoke(app, [*map(str, words)]).stdout)
    assert [(one["name"], one.get("label")) for one in document["answers"]] == [
        ("by sex: sex=F", "by sex: women"),
        ("by sex: sex=M", "by sex: men"),
        ("old", None),
    ]
    assert is_valid(document, release_schema())
    text = CliRunner().invoke(app, [*map(str, words[:-2])]).stdout
    assert "2 residents" in text and "Women and men" in text
