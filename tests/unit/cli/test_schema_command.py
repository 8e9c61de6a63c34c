"""``dxgeom schema``."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from dxgeom.cli.main import app
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
    assert list(schema["properties"]) == ["policy", "about", "universe", "rules", "budget", "unconnected"]
    assert schema["additionalProperties"] is False
