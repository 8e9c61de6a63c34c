"""``dxgeom plan``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from reference.project import POLICIES
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.cli.options import ObjectiveChoice
from dxgeom.planner.objectives.objective import ObjectiveName

POLICY, QUERIES = str(POLICIES / "clinic" / "policy.yaml"), str(POLICIES / "clinic" / "queries.yaml")
NAMES = ["not native", "male", "native men above 18"]


def test_a_plan_lists_candidates_choice_and_each_answer() -> None:
    result = CliRunner().invoke(app, ["plan", POLICY, QUERIES, "--all"])
    assert (result.exit_code, result.stderr) == (0, "")
    for part in ("hull", "laplace", "epsilon-dp", "chosen", "no additive noise", "± at 95 %", *NAMES):
        assert part in result.stdout
    assert not {"\x1b", "│", "─", "┃"} & set(result.stdout)


def test_what_others_have_published_is_listed_when_asked_for_and_not_taken() -> None:
    shown = [
        json.loads(CliRunner().invoke(app, ["plan", POLICY, QUERIES, "--format", "json", *flag]).stdout)
        for flag in ([], ["--published"])
    ]
    names = [{candidate["name"] for candidate in document["candidates"]} for document in shown]
    assert names[1] - names[0] == {"laplace-equal-shares", "laplace-one-scale", "laplace-proportional-shares"}
    losses = {candidate["name"]: candidate["loss"] for candidate in shown[1]["candidates"]}
    assert all(losses[name] >= losses["laplace"] * (1 - 1e-9) for name in names[1] - names[0])
    assert shown[0]["fingerprint"] == shown[1]["fingerprint"]


def test_the_json_of_a_plan_is_the_plan_of_the_library() -> None:
    result = CliRunner().invoke(
        app, ["plan", POLICY, QUERIES, "--spend", "1/4", "--level", "0.9", "--mechanism", "laplace", "--format", "json"]
    )
    document = json.loads(result.stdout)
    policy = dx.load_policy(POLICY)
    plan = dx.plan(policy.compile(), dx.load_queries(QUERIES, policy), mechanism="laplace")
    # Naming a mechanism searches for no bound.
    assert (document["fingerprint"], document["gap"], document["lower_bound"]) == (plan.fingerprint, None, None)
    expected = document["expected"]
    assert (expected["spend"], expected["level"]) == ("1/4", 0.9)
    assert [each["rmse"] for each in expected["queries"]] == plan.rmse("1/4").tolist()
    assert [each["half_width"] for each in expected["queries"]] == plan.half_widths(0.9, "1/4").tolist()


def test_the_command_line_takes_every_objective_that_python_takes() -> None:
    assert [one.value for one in ObjectiveChoice] == [*get_args(ObjectiveName)]
    queries = str(POLICIES / "smart-meters" / "queries.yaml"), str(POLICIES / "smart-meters" / "policy.yaml")
    words = ["plan", queries[1], queries[0], "--mechanism", "laplace", "--format", "json", "--objective"]
    told = [json.loads(CliRunner().invoke(app, [*words, name]).stdout) for name in ("mse", "rmse")]
    assert told[0] == told[1]


def test_the_ordinary_baseline_is_shown_at_the_same_spend() -> None:
    result = CliRunner().invoke(app, ["plan", POLICY, QUERIES, "--spend", "0.5", "--format", "json"])
    policy = dx.load_policy(POLICY)
    ordinary = dx.plan(policy.compile(), dx.load_queries(QUERIES, policy), mechanism="epsilon-dp")
    shown = [each["epsilon_dp_rmse"] for each in json.loads(result.stdout)["expected"]["queries"]]
    assert shown == pytest.approx(ordinary.rmse("0.5"), rel=1e-3)


def test_a_mechanism_that_cannot_be_built_is_listed_with_the_reason(tmp_path: Path) -> None:
    queries = tmp_path / "queries.yaml"
    queries.write_text("queries:\n  - marginal: [sex, education]\n", encoding="utf-8")
    result = CliRunner().invoke(
        app, ["plan", str(POLICIES / "adult" / "policy.yaml"), str(queries), "--thorough", "--all"]
    )
    assert result.exit_code == 0
    assert "hull not built: " in result.stdout
    refused = CliRunner().invoke(
        app, ["plan", str(POLICIES / "adult" / "policy.yaml"), str(queries), "--mechanism", "hull"]
    )
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.splitlines()[-1].startswith("error: ")


def test_the_facets_of_a_coarsened_hull_can_be_chosen() -> None:
    arguments = ["plan", POLICY, QUERIES, "--mechanism", "coarse-hull", "--format", "json", "--coarse-facets"]
    found = [json.loads(CliRunner().invoke(app, [*arguments, facets]).stdout) for facets in ("8", "8000")]
    errors = [next(row for row in each["candidates"] if row["name"] == "coarse-hull") for each in found]
    assert errors[1]["predicted_mse"] < errors[0]["predicted_mse"]


def test_mistakes_in_queries_are_reported_with_their_places(tmp_path: Path) -> None:
    queries = tmp_path / "queries.yaml"
    queries.write_text("queries:\n  - count: natve == 'No'\n  - count: gender == 'X'\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["plan", POLICY, str(queries), "--format", "json"])
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["kind"]) == (1, "QueryError")
    assert [mistake["line"] for mistake in error["mistakes"]] == [2, 3]
    assert "2 mistakes" in result.stderr


def test_a_mean_takes_the_number_of_records_from_the_command_line(tmp_path: Path) -> None:
    queries = tmp_path / "queries.yaml"
    queries.write_text("queries:\n  - mean: age\n  - count: age >= 65\n", encoding="utf-8")
    arguments = ["plan", str(POLICIES / "adult" / "policy.yaml"), str(queries)]
    assert CliRunner().invoke(app, arguments).exit_code == 1
    assert CliRunner().invoke(app, [*arguments, "--records", "30162"]).exit_code == 0


@pytest.mark.parametrize(
    "option",
    [
        ["--spend", "0"],
        ["--spend", "much"],
        ["--level", "1"],
        ["--level", "nan"],
        ["--mechanism", "magic"],
        ["--records", "0"],
        ["--coarse-facets", "3"],
        ["--format", "xml"],
    ],
)
def test_a_value_that_an_option_cannot_take_exits_with_2(option: list[str]) -> None:
    result = CliRunner().invoke(app, ["plan", POLICY, QUERIES, *option])
    assert (result.exit_code, result.stdout) == (2, "")
    assert option[0] in result.stderr


def test_with_few_records_a_plan_may_have_a_bias_and_says_so(tmp_path: Path) -> None:
    queries = tmp_path / "queries.yaml"
    queries.write_text("queries:\n  - count: native == 'No'\n    name: not native\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["plan", POLICY, str(queries), "--records", "2", "--all"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert "chosen  changed-queries: " in result.stdout
    assert "bias    answers are to changed queries: with 2 records" in result.stdout


def test_how_many_tries_an_answer_takes_is_said_before_it_is_drawn_by_rejection() -> None:
    words = ["plan", POLICY, QUERIES, "--all", "--mechanism", "hull-by-rejection"]
    shown, document = (CliRunner().invoke(app, [*words, *more]).stdout for more in ([], ["--format", "json"]))
    kept = json.loads(document)["acceptance"]
    assert 0 < kept < 1
    assert f"drawn   by rejection: {kept:.3g} of all tries are kept, {1 / kept:.3g} tries an answer" in shown


def test_more_than_the_whole_budget_is_told_before_it_is_planned(monkeypatch):
    def ended(*_: object, **__: object) -> None:
        raise dx.DxgeomError("planned")

    monkeypatch.setattr("dxgeom.planner.choose.plan", ended)
    result = CliRunner().invoke(app, ["plan", POLICY, QUERIES, "--spend", "5"])
    assert "--spend 5 is more than the whole budget of" in result.stderr.split("planned")[0]
    assert "whole budget" not in CliRunner().invoke(app, ["plan", POLICY, QUERIES, "--spend", "0.1"]).stderr
