"""The same prefixes whatever their number: planned in boxes where noise in the answers is too much, and told so."""

from __future__ import annotations

import numpy as np
import pytest

import dxgeom as dx
import dxgeom.metrics.paired_changes as paired
import dxgeom.planner.boxes.choosing as choosing
from dxgeom.errors import TooLarge, UnsupportedCombination

PRESENCE = {"presence": True, "epsilon": 1}
CHANGE = {"change": "x", "epsilon": 1}


def policy(*rules, values=450):
    attributes = {"x": {"range": [0, values - 1], "step": 1}}
    return dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": [*rules], "budget": 9})


@pytest.fixture
def few(monkeypatch):
    """As if so few weights were too many."""
    monkeypatch.setattr(paired, "MOST_ENTRIES", 10_000)


@pytest.mark.parametrize("rules", [(PRESENCE,), (PRESENCE, CHANGE), (CHANGE,)])
def test_where_weights_are_too_many_prefixes_are_planned_in_boxes(few, rules):
    own = policy(*rules)
    asked = dx.queries_from_dict({"queries": [{"prefixes": "x"}]}, own)
    plan = dx.plan(own.compile(), asked)
    named = dx.plan(own.compile(), asked, mechanism="boxes-laplace")
    assert plan.fingerprint == named.fingerprint
    assert plan.queries.upper[:, 0].tolist() == [*range(1, 451)]
    (other,) = (one for one in plan.candidates if one.name == "laplace")
    assert "not built: 450 queries tell" in other.reason
    assert other.reason in "\n".join(plan.lines())
    assert len(plan.rmse()) == 450


def test_very_many_prefixes_that_come_and_go_are_planned_in_boxes_at_once(monkeypatch):
    own = policy(PRESENCE)
    asked = dx.queries_from_dict({"queries": [{"prefixes": "x"}]}, own)
    named = dx.plan(own.compile(), asked, mechanism="boxes-laplace")
    assert choosing.refused_as_answers(asked) is None
    monkeypatch.setattr(choosing, "MOST_ENTRIES", 100_000)
    at_once = dx.plan(own.compile(), asked)
    assert at_once.fingerprint == named.fingerprint
    assert "450 counts of 450 kinds" in next(one for one in at_once.candidates if one.name == "laplace").reason
    assert choosing.refused_as_answers(dx.queries_from_dict({"queries": [{"prefixes": "x"}]}, policy(CHANGE))) is None


def test_a_number_of_records_an_importance_and_errors_go_with_them(few):
    own = policy(CHANGE)
    asked = dx.queries_from_dict({"records": 100, "queries": [{"prefixes": "x", "importance": 2}]}, own)
    plan = dx.plan(own.compile(), asked)
    assert (plan.queries.records, set(plan.queries.importance)) == (100, {2})
    asked = dx.queries_from_dict({"queries": [{"prefixes": "x"}]}, own)
    wanted = dx.plan(own.compile(), asked, errors={"x up to 3": 5})
    assert [place for place, one in enumerate(wanted.queries.errors) if one is not None] == [3]
    with pytest.raises(UnsupportedCombination, match="no query is called"):
        dx.plan(own.compile(), asked, errors={"x up to 3000": 5})


def test_what_boxes_do_not_heed_is_refused_as_before(few):
    own = policy(CHANGE)
    asked = dx.queries_from_dict({"queries": [{"prefixes": "x"}]}, own)
    for said in ({"search": dx.Search(published=True)}, {"mechanism": "laplace"}, {"records": 100}):
        with pytest.raises(TooLarge, match="are not laid out"):
            dx.plan(own.compile(), asked, **said)
    sums = dx.queries_from_dict({"queries": [{"prefixes": "x"}, {"sum": "x"}]}, own)
    with pytest.raises(TooLarge, match="more than"):
        dx.plan(own.compile(), sums)


def test_a_matrix_over_several_attributes_is_answered_in_its_own_boxes():
    attributes = {name: {"values": ["a", "b", "c"]} for name in ("one", "two")}
    rules = [{"change": name, "epsilon": 1} for name in attributes]
    own = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
    rows = np.array([[1, 1, 0] * 3, [0, 0, 0, 1, 1, 1, 1, 1, 1]])
    asked = dx.LinearQueries.from_matrix(["left", "low"], rows, own.universe)
    plan = dx.plan(own.compile(), asked, mechanism="boxes-laplace")
    assert (plan.queries.lower.tolist(), plan.queries.upper.tolist()) == ([[0, 0], [1, 0]], [[3, 2], [3, 3]])


def test_prefixes_under_presence_are_the_boxes_that_are_named():
    own = policy(PRESENCE, CHANGE, values=20)
    asked = dx.queries_from_dict({"queries": [{"prefixes": "x"}, {"ranges": "x"}]}, own)
    plan = dx.plan(own.compile(), asked, mechanism="boxes-laplace")
    codes = np.arange(20)
    inside = (codes >= plan.queries.lower) & (codes < plan.queries.upper)
    assert np.array_equal(inside, asked.numerators[:, :-1])
    assert not np.any(asked.numerators[:, -1])
