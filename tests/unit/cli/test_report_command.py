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
