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
LAPLACE = ("--mechanism", "laplace")
FORMS = [(), ("--format", "json"), ("--format", "csv"), ("--id", "november", "--purpose", "report")]
DOORS = {
    "dxgeom.planner.choose": ("plan", "plan_of_answers", "objective_of"),
    "dxgeom.planner.quantile_plan": ("choice_between",),
    "dxgeom.planner.comparing.comparison": ("build",),
    "dxgeom.planner.comparing.thoroughness": ("build",),
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


def told(stderr: str) -> list[str]:
    """The lines but for those that name answers of no use: a quarter of the budget is little for 40 people."""
    return [line for line in stderr.splitlines() if not line.startswith("advice: ")]


def run(command: str, *words: Path | str) -> str:
    result = CliRunner().invoke(app, [command, *map(str, words), "--all"])
    assert (result.exit_code, told(result.stderr)) == (0, [])
    return result.stdout


def release(files: Path, queries: str, *more: str) -> str:
    asked = [files / "policy.yaml", files / "people.csv", files / queries]
    return run("release", *asked, "--ledger", files / "privacy.db", "--spend", "1/4", *more)


@pytest.mark.parametrize("form", FORMS)
def test_a_release_from_a_policy_plans_once_and_never_again(
    files: Path, entered: Counter[str], form: tuple[str, ...]
) -> None:
    release(files, "counts.yaml", "--mechanism", "laplace", *form)
    # Once for all queries, and once for each of the two units alone, which they are balanced against.
    once = {"plan": 1, "plan_of_answers": 1, "objective_of": 1, "build": 3}
    assert entered == once
    entered.clear()
    again = release(files, "counts.yaml", "--mechanism", "laplace", *form)
    assert ("nothing was spent again" in again) == ("--id" in form)
    assert not entered


def test_a_release_builds_what_its_plan_builds_and_nothing_twice(files: Path, entered: Counter[str]) -> None:
    run("plan", files / "policy.yaml", files / "counts.yaml")
    planned = entered.copy()
    entered.clear()
    release(files, "counts.yaml", "--output", str(files / "released.json"))
    assert entered == planned


@pytest.mark.parametrize("queries", ["counts.yaml", "quantiles.yaml"])
def test_a_release_from_a_plan_file_never_plans(files: Path, entered: Counter[str], queries: str) -> None:
    run("plan", files / "policy.yaml", files / queries, "--mechanism", "laplace", "--output", files / "plan.json")
    assert entered
    entered.clear()
    for form in [*FORMS, FORMS[-1]]:
        how = ["--ledger", files / "privacy.db", "--spend", "1/4", *form]
        run("release", files / "plan.json", files / "people.csv", *how)
    assert not entered


def test_a_release_of_quantiles_plans_once_and_never_again(files: Path, entered: Counter[str]) -> None:
    release(files, "quantiles.yaml")
    assert entered == {"plan": 1, "choice_between": 1}
    entered.clear()
    release(files, "quantiles.yaml")
    assert not entered


@pytest.mark.parametrize("queries", ["counts.yaml", "quantiles.yaml"])
def test_a_plan_that_is_kept_beside_the_ledger_is_not_planned_again(
    files: Path, entered: Counter[str], queries: str
) -> None:
    kept = ["--ledger", files / "privacy.db", "--spend", "1/4", *LAPLACE]
    run("plan", files / "policy.yaml", files / queries, *kept)
    assert entered
    assert not (files / "privacy.db").exists()
    entered.clear()
    release(files, queries, *LAPLACE)
    assert not entered
    # Who asks for the plan itself is shown what was compared.
    run("plan", files / "policy.yaml", files / queries, *kept)
    assert entered


def test_a_damaged_plan_is_planned_again_and_kept_again(files: Path, entered: Counter[str]) -> None:
    release(files, "counts.yaml", *LAPLACE)
    (kept,) = (files / "privacy.db.plans").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-40])
    entered.clear()
    asked = [files / "policy.yaml", files / "people.csv", files / "counts.yaml"]
    words = ["release", *asked, "--ledger", files / "privacy.db", "--spend", "1/4", *LAPLACE]
    again = CliRunner().invoke(app, [*map(str, words)])
    assert again.exit_code == 0
    (line,) = told(again.stderr)
    assert line.startswith("a plan kept beside the ledger is not used, and made anew: DX300")
    assert entered
    assert kept.read_bytes() == whole


def test_a_release_of_another_data_set_does_not_take_a_kept_plan(files: Path, entered: Counter[str]) -> None:
    release(files, "counts.yaml", "--dataset", "people", *LAPLACE)
    entered.clear()
    release(files, "counts.yaml", "--dataset", "people", *LAPLACE)
    assert entered
    assert not (files / "privacy.db.plans").exists()


WRONG = {
    "a table that is missing": ({"data": "absent.csv"}, 1),
    "a cell that does not fit": ({"rows": ["X,20"]}, 1),
    "a column that is missing": ({"head": "sex,years"}, 1),
    "a budget that is spent": ({"spend": "11"}, 3),
    "an allotment that is not there": ({"more": ["--allotment", "ana"], "before": "1/4"}, 1),
    "a ledger that is none": ({"ledger": "not a ledger"}, 1),
    "a spend that is no number": ({"spend": "much"}, 2),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_said_before_anything_is_planned(files: Path, entered: Counter[str], wrong: str) -> None:
    said, code = WRONG[wrong]
    (files / "people.csv").write_text(
        "\n".join([said.get("head", "sex,age"), *said.get("rows", []), *ROWS, ""]), encoding="utf-8"
    )
    if "ledger" in said:
        (files / "privacy.db").write_text(said["ledger"] * 400, encoding="utf-8")
    if "before" in said:
        release(files, "counts.yaml", *LAPLACE)
        allotted = ["ledger", "allot", files / "privacy.db", "bob=1", "--policy", files / "policy.yaml"]
        assert CliRunner().invoke(app, [*map(str, allotted)]).exit_code == 0
        entered.clear()
        (files / "privacy.db.plans").rename(files / "gone")
    words = ["release", files / "policy.yaml", files / said.get("data", "people.csv"), files / "counts.yaml"]
    words += ["--ledger", files / "privacy.db", "--spend", said.get("spend", "1/4"), *said.get("more", [])]
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == code, result.output
    assert not entered
    assert not (files / "privacy.db.plans").exists()


@pytest.mark.parametrize("ledger", [".", "", "..", ":memory:", "no folder/privacy.db"])
def test_a_plan_that_cannot_be_kept_says_so(files: Path, monkeypatch: pytest.MonkeyPatch, ledger: str) -> None:
    monkeypatch.chdir(files)
    before = sorted(files.parent.iterdir())
    result = CliRunner().invoke(app, ["plan", "policy.yaml", "counts.yaml", *LAPLACE, "--ledger", ledger])
    assert result.exit_code == 0
    assert result.stderr.startswith(f"the plan is not kept beside '{ledger}', which is no file")
    assert sorted(files.parent.iterdir()) == before


def test_several_files_are_not_kept_and_not_in_silence(files: Path) -> None:
    words = [str(files / one) for one in ("policy.yaml", "counts.yaml", "quantiles.yaml")]
    result = CliRunner().invoke(app, ["plan", *words, "--ledger", str(files / "privacy.db")])
    assert result.exit_code == 1
    assert "--ledger is about one plan" in result.stderr
