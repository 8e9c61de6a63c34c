"""Tables that follow the data unasked: only where a policy allows it, the spend is stated, and noise would be most."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize  # noqa: F401 (loaded before a test is timed)
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.plan_files.kept_plans import KeptPlan
from dxgeom.planner.tasks.task_answers import TaskAnswers

WORDS = {"a": ["1", "2", "3", "4"], "b": ["1", "2", "3"], "c": ["1", "2"]}
RULES = [{"change": one, "epsilon": "0.5"} for one in WORDS]
LITTLE, MUCH = Fraction(1, 100), Fraction(1)


def policy_of(rules=RULES, **said):
    return dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": WORDS}, "budget": "10", "rules": rules, **said}
    )


ALLOWING = policy_of(adaptive="allow")


def tables_of(policy, groups=(("a", "b"), ("b", "c")), records=1000, **said):
    return dx.universe.MarginalQueries.of(policy.universe, [[*one] for one in groups], records=records, **said)


def planned(policy, spend, **said):
    return dx.plan(policy.compile(), tables_of(policy), spend=spend, **said)


def test_where_noise_would_be_most_the_tables_follow_the_data_and_the_plan_says_which_and_why():
    plan = planned(ALLOWING, LITTLE)
    assert [part.question.word for part in plan.parts] == ["adaptive"]
    assert plan.fingerprint == dx.plan(ALLOWING.compile(), asked(ALLOWING), spend=LITTLE).fingerprint
    which, why = plan.lines()
    assert "by one model" in which
    assert "times the records in a table, and the policy says 'adaptive: allow'" in why
    assert why.removeprefix("'tables': ") in plan.reason
    assert why.removeprefix("'tables': ") in plan.each_stated()[0].holds


def asked(policy):
    listed = [{"marginals": [["a", "b"], ["b", "c"]]}]
    return dx.queries_from_dict(
        {"records": 1000, "tasks": [{"name": "tables", "adaptive": {"workload": listed}}]}, policy
    )


def test_otherwise_the_certified_plan_stays_and_says_why():
    certified = planned(policy_of(), LITTLE)
    assert certified.mechanism.name == "marginal-laplace"
    assert all(one.name != "adaptive" for one in certified.candidates)
    for found, why in (
        (planned(ALLOWING, MUCH), "of the records in a table, and not to more"),
        (planned(ALLOWING, LITTLE, errors=[500, 500]), "which only noise keeps"),
        (dx.plan(ALLOWING.compile(), tables_of(ALLOWING, [["a", "b"]], None), spend=LITTLE), "is not public"),
        (
            dx.plan(ALLOWING.compile(), tables_of(ALLOWING, [[], ["a"]], 300), spend=LITTLE),
            "leave the table of all records",
        ),
    ):
        (other,) = [one for one in found.candidates if one.name == "adaptive"]
        assert other.loss is None
        assert why in other.reason
        assert other.reason in "\n".join(found.lines())
    assert planned(ALLOWING, MUCH).fingerprint == planned(policy_of(), MUCH).fingerprint


def test_a_table_that_public_numbers_tell_stays_exact(tmp_path):
    """A model would answer it with an error, and pay for it."""
    (tmp_path / "a.csv").write_text("a,count\n1,9\n2,2\n3,3\n4,1\n")
    said = {"adaptive": "allow", "known": [{"totals": "a", "numbers": "a.csv"}]}
    data = {"policy": "p", "universe": {"attributes": WORDS}, "budget": "10", "rules": RULES, **said}
    policy = dx.Policy.from_dict(data, folder=tmp_path)
    plan = dx.plan(policy.compile(), tables_of(policy, [["a"], ["a", "b"], ["a", "b", "c"]], 15), spend=LITTLE)
    assert plan.mechanism.all_told == (True, False, False)
    (other,) = [one for one in plan.candidates if one.name == "adaptive"]
    assert "public numbers are all of some table" in other.reason
    partly = dx.plan(policy.compile(), tables_of(policy, [["a", "b"], ["b", "c"], ["a", "b", "c"]], 15), spend=LITTLE)
    assert [part.question.word for part in partly.parts] == ["adaptive"]


@pytest.mark.parametrize("said", [{}, {"spend": LITTLE, "mechanism": "marginal-laplace"}])
def test_nothing_follows_the_data_where_no_spend_is_stated_or_noise_is_named(said):
    plan = dx.plan(ALLOWING.compile(), tables_of(ALLOWING), **said)
    assert plan.mechanism.name == "marginal-laplace"
    assert all(one.name != "adaptive" for one in plan.candidates)


def test_the_word_changes_no_distance_and_no_fingerprint():
    assert ALLOWING.fingerprint == policy_of().fingerprint
    assert ALLOWING.compile().adaptive
    assert not policy_of().compile().adaptive
    with pytest.raises(dx.PolicyError, match="'adaptive': 'allow' is expected here, found 'yes'"):
        policy_of(adaptive="yes")


def test_the_plan_is_a_file_and_a_release_as_if_the_task_had_been_written(tmp_path):
    plan = planned(ALLOWING, LITTLE)
    saved = dx.save_plan(plan, tmp_path / "plan.json", policy=ALLOWING, spend=LITTLE)
    assert saved.fingerprint == plan.fingerprint == dx.load_plan(tmp_path / "plan.json").fingerprint
    written = json.loads((tmp_path / "plan.json").read_text())["queries"]["written"]
    assert set(written) == {"records", "tasks"}
    counts = np.full(24, 1000 // 24, dtype=np.int64)
    counts[0] += 1000 - counts.sum()
    release = plan.release(counts, ledger=":memory:", spend=LITTLE, insecure_test_seed=1)
    assert isinstance(release.answer, TaskAnswers)
    assert release["tables"].table("a, b").shape == (4, 3)
    assert release["tables"].table("a, b").sum() == pytest.approx(1000)


def test_a_kept_plan_is_of_one_spend_where_that_may_decide(tmp_path):
    for policy, places in ((policy_of(), 1), (ALLOWING, 2)):
        question = dx.queries_from_dict({"queries": [{"marginal": "a"}]}, policy)
        kept = (KeptPlan.beside(str(tmp_path / "l.db"), policy, question, {"spend": one}) for one in (LITTLE, MUCH))
        assert len({one.path for one in kept}) == places


def test_commands_plan_at_their_spend(tmp_path):
    (tmp_path / "p.yaml").write_text(
        "policy: p\nuniverse:\n  attributes:\n    a: {range: [0, 1999], step: 1}\n    b: {range: [0, 1999], step: 1}\n"
        "    c: {range: [0, 1999], step: 1}\nrules: [{change: [a, b, c], epsilon: 0.5}]\nbudget: 10\nadaptive: allow\n"
    )
    (tmp_path / "q.yaml").write_text("records: 100000\nqueries: [{marginals: [[a], [c]]}]\n")
    run = [str(tmp_path / name) for name in ("p.yaml", "q.yaml")]
    for spend, said in ((LITTLE, "'adaptive: allow'"), (MUCH, "not taken: noise adds up to")):
        result = CliRunner().invoke(app, ["plan", *run, "--spend", str(spend), "--all"])
        assert result.exit_code == 0, result.output
        assert said in " ".join(result.stdout.split())
