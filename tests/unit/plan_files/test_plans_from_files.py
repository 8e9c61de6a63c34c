"""What is released from a plan file is what the plan would have released, for every candidate."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.example_policies import TABLES, policy_file, queries_file

import dxgeom as dx
from dxgeom.errors import CertificateRefused, NotANormBall
from dxgeom.plan_files.laws import KINDS
from dxgeom.planner.candidates import CANDIDATES, Kind
from dxgeom.universe.weight_tables import WeightTables

SMALL = ("clinic", "poll", "districts", "tenants")
"""A hull that is flat, one that is not, regions of a file, a policy with many values: each takes all candidates."""
NOT_BUILT = (dx.errors.TooLarge, NotANormBall, CertificateRefused, dx.UnsupportedCombination)


def asked_of(name):
    policy = dx.load_policy(policy_file(name))
    return policy, policy.compile(), dx.load_queries(queries_file(name), policy)


def counting_concentrated(policy, name):
    text = policy.to_yaml().replace("privacy: pure\n", "").replace("privacy: concentrated\n", "")
    return dx.parse_policy(f"{text}privacy: concentrated\n", folder=policy_file(name).parent)


WHOLE_TABLES = """
policy: whole tables
universe: {attributes: {sex: [F, M], ward: [A, B, C], age: [young, old]}}
rules: [{change: sex, epsilon: 1}, {change: ward, epsilon: 1}, {change: age, epsilon: 1}]
"""
UNEVEN = """
policy: whole tables of a line
privacy: concentrated
universe: {attributes: {sex: [F, M], age: {range: [0, 9], step: 1}}}
rules: [{change: sex, epsilon: 1}, {change: age, epsilon: 0.2, per: 1}]
"""
ALONE = """
policy: presence alone
universe: {attributes: {sex: [F, M], age: {range: [0, 9], step: 1}}}
rules: [{presence: true, epsilon: 1}]
"""
ALSO = {
    "gaussian-with-jumps": "whole tables",
    "marginal-laplace": "whole tables",
    "marginal-gaussian": "whole tables",
    "kronecker-gaussian": "uneven tables",
    "product-laplace": "presence alone",
    "product-gaussian": "presence alone",
}


def planned(name, mechanism):
    if name == "uneven tables":
        policy = dx.parse_policy(UNEVEN)
        queries = dx.parse_queries("queries: [{marginals: {ways: 2}}]", policy, 20)
        return policy, dx.plan(policy.compile(), queries, mechanism=mechanism)
    if name == "presence alone":
        policy = dx.parse_policy(ALONE + ("privacy: concentrated\n" if mechanism == "product-gaussian" else ""))
        queries = dx.parse_queries("queries: [{prefixes: age}, {marginal: sex}]", policy)
        return policy, dx.plan(policy.compile(), queries, mechanism=mechanism)
    if name == "whole tables":
        normal = mechanism in ("gaussian", "marginal-gaussian")
        policy = dx.parse_policy(WHOLE_TABLES + ("privacy: concentrated\n" if normal else ""))
        queries = dx.parse_queries("queries: [{marginals: {ways: 2}}]", policy, 20)
        return policy, dx.plan(policy.compile(), queries, mechanism=mechanism)
    policy, metric, queries = asked_of(name)
    if mechanism == "gaussian":
        policy = counting_concentrated(policy, name)
        metric, queries = policy.compile(), dx.load_queries(queries_file(name), policy)
    options = {}
    if mechanism == "body":
        options["search"] = dx.Search(body=dx.geometry.PowerBall(np.ones(queries.count), 1.5))
    if mechanism == "changed-queries":
        options["records"] = queries.records or 50
    return policy, dx.plan(metric, queries, mechanism=mechanism, **options)


def counts_for(plan):
    counts = np.zeros(plan.metric.size, dtype=int)
    change = plan.mechanism.change
    counts[0] = plan.queries.records or (50 if change is None else change.records)
    return counts


def check_same(plan, loaded):
    """The same law: the same fingerprints, and the same answers from the same bits."""
    assert loaded.fingerprint == plan.fingerprint
    assert loaded.plan.mechanism.fingerprint == plan.mechanism.fingerprint
    assert np.array_equal(loaded.plan.mechanism.variances(), plan.mechanism.variances())
    drawn = [
        one.release(counts_for(plan), ledger=":memory:", spend="1/4", insecure_test_seed=7).exact_values
        for one in (plan, loaded)
    ]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    "mechanism", [one.name for one in CANDIDATES if one.kind not in (Kind.BOXES, Kind.CONCENTRATED_BOXES)]
)  # named, boxes are plans of their own; unasked, they are in tests/unit/mechanisms/parts/test_linear_boxes.py
@pytest.mark.long
def test_every_candidate_releases_from_its_file_as_it_does_itself(mechanism, tmp_path):
    built = 0
    for name in (*SMALL, *([ALSO[mechanism]] if mechanism in ALSO else [])):
        try:
            policy, plan = planned(name, mechanism)
        except NOT_BUILT:
            continue
        built += 1
        dx.save_plan(plan, tmp_path / f"{name}.json", policy=policy)
        check_same(plan, dx.load_plan(tmp_path / f"{name}.json"))
    assert built, f"no example policy has a plan by {mechanism}"


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_example_policy_has_a_plan_file_that_carries_all_it_needs(name, tmp_path, monkeypatch):
    policy, metric, queries = asked_of(name)
    plan = dx.plan(metric, queries, mechanism="laplace" if name == "adult" else "auto")
    written = dx.save_plan(plan, tmp_path / "plan.json", policy=policy, spend="1/8")
    monkeypatch.chdir(tmp_path)
    loaded = dx.load_plan("plan.json")
    assert (loaded.spend, loaded.digest) == (Fraction(1, 8), written.digest)
    assert loaded.policy.fingerprint == policy.fingerprint
    assert loaded.to_json() == (tmp_path / "plan.json").read_text(encoding="ascii")
    assert loaded.rmse().tolist() == plan.rmse("1/8").tolist()


def test_a_plan_that_was_loaded_can_be_saved_again_as_it_was(tmp_path):
    policy, plan = planned("bus-lines", "hull")
    once = dx.save_plan(plan, tmp_path / "once.json", policy=policy)
    twice = dx.save_plan(once.plan, tmp_path / "twice.json", policy=once.policy)
    assert twice.digest == once.digest


def test_no_law_and_no_body_of_the_front_door_is_forgotten():
    bodies = {name for name in dx.geometry.__all__ if isinstance(getattr(dx.geometry, name), type)}
    bodies = {name for name in bodies if issubclass(getattr(dx.geometry, name), dx.geometry.ConvexBody)}
    assert bodies - {"ConvexBody"} <= set(KINDS)


@pytest.mark.parametrize(
    "body",
    [
        dx.geometry.CartesianProduct((dx.geometry.Box(np.ones(1)), dx.geometry.Ellipsoid(np.eye(2)))),
        dx.geometry.FreeSum((dx.geometry.CrossPolytope(np.ones(1)), dx.geometry.Box(np.array([1.0, 2.0])))),
        dx.geometry.LinearImage(dx.geometry.Box(np.ones(3)), np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 2.0]])),
        dx.geometry.HalfspacePolytope(np.vstack([np.eye(3), [[1.0, 1.0, 1.0]]]), np.array([1.0, 1.0, 1.0, 1.5])),
        dx.geometry.hull_of_points(np.vstack([np.eye(3), [[0.7, 0.7, 0.7]]])),
    ],
    ids=lambda body: type(body).__name__,
)
def test_noise_shaped_by_any_body_of_ones_own_is_kept(body, tmp_path):
    policy, metric, queries = asked_of("clinic")
    plan = dx.plan(metric, queries, mechanism="body", search=dx.Search(body=body))
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    check_same(plan, dx.load_plan(tmp_path / "plan.json"))


def made_in_python(policy):
    universe = policy.universe
    weights = [[Fraction(place, 7) for place in range(universe.size)], [1] * (universe.size - 1) + [0]]
    yield dx.LinearQueries.from_matrix(["a", "b"], np.array(weights, dtype=object), universe)
    yield dx.LinearQueries.from_matrix(["a", "b"], np.array(weights, dtype=object))
    yield dx.LinearQueries.marginals(universe, ways=2)
    parts = [
        dx.LinearQueries.marginals(universe, ways=1),
        dx.queries_from_dict({"queries": [{"count": "true"}]}, policy),
    ]
    yield dx.LinearQueries.stack(parts)


@pytest.mark.parametrize("number", range(4))
def test_queries_made_in_python_are_kept_weight_by_weight(number, tmp_path):
    policy = dx.load_policy(policy_file("clinic"))
    queries = list(made_in_python(policy))[number]
    plan = dx.plan(policy.compile(), queries, objective="max")
    written = dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert written.document.queries.written is None
    check_same(plan, dx.load_plan(tmp_path / "plan.json"))


def test_queries_that_were_altered_after_reading_are_kept_as_they_are_now(tmp_path):
    policy, metric, queries = asked_of("clinic")
    twice = dx.LinearQueries(
        queries.names,
        WeightTables(queries.tables.shape, queries.tables.tables),
        tuple(2 * unit for unit in queries.units),
        queries.universe,
        source=queries.source,
    )
    written = dx.save_plan(dx.plan(metric, twice), tmp_path / "plan.json", policy=policy)
    assert written.document.queries.written is None
    assert written.plan.queries.units == twice.units


@pytest.mark.parametrize("as_weights", [False, True])
def test_what_each_answer_is_about_is_kept(as_weights, tmp_path):
    policy = dx.load_policy(policy_file("tenants"))
    entries = [{"mean": "age", "by": "quarter"}, {"marginal": ["gender"]}, {"count": "true"}]
    queries = dx.queries_from_dict({"queries": entries}, policy)
    assert {"sum of age", "records"} <= {origin.query for origin in queries.origins}
    if as_weights:
        queries = replace(queries, source=None)
    plan = dx.plan(policy.compile(), queries, mechanism="laplace")
    written = dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert (written.document.queries.written is None) == as_weights
    loaded = dx.load_plan(tmp_path / "plan.json")
    assert loaded.plan.queries.origins == queries.origins
    assert loaded.plan.queries.ratios == queries.ratios
    check_same(plan, loaded)


def test_more_weights_than_a_file_holds_are_refused_with_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr("dxgeom.plan_files.queries_data.MOST_NUMBERS", 20)
    policy = dx.load_policy(policy_file("clinic"))
    plan = dx.plan(policy.compile(), next(made_in_python(policy)))
    with pytest.raises(dx.errors.TooLarge, match="write them as a queries file"):
        dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "max"},
        {"importance": [1, "1/3", 2]},
        {"errors": [10, 20, "30.5"]},
        {"errors": {"male": 2}},
        {"objective": "mse"},
    ],
)
def test_the_objective_is_kept(options, tmp_path):
    policy, metric, queries = asked_of("clinic")
    plan = dx.plan(metric, queries, **options)
    loaded = dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert loaded.plan.objective == plan.objective
    assert loaded.fingerprint == plan.fingerprint


@pytest.mark.parametrize("as_weights", [False, True])
def test_units_and_wanted_errors_are_kept(as_weights, tmp_path):
    ages = {"range": [0, 100], "step": 5}
    data = {"policy": "p", "universe": {"attributes": {"age": ages}}, "rules": [{"change": "age", "epsilon": 1}]}
    policy = dx.Policy.from_dict(data)
    for entries in ([{"sum": "age"}, {"count": "age >= 50"}], [{"sum": "age", "error": 40}, {"count": "true"}]):
        queries = dx.queries_from_dict({"queries": entries}, policy)
        if as_weights:
            queries = replace(queries, source=None)
        plan = dx.plan(policy.compile(), queries)
        loaded = dx.save_plan(plan, tmp_path / f"{len(list(tmp_path.iterdir()))}.json", policy=policy)
        assert (loaded.plan.queries.measures, loaded.plan.queries.errors) == (queries.measures, queries.errors)
        assert (loaded.plan.objective, loaded.plan.loss) == (plan.objective, plan.loss)
        check_same(plan, loaded)
        if plan.objective.wanted is not None:
            assert loaded.at_spend(None) == plan.least_spend


def test_a_plan_needs_its_own_policy_and_a_new_file(tmp_path):
    policy, plan = planned("clinic", "laplace")
    other = dx.load_policy(policy_file("poll"))
    with pytest.raises(dx.UnsupportedCombination, match="another policy"):
        dx.save_plan(plan, tmp_path / "plan.json", policy=other)
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    with pytest.raises(dx.DataError, match="not overwritten"):
        dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    with pytest.raises(dx.DataError, match="cannot be written"):
        dx.save_plan(plan, tmp_path / "nowhere" / "plan.json", policy=policy)


def test_a_body_of_a_class_of_ones_own_is_refused(tmp_path):
    policy, metric, queries = asked_of("clinic")
    inner = dx.geometry.PowerBall(np.ones(queries.count), 1.5)
    own = type("Mine", (dx.geometry.PowerBall,), {})(inner.radii, inner.exponent)
    plan = dx.plan(metric, queries, mechanism="body", search=dx.Search(body=own))
    with pytest.raises(dx.UnsupportedCombination, match="made of a Mine"):
        dx.save_plan(plan, tmp_path / "plan.json", policy=policy)


def test_a_stated_spend_is_the_one_that_is_charged(tmp_path):
    policy, plan = planned("clinic", "laplace")
    stated = dx.save_plan(plan, tmp_path / "stated.json", policy=policy, spend=0.1)
    assert stated.release(counts_for(plan), ledger=":memory:").spent == Fraction(1, 10)
    assert stated.release(counts_for(plan), ledger=":memory:", spend="1/10").spent == Fraction(1, 10)
    with pytest.raises(dx.UnsupportedCombination, match="made for the spend 1/10"):
        stated.release(counts_for(plan), ledger=":memory:", spend="1/5")
    left_open = dx.save_plan(plan, tmp_path / "open.json", policy=policy)
    with pytest.raises(dx.UnsupportedCombination, match="states no spend"):
        left_open.release(counts_for(plan), ledger=":memory:")


def test_nothing_is_searched_for_when_a_plan_is_loaded(tmp_path, monkeypatch):
    policy, plan = planned("clinic", "auto")
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)

    def searched(*_, **__):
        raise AssertionError("a search was run")

    monkeypatch.setattr("dxgeom.planner.choose.plan", searched)
    monkeypatch.setattr("dxgeom.planner.candidate_builder.CandidateBuilder.__init__", searched)
    monkeypatch.setattr("dxgeom.numeric.qhull.float_hull", searched)
    dx.load_plan(tmp_path / "plan.json")


def test_a_loaded_plan_is_told_to_readers_as_any_other(tmp_path):
    policy = dx.load_policy(policy_file("clinic"))
    plan = dx.plan(policy.compile(), dx.load_queries(queries_file("clinic"), policy))
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    loaded = dx.load_plan(tmp_path / "plan.json").plan
    told = "\n".join(loaded.lines())
    assert "as its file says" in told and "not known here" in told and "inf" not in told
    assert loaded.epsilon_dp_ratio is None
    assert '"epsilon_dp_ratio": null' in loaded.to_json()
