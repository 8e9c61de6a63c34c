"""What is signed: every decision, of the policy that is in the file, named by its fingerprint."""

from __future__ import annotations

import json
import shutil

import pytest
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination
from dxgeom.studio.session import Studio


@pytest.fixture
def studio(tmp_path):
    return Studio(shutil.copytree(POLICIES / "clinic", tmp_path / "clinic") / "policy.yaml")


def all_of(found, **other):
    decided = [True] * len(found["decisions"])
    return {"name": "A. Lawyer", "fingerprint": found["fingerprint"], "decided": decided} | other


def test_what_is_to_be_decided_is_what_the_review_page_asks(studio):
    found = studio.ask("decisions", {})
    page = dx.report.review_page(dx.load_policy(studio.path))
    asked = [one.lead for one in page.sections[0].blocks if getattr(one, "severity", "") == "decide"]
    assert [one["lead"] for one in found["decisions"]] == asked
    assert len(found["rules"]) == 2 and "1.11 to 1" in found["rules"][0]


def test_a_record_names_the_policy_of_the_file(studio):
    found = studio.ask("decisions", {})
    made = studio.ask("sign", all_of(found))
    record = json.loads(made["text"])
    assert record["fingerprint"] == dx.load_policy(studio.path).fingerprint
    assert made["file"] == f"decisions-{record['fingerprint'][:12]}.json"
    assert record["by"] == "A. Lawyer" and record["decided"] == found["decisions"] and record["rules"] == found["rules"]
    assert sorted(path.name for path in studio.path.parent.iterdir()) == sorted(
        path.name for path in (POLICIES / "clinic").iterdir()
    )


@pytest.mark.parametrize(
    "other",
    [
        {"name": " "},
        {"name": 3},
        {"name": "x" * 201},
        {"name": "a\nb"},
        {"decided": []},
        {"decided": None},
        {"fingerprint": "0"},
    ],
)
def test_what_lacks_something_is_not_signed(studio, other):
    found = studio.ask("decisions", {})
    assert found["decisions"]
    with pytest.raises(UnsupportedCombination):
        studio.ask("sign", all_of(found, **other))


def test_one_decision_that_is_open_is_enough_to_refuse(studio):
    found = studio.ask("decisions", {})
    for k in range(len(found["decisions"])):
        decided = [j != k for j in range(len(found["decisions"]))]
        with pytest.raises(UnsupportedCombination, match="not everything"):
            studio.ask("sign", all_of(found, decided=decided))


def test_what_is_not_in_the_file_cannot_be_signed(studio):
    found = studio.ask("decisions", {})
    studio.ask("move", {"revision": 0, "lever": "rules/0/epsilon", "value": "0.2"})
    with pytest.raises(UnsupportedCombination, match="not saved"):
        studio.ask("sign", all_of(found))
    studio.ask("save", {"revision": studio.revision})
    with pytest.raises(UnsupportedCombination, match="has changed since"):
        studio.ask("sign", all_of(found))
    studio.ask("edit", {"revision": studio.revision, "text": "policy: p"})
    with pytest.raises(UnsupportedCombination, match="mistakes"):
        studio.ask("decisions", {})


def test_what_stops_cannot_be_signed(studio):
    studio.ask("move", {"revision": 0, "lever": "rules/0/epsilon", "value": "20"})
    studio.ask("save", {"revision": studio.revision})
    with pytest.raises(UnsupportedCombination, match="cannot be signed"):
        studio.ask("decisions", {})


def test_what_another_program_wrote_meanwhile_is_not_signed_by_what_is_shown(studio):
    found = studio.ask("decisions", {})
    assert "/" not in json.loads(studio.ask("sign", all_of(found))["text"])["file"]
    studio.path.write_text(studio.path.read_text().replace("epsilon: 0.1", "epsilon: 0.2"))
    with pytest.raises(UnsupportedCombination, match="another program"):
        studio.ask("sign", all_of(found))


def test_a_data_file_that_changed_meanwhile_counts_too(tmp_path):
    path = tmp_path / "policy.yaml"
    rule = "{change: a, secrets: {edges: ways.csv}, epsilon: 1}"
    path.write_text(f"policy: p\nuniverse: {{attributes: {{a: [x, y, z]}}}}\nrules: [{rule}]\n")
    ways = tmp_path / "ways.csv"
    ways.write_text("from,to\nx,y\ny,z\n")
    studio = Studio(path)
    assert studio.draft.mistakes == ()
    found = studio.ask("decisions", {})
    ways.write_text("from,to\nx,y\nx,z\n")
    with pytest.raises(UnsupportedCombination, match="a file that it names"):
        studio.ask("sign", all_of(found))
