"""``dxgeom explain``."""

from __future__ import annotations

import json

import pytest
from reference.project import POLICIES
from typer.testing import CliRunner

from dxgeom.cli.main import app

CLINIC = str(POLICIES / "clinic" / "policy.yaml")
ADULT = str(POLICIES / "adult" / "policy.yaml")


def explained(*arguments):
    return CliRunner().invoke(app, ["explain", *arguments])


def test_it_tells_the_distance_and_the_rule_of_every_step():
    result = explained(CLINIC, "gender=M,native=Yes", "gender=F,native=No")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:2] == ["gender=M, native=Yes", "gender=F, native=No"]
    assert lines[3].startswith("distance 1.1: ")
    assert lines[3].endswith("odds at most 3.01 to 1")
    assert lines[-2:] == [
        f"  gender: M → F: 1 by {CLINIC}:19 (change gender, age: epsilon 1)",
        f"  native: Yes → No: 0.1 by {CLINIC}:17 (change native: epsilon 0.1)",
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [("0", "2"), ('{"native": "Yes"}', '{"native": "No"}'), ("native=Yes", '{"native": "No"}'), ("4", "6")],
)
def test_a_record_is_a_number_or_json_or_values(first, second):
    result = explained(CLINIC, first, second, "--format", "json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["distance_exact"]) == (0, "0.1")
    (step,) = document["path"]
    assert (step["attribute"], step["from"], step["to"], step["line"]) == ("native", "Yes", "No", 17)


def test_a_value_may_hold_a_comma_and_a_raw_number_finds_its_bin():
    for first, second in (("age=[20, 25)", "age=[45, 50)"), ("age=22", "age=47"), ('{"age": 22}', '{"age": 47}')):
        result = explained(ADULT, first, second)
        assert result.exit_code == 0
        assert "age: [20, 25) → [45, 50): 1.25 by" in result.stdout


def test_the_same_record_is_at_no_distance():
    assert explained(CLINIC, "0", "0").stdout.splitlines()[-1] == "distance 0: the records are the same"


@pytest.mark.parametrize("record", ["natve=Yes", "native=Maybe", "99", "gender=M"])
def test_a_record_that_does_not_exist_is_refused(record):
    result = explained(CLINIC, "native=Yes", record)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")


@pytest.mark.parametrize("record", ["", "native", "native=Yes,native=No", "{", '{"native": true}', '{"native": null}'])
def test_a_record_that_cannot_be_read_is_a_misunderstanding(record):
    assert explained(CLINIC, "native=Yes", record).exit_code == 2
