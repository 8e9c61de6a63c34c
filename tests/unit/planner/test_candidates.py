"""One new candidate is its own mechanism and one line in the tuple."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from inspect import signature

import numpy as np
import pytest
from reference.project import GUIDE, POLICIES
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace
from dxgeom.planner import candidates
from dxgeom.planner.candidates import CANDIDATES, Candidate, Kind, names, title_of
from dxgeom.planner.wish import PlanOptions, Wish
from dxgeom.report.pictures import improvement_factors, improvement_picture

POLICY, QUERIES = (str(POLICIES / "clinic" / name) for name in ("policy.yaml", "queries.yaml"))


def toy(shared):
    """Ordinary ε-DP under a name of its own."""
    return replace(epsilon_dp_laplace(shared.sensitivity), name="toy")


@pytest.fixture
def with_a_toy(monkeypatch):
    """The one line."""
    monkeypatch.setattr(candidates, "CANDIDATES", (*CANDIDATES, Candidate("toy", "toy noise", Kind.SHAPE, toy)))


@pytest.mark.usefixtures("with_a_toy")
def test_a_new_candidate_is_planned_compared_asked_for_drawn_and_written(tmp_path):
    policy = dx.load_policy(POLICY)
    metric, queries = policy.compile(), dx.load_queries(QUERIES, policy)
    plan = dx.plan(metric, queries)
    assert "toy" in [result.name for result in plan.candidates]
    named = dx.plan(metric, queries, mechanism="toy")
    assert named.mechanism.name == json.loads(named.to_json())["mechanism"] == "toy"
    assert "toy" in improvement_factors(named)
    improvement_picture(named, tmp_path / "gain.png")
    assert title_of("toy") == "toy noise"
    assert len(named.release(np.ones(metric.size, dtype=int), ledger=":memory:", spend=1).values) == queries.count
    asked = CliRunner().invoke(app, ["plan", POLICY, QUERIES, "--mechanism", "toy", "--format", "json"])
    assert asked.exit_code == 0, asked.output
    assert json.loads(asked.stdout)["mechanism"] == "toy"
    unknown = CliRunner().invoke(app, ["plan", POLICY, QUERIES, "--mechanism", "tool"])
    assert unknown.exit_code == 2
    assert "toy" in unknown.output


@pytest.mark.usefixtures("with_a_toy")
def test_a_published_baseline_of_ones_own_is_built_when_asked_for(monkeypatch):
    monkeypatch.setattr(candidates, "CANDIDATES", (*CANDIDATES, Candidate("toy", "toy noise", Kind.PUBLISHED, toy)))
    metric = dx.verify_metric(1 - np.eye(3))
    queries = dx.LinearQueries.from_matrix(list("ab"), [[1, 0, 0], [0, 1, 0]])
    rows = [
        [result.name for result in dx.plan(metric, queries, **how).candidates]
        for how in ({}, {"search": dx.Search(published=True)})
    ]
    assert rows[1] == [*rows[0], *names(Kind.PUBLISHED)]
    assert dx.plan(metric, queries, mechanism="toy").mechanism.name == "toy"


def test_candidates_have_names_and_titles_of_their_own():
    assert len({candidate.name for candidate in CANDIDATES}) == len({candidate.title for candidate in CANDIDATES})
    assert len(CANDIDATES) == len(names())
    assert len(names(Kind.ORDINARY)) == 1
    assert title_of("noise of a body of one's own") == "noise of a body of one's own"


def test_the_document_lists_every_candidate():
    rows = [
        f"| `{candidate.name}` | {candidate.title} | {candidate.kind.value} |" for candidate in candidates.CANDIDATES
    ]
    assert "\n".join(["|---|---|---|", *rows, ""]) in (GUIDE / "bodies.md").read_text(encoding="utf-8")


def test_every_option_can_be_said_to_a_plan_with_the_same_default():
    stated = signature(dx.plan).parameters
    for option in fields(Wish):
        if option.name not in ("search", "spend"):  # not stated and 1 are two things
            assert stated[option.name].default == option.default
    assert stated["search"].default is stated["spend"].default is None
    assert Wish(thorough=True).options == PlanOptions()


@pytest.mark.parametrize(
    ("old", "now"),
    [
        ({"published": True}, {"search": dx.Search(published=True)}),
        ({"coarse_facets": 50}, {"search": dx.Search(coarse_facets=50)}),
        ({"quick": True}, {"thorough": False}),
    ],
)
def test_what_was_an_option_of_its_own_still_is_and_says_where_it_went(old, now):
    policy = dx.load_policy(POLICY)
    queries = dx.load_queries(QUERIES, policy)
    with pytest.warns(DeprecationWarning, match=f"'{next(iter(old))}' will go in the next version: write dx.plan"):
        before = dx.plan(policy.compile(), queries, mechanism="laplace", **old)
    after = dx.plan(policy.compile(), queries, mechanism="laplace", **now)
    assert before.comparison.shared.options == after.comparison.shared.options
    with pytest.raises(dx.errors.WrongArgument, match="part of the search"):
        dx.plan(policy.compile(), queries, published=True, search=dx.Search())


def test_a_picture_knows_the_published_baselines(tmp_path):
    policy = dx.load_policy(POLICY)
    plan = dx.plan(policy.compile(), dx.load_queries(QUERIES, policy), mechanism="laplace-one-scale")
    assert improvement_picture(plan, tmp_path / "gain.png").is_file()
