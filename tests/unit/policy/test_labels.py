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
    # Labels that are exchanged later are not those of this release.
    assert re.search(r"^by sex: women +-?[\d,.]+ +± ", again, re.MULTILINE) and "sex=F" not in again
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


@pytest.mark.long
def test_what_a_file_calls_a_query_is_shown_wherever_its_name_was(folder):
    """Screens, JSON, CSV and the ledger have the label; names, fingerprints and frames stay."""
    policy = dx.load_policy(folder / "called.yaml")
    asked = "queries:\n  - {name: by sex, marginal: sexLABEL}\n  - {mean: age, by: sex}\n  - {count: age >= 20}\n"
    bare = dx.parse_queries(asked.replace("LABEL", "") + "records: 2\n", policy)
    told = asked.replace("LABEL", ", label: Residents").replace("age, by: sex", "age, by: sex, label: Years")
    told = told.replace("20}", "20, label: Twenty and more}") + "records: 2\n"
    called = dx.parse_queries(told, policy)
    assert bare.fingerprint == called.fingerprint and bare.names == called.names
    (folder / "queries.yaml").write_text(told, encoding="utf-8")
    words = [folder / "called.yaml", folder / "people.csv", folder / "queries.yaml", "--ledger", folder / "l.db"]
    words = ["release", *words, "--spend", "0.5", "--mechanism", "laplace", "--id", "one", "--format"]
    document = json.loads(CliRunner().invoke(app, [*map(str, [*words, "json"])]).stdout)
    expected = ["Residents: women", "Residents: men", "Years: sum of age, women", "Years: sum of age, men"]
    assert [one["label"] for one in document["answers"]] == [*expected, "Twenty and more"]
    assert [one["label"] for one in document["ratios"]] == ["Years, women", "Years, men"]
    assert is_valid(document, release_schema())
    show = ["ledger", "show", str(folder / "l.db"), "--entry", "1"]
    fresh, again = (CliRunner().invoke(app, [*map(str, each), "csv"]).stdout for each in (words, [*show, "--format"]))
    assert fresh == again and next(csv.reader(fresh.splitlines()))[-2:] == ["exact", "label"]
    for screen in (CliRunner().invoke(app, [*map(str, words), "text"]).stdout, CliRunner().invoke(app, show).stdout):
        assert all(one in screen for one in ("Residents: women", "Years, men", "Twenty and more"))
    plan = CliRunner().invoke(app, ["plan", str(words[1]), str(words[3]), "--mechanism", "laplace"]).stdout
    assert "Residents: women" in plan and "Twenty and more" in plan
    estimate = CliRunner().invoke(app, [*map(str, words), "text", "--estimate", "auto"]).stdout
    assert re.search(r"^Residents: women +-?[\d,.]+ +-?[\d,.]+$", estimate, re.MULTILINE)


@pytest.mark.long
def test_quantiles_and_whole_tables_are_called_by_labels_too():
    policy = dx.Policy.from_dict(
        {
            "policy": "p",
            "unconnected": "allow",
            "universe": {
                "attributes": {
                    "sex": {"values": ["F", "M"], "labels": {"F": "women", "M": "men"}},
                    "label": ["a", "b"],
                    "age": {"range": [0, 40], "step": 10},
                }
            },
            "rules": [{"change": "age", "epsilon": 1}],
        }
    )
    table = {"sex": ["F", "M"] * 4, "label": ["a", "b"] * 4, "age": [0, 10, 20, 30] * 2}
    asked = dx.queries_from_dict({"queries": [{"median": "age", "by": "sex", "label": "Middle age"}]}, policy)
    released = dx.plan(policy.compile(), asked).release(table, spend=1, ledger=":memory:")
    document = released.as_dict()
    assert [one["name_label"] for one in document["quantiles"]] == ["Middle age, women", "Middle age, men"]
    (columns,) = released.answer.batches(labels=policy.labels)
    assert columns["label"] == ["Middle age, women", "Middle age, men"] and "Middle age, men" in str(released)
    tables = dx.universe.MarginalQueries.of(policy.universe, [["sex", "label"]])
    answers = dx.plan(policy.compile(), tables, mechanism="marginal-laplace").release(table, spend=1, ledger=":memory:")
    document = answers.as_dict()
    assert document["values"]["sex"] == ["F", "M"] and document["labels"] == {"sex": ["women", "men"]}
    (columns,) = answers.answer.batches(labels=policy.labels)
    assert columns["label"] == ["women, a", "women, b", "men, a", "men, b"]
    # An attribute may be called so, too; data frames have it, and no labels.
    assert [*answers.to_arrow().column_names][:2] == ["sex", "label"] and "women" not in str(answers.to_arrow())
    named = dx.queries_from_dict({"queries": [{"count": "true", "by": ["sex", "label"], "name": "n"}]}, policy)
    (columns,) = (
        dx.plan(policy.compile(), named, mechanism="laplace")
        .release(table, spend=1, ledger=":memory:")
        .answer.batches(labels=policy.labels)
    )
    assert columns["label"] == ["a", "b", "a", "b"] and columns["label shown"][2] == "n, men, label=a"


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


CALLED_LABEL = """policy: p
universe: {attributes: {label: [a, b], sex: {values: [m, f], labels: {m: Men}}}}
rules: [{change: [label, sex], epsilon: 1}]
"""


@pytest.mark.parametrize("query", ["{count: true, by: [label, sex]}", "{marginals: [[label, sex]]}"])
def test_an_attribute_may_be_called_label(query):
    policy = dx.parse_policy(CALLED_LABEL)
    rows = {"label": ["a", "b"], "sex": ["m", "f"]}
    plan = dx.plan(policy.compile(), dx.parse_queries(f"queries: [{query}]", policy))
    release = plan.release(rows, ledger=":memory:", spend=1, insecure_test_seed=1)
    assert release.to_arrow()["label"].to_pylist() == ["a", "a", "b", "b"]
    whole = release.answer.whole(labels=policy.labels)
    assert list(whole["label"]) == ["a", "a", "b", "b"]
    assert [name.rpartition(", ")[2] for name in whole["label shown"]] == ["Men", "sex=f"] * 2


def test_an_attribute_of_whole_tables_may_be_called_label():
    policy = dx.parse_policy(CALLED_LABEL)
    queries = dx.universe.MarginalQueries.of(policy.universe, [("label", "sex")])
    release = dx.plan(policy.compile(), queries).release(
        {"label": ["a", "b"], "sex": ["m", "f"]}, ledger=":memory:", spend=1, insecure_test_seed=1
    )
    whole = release.answer.whole(labels=policy.labels)
    assert [list(whole[title]) for title in ("label", "sex")] == [["a", "a", "b", "b"], ["m", "f", "m", "f"]]
    assert whole["label shown"] == ["a, Men", "a, f", "b, Men", "b, f"]
