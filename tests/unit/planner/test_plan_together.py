"""Several workloads from one account: stated errors at the least cost, and the rest in shares, in both currencies."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.errors import UnsupportedCombination

ROWS = {"counts": [[1, 0, 0, 0], [0, 1, 0, 0]], "sums": [[0, 1, 2, 3]], "prefix": np.tril(np.ones((3, 4), dtype=int))}


def metric(privacy="pure"):
    matrix = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) * 0.75
    return dx.verify_metric(matrix, privacy=privacy)


def workload(name):
    rows = np.array(ROWS[name])
    return dx.LinearQueries.from_matrix([f"{name} {k}" for k in range(len(rows))], rows)


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_stated_errors_are_met_and_no_less_would_do(privacy):
    errors = [[4, 8], [10], {"prefix 1": 3}]
    asked = [workload(name) for name in ROWS]
    together = dx.plan_together(metric(privacy), asked, errors=errors)
    squares = privacy == "concentrated"
    cost = sum(part.spend**2 if squares else part.spend for part in together)
    assert (together.total**2 if squares else together.total) == pytest.approx(float(cost), rel=1e-12)
    assert together.total**2 >= cost if squares else together.total == cost
    for part, wanted in zip(together, ([4, 8], [10], [math.inf, 3, math.inf]), strict=True):
        assert part.wanted and part.spend == part.plan.least_spend
        assert np.all(part.plan.rmse(part.spend) <= np.array(wanted) * (1 + 1e-9))
        assert np.any(part.plan.rmse(part.spend * Fraction(999, 1000)) > np.array(wanted))
    assert "the least for the errors asked for" in "\n".join(together.lines())
    with pytest.raises(UnsupportedCombination, match="need a spend of"):
        dx.plan_together(metric(privacy), asked, errors=errors, spend=together.total * Fraction(9, 10))


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_the_rest_is_shared_so_that_no_other_split_has_less_error(privacy):
    asked = [workload(name) for name in ROWS]
    together = dx.plan_together(metric(privacy), asked, errors=[[4, 8], None, None], spend=10, importance=[1, 1, 8])
    first, one, other = together
    assert [part.wanted for part in together] == [True, False, False]
    assert together.left >= 0 and 10 * (1 - 1e-5) <= together.total <= 10
    squares = privacy == "concentrated"
    rest = 100 - float(first.spend) ** 2 if squares else 10 - float(first.spend)
    assert other.spend / one.spend == pytest.approx(8 ** (1 / 4) if squares else 2, rel=1e-4)
    for share in np.linspace(0.02, 0.98, 97):
        spends = [(rest * part) ** (0.5 if squares else 1.0) for part in (share, 1 - share)]
        assert 1 / spends[0] ** 2 + 8 / spends[1] ** 2 >= (1 / float(one.spend) ** 2 + 8 / float(other.spend) ** 2) * (
            1 - 1e-5
        )


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_an_account_takes_all_of_them_and_no_more(privacy):
    own = metric(privacy)
    together = dx.plan_together(own, [workload("counts"), workload("sums"), workload("prefix")], spend=1)
    ledger = dx.Ledger.open(
        ":memory:", policy_fingerprint=own.fingerprint, policy_name="m", budget=Fraction(1), privacy_measure=privacy
    )
    for part in together:
        ledger.charge(part.spend, purpose="", plan_fingerprint=part.plan.fingerprint)
    assert ledger.spent() == together.total
    with pytest.raises(dx.errors.BudgetExceeded):
        ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p")


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_tables_of_any_size_and_boxes_are_planned_beside_linear_queries(privacy):
    policy = dx.Policy.from_dict(
        {
            "policy": "tables",
            "privacy": privacy,
            "universe": {"attributes": {"a": ["p", "q", "r"], "b": {"range": [0, 3], "step": 1}}},
            "rules": [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": "0.8", "per": 1}],
        }
    )
    tables = dx.universe.MarginalQueries.of(policy.universe, [["a"], ["a", "b"]])
    boxes = dx.universe.BoxQueries.of(policy.universe, [{"b": (0, 2)}, {"a": (0, 1), "b": (1, 3)}])
    asked = [dx.LinearQueries.marginals(policy.universe, ways=1), tables, boxes]
    together = dx.plan_together(policy.compile(), asked, errors=[None, [8, 20], None], spend=2)
    assert [part.wanted for part in together] == [False, True, False]
    assert np.all(together.parts[1].plan.rmse(together.parts[1].spend) <= [8, 20])
    assert (
        together.left >= 0
        and together.total == pytest.approx(2, rel=1e-5)
        and "tables" in json.dumps(together.as_dict())
    )
    assert {part.plan.noise for part in together} == {"pure" if privacy == "pure" else "gaussian"}
    assert len(together.lines()) == 5
    together = dx.plan_together(policy.compile(), asked, errors=[None, None, [3, 3]], spend=20)
    assert np.all(together.parts[2].plan.rmse(together.parts[2].spend) <= 3)


def test_what_is_missing_is_said():
    asked = [workload("counts"), workload("sums")]
    with pytest.raises(UnsupportedCombination, match="share what the others leave"):
        dx.plan_together(metric(), asked, errors=[[4, 8], None])
    with pytest.raises(UnsupportedCombination, match="'errors' has one for each of 2 workloads; found 1"):
        dx.plan_together(metric(), asked, errors=[[4, 8]])


POLICY = """policy: monthly
universe: {attributes: {a: [x, y, z]}}
rules:
  - {change: a, epsilon: 1}
budget: 2
"""


def test_the_command_takes_several_files(tmp_path):
    (tmp_path / "p.yaml").write_text(POLICY)
    for name, value in (("one", "x"), ("two", "y")):
        (tmp_path / f"{name}.yaml").write_text(f"queries:\n  - {{count: a == '{value}', name: {name}}}\n")
    files = [str(tmp_path / name) for name in ("p.yaml", "one.yaml", "two.yaml")]
    said = CliRunner().invoke(app, ["plan", *files, "--error", "one: 10", "--spend", "1"])
    assert said.exit_code == 0, said.output
    assert "the least for the errors asked for" in said.output and "a share of what is left" in said.output
    found = json.loads(CliRunner().invoke(app, ["plan", *files, "--spend", "1", "--format", "json"]).output)
    assert [one["spend"] for one in found["workloads"]] == ["1/2", "1/2"]
    for more, what in itertools.product([["--mechanism", "laplace"], ["--output", str(tmp_path / "o.json")]], ["one"]):
        assert "is about one plan" in CliRunner().invoke(app, ["plan", *files, *more]).output, what
    wrong = CliRunner().invoke(app, ["plan", *files, "--error", "three: 1"])
    assert "none of these files" in " ".join(wrong.output.split())
