"""``dxgeom plan --output``, ``plan --diff`` and ``release`` of a plan file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from reference.example_policies import policy_file, queries_file, table_file
from reference.plan_documents import changed, read, write
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app

POLICY, QUERIES, DATA = (str(of("clinic")) for of in (policy_file, queries_file, table_file))


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """What one command wrote: planning takes longer than all that is tried with its file."""
    path = tmp_path_factory.mktemp("planned") / "plan.json"
    result = run("plan", POLICY, QUERIES, "--spend", "1/4", "--output", path)
    assert result.exit_code == 0
    # A busy machine makes planning long, and what is long tells how far it is.
    assert all(line.startswith("planning: ") for line in result.stderr.splitlines())
    assert f"digest  {read(path)['digest']}" in result.stdout
    return path.read_bytes()


@pytest.fixture
def plan_file(planned, tmp_path):
    (tmp_path / "plan.json").write_bytes(planned)
    return tmp_path / "plan.json"


def test_a_plan_file_is_released_for_what_it_says(plan_file, tmp_path):
    ledger = tmp_path / "privacy.db"
    result = run("release", plan_file, DATA, "--ledger", ledger, "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    released = json.loads(result.stdout)
    assert released["format"] == "dxgeom release 1"
    assert (released["spent"], released["remaining"]) == ("1/4", "3/4")
    assert released["plan_fingerprint"] == read(plan_file)["fingerprint"]
    shown = run("release", plan_file, DATA, "--ledger", ledger, "--spend", "0.25", "--all")
    assert shown.exit_code == 0
    assert "spent      0.25, remaining 0.5 of 1" in shown.stdout


def test_json_says_where_the_file_is_and_its_digest(tmp_path):
    target = tmp_path / "plan.json"
    result = run("plan", POLICY, QUERIES, "--output", target, "--format", "json")
    told = json.loads(result.stdout)
    assert (told["file"], told["digest"], told["expected"]["spend"]) == (str(target), read(target)["digest"], "1")
    assert read(target)["spend"] is None
    refused = run("release", target, DATA, "--ledger", tmp_path / "x.db")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "states no spend" in refused.stderr
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--spend", "1/8"), "made for the spend 1/4"),
        (("--mechanism", "laplace"), "has decided its mechanism"),
        (("--objective", "max"), "has decided its objective"),
        (("--records", "80"), "has decided its records"),
        (("--coarse-facets", "80"), "has decided its coarse_facets"),
    ],
)
def test_nothing_that_a_plan_decided_may_stand_beside_it(options, told, plan_file, tmp_path):
    result = run("release", plan_file, DATA, "--ledger", tmp_path / "x.db", *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert told in result.stderr
    assert not (tmp_path / "x.db").exists()


def test_what_is_missing_is_said(plan_file, tmp_path):
    without_queries = run("release", POLICY, DATA, "--ledger", tmp_path / "x.db", "--spend", "1")
    assert without_queries.exit_code == 2
    assert "name the queries file" in without_queries.stderr
    without_spend = run("release", POLICY, DATA, QUERIES, "--ledger", tmp_path / "x.db")
    assert without_spend.exit_code == 2
    assert "--spend" in without_spend.stderr


def test_a_file_is_not_overwritten_and_nothing_is_planned_for_it(plan_file):
    result = run("plan", POLICY, QUERIES, "--output", plan_file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "not overwritten" in result.stderr


def test_the_same_plan_has_no_differences(plan_file):
    result = run("plan", "--diff", plan_file, plan_file)
    assert (result.exit_code, result.stdout) == (0, "the two plans are the same\n")


def test_differences_are_told_in_words(plan_file, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(Path(POLICY).read_text("utf-8").replace("budget: 1 ", "budget: 2 "), encoding="utf-8")
    queries = tmp_path / "queries.yaml"
    queries.write_text(
        Path(QUERIES).read_text("utf-8") + "  - name: everyone of age\n    count: age == 'above 18'\n", "utf-8"
    )
    assert run("plan", policy, queries, "--mechanism", "laplace", "--output", tmp_path / "new.json").exit_code == 0
    result = run("plan", "--diff", plan_file, tmp_path / "new.json")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("the policy means something else")
    assert "policy: budget was 1 and is 2" in lines
    assert "queries: 'everyone of age' is asked" in lines
    assert "mechanism: was hull and is laplace" in lines
    assert "spend: was 1/4 and is left open" in lines
    assert [line for line in lines if line.startswith("error: 'everyone of age' has ")]
    told = json.loads(run("plan", "--diff", plan_file, tmp_path / "new.json", "--format", "json").stdout)
    assert told["errors"][-1]["before"] is None
    back = run("plan", "--diff", tmp_path / "new.json", plan_file).stdout
    assert "queries: 'everyone of age' is no longer asked" in back


def test_a_file_beside_the_policy_that_changed_is_told(tmp_path):
    for name, more in (("old", ""), ("new", "\n")):
        folder = tmp_path / name
        folder.mkdir()
        for path in policy_file("school").parent.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        sites = folder / "sites.csv"
        sites.write_text(sites.read_text("utf-8").rstrip("\n") + more, "utf-8")
        assert run("plan", folder / "policy.yaml", folder / "queries.yaml", "--output", f"{folder}.json").exit_code == 0
    lines = run("plan", "--diff", tmp_path / "old.json", tmp_path / "new.json").stdout.splitlines()
    assert lines == [
        "the policy is written otherwise and means the same",
        "policy: the file 'sites.csv' has another content",
    ]


def test_a_forged_plan_is_no_plan_to_compare_with(plan_file, tmp_path):
    forged = write(tmp_path / "forged.json", changed(read(plan_file), ("errors", 0, "rmse"), "0.1"))
    result = run("plan", "--diff", plan_file, forged, "--format", "json")
    assert result.exit_code == 1
    (mistake,) = json.loads(result.stdout)["error"]["mistakes"]
    assert (mistake["code"], mistake["path"]) == ("DX307", "errors[0].rmse")


def test_a_release_from_a_file_loads_no_solver_and_no_pandas(plan_file, tmp_path):
    heavy = ("pandas", "scipy.optimize", "scipy.spatial", "numba", "dxgeom.planner.choose")
    code = (
        "import sys, dxgeom as dx; "
        f"dx.load_plan({str(plan_file)!r}).release({DATA!r}, ledger={str(tmp_path / 'p.db')!r}); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_the_front_door_says_the_same_as_the_command(plan_file):
    loaded = dx.load_plan(plan_file)
    assert loaded.spend == dx.load_plan(str(plan_file)).spend
    with pytest.raises(dx.UnsupportedCombination, match="path"):
        dx.load_plan(7)
