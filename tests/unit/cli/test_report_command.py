"""dxgeom report: text, a page, JSON, and what changed."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app


def run(*words):
    return CliRunner().invoke(app, ["report", *map(str, words)])


@pytest.fixture
def clinic(policies):
    return policies / "clinic" / "policy.yaml", policies / "clinic" / "queries.yaml"


def test_without_a_file_it_is_printed(clinic):
    result = run(*clinic, "--spend", "0.5")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Privacy review: clinic\n")
    assert "▲ Decide" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_page_is_written_to_a_new_file(clinic, tmp_path):
    target = tmp_path / "report.html"
    assert run(*clinic, "-o", target).exit_code == 0
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    again = run(*clinic, "-o", target)
    assert again.exit_code == 1
    assert "not overwritten" in again.output


def test_as_json_it_has_every_section(clinic, tmp_path):
    document = json.loads(run(*clinic, "--format", "json").stdout)
    assert [section["number"] for section in document["sections"]] == [*range(9)]
    written = json.loads(run(*clinic, "--format", "json", "-o", tmp_path / "a.html").stdout)
    assert written["digest"] == document["digest"]


def test_a_plan_file_takes_the_place_of_queries(clinic, tmp_path):
    policy = dx.load_policy(clinic[0])
    plan = dx.plan(policy.compile(), dx.load_queries(clinic[1], policy))
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy, spend="1/4")
    result = run(clinic[0], "--plan", tmp_path / "plan.json")
    assert "At spend 0.25" in result.stdout
    assert run(*clinic, "--plan", tmp_path / "plan.json").exit_code == 2


def test_a_policy_alone_has_a_page_without_questions(clinic):
    assert "No questions were given" in run(clinic[0]).stdout


def test_two_policies_are_compared(clinic, tmp_path):
    newer = tmp_path / "new.yaml"
    newer.write_text(clinic[0].read_text().replace("epsilon: 0.1", "epsilon: 0.7"))
    assert "1.11 to 1  2.02 to 1" in run("--diff", clinic[0], newer).stdout
    assert run("--diff", clinic[0]).exit_code == 2


def test_a_policy_with_mistakes_has_no_page(tmp_path):
    wrong = tmp_path / "policy.yaml"
    wrong.write_text("policy: x\n")
    result = run(wrong, "-o", tmp_path / "report.html")
    assert result.exit_code == 1
    assert not (tmp_path / "report.html").exists()


def test_quantiles_are_told_by_what_holds_of_their_errors(policies, tmp_path):
    files = policies / "adult" / "policy.yaml", policies / "adult" / "quantiles.yaml"
    result = run(*files, "--spend", "0.5", "--format", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [section["number"] for section in document["sections"]] == [*range(9)]
    told = " ".join(run(*files, "--spend", "0.5").stdout.split())
    assert "the median of age with probability 0.95 the rank of each" in told and "off by at most 182" in told
    assert "quantiles at 1/4, 3/4 of age" in told and "Quantiles, in 2 questions" in told
    policy = dx.load_policy(files[0])
    plan = dx.plan(policy.compile(), dx.load_queries(files[1], policy))
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy, spend="1/2")
    kept = run(files[0], "--plan", tmp_path / "plan.json")
    assert "off by at most 182" in " ".join(kept.stdout.split()), kept.output


def test_tasks_are_told_at_their_share_of_the_spend(clinic):
    result = run(clinic[0], clinic[0].with_name("tasks.yaml"), "--spend", "0.5")
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "select, with 0.125 of the" in told and "the score of the one picked is less than" in told
    assert "5 tasks" in told
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_plan_under_another_policy_is_refused(clinic, policies, tmp_path):
    policy = dx.load_policy(clinic[0])
    plan = dx.plan(policy.compile(), dx.load_queries(clinic[1], policy))
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy, spend="1/4")
    result = run(policies / "adult" / "policy.yaml", "--plan", tmp_path / "plan.json")
    assert result.exit_code == 1
    assert "under another policy than 'adult'" in " ".join(result.output.split())


def test_records_that_cannot_be_numbered_have_no_page(tmp_path):
    attributes = {f"a{place}": ["x", "y"] for place in range(70)}
    rules = [{"change": name, "epsilon": 1} for name in attributes]
    policy = {"policy": "wide", "universe": {"attributes": attributes}, "rules": rules}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")
    result = run(tmp_path / "policy.yaml")
    assert result.exit_code == 1
    assert "more possible records than can be numbered" in " ".join(result.output.split())


def test_a_page_is_exported_in_the_forms_of_others(policies, tmp_path):
    policy, target = policies / "poll" / "policy.yaml", tmp_path / "poll.yaml"
    printed, written = run(policy, "--export", "registry"), run(policy, "--export", "registry", "-o", target)
    assert (printed.exit_code, written.exit_code, written.stdout) == (0, 0, "")
    assert target.read_text(encoding="utf-8") == printed.stdout


def test_an_exported_page_is_one_text_of_json_and_of_one_policy(policies):
    policy = policies / "poll" / "policy.yaml"
    listed = json.loads(run(policy, "--export", "checklist", "--format", "json").stdout)
    assert listed["export"] == "checklist" and "☒" in listed["text"]
    both = run(policy, policy, "--diff", "--export", "checklist")
    assert both.exit_code == 2 and "leave --diff out" in both.output


@pytest.mark.long
def test_what_if_is_a_page_of_a_policy_alone(clinic, policies, tmp_path):
    target = tmp_path / "what-if.html"
    made = run(clinic[0], "--what-if", "-o", target, "--format", "json")
    assert made.exit_code == 0 and json.loads(made.stdout) == {"file": str(target)}
    assert 'id="model"' in target.read_text(encoding="utf-8")
    other = tmp_path / "b"
    for words in ([clinic[0]], [*clinic, "-o", other], [clinic[0], "--spend", "1", "-o", other]):
        refused = run(*words, "--what-if")
        assert refused.exit_code == 2 and "name only the policy" in " ".join(refused.output.replace("│", " ").split())
    cities = run(policies / "us-cities" / "policy.yaml", "--what-if", "-o", other)
    assert cities.exit_code == 1 and "too many values" in cities.output and not other.exists()
