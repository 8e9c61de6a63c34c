"""``dxgeom schema``."""

from __future__ import annotations

import json
from pathlib import Path

from reference.json_schema import is_valid
from reference.project import POLICIES
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.plan_files.laws import KINDS
from dxgeom.policy.syntax.schema import policy_schema
from dxgeom.queries.schema import queries_schema


def printed(*arguments):
    result = CliRunner().invoke(app, ["schema", *arguments])
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_it_prints_the_schema_of_policies_or_of_queries():
    assert printed() == policy_schema()
    assert printed("--queries") == queries_schema()


def test_editors_find_the_dialect_a_title_and_the_keys():
    schema = printed()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == "dxgeom policy"
    assert list(schema["properties"]) == [
        "policy",
        "title",
        "about",
        "called",
        "reading",
        "universe",
        "time",
        "rules",
        "budget",
        "delta",
        "privacy",
        "people",
        "known",
        "hold",
        "dataset",
        "unconnected",
        "adaptive",
    ]
    assert schema["additionalProperties"] is False


def test_the_files_that_are_written_are_valid(tmp_path):
    policy, queries, data = (
        str(POLICIES / "clinic" / name) for name in ("policy.yaml", "queries.yaml", "patients.csv")
    )
    plan, certificate, ledger = (str(tmp_path / name) for name in ("plan.json", "certificate.json", "ledger.db"))
    for words in (
        ["plan", policy, queries, "--spend", "1/4", "--output", plan],
        ["check", policy, "--certificate", certificate],
    ):
        assert CliRunner().invoke(app, words).exit_code == 0
    released = CliRunner().invoke(app, ["release", plan, data, "--ledger", ledger, "--format", "json"]).stdout
    written = {
        "plan": Path(plan).read_text("ascii"),
        "certificate": Path(certificate).read_text("ascii"),
        "release": released,
    }
    for kind, text in written.items():
        schema = printed(kind)
        assert schema["title"] == f"dxgeom {kind}"
        assert is_valid(json.loads(text), schema)
        assert not is_valid({**json.loads(text), "format": "dxgeom something 1"}, schema)


def test_every_kind_of_law_and_body_has_its_place_in_the_schema_of_plans():
    assert set(KINDS) <= set(printed("plan")["$defs"])


def test_a_law_that_no_file_can_hold_is_not_valid(tmp_path):
    schema = printed("plan")
    law = {"kind": "LaplaceNoise", "scales": {"shape": [1], "floats": ["0x1.8000000000000p+1"]}}
    form = {"$ref": "#/$defs/LaplaceNoise"}
    assert is_valid(law, form, schema)
    assert not is_valid({**law, "seed": 1}, form, schema)
    assert not is_valid({**law, "scales": {"shape": [1], "floats": ["3.0"]}}, form, schema)
    assert printed("policy") == policy_schema()
    assert printed("queries") == queries_schema()
