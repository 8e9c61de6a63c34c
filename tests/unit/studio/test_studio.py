"""The studio without a browser: numbers that can be moved, what a move says, what changed, and what is written."""

from __future__ import annotations

import re
import shutil
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.studio.levers import levers_of
from dxgeom.studio.session import Studio

MOVED = ("adult", "clinic", "hospital-stays", "payroll", "poll")
QUICK = ("clinic", "hospital-stays", "payroll")


def copy_of(folder, name="clinic"):
    return shutil.copytree(POLICIES / name, folder / name) / "policy.yaml"


@pytest.fixture
def clinic(tmp_path):
    return Studio(copy_of(tmp_path))


def state_of(studio):
    return studio.ask("state", {})


def moved(studio, lever, value):
    return studio.ask("move", {"revision": studio.revision, "lever": lever, "value": value})


def edited(studio, text):
    return studio.ask("edit", {"revision": studio.revision, "text": text})


@pytest.mark.parametrize("name", MOVED)
def test_a_moved_number_is_the_only_thing_that_changes_in_a_file(name):
    policy = dx.load_policy(POLICIES / name / "policy.yaml")
    content, levers = policy.text.content, levers_of(policy)
    assert levers[-1].name == "budget"
    numbers = set()
    for lever in levers:
        stops = [Fraction(stop) for stop in lever.stops]
        assert stops == sorted(set(stops)) and Fraction(lever.value) in stops
        text = lever.moved(content, "0.123")
        start = lever.span.start
        rest = content[lever.span.end :]
        assert text.startswith(content[:start]) and text.endswith(rest)
        assert text[start : len(text) - len(rest)] == f"{lever.prefix}0.123"
        numbers.add(text)
    assert len(numbers) == len(levers)


@pytest.mark.parametrize("name", QUICK)
def test_every_number_of_a_file_is_that_of_its_rule(name):
    policy = dx.load_policy(POLICIES / name / "policy.yaml")
    folder = policy.text.folder
    for lever in levers_of(policy):
        other = dx.parse_policy(lever.moved(policy.text.content, "0.123"), folder=folder)
        changed = [one.bounds != two.bounds for one, two in zip(policy.rules, other.rules, strict=True)]
        changed = [number for number, is_changed in enumerate(changed) if is_changed]
        assert changed == ([] if lever.rule is None else [lever.rule])
        assert (other.budget == Fraction("0.123")) == (lever.rule is None)


def test_missing_values_and_each_value_have_numbers(tmp_path):
    found = {
        one["name"] for rule in state_of(Studio(copy_of(tmp_path, "admissions")))["rules"] for one in rule["levers"]
    }
    assert "universe/attributes/age/missing/epsilon" in found
    names = [one.name for one in levers_of(dx.load_policy(POLICIES / "adult" / "policy.yaml")) if one.rule == 3]
    assert names == [f"rules/3/values/{one}" for one in ("Separated", "Widowed", "Married-spouse-absent")] + [
        "rules/3/otherwise"
    ]


@pytest.mark.parametrize("value", ["0", "-1", "1e3", "1\nbudget: 9", "", "0.0000000001", "nan", "١"])
def test_what_is_no_number_is_not_written_into_the_file(clinic, value):
    before = state_of(clinic)
    with pytest.raises(UnsupportedCombination, match="above 0"):
        moved(clinic, "rules/0/epsilon", value)
    assert state_of(clinic) == before


def test_a_move_says_what_the_compiled_policy_says(clinic):
    found = moved(clinic, "rules/0/epsilon", "0.5")
    policy = dx.parse_policy(found["text"])
    rule = found["rules"][0]
    assert found["fingerprint"] == policy.fingerprint
    assert rule["levers"][0]["odds"] == "odds at most 1.65 to 1" and rule["levers"][0]["right"] == "623"
    assert rule["sentence"].endswith("odds at most 1.65 to 1.")
    assert "1.65 to 1" in rule["pairs"] and "623" in rule["pairs"]
    assert not found["saved"] and found["mistakes"] == []


@pytest.mark.parametrize("name", QUICK)
def test_after_any_move_the_pairs_are_at_their_compiled_distances(name, tmp_path):
    studio = Studio(copy_of(tmp_path, name))
    for lever in [one["name"] for rule in state_of(studio)["rules"] for one in rule["levers"]]:
        quick = moved(studio, lever, "0.3")
        settled = studio.ask("settle", {})
        shown = [set(re.findall(r"[0-9.,]+ to 1", rule["pairs"])) for rule in settled["rules"]]
        fresh = Studio(studio.path)
        edited(fresh, settled["text"])
        again = fresh.ask("settle", {})
        assert [rule["pairs"] for rule in settled["rules"]] == [rule["pairs"] for rule in again["rules"]]
        assert [rule["sentence"] for rule in quick["rules"]] == [rule["sentence"] for rule in again["rules"]]
        assert all(shown)


def test_the_numbers_of_a_move_never_fall_short(clinic):
    policy = clinic.draft.policy
    state = moved(clinic, "budget", "3")
    for rule in state["rules"]:
        for lever in rule["levers"]:
            said = float(re.search(r"([0-9.,]+) to 1", lever["odds"])[1].replace(",", ""))
            assert said >= np.exp(float(lever["value"]) * 3)
            assert int(lever["right"]) >= 1000 / (1 + np.exp(-float(lever["value"]) * 3))
    assert policy.budget == 1


def test_a_concentrated_policy_has_no_odds_that_always_hold(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(
        "policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules: [{change: a, epsilon: 1}]\nprivacy: concentrated\n"
    )
    lever = state_of(Studio(path))["rules"][0]["levers"][0]
    assert lever["odds"].endswith("but one time in a million") and lever["band"] == ""
    assert int(lever["right"]) > 500


def test_mistakes_are_shown_where_they_are_and_the_policy_before_stays(clinic):
    text = state_of(clinic)["text"]
    found = edited(clinic, text.replace("epsilon: 0.1", "epsilon: lots"))
    (mistake,) = found["mistakes"]
    line = found["text"].split("\n")[mistake["line"] - 1]
    at = mistake["column"] - 1
    assert line[at : at + mistake["length"]] == "lots" and mistake["code"] == "DX109"
    assert found["rules"] == [] and found["fingerprint"] == ""
    with pytest.raises(UnsupportedCombination, match="no number"):
        moved(clinic, "rules/0/epsilon", "0.2")
    assert "mistakes" in clinic.ask("settle", {})["compared"]["words"]
    assert edited(clinic, text)["mistakes"] == []


def test_what_changed_is_told_worst_first_and_each_with_its_reason(clinic):
    assert clinic.ask("settle", {})["compared"]["same"]
    moved(clinic, "rules/0/epsilon", "2")
    found = clinic.ask("settle", {})["compared"]
    assert found["words"] == "1 pair is hidden less well than before, 0 pairs are hidden better."
    (row,) = found["weaker"]
    assert (row["attribute"], row["before"], row["now"]) == (
        "native",
        "odds at most 1.11 to 1",
        "odds at most 7.39 to 1",
    )
    reason = clinic.ask("reason", {key: row[key] for key in ("attribute", "first", "second")})
    (step,) = reason["now"]["steps"]
    assert state_of(clinic)["text"].split("\n")[step["line"] - 1].strip().startswith("- change: native") or step["line"]
    assert reason["before"]["odds"] == row["before"] and reason["now"]["odds"] == row["now"]
    assert clinic.ask("rebase", {})["compared"]["same"]


def test_a_detour_is_a_reason(tmp_path):
    studio = Studio(copy_of(tmp_path, "hospital-stays"))
    labels = studio.draft.policy.universe.attributes[0].labels
    found = studio.ask("reason", {"attribute": "diagnosis", "first": 0, "second": len(labels) - 1})["now"]
    assert len(found["steps"]) > 1 and "steps add up" in found["words"]


@pytest.mark.parametrize(
    "asked",
    [
        {"attribute": "none", "first": 0, "second": 1},
        {"attribute": "age", "first": 0, "second": 9},
        {"attribute": "age", "first": -1, "second": 0},
        {"attribute": "age", "first": True, "second": 0},
        {"attribute": 3, "first": 0, "second": 1},
        {},
    ],
)
def test_a_question_that_makes_no_sense_is_refused(clinic, asked):
    with pytest.raises(UnsupportedCombination):
        clinic.ask("reason", asked)


def test_nothing_is_written_before_somebody_asks_and_then_only_the_file(clinic):
    before = {path.name: path.read_bytes() for path in clinic.path.parent.iterdir()}
    moved(clinic, "rules/0/epsilon", "0.25")
    clinic.ask("settle", {})
    assert {path.name: path.read_bytes() for path in clinic.path.parent.iterdir()} == before
    found = clinic.ask("save", {"revision": clinic.revision})
    assert found["saved"] and clinic.saved
    after = {path.name: path.read_bytes() for path in clinic.path.parent.iterdir()}
    assert {name for name in after if after[name] != before.get(name)} == {"policy.yaml"}
    assert dx.load_policy(clinic.path).fingerprint == found["fingerprint"]


def test_what_another_program_wrote_is_not_overwritten(clinic):
    moved(clinic, "rules/0/epsilon", "0.25")
    clinic.path.write_text("policy: other\n")
    with pytest.raises(UnsupportedCombination, match="not overwritten"):
        clinic.ask("save", {"revision": clinic.revision})
    assert clinic.path.read_text() == "policy: other\n"


def test_what_is_saved_keeps_its_link_and_who_may_read_it_and_leaves_nothing_beside(tmp_path):
    real = copy_of(tmp_path)
    real.chmod(0o640)
    (tmp_path / "link.yaml").symlink_to(real)
    studio = Studio(tmp_path / "link.yaml")
    beside = {path.name for path in real.parent.iterdir()}
    text = edited(studio, state_of(studio)["text"] + "# ä\n")["text"]
    assert studio.ask("save", {"revision": studio.revision})["saved"]
    assert (tmp_path / "link.yaml").is_symlink() and real.read_text(encoding="utf-8") == text
    assert real.stat().st_mode & 0o777 == 0o640 and {path.name for path in real.parent.iterdir()} == beside


def test_a_save_that_fails_leaves_the_file_as_it_was(clinic, monkeypatch):
    before = {path.name: path.read_bytes() for path in clinic.path.parent.iterdir()}
    moved(clinic, "rules/0/epsilon", "0.25")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match="No space left"):
        clinic.ask("save", {"revision": clinic.revision})
    assert not clinic.saved
    assert {path.name: path.read_bytes() for path in clinic.path.parent.iterdir()} == before


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("edit", {"revision": 0, "text": "# \ud800"}),
        ("answers", {"share": "1e-999999999"}),
        ("answers", {"share": "1/0"}),
        ("price", {"name": "x", "wanted": 10**400}),
        ("price", {"name": "x", "wanted": float("nan")}),
    ],
)
def test_what_would_take_for_ever_or_cannot_be_written_is_refused_at_once(tmp_path, question, asked):
    path = copy_of(tmp_path)
    studio = Studio(path, path.parent / "queries.yaml")
    studio.answers._made = (studio.draft.policy, SimpleNamespace(answers_a_list=False))
    with pytest.raises(UnsupportedCombination):
        studio.ask(question, asked)
    assert studio.revision == 0 and studio.saved


def test_a_window_that_is_behind_changes_nothing(clinic):
    moved(clinic, "rules/0/epsilon", "0.25")
    found = clinic.ask("move", {"revision": 0, "lever": "rules/0/epsilon", "value": "9"})
    assert "another window" in found["note"] and "epsilon: 0.25" in found["text"]
    assert not clinic.ask("save", {"revision": 0})["saved"]


def test_lines_end_as_they_did(tmp_path):
    path = copy_of(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    studio = Studio(path)
    moved(studio, "rules/0/epsilon", "0.25")
    studio.ask("save", {"revision": studio.revision})
    assert path.read_bytes().count(b"\r\n") == path.read_bytes().count(b"\n") > 5


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        Studio(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-8"):
        Studio(tmp_path / "bytes.yaml")


def test_names_from_the_file_are_text_on_the_page(tmp_path):
    path = tmp_path / "policy.yaml"
    name = "<script>alert(1)</script>"
    path.write_text(f"policy: p\nuniverse: {{attributes: {{a: [x, '{name}']}}}}\nrules: [{{change: a, epsilon: 1}}]\n")
    state = Studio(path).ask("settle", {})
    assert "<script>" not in "".join(rule["pairs"] for rule in state["rules"]) + state["notices"]
    assert "&lt;script&gt;" in state["rules"][0]["pairs"]


def test_a_policy_that_is_too_large_to_compare_has_its_sentences(tmp_path):
    path = tmp_path / "policy.yaml"
    names = ", ".join(f"a{k}: {{range: [0, 1000], step: 1}}" for k in range(7))
    rules = ", ".join(f"{{change: a{k}, epsilon: 1}}" for k in range(7))
    path.write_text(f"policy: wide\nuniverse: {{attributes: {{{names}}}}}\nrules: [{rules}]\n")
    studio = Studio(path)
    found = moved(studio, "rules/3/epsilon", "0.5")
    assert "1.65 to 1" in found["rules"][3]["sentence"] and found["rules"][3]["pairs"] == ""
    assert "too many" in studio.ask("settle", {})["compared"]["words"]
