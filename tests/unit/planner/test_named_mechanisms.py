"""Naming a mechanism builds it and nothing else; what cannot win is not built."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
import dxgeom.planner.candidate_builder as builder_module
import dxgeom.planner.comparing.candidate_bounds as floors_module
import dxgeom.planner.comparing.comparison as comparison_module
from dxgeom.errors import TooLarge
from dxgeom.planner import candidates
from dxgeom.planner.candidates import CANDIDATES, Candidate, Kind, candidate_bound_of

POLICY = """
policy: p
universe:
  attributes:
    sex: [F, M]
    age: {range: [0, 40], step: 5}
    pay: {range: [0, 9], step: 1}
rules:
  - {change: sex, epsilon: 1}
  - {change: age, epsilon: 0.5, per: 10}
  - {change: pay, epsilon: 0.3}
"""
QUERIES = "queries:\n  - marginal: sex\n  - prefixes: age\n  - sum: pay\n    unit: pay\n"


@pytest.fixture
def built(monkeypatch):
    """The names of the candidates in the order in which they are built."""
    seen: list[str] = []

    def watched(one: Candidate) -> Candidate:
        def build(shared):
            seen.append(one.name)
            return one.build(shared)

        return Candidate(one.name, one.title, one.kind, build, one.candidate_bound)

    monkeypatch.setattr(candidates, "CANDIDATES", tuple(watched(one) for one in CANDIDATES))
    return seen


def asked():
    policy = dx.parse_policy(POLICY)
    return policy.compile(), dx.parse_queries(QUERIES, policy)


@pytest.mark.parametrize("name", ["laplace", "rotated-laplace", "box"])
def test_naming_a_mechanism_builds_that_one_and_nothing_else_also_for_each_unit_alone(name, built):
    plan = dx.plan(*asked(), mechanism=name)
    assert plan.objective.name == "balanced"
    assert set(built) == {name}
    assert plan.mechanism.name == name


def test_what_is_told_of_a_named_mechanism_does_not_depend_on_what_was_asked_of_it_before(built):
    one, other = (dx.plan(*asked(), mechanism="laplace") for _ in range(2))
    assert len(one.candidates) > len(one.comparison.shown) == 2
    assert one.lower_bound > 0
    del built[:]
    assert one.to_json() == other.to_json()
    assert "box" not in built
    assert [row.split()[0] for row in one.lines()[2:4]] == ["laplace", "epsilon-dp"]


def test_the_candidates_of_a_named_mechanism_are_built_once_when_they_are_asked_for(built):
    metric, queries = asked()
    named = dx.plan(metric, queries, objective="mse", mechanism="laplace")
    assert built == ["laplace"]
    free = dx.plan(metric, queries, objective="mse")
    for one, other in zip(named.candidates, free.candidates, strict=True):
        assert (one.name, one.loss, one.reason) == (other.name, other.loss, other.reason)
    assert named.lower_bound == free.lower_bound
    count = len(built)
    assert len(named.candidates) == len(free.candidates)
    assert len(built) == count


def test_a_unit_for_which_the_named_mechanism_cannot_be_had_alone_counts_as_under_laplace_noise():
    metric, queries = asked()
    plan = dx.plan(metric, queries, mechanism="box")  # in the one dimension of the sum every shape is the same
    pay = [unit for unit in plan.units if unit.unit == "pay"]
    laplace = dx.plan(metric, queries.only([queries.count - 1]), mechanism="laplace").predicted_mse
    assert pay[0].mse / pay[0].ratio == pytest.approx(laplace, rel=1e-5)


def test_a_candidate_whose_floor_is_above_the_best_is_not_built_where_building_takes_long(built, monkeypatch):
    metric, queries = asked()
    every = dx.plan(metric, queries, objective="mse", thorough=True)
    assert {"box", "ellipsoid"} <= set(built)
    del built[:]
    monkeypatch.setattr(floors_module, "_LARGE", 0)
    spared = dx.plan(metric, queries, objective="mse", thorough=True)
    losses = {one.name: one.loss for one in every.candidates}
    assert spared.mechanism.fingerprint == every.mechanism.fingerprint
    assert {one.name for one in spared.candidates if "times the least total MSE found" in one.reason} >= {"box"}
    for one in spared.candidates:
        if one.loss is None and losses[one.name] is not None:
            assert "times the least total MSE found" in one.reason
            stated = float(one.reason.split("at least ")[1].split(" times")[0])
            assert 1 <= stated <= losses[one.name] / every.loss * 1.001
            assert one.name not in built
        else:
            assert one.loss == losses[one.name]


def test_what_is_spared_is_built_lowest_first(built, monkeypatch):
    monkeypatch.setattr(floors_module, "_LARGE", 0)
    plan = dx.plan(*asked(), objective="mse")
    late = [name for name in built if candidate_bound_of(name) is not None]
    floors = [candidate_bound_of(name)(plan.comparison.shared) for name in late]
    assert floors == sorted(floors)
    assert late


@pytest.mark.parametrize("objective", ["mse", "max"])
@pytest.mark.parametrize("seed", range(4))
def test_floors_are_below_what_they_are_of(seed, objective):
    generator = np.random.default_rng(seed)
    distances = 1 + generator.random((9, 9))
    metric = dx.verify_metric((distances + distances.T) / 2 * (1 - np.eye(9)))
    queries = dx.LinearQueries.from_matrix(list("abcd"), generator.random((4, 9)).round(3))
    plan = dx.plan(metric, queries, objective=objective, importance=[1, Fraction(1, 7), 3, 1], thorough=True)
    shared = plan.comparison.shared
    for candidate in CANDIDATES:
        if candidate.candidate_bound is not None:
            result = plan.comparison.result(candidate.name)
            assert 0 < candidate.candidate_bound(shared) <= result.loss


def test_hulls_of_blocks_are_left_out_in_many_dimensions_unless_they_are_named(monkeypatch):
    monkeypatch.setattr(builder_module, "_MOST_IN_BLOCKS", 3)
    metric, queries = asked()
    result = next(one for one in dx.plan(metric, queries).candidates if one.name == "block-hulls")
    assert result.loss is None
    assert "name 'block-hulls' to have them" in result.reason
    assert dx.plan(metric, queries, mechanism="block-hulls").mechanism.name == "block-hulls"


def test_what_a_short_search_shows_to_be_hopeless_is_not_sought_for_longer_unless_it_is_named(built, monkeypatch):
    metric, queries = asked()
    every = {one.name: one.loss for one in dx.plan(metric, queries, objective="mse", thorough=True).candidates}
    for name, value in (("_LARGE", 0), ("_MANY", 2)):
        monkeypatch.setattr(floors_module, name, value)
    monkeypatch.setattr(comparison_module, "PRUNING_FACTOR", 1e-9)
    del built[:]
    plan = dx.plan(metric, queries, objective="mse", thorough=True)
    for name in ("rotated-laplace", "strategy"):
        result = next(one for one in plan.candidates if one.name == name)
        assert result.loss is None and name not in built
        times = float(result.reason.split("it found ")[1].split(" times")[0])
        assert 0.5 <= times * plan.loss / every[name] < 5  # no bound, but of that order
        assert dx.plan(metric, queries, objective="mse", mechanism=name).mechanism.name == name


def test_a_coarse_hull_of_too_many_dimensions_is_refused_before_a_strategy_is_sought(monkeypatch):
    sought = []
    monkeypatch.setattr(builder_module, "best_strategy", lambda *args: sought.append(args))
    rows = np.random.default_rng(1).integers(0, 2, (12, 20)).tolist()
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(12)], rows)
    with pytest.raises(TooLarge, match="at most 10 dimensions"):
        dx.plan(dx.verify_metric(1 - np.eye(20)), queries, mechanism="coarse-hull")
    assert not sought


def test_shapes_are_the_only_kind_that_units_are_balanced_by():
    assert all(one.kind is Kind.SHAPE for one in CANDIDATES if one.candidate_bound is not None)
