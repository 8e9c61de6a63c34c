"""Files of every format that was ever written are read still, or refused in words; none is ever recorded anew."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from reference.example_policies import policy_file
from reference.json_schema import is_valid
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.plan_files.codec import FILES

FOLDER = Path(__file__).parent / "files"


def test_a_plan_of_format_1_is_loaded_and_is_the_law_that_was_planned():
    document = json.loads((FOLDER / "plan-1.json").read_text("ascii"))
    plan = dx.load_plan(FOLDER / "plan-1.json")
    assert (plan.spend, plan.digest) == (Fraction(1, 4), document["digest"])
    assert plan.fingerprint == document["fingerprint"]
    counts = np.zeros(plan.plan.metric.size, dtype=int)
    counts[0] = 100
    assert plan.release(counts, ledger=":memory:").plan_fingerprint == document["fingerprint"]


def test_a_release_of_format_1_says_which_plan_it_was():
    release = json.loads((FOLDER / "release-1.json").read_text("ascii"))
    plan = dx.load_plan(FOLDER / "plan-1.json")
    assert release["plan_fingerprint"] == plan.fingerprint
    assert release["queries_fingerprint"] == plan.plan.queries.fingerprint
    assert release["policy"]["fingerprint"] == plan.policy.fingerprint
    assert [answer["name"] for answer in release["answers"]] == list(plan.plan.queries.names)
    assert np.allclose([answer["rmse"] for answer in release["answers"]], plan.rmse())


def test_a_certificate_of_format_1_is_audited():
    words = ["audit", "certificate", str(FOLDER / "certificate-1.json"), str(policy_file("bus-lines"))]
    assert CliRunner().invoke(app, words).exit_code == 0


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.stem)
def test_the_schema_of_today_has_room_for_it(path):
    assert is_valid(json.loads(path.read_text("ascii")), FILES[path.stem.split("-")[0]]())
