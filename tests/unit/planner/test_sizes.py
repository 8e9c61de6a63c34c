"""The same question at any size: what reads its structure comes first, work is stated, what is left out is said."""

from __future__ import annotations

import numpy as np
import pytest

import dxgeom as dx
import dxgeom.mechanisms.gaussian.mechanism as gaussian_module
import dxgeom.planner.boxes.choosing as choosing
import dxgeom.planner.candidate_builder as builder
import dxgeom.planner.choose as choose
import dxgeom.planner.comparing.comparison as quick_search
import dxgeom.planner.marginals.marginal_plan as instead
from dxgeom.errors import TooLarge
from dxgeom.mechanisms.gaussian.mechanism import covariance_work, elimination_work, gaussian_space
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.box_bound import boxes_bound
from dxgeom.mechanisms.parts.box_bound_at_once import bound_at_once
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.spans import boxes_of
from dxgeom.universe.workloads.whole_tables import MarginalQueries

PRESENCE = {"presence": True, "epsilon": 1}
RULES = {
    "presence": [PRESENCE],
    "constants": [{"change": name, "epsilon": 1} for name in "ab"],
    "both": [PRESENCE, {"change": "a", "epsilon": "0.5"}],
    "steps": [PRESENCE, {"change": "b", "per": 4, "epsilon": 1}],
}


def policy(rules, sizes=(5, 4), privacy="pure"):
    attributes = {name: {"range": [0, size - 1], "step": 1} for name, size in zip("ab", sizes, strict=False)}
    stated = [one for one in RULES[rules] if one.get("change", "a") in attributes]
    universe = {"attributes": attributes}
    return dx.Policy.from_dict({"policy": "p", "privacy": privacy, "universe": universe, "rules": stated, "budget": 9})


@pytest.fixture
def many(monkeypatch):
    """As if any workload outgrew a search, and so few numbers were too many to be laid out."""
    for module in (builder, choose):
        monkeypatch.setattr(module, "outgrows_a_search", lambda answers: True)
    monkeypatch.setattr(instead, "MOST_ENTRIES", 10)


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("rules", RULES)
def test_cells_that_are_too_many_are_planned_as_the_tables_that_they_are(many, rules, privacy):
    own = policy(rules, privacy=privacy)
    listed = dx.plan(own.compile(), dx.LinearQueries.marginals(own.universe, ways=2))
    tables = dx.plan(own.compile(), MarginalQueries.of(own.universe, ways=2))
    assert listed.fingerprint == tables.fingerprint
    assert listed.loss == tables.loss
    (other,) = (one for one in listed.candidates if one.name == "laplace")
    assert "20 answers that share 12 noisy numbers or more are not laid out" in other.reason


@pytest.mark.long
def test_what_is_said_of_cells_alike_goes_with_their_table(many):
    own = policy("presence")
    asked = dx.LinearQueries.marginals(own.universe, [["a"], ["a", "b"]])
    each = [2] * 5 + [3] * 20
    listed = dx.plan(own.compile(), asked, importance=each)
    assert listed.queries.importance == (2, 3)
    assert instead.in_tables_instead(own.compile(), asked, choose.Wish(importance=[*range(1, 26)])) is None
    assert instead.in_tables_instead(own.compile(), asked, choose.Wish(errors=each)) is None
    assert instead.in_tables_instead(own.compile(), asked, choose.Wish(records=7)) is None


def test_a_list_with_names_or_an_order_of_its_own_is_left_a_list():
    """Its answers are asked for by these names."""
    own = policy("presence")
    whole = dx.LinearQueries.marginals(own.universe, ways=2)
    rows = whole.tables.matrix()
    assert instead.whole_tables_of(dx.LinearQueries.from_matrix(whole.names, rows, own.universe)) is not None
    for names, order in ((["mine", *whole.names[1:]], slice(None)), (whole.names[::-1], slice(None, None, -1))):
        asked = dx.LinearQueries.from_matrix(names, rows[order], own.universe)
        assert instead.whole_tables_of(asked) is None


@pytest.mark.long
def test_a_list_within_tasks_stays_one_so_that_its_file_is_kept(many, tmp_path):
    own = policy("presence")
    tasks = [{"name": "one", "queries": [{"marginals": {"ways": 2}}]}, {"name": "two", "queries": [{"marginal": "b"}]}]
    plan = dx.plan(own.compile(), dx.queries_from_dict({"tasks": tasks}, own))
    dx.save_plan(plan, tmp_path / "plan.json", policy=own)
    assert dx.load_plan(tmp_path / "plan.json").plan.fingerprint == plan.fingerprint


def test_what_is_no_whole_table_is_left_a_list():
    own = policy("presence")
    whole = dx.LinearQueries.marginals(own.universe, [["a"]])
    assert instead.whole_tables_of(whole).attribute_sets == ((0,),)
    matrix = np.kron(np.eye(5, dtype=np.int64), np.ones(4, dtype=np.int64))
    for rows in (matrix[:4], 2 * matrix, np.cumsum(matrix, axis=0), np.vstack([matrix, matrix])):
        asked = dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], rows, own.universe)
        assert instead.whole_tables_of(asked) is None
    assert instead.whole_tables_of(dx.LinearQueries.from_matrix(["a", "b"], np.eye(2))) is None


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("asked", ["prefixes", "ranges"])
def test_bounds_that_are_told_at_once_are_below_the_optimum(rules, asked):
    own = policy(rules, (12,), "concentrated")
    metric = own.compile()
    queries = getattr(dx.LinearQueries, asked)(own.universe, "a")
    boxes = boxes_of(queries)
    best = gaussian_module.best_gaussian(
        gaussian_space(sensitivity_of(metric, queries), None, False), sensitivity_of(metric, queries), None
    )
    found = bound_at_once(metric, boxes, np.ones(boxes.count))
    assert 0 < found <= best.value * (1 + 1e-9)
    assert found >= (0.98 if rules in ("presence", "steps") else 0.25) * best.value


def test_beside_noise_in_running_totals_a_covariance_is_not_sought_for_little(many, monkeypatch):
    own = policy("presence", (24,), "concentrated")
    metric, asked = own.compile(), dx.LinearQueries.prefixes(own.universe, "a")
    whole = dx.plan(metric, asked)
    assert whole.mechanism.name == "gaussian"
    monkeypatch.setattr(quick_search, "_CEILING", 1e4)
    plan = dx.plan(metric, asked, search=dx.Search(coarse_facets=7_999))
    told = {one.name: one.reason for one in plan.candidates}
    assert plan.mechanism.name == "toeplitz-gaussian"
    assert "times the least that any normal noise has" in told["gaussian"]
    assert whole.loss <= plan.loss <= 1.1 * whole.loss
    assert dx.plan(metric, asked, mechanism="gaussian").loss == pytest.approx(whole.loss, rel=1e-9)


def test_a_covariance_in_too_many_dimensions_is_refused_before_they_are_told_apart(monkeypatch):
    own = policy("presence", (40,), "concentrated")
    sensitivity = sensitivity_of(own.compile(), dx.LinearQueries.prefixes(own.universe, "a"))
    work = covariance_work(40) - 1
    assert elimination_work(40, 40) < work
    monkeypatch.setattr(gaussian_module, "exact_span_of", None)
    with pytest.raises(TooLarge, match="covariance in 40 dimensions takes about"):
        gaussian_space(sensitivity, None, False, work)


def test_answers_that_follow_from_few_have_a_covariance_in_few_dimensions():
    own = policy("constants", (6,), "concentrated")
    rows = np.random.default_rng(0).integers(-3, 4, (40, 2)) @ np.random.default_rng(1).integers(-3, 4, (2, 6))
    asked = dx.LinearQueries.from_matrix([f"q{k}" for k in range(40)], rows, own.universe)
    space = gaussian_space(sensitivity_of(own.compile(), asked), None, False, 3e5)
    assert len(space.span.pivots) == 2
    assert covariance_work(15) > 3e5 > elimination_work(40, 15)  # there are fifteen pairs of values


def test_a_bound_that_is_too_dear_is_left_out_and_said(monkeypatch):
    own = policy("both", privacy="concentrated")
    boxes = BoxQueries.of(own.universe, [{"a": (low, low + 2), "b": (0, 2)} for low in range(4)])
    plan = dx.plan(own.compile(), boxes)
    assert "better bound" not in plan.bound_in_words
    monkeypatch.setattr(choosing, "WORK_OF_WEIGHTS", 10)
    monkeypatch.setattr("dxgeom.mechanisms.bounds.workload_bound._IN_ANY_CASE", 10)
    assert "a better bound was not sought: a bound on 4 answers by weights of pairs" in plan.bound_in_words


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_without_weights_of_pairs_the_bound_is_no_larger(monkeypatch, privacy):
    own = policy("both", privacy=privacy)
    boxes = BoxQueries.of(own.universe, [{"a": (low, low + 2), "b": (0, 2)} for low in range(4)])
    whole = boxes_bound(own.compile(), boxes, np.ones(4))
    monkeypatch.setattr("dxgeom.mechanisms.parts.box_bound.WORK_OF_WEIGHTS", 10)
    monkeypatch.setattr("dxgeom.mechanisms.bounds.workload_bound._IN_ANY_CASE", 10)
    assert 0 < boxes_bound(own.compile(), boxes, np.ones(4)) <= whole


def forms(own, kind):
    """The same prefixes of a, or the same cells, however they are written."""
    universe = own.universe
    if kind == "prefixes":
        size = universe.shape[0]
        rows = np.repeat(np.tril(np.ones((size, size), dtype=np.int64)), universe.record_types // size, axis=1)
        yield dx.LinearQueries.prefixes(universe, "a")
        yield dx.LinearQueries.boxes(universe, [{"a": (0, end + 1)} for end in range(size)])
        yield dx.queries_from_dict({"queries": [{"prefixes": "a"}]}, own)
        yield BoxQueries.prefixes(universe, "a").listed
    else:
        rows = np.vstack([np.kron(np.eye(5, dtype=np.int64), np.ones(4, dtype=np.int64)), np.eye(20, dtype=np.int64)])
        yield dx.LinearQueries.marginals(universe, [["a"], ["a", "b"]])
        tables = [{"marginals": {"ways": 1, "of": ["a"]}}, {"marginals": {"ways": 2}}]
        yield dx.queries_from_dict({"queries": tables}, own)
        yield MarginalQueries.of(universe, [["a"], ["a", "b"]]).listed
    yield dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], rows, universe)


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("kind", ["prefixes", "cells"])
def test_the_same_list_gets_the_same_noise_however_it_is_written(kind, rules, privacy):
    own = policy(rules, privacy=privacy)
    plans = [dx.plan(own.compile(), asked) for asked in forms(own, kind)]
    assert len({one.mechanism.name for one in plans}) == 1
    assert [one.loss for one in plans] == pytest.approx([plans[0].loss] * len(plans), rel=1e-9)
    assert [one.lower_bound for one in plans] == pytest.approx([plans[0].lower_bound] * len(plans), rel=1e-9)
