"""Individuals with an epsilon of their own each: a pair gets the sum."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dxgeom.audit.claims import claims_of
from dxgeom.audit.policy_audit import audit_policy
from dxgeom.cli.main import app
from dxgeom.errors import PolicyError
from dxgeom.metrics.combinations import CapMetric
from dxgeom.metrics.families import StarMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.queries.queries_file import parse_queries

HEAD = "policy: staff\nuniverse:\n  attributes:\n    person: [ann, bob, cid, dan]\n    sex: [F, M]\n"
REST = "- {change: sex, epsilon: 1}\n"


def policy(*rules: str, tail: str = "") -> Policy:
    return parse_policy(HEAD + "rules:\n" + REST + "".join(f"- {{change: person, {rule}}}\n" for rule in rules) + tail)


def between_people(found: Policy) -> np.ndarray:
    codes = 2 * np.arange(4)
    return found.compile().distance(codes[:, None], codes[None, :])


def test_a_pair_gets_the_sum_of_its_two_epsilons():
    found = policy("individuals: {ann: 0.1, bob: 0.5}, otherwise: 1")
    assert type(found.parts[0]) is StarMetric
    own = np.array([0.1, 0.5, 1, 1])
    expected = (own[:, None] + own[None, :]) * (1 - np.eye(4))
    assert np.allclose(between_people(found), expected, rtol=1e-12)
    assert np.all(between_people(found) <= expected)


def test_an_individual_without_an_epsilon_has_no_bound_and_the_others_keep_theirs():
    with pytest.raises(PolicyError, match="DX151"):
        policy("individuals: {ann: 0.1, bob: 0.5, cid: 1}")
    found = policy("individuals: {ann: 0.1, bob: 0.5, cid: 1}", tail="unconnected: allow\n")
    assert type(found.parts[0]) is GraphMetric
    distances = between_people(found)
    assert distances[1, 2] == pytest.approx(1.5)
    assert np.isinf(distances[3, :3]).all()


def test_a_ceiling_and_other_bounds_hold_beside_individuals():
    capped = policy("individuals: {ann: 0.1, bob: 0.5}, otherwise: 1", "epsilon: 1.2")
    assert type(capped.parts[0]) is CapMetric
    assert between_people(capped)[2, 3] == pytest.approx(1.2)
    mixed = policy("individuals: {ann: 0.1, bob: 0.5}, otherwise: 1", "individuals: {cid: 0.1}, otherwise: 0.6")
    assert type(mixed.parts[0]) is GraphMetric
    # dan – cid by the second rule, 0.7; ann – cid directly 0.7 or 1.1; bob – ann 0.6 by the first.
    assert between_people(mixed)[3, 2] == pytest.approx(0.7)
    assert between_people(mixed)[1, 0] == pytest.approx(0.6)


def test_a_list_that_another_one_undercuts_and_one_above_a_ceiling_are_left_out():
    low, high = "individuals: {ann: 0.1}, otherwise: 1", "individuals: {ann: 0.2, bob: 3}, otherwise: 1"
    assert policy(low, high).forms()[0].idle == (9,)
    assert policy(low, high).forms()[0].form == "individuals"
    assert policy("epsilon: 1.1", low).forms()[0].form == "discrete"


def test_the_order_of_the_list_and_an_otherwise_that_says_it_all_mean_the_same():
    one = policy("individuals: {ann: 0.1, bob: 0.5, cid: 1, dan: 1}")
    assert one.fingerprint == policy("individuals: {bob: 0.5, ann: 0.1}, otherwise: 1").fingerprint
    assert one.fingerprint != policy("values: {bob: 0.5, ann: 0.1}, otherwise: 1").fingerprint


def test_the_epsilons_of_a_column_are_those_of_a_list(tmp_path: Path):
    (tmp_path / "staff.csv").write_text("id,x,y,own\nann,0,0,0.1\nbob,1,1,.5\ncid,2,2,1\n")
    head = "policy: p\nuniverse: {attributes: {person: {points: staff.csv, key: id, x: x, y: y, unit: m}}}\n"
    by_column = parse_policy(head + "rules: [{change: person, individuals: own}]", folder=tmp_path)
    listed = parse_policy(
        head + "rules: [{change: person, individuals: {ann: 0.1, bob: 0.5}, otherwise: 1}]", folder=tmp_path
    )
    assert by_column.fingerprint == listed.fingerprint
    assert by_column.rules[0].words == "change person: epsilon by individual, column own"
    assert parse_policy(by_column.to_yaml(), folder=tmp_path).fingerprint == listed.fingerprint


def test_the_review_says_what_individuals_promise_and_where_a_detour_is_shorter():
    found = policy("individuals: {ann: 0.1, bob: 0.5}, otherwise: 1", "values: {dan: 0.2}")
    review = found.review()
    assert review.rules[1].sentence == (
        "two records that differ only in person are told apart with odds at most 1.83 to 1 for some and "
        "at most 7.39 to 1 for others, "
        "by the sum of their values' own epsilons"
    )
    (tightened,) = review.tightened
    assert (tightened.line, tightened.pairs) == (8, 6)
    told = found.explain({"person": "bob"}, {"person": "cid"})
    assert [(hop.start, hop.end, hop.bound) for hop in told.hops] == [
        ("bob", "dan", Fraction(1, 5)),
        ("dan", "cid", Fraction(1, 5)),
    ]


def test_a_large_list_is_examined_in_closed_form():
    people = ", ".join(f"p{k}: {k + 1}" for k in range(2500))
    names = ", ".join(f"p{k}" for k in range(2500))
    head = f"policy: p\nuniverse: {{attributes: {{a: [{names}]}}}}\n"
    found = parse_policy(head + f"rules: [{{change: a, individuals: {{{people}}}}}]").review().attributes[0]
    assert (found.diameter, found.smallest) == (4999, 3)


def test_the_audit_derives_the_sums_again():
    for rules in (["individuals: {ann: 0.1}, otherwise: 1"], ["individuals: {ann: 0.1}, otherwise: 1", "epsilon: 1"]):
        found = policy(*rules)
        claims = json.loads(json.dumps(claims_of(found.compile(), "policy")))
        assert "re-derived" in audit_policy(claims, found).lines[1]


def test_queries_on_individuals_are_released_from_the_command_line(tmp_path: Path):
    found = policy("individuals: {ann: 0.1, bob: 0.5}, otherwise: 1")
    (tmp_path / "staff.yaml").write_text(found.to_yaml())
    (tmp_path / "queries.yaml").write_text("queries:\n- count: person == 'ann'\n- count: person in ['cid', 'dan']\n")
    (tmp_path / "staff.csv").write_text("person,sex\n" + "ann,F\nbob,M\ncid,M\ncid,F\n" * 5)
    files = [str(tmp_path / name) for name in ("staff.yaml", "staff.csv", "queries.yaml")]
    options = ["--ledger", str(tmp_path / "l.db"), "--spend", "1", "--mechanism", "laplace", "--format", "json"]
    result = CliRunner().invoke(app, ["release", *files, *options])
    assert result.exit_code == 0, result.output
    released = json.loads(result.stdout)
    assert (released["records"], len(released["answers"])) == (20, 2)


def test_the_noise_for_one_count_is_that_of_the_closest_pair():
    found = policy("individuals: {ann: 0.1, bob: 0.5}, otherwise: 1")
    queries = parse_queries("queries:\n- count: person in ['cid', 'dan']", found)
    # cid or dan against ann: 1/(1 + 0.1), less than the 1/(0.1 + 0.5) of ann and bob, whom the count does not part.
    assert lipschitz(found.metric, queries.numerators[0]) == pytest.approx(1 / 1.1)
