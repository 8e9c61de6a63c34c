"""The example policies with shapes work from the file to the answer."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.claims import claims_of
from dxgeom.audit.policy_audit import audit_policy
from dxgeom.cli.main import app
from dxgeom.engines.histogram import histogram_of_table

EXAMPLES = {
    "bus-lines": ("bus-lines-passengers.csv", ["--count-column", "passengers"], 11_121, "passengers"),
    "districts": ("districts-trips.csv", [], 1_062, None),
}


def run(*words):
    result = CliRunner().invoke(app, [*map(str, words), "--format", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_checked_planned_and_released(policies, tmp_path, name):
    table, options, records, _ = EXAMPLES[name]
    policy, queries = policies / f"{name}.yaml", policies / f"{name}-queries.yaml"
    assert run("check", policy)["warnings"] == []
    assert run("plan", policy, queries)["predicted_mse"] > 0
    released = run(
        "release", policy, policies / table, queries, "--ledger", tmp_path / "a.db", "--spend", "1", *options
    )
    assert released["records"] == records


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_certificate_of_an_example_holds_and_every_value_has_records(policies, name):
    table, _, records, count_column = EXAMPLES[name]
    policy = dx.load_policy(policies / f"{name}.yaml")
    assert len(audit_policy(json.loads(json.dumps(claims_of(policy.compile(), "policy"))), policy).lines) == 2
    found = histogram_of_table(policies / table, policy.universe, count_column=count_column)
    assert found.total == records
    by_place = found.counts.reshape(policy.universe.shape).sum(axis=1)
    assert by_place.min() > 0


def test_the_way_by_road_is_explained_in_exact_kilometres(policies):
    told = dx.load_policy(policies / "bus-lines.yaml").explain({"stop": "Old Harbour"}, {"stop": "Station"})
    assert float(told.distance) == pytest.approx((0.45 + 0.4 + 0.3 + 0.55) / 2)
