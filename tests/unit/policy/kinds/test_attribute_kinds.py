"""A kind of attribute is one file and one line, and nobody else asks of which kind an attribute is."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys

import pytest
from reference.json_schema import is_valid
from reference.project import ROOT, TESTS

from dxgeom.policy.kinds.attribute_kinds import ATTRIBUTE_KINDS, WORDS
from dxgeom.universe.attributes import Attribute

ASKING = {
    "dxgeom/audit/claims.py": "what rules state is worked out here by another route, on purpose",
    "dxgeom/disclosure/contributions.py": "raw values of two attributes are compared, which needs what both are",
    "dxgeom/engines/fitting.py": "only a number can be beyond the ends, or not whole",
    "dxgeom/engines/reading.py": "numbers are coded by their edges in the SQL of an engine, words are not",
    "dxgeom/mechanisms/quantiles/question.py": "a quantile is of values that have an order",
    "dxgeom/lab/answers.py": "a secret answer of days is a day, noise in the plane is about places, and their loss is "
    "their distance",
    "dxgeom/lab/secrets.py": "days are numbers for noise on a line",
    "dxgeom/planner/answers/quantile_answers.py": "a quantile of days is a day",
    "dxgeom/policy/resolve/attributes.py": "days are read by an example of how the column writes them",
    "dxgeom/starting/table_page.py": "what is advised about ends, decimals and missing values is about numbers",
    "dxgeom/queries/quantiles.py": "a quantile is asked of numbers or of days",
    "dxgeom/report/rules.py": "a map is drawn of places",
    "dxgeom/studio/nearness.py": "a map is drawn of places",
}


@pytest.fixture(scope="module")
def new_kind(tmp_path_factory):
    """What the package makes of a kind that is registered by one line, in a process of its own."""
    folder = tmp_path_factory.mktemp("versions")
    paths = os.pathsep.join([str(ROOT), str(TESTS)])
    command = [sys.executable, "-m", "reference.version_kind", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_new_kind_is_read_written_reviewed_and_explained(new_kind):
    first, written = new_kind["fingerprints"]
    assert first == written
    assert "  python: 5 values, largest distance 2, smallest 0.5" in new_kind["review"]
    assert new_kind["explained"][0] == "python=3.8, paid=yes"
    assert new_kind["explained"][-1] == "  python: 3.8 → 3.11: 1.5 by policy:7 (change python: epsilon 0.5 per 1 step)"
    assert new_kind["unexplained"].startswith("python has no value '4.0'")


def test_editors_are_told_of_a_new_kind(new_kind):
    form = new_kind["schema"]["$defs"]["VersionSyntax"]
    assert form["title"] == "Versions"
    assert form["properties"]["version"]["description"] == "The first and the last version."
    policy = {"policy": "p", "universe": {"attributes": {"a": {"version": ["3.8", "3.9"]}}}, "rules": []}
    assert is_valid(policy, new_kind["schema"])
    policy["universe"]["attributes"]["a"]["version"].append("3.10")
    assert not is_valid(policy, new_kind["schema"])


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("value", "policy:4:29: DX108: a version is expected here, found 'three'"),
        ("order", "policy:4:23: DX111: attribute 'python': versions run upwards within one major version"),
        ("unit", "policy:9:5: DX135: versions are steps apart, found '1 km'"),
        ("list", "policy:4:23: DX108: 'version': found '3.8', expected a list"),
        ("key", "policy:4:14: DX105: attribute 'python': none of its keys says what its values are"),
    ],
)
def test_mistakes_in_a_new_kind_are_told_at_their_place(new_kind, mistake, told):
    assert new_kind["wrong"][mistake].splitlines()[0] == told


def test_advice_about_a_new_kind_is_its_own(new_kind):
    advice = {name: lines.splitlines()[-1].strip() for name, lines in new_kind["wrong"].items()}
    assert advice["value"] == "write a version such as 3.8"
    assert advice["list"] == "write {version: [3.8, 3.12]}"
    assert advice["key"] == "did you mean 'version'?"


def test_tables_of_a_new_kind_are_read_and_released(new_kind):
    assert len(new_kind["values"]) == 6
    assert "data row 5 (line 6): python is '2.7', accepted are versions from 3.8 to 3.12" in new_kind["outside"]


def test_keys_of_kinds_are_distinct_and_every_attribute_is_made_by_one():
    keys = [kind.key for kind in ATTRIBUTE_KINDS]
    assert len(set(keys)) == len(keys)
    for kind in ATTRIBUTE_KINDS:
        assert issubclass(kind.makes, Attribute)
        assert kind is WORDS or kind.key in kind.syntax.model_fields
        others = [other for other in ATTRIBUTE_KINDS if other not in (kind, WORDS)]
        assert not any(other.key in getattr(kind.syntax, "model_fields", {}) for other in others)


def test_nobody_but_kinds_and_the_universe_asks_of_which_class_an_attribute_is():
    asking = set()
    for path in (ROOT / "dxgeom").rglob("*.py"):
        place = path.relative_to(ROOT).as_posix()
        if place.startswith(("dxgeom/universe/", "dxgeom/policy/kinds/")):
            continue
        if any(map(asks_for_a_class, ast.walk(ast.parse(path.read_text(encoding="utf-8"))))):
            asking.add(place)
    assert asking == set(ASKING)


def asks_for_a_class(node):
    if isinstance(node, ast.MatchClass):
        return names_an_attribute(node.cls)
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    return called in ("isinstance", "issubclass") and any(map(names_an_attribute, ast.walk(node.args[1])))


def names_an_attribute(node):
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.endswith("Attribute") and name != "Attribute"
