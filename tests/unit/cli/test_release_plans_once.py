"""``dxgeom release`` plans once, and from a plan file never: calls are counted at the planner's doors."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app

POLICY = """
policy: people
universe: {attributes: {sex: [F, M], age: {bins: [0, 20, 40, 60, 80, 100]}}}
rules: [{change: sex, epsilon: 1}, {change: age, epsilon: 1, per: 20}]
budget: 10
"""
COUNTS = """
records: 40
queries: [{name: women, count: sex == 'F'}, {name: old, count: age >= 60}, {name: mean age, mean: age}]
"""
QUANTILES = """
records: 40
queries: [{median: age}]
"""
ROWS = [f"{'FM'[k % 2]},{k % 9 * 10}" for k in range(40)]
FORMS = [(), ("--format", "json"), ("--format", "csv"), ("--id", "november", "--purpose", "report")]
DOORS = {
    "dxgeom.planner.choose": ("plan", "plan_of_answers", "objective_of"),
    "dxgeom.planner.quantile_plan": ("choice_between",),
    "dxgeom.planner.comparing.comparison": ("build",),
    "dxgeom.planner.comparing.candidate_names": ("build",),
}
"""Where planning is entered, a candidate is built, and a form of quantiles chosen, by module."""


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each door was gone through since."""
    counts: Counter[str] = Counter()

    def watched(name, door):
        def through(*args, **named):
            counts[name] += 1
            return door(*args, **named)

        return through

    for module, names in DOORS.items():
        for name in names:
            monkeypatch.setattr(import_module(module), name, watched(name, getattr(import_module(module), name)))
    return counts


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of a policy, its data, and queries of two kinds; the counts and the mean are two units."""
    texts = {"policy.yaml": POLICY, "counts.yaml": COUNTS, "quantiles.yaml": QUANTILES}
    for name, text in (texts | {"people.csv": "\n".join(["sex,age", *ROWS, ""])}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(command: str, *words: Path | str) -> str:
    result = CliRunner().invoke(app, [command, *map(str, words), "--all"])
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def release(files: Path, queries: str, *more: str) -> str:
    asked = [files / "policy.yaml", files / "people.csv", files / queries]
    return run("release", *asked, "--ledger", files / "privacy.db", "--spend", "1/4", *more)


@pytest.mark.parametrize("form", FORMS)
def test_a_release_from_a_policy_plans_exactly_once(files: Path, entered: Counter[str], form: tuple[str, ...]) -> None:
    release(files, "counts.yaml", "--mechanism", "laplace", *form)
    # Once for all queries, and once for each of the two units alone, which they are balanced against.
    once = {"plan": 1, "plan_of_answers": 1, "objective_of": 1, "build": 3}
    assert entered == once
    if "--id" in form:
        entered.clear()
        assert "nothing was spent again" in release(files, "counts.yaml", "--mechanism", "laplace", *form)
        assert entered == once


def test_a_release_builds_what_its_plan_builds_and_nothing_twice(files: Path, entered: Counter[str]) -> None:
    run("plan", files / "policy.yaml", files / "counts.yaml", "--quick")
    planned = entered.copy()
    entered.clear()
    release(files, "counts.yaml", "--quick", "--output", str(files / "released.json"))
    assert entered == planned


@pytest.mark.parametrize("queries", ["counts.yaml", "quantiles.yaml"])
def test_a_release_from_a_plan_file_never_plans(files: Path, entered: Counter[str], queries: str) -> None:
    run("plan", files / "policy.yaml", files / queries, "--mechanism", "laplace", "--output", files / "plan.json")
    assert entered
    entered.clear()
    for form in [*FORMS, FORMS[-1]]:
        told = ["--ledger", files / "privacy.db", "--spend", "1/4", *form]
        run("release", files / "plan.json", files / "people.csv", *told)
    assert not entered


def test_a_release_of_quantiles_plans_exactly_once(files: Path, entered: Counter[str]) -> None:
    release(files, "quantiles.yaml")
    assert entered == {"plan": 1, "choice_between": 1}
