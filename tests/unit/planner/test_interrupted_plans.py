"""Whoever interrupts a plan gets the best of what was finished, marked; never anything that was not proved."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.mechanisms.linear.containment import require_hiding
from dxgeom.mechanisms.shapes import round_spaces
from dxgeom.planner import candidates
from dxgeom.planner.candidates import CANDIDATES, Candidate

CLINIC = Path(__file__).parents[3] / "policies" / "clinic"
LISTED = ("laplace", "box", "ellipsoid", "rotated-laplace", "hull", "coarse-hull", "block-hulls", "strategy")
ONE_PLACE = """
policy: p
universe: {attributes: {sex: [F, M], age: {range: [0, 3], step: 1}}}
rules: [{change: sex, epsilon: 1}, {change: age, epsilon: 0.5, per: 3}]
"""


def asked():
    policy = dx.parse_policy(ONE_PLACE)
    return policy, dx.parse_queries("queries: [{marginal: sex}, {prefixes: age}]", policy)


def interrupted_at(name, where, monkeypatch):
    """KeyboardInterrupt when that candidate is begun, or when it is nearly built."""

    def broken(one: Candidate) -> Candidate:
        def build(shared):
            if where == "after":
                one.build(shared)
            raise KeyboardInterrupt

        return Candidate(one.name, one.title, one.kind, build, one.candidate_bound) if one.name == name else one

    monkeypatch.setattr(candidates, "CANDIDATES", tuple(map(broken, CANDIDATES)))


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("name", [*LISTED[1:], "epsilon-dp"])
def test_an_interruption_gives_the_best_of_what_was_finished_and_says_so(name, where, monkeypatch):
    policy, queries = asked()
    metric = policy.compile()
    whole = {one.name: one.loss for one in dx.plan(metric, queries).candidates}
    interrupted_at(name, where, monkeypatch)
    plan = dx.plan(metric, queries)
    finished = {one.name: one.loss for one in plan.candidates if one.loss is not None}
    assert plan.interrupted == name
    assert name not in finished
    assert finished == {one: whole[one] for one in finished}
    assert plan.loss == min(finished.values())
    require_hiding(plan.mechanism)
    assert [one.reason for one in plan.candidates if one.name == name] == ["not built: planning was interrupted"]
    assert plan.lines()[1].startswith(f"planning was interrupted at {name}: ")
    assert json.loads(plan.to_json())["search"] == "interrupted"
    assert plan.as_dict()["lower_bound"] is None


def test_with_nothing_finished_an_interruption_ends_the_work(monkeypatch):
    policy, queries = asked()
    interrupted_at("laplace", "after", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        dx.plan(policy.compile(), queries)


def test_a_mechanism_that_was_named_is_given_or_nothing(monkeypatch):
    policy, queries = asked()
    interrupted_at("strategy", "before", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        dx.plan(policy.compile(), queries, mechanism="strategy")


def test_what_is_told_of_progress_may_interrupt_too():
    policy, queries = asked()

    def stopping(what):
        if what.startswith("hull, "):
            raise KeyboardInterrupt

    plan = dx.plan(policy.compile(), queries, progress=stopping)
    assert plan.interrupted == "hull"
    assert {one.name for one in plan.candidates if one.loss} >= set(LISTED[:4])


def test_noise_whose_proof_was_interrupted_is_not_given(monkeypatch):
    policy, queries = asked()
    calls = []

    def interrupted(*given, **named):
        calls.append(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(round_spaces, "hiding", interrupted)
    plan = dx.plan(policy.compile(), queries)
    assert len(calls) == 1
    assert plan.mechanism.name == "laplace"
    assert plan.interrupted == "box"


def test_budget_is_spent_on_an_interrupted_plan_only_when_somebody_says_so(monkeypatch):
    policy, queries = asked()
    interrupted_at("hull", "before", monkeypatch)
    plan = dx.plan(policy.compile(), queries)
    table = np.ones(queries.size, dtype=np.int64)
    with pytest.raises(dx.errors.UnsupportedCombination, match="planning was interrupted"):
        plan.release(table, ledger=":memory:", spend=1)
    taken = plan.as_it_is()
    assert taken.release(table, ledger=":memory:", spend=1).spent == 1
    assert taken.fingerprint == plan.fingerprint
    assert taken.interrupted == "hull"


def test_plan_files_say_it_and_what_they_mean_is_the_same(monkeypatch, tmp_path):
    policy, queries = asked()
    metric = policy.compile()
    named = dx.plan(metric, queries, mechanism="rotated-laplace")
    interrupted_at("hull", "before", monkeypatch)
    plan = dx.plan(metric, queries)
    assert plan.fingerprint == named.fingerprint
    kept = dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    again = dx.load_plan(tmp_path / "plan.json").plan
    assert again.comparison.search == "interrupted"
    assert again.lines()[1].startswith("planning was interrupted: ")
    assert kept.plan.fingerprint == again.fingerprint == plan.fingerprint
    assert again.release(np.ones(queries.size, dtype=np.int64), ledger=":memory:", spend=1).spent == 1
    dx.save_plan(named, tmp_path / "named.json", policy=policy)
    assert "search" not in json.loads((tmp_path / "named.json").read_text())


@pytest.mark.parametrize("whole", ["together", "tasks", "in one call"])
def test_where_a_plan_is_wanted_whole_an_interruption_ends_the_work(whole, monkeypatch):
    policy, queries = asked()
    interrupted_at("hull", "before", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        if whole == "together":
            dx.plan_together(policy.compile(), [queries], spend=1)
        elif whole == "tasks":
            text = "tasks: [{name: a, share: 1, queries: [{marginal: sex}, {prefixes: age}]}]"
            dx.plan(policy.compile(), dx.parse_queries(text, policy))
        else:
            rows = np.ones(queries.size, dtype=np.int64)
            dx.compile_and_release(policy, rows, queries, ledger=":memory:", spend=1)


def test_a_search_for_a_covariance_that_was_interrupted_is_told_in_the_same_way():
    policy = dx.parse_policy(ONE_PLACE + "privacy: concentrated\n")
    queries = dx.parse_queries("queries: [{marginal: sex}, {prefixes: age}]", policy)

    told = []

    def stopping(what):
        told.append(what)
        if what.startswith("gaussian: ") and told[-2].startswith("gaussian: "):
            raise KeyboardInterrupt

    for mechanism in ("auto", "gaussian"):
        plan = dx.plan(policy.compile(), queries, mechanism=mechanism, progress=stopping)
        assert plan.interrupted == "gaussian"
        assert plan.lines()[1].startswith("planning was interrupted at gaussian: ")
        built = plan.comparison.mechanism("gaussian")
        require_hiding(built)
        assert 0 < plan.as_dict()["lower_bound"] <= plan.objective.loss(built.variances())
        if mechanism == "gaussian":
            assert plan.covariance_gap is not None


STARTED = """
import os, signal, sys
from dxgeom.planner import candidates
from dxgeom.planner.candidates import CANDIDATES, Candidate

name = sys.argv.pop()
def stopped(one):
    def build(shared):
        os.kill(os.getpid(), signal.SIGINT)
        return one.build(shared)
    return Candidate(one.name, one.title, one.kind, build, one.candidate_bound) if one.name == name else one

candidates.CANDIDATES = tuple(map(stopped, CANDIDATES))
from dxgeom.__main__ import run
run()
"""


def commanded(*words):
    return subprocess.run(
        [sys.executable, "-c", STARTED, *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.mark.long
def test_control_c_in_a_process_shows_and_keeps_the_best_plan_and_ends_with_its_own_exit_code(tmp_path):
    files = (CLINIC / "policy.yaml", CLINIC / "queries.yaml")
    kept = tmp_path / "plan.json"
    ended = commanded("plan", *files, "--all", "--output", kept, "rotated-laplace")
    assert ended.returncode == 130 == 128 + signal.SIGINT
    assert "planning was interrupted at rotated-laplace" in ended.stdout
    assert "interrupted; this is the best plan that was finished" in ended.stderr
    assert json.loads(kept.read_text())["search"] == "interrupted"
    require_hiding(dx.load_plan(kept).plan.mechanism)


def test_control_c_while_a_release_is_planned_spends_nothing(tmp_path):
    files = (CLINIC / "policy.yaml", CLINIC / "patients.csv", CLINIC / "queries.yaml")
    ledger = tmp_path / "ledger.db"
    ended = commanded("release", *files, "--ledger", ledger, "--spend", "0.1", "hull")
    assert ended.returncode == 130
    assert ended.stdout == ""
    assert not ledger.exists()
