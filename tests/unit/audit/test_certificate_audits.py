"""Certificates hold when they are untouched, and are refused with the reason when anything was altered."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.audit.claims import StatedBounds, claimed_pairs, claims_of, read_claims, shortest_paths, write_claims
from dxgeom.audit.policy_audit import audit_edges, audit_matrix, audit_policy
from dxgeom.errors import CertificateRefused, DataError, UnsupportedCombination
from dxgeom.policy.axes import PlacesAxis
from dxgeom.policy.bounds.distance_bounds import PerDistance
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.places import PointsAttribute

KINDS = """policy: all kinds
universe:
  attributes:
    word: [a, b, c]
    number: {range: [0, 4], step: 1}
    age: {bins: [0, 18, 40, 65, 100]}
rules:
  - change: word
    values: {a: 0.1, b: 2}
    otherwise: 3
  - change: number
    epsilon: 0.3
    within: 1
  - change: number
    epsilon: 0.5
    per: 2
  - change: age
    epsilon: 0.7
    within: 30
    beyond: linear
  - between: everything
    epsilon: 1.2
"""
TOGETHER = """policy: together
universe:
  attributes:
    gender: [M, F]
    t1: {range: [0, 4], step: 1}
    region: [n, s]
    t2: {range: [0, 4], step: 1}
    age: {bins: [0, 18, 40, 65]}
rules:
  - change: [gender, region, age]
    epsilon: 0.8
  - change: [gender, age]
    together: true
    epsilon: 1
  - change: [region, age]
    together: true
    epsilon: 0.9
  - change: [t1, t2]
    together: true
    measure: max
    epsilon: 0.5
    per: 1
  - secrets: {partition: region}
    epsilon: 2.3
  - between: everything
    epsilon: 2.9
"""
FEW = TOGETHER.replace("[0, 4]", "[0, 1]")
SMALL = KINDS.replace("    age: {bins: [0, 18, 40, 65, 100]}\n", "").replace(
    "  - change: age\n    epsilon: 0.7\n    within: 30\n    beyond: linear\n", ""
)


def claims_about(policy):
    return json.loads(json.dumps(claims_of(policy.compile(), "policy")))


@pytest.mark.parametrize("name", ["clinic", "adult", "us-cities"])
def test_the_certificates_of_the_example_policies_hold(policies, name):
    policy = dx.load_policy(policies / name / "policy.yaml")
    lines = audit_policy(claims_about(policy), policy).lines
    assert "from above and below" in lines[1]
    assert len(lines) == 2


@pytest.mark.parametrize("text", [KINDS, SMALL, TOGETHER, FEW])
def test_every_kind_of_rule_is_derived_again(text):
    policy = parse_policy(text)
    assert len(audit_policy(claims_about(policy), policy).lines) == 2


def test_a_partition_of_places_is_derived_again(tmp_path):
    (tmp_path / "cities.csv").write_text("id,x,y,state\n" + "".join(f"c{k},{k * k},0,s{k % 3}\n" for k in range(9)))
    policy = parse_policy(
        "policy: p\nuniverse: {attributes: {city: {points: cities.csv, key: id, x: x, y: y, unit: km}}}\n"
        "rules: [{change: city, secrets: {partition: state}, epsilon: 1}]\nunconnected: allow\n",
        folder=tmp_path,
    )
    claims = claims_about(policy)
    assert len(audit_policy(claims, policy).lines) == 2
    assert {row[2] for row in claims["distances"]} == {1.0, "inf"}
    claims["distances"][0][2] = 1.0
    with pytest.raises(CertificateRefused, match="it was lowered"):
        audit_policy(claims, policy)


def test_a_largest_change_that_meets_other_rules_is_compared_from_above_and_that_is_said():
    text = TOGETHER + "  - {change: t1, epsilon: 0.7}\n"
    policy = parse_policy(text)
    claims = claims_about(policy)
    assert "meet others" in audit_policy(claims, policy).lines[2]
    with pytest.raises(CertificateRefused, match="it was raised"):
        audit_policy(altered(claims, "distances", 0, 2, 9.0), policy)


def test_dates_and_secret_edges_are_derived_again(tmp_path):
    (tmp_path / "edges.csv").write_text("one,other,weight\na,b,0.2\nb,c,0.5\n")
    text = """policy: dates and secrets
universe:
  attributes:
    word: [a, b, c]
    day: {dates: [2024-01-01, 2024-02-28], step: 7}
rules:
  - change: word
    secrets: {edges: edges.csv}
    weight: weight
  - change: day
    epsilon: 0.5
    per: 30 days
"""
    policy = parse_policy(text, folder=tmp_path)
    claims = claims_about(policy)
    assert len(audit_policy(claims, policy).lines) == 2
    claims["distances"][3][2] *= 1.001
    with pytest.raises(CertificateRefused, match="raised"):
        audit_policy(claims, policy)


@pytest.mark.parametrize("text", [KINDS, SMALL, TOGETHER, FEW])
@pytest.mark.parametrize(("factor", "said"), [(1.0001, "it was raised"), (0.9999, "it was lowered")])
def test_a_distance_that_was_raised_or_lowered_is_refused(text, factor, said):
    policy = parse_policy(text)
    honest = json.dumps(claims_about(policy))
    for place in range(0, len(json.loads(honest)["distances"]), 17):
        claims = json.loads(honest)
        claims["distances"][place][2] *= factor
        with pytest.raises(CertificateRefused, match=said):
            audit_policy(claims, policy)


def test_the_certificate_of_another_policy_is_refused():
    claims = claims_about(parse_policy(KINDS))
    with pytest.raises(CertificateRefused, match="claims fingerprint"):
        audit_policy(claims, parse_policy(KINDS.replace("0.3", "0.31")))


def altered(claims, *path_and_value):
    *path, last, value = path_and_value
    place = claims
    for key in path:
        place = place[key]
    place[last] = value
    return claims


@pytest.mark.parametrize(
    ("alteration", "said"),
    [
        (("kind", "matrix"), "claims kind"),
        (("title", "another"), "claims title"),
        (("size", 61), "claims size"),
        (("size", 60.0), "claims size"),
        (("budget", "2"), "claims budget"),
        (("fingerprint", "0" * 64), "claims fingerprint"),
        (("proof", None), "does not have the keys"),
        (("proof", "form", "discrete"), "proof.form"),
        (("proof", "verdict", "within rounding"), "proof.verdict"),
        (("proof", "parts", 0, "parts", 1, "size", 6), r"proof.parts\[0\].parts\[1\].size"),
        (("proof", "parts", []), "number of parts"),
        (("distances", []), "not those of the pairs"),
        (("distances", "none"), "not a list"),
        (("distances", 0, 2, -1.0), "at least 0"),
        (("distances", 0, 2, "inf"), "it was raised"),
        (("distances", 0, 1, 7), "not those of the pairs"),
    ],
)
def test_an_altered_certificate_is_refused_with_the_reason(alteration, said):
    policy = parse_policy(KINDS)
    with pytest.raises(CertificateRefused, match=said):
        audit_policy(altered(claims_about(policy), *alteration), policy)


def test_an_attribute_with_many_values_and_mixed_bounds_is_compared_from_above_and_that_is_said():
    rules = "  - {change: n, epsilon: 1, within: 3}\n  - {change: n, epsilon: 1, per: 5}\n"
    policy = parse_policy(f"policy: p\nuniverse: {{attributes: {{n: {{range: [0, 99], step: 1}}}}}}\nrules:\n{rules}")
    assert "from above only" in audit_policy(claims_about(policy), policy).lines[2]
    with pytest.raises(CertificateRefused, match="it was raised"):
        audit_policy(altered(claims_about(policy), "distances", 0, 2, 9.0), policy)


def test_unconnected_records_are_claimed_to_be_infinitely_far_apart():
    policy = parse_policy(
        "policy: p\nunconnected: allow\nuniverse: {attributes: {a: [x, y], b: [u, v]}}\n"
        "rules:\n  - {change: a, epsilon: 1}\n"
    )
    claims = claims_about(policy)
    assert [0, 1, "inf"] in claims["distances"]
    audit_policy(claims, policy)
    with pytest.raises(CertificateRefused, match="it was lowered"):
        audit_policy(altered(claims, "distances", 0, 2, 5.0), policy)


def test_distances_across_the_date_line_are_short():
    dateline = np.array([[10.0, 180.0], [10.0, -180.0], [10.0, -179.9]])
    attribute = PointsAttribute("buoy", ("a", "b", "c"), "great circle", dateline, "km")
    stated = StatedBounds(
        attribute, (PerDistance(PlacesAxis(attribute.geometry, attribute.coordinates), Fraction(1), Fraction(0)),)
    )
    assert stated.between(0, 1)[1] < Fraction(1, 10**20)
    assert float(stated.between(0, 2)[0]) == pytest.approx(10.9506, abs=1e-3)


def test_places_on_earth_are_measured_by_another_formula():
    cities = np.array([[48.8566, 2.3522], [52.52, 13.405], [-48.8566, -177.6478], [48.8566, 2.3522]])
    attribute = PointsAttribute("city", ("Paris", "Berlin", "opposite", "again"), "great circle", cities, "km")
    stated = StatedBounds(
        attribute, (PerDistance(PlacesAxis(attribute.geometry, attribute.coordinates), Fraction(1), Fraction(0)),)
    )
    low, high = stated.between(0, 1)
    assert float(low) == pytest.approx(877.46, abs=0.05)
    assert high - low < Fraction(1, 10**20)
    for end in stated.between(0, 2):
        assert float(end) == pytest.approx(np.pi * 6371.0088, rel=1e-9)
    assert stated.between(0, 3) == (0, 0)


def test_shortest_paths_in_exact_numbers_take_the_detour():
    third = Fraction(1, 3)
    steps = {0: [(1, Fraction(1)), (2, third)], 1: [], 2: [(1, third), (3, float("inf"))]}
    assert shortest_paths(0, lambda node: steps[node]) == {0: 0, 1: 2 * third, 2: third}


def test_all_pairs_of_few_records_are_claimed_and_every_axis_of_many():
    assert claimed_pairs((2, 3)) == [(i, j) for i in range(6) for j in range(i + 1, 6)]
    pairs = claimed_pairs((1000, 7, 3))
    assert {(0, 1), (0, 2), (0, 3), (0, 18), (0, 999 * 21)} <= set(pairs)
    assert len(pairs) == len(set(pairs)) > 64
    assert all(0 <= i < j < 21000 for i, j in pairs)


def euclidean(count):
    points = np.random.default_rng(0).random((count, 2))
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))


THIRDS = np.array([[0, Fraction(1, 3), 1], [Fraction(1, 3), 0, Fraction(2, 3)], [1, Fraction(2, 3), 0]], dtype=object)


def line_with_rounding():
    line = np.exp(3 * np.random.default_rng(0).random(30))
    return np.abs(line[:, None] - line[None])


@pytest.mark.parametrize("matrix", [euclidean(60), THIRDS, line_with_rounding(), [[0, 1], [1, 0]], [[0]]])
def test_the_certificate_of_a_matrix_holds(matrix):
    claims = json.loads(json.dumps(claims_of(dx.verify_metric(matrix), "matrix")))
    assert "compared again" in audit_matrix(claims, matrix).lines[1]


@pytest.mark.parametrize("factor", [1 + 1e-12, 1 - 1e-12])
def test_a_matrix_with_an_entry_raised_or_lowered_is_refused(factor):
    matrix = euclidean(40)
    claims = claims_of(dx.verify_metric(matrix), "matrix")
    for i, j in ((0, 39), (17, 23)):
        other = matrix.copy()
        other[i, j] = other[j, i] = matrix[i, j] * factor
        with pytest.raises(CertificateRefused, match="claims"):
            audit_matrix(claims, other)


def test_a_false_certificate_of_a_matrix_that_is_no_metric_is_refused():
    """Whoever can compute the fingerprint still cannot make the triangle inequality hold."""
    from dxgeom.metrics.matrices import fingerprint_of

    matrix = euclidean(20)
    claims = claims_of(dx.verify_metric(matrix), "matrix")
    matrix[3, 4] = matrix[4, 3] = 5
    claims["fingerprint"] = fingerprint_of(matrix, Fraction(1))
    claims["distances"] = [[i, j, float(matrix[i, j])] for i, j, _ in claims["distances"]]
    with pytest.raises(CertificateRefused, match="triangle inequality fails"):
        audit_matrix(claims, matrix)
    matrix[3, 4] = 0.1
    claims["fingerprint"] = fingerprint_of(matrix, Fraction(1))
    claims["distances"] = [[i, j, float(matrix[i, j])] for i, j, _ in claims["distances"]]
    with pytest.raises(CertificateRefused, match="asymmetric"):
        audit_matrix(claims, matrix)


@pytest.mark.parametrize(
    ("alteration", "said"),
    [
        (("proof", "verdict", "holds"), "within rounding only"),
        (("proof", "verdict", "sure"), "verdict is"),
        (("proof", "excess", 1e-15), "excess"),
        (("proof", "excess", 1.0), "allowed excess"),
        (("proof", "tolerance", 1.0), "proof.tolerance"),
        (("proof", "triples", 1), "proof.triples"),
        (("proof", "reason", "trust me"), "proof.reason"),
        (("proof", []), "verdict is"),
    ],
)
def test_an_altered_certificate_of_a_matrix_is_refused(alteration, said):
    matrix = line_with_rounding()
    claims = json.loads(json.dumps(claims_of(dx.verify_metric(matrix), "matrix")))
    with pytest.raises(CertificateRefused, match=said):
        audit_matrix(altered(claims, *alteration), matrix)


EDGES = [("a", "b", Fraction(1, 3)), ("b", "c", Fraction(1, 3)), ("c", "a", Fraction(2, 3)), ("d", "e", 1)]


def claims_about_edges(edges):
    verdict = dx.verify_edges(edges)
    return json.loads(json.dumps(claims_of(verdict.metric, "edges", verdict.certificate)))


@pytest.mark.parametrize("edges", [EDGES, [("a", "b", 0.1), ("b", "c", 0.2), ("a", "c", 0.1 + 0.2)]])
def test_the_certificate_of_an_edge_list_holds(edges):
    assert "exact shortest paths" in audit_edges(claims_about_edges(edges), edges).lines[1]


@pytest.mark.parametrize("edges", [EDGES, [("a", "b", 0.1), ("b", "c", 0.2), ("a", "c", 0.1 + 0.2)]])
def test_the_certificate_of_an_edge_list_holds_for_its_rows_in_any_order(edges):
    claims = claims_about_edges(edges)
    for order in itertools.permutations(edges):
        turned = [(other, one, distance) for one, other, distance in order]
        assert len(audit_edges(claims, list(order)).lines) == 2
        assert len(audit_edges(claims, turned).lines) == 2
        assert claims_about_edges(turned)["distances"] == claims["distances"]


def test_altered_edges_and_their_certificates_are_refused():
    with pytest.raises(CertificateRefused, match="fingerprint"):
        audit_edges(claims_about_edges(EDGES), [*EDGES[:3], ("d", "e", 2)])
    for place, factor, said in ((0, 1.01, "raised"), (1, 0.99, "lowered"), (0, 0.99, "lowered")):
        claims = claims_about_edges(EDGES)
        claims["distances"][place][2] *= factor
        with pytest.raises(CertificateRefused, match=said):
            audit_edges(claims, EDGES)
    with pytest.raises(CertificateRefused, match=r"proof\.pairs"):
        audit_edges(altered(claims_about_edges(EDGES), "proof", "pairs", 9), EDGES)


def test_a_certificate_file_is_written_once_and_read_strictly(tmp_path):
    path = tmp_path / "c.json"
    claims = claims_of(dx.verify_metric([[0, 1], [1, 0]]), "matrix")
    write_claims(path, claims)
    assert read_claims(path) == claims
    with pytest.raises(DataError, match="cannot be written"):
        write_claims(path, claims)
    for content in (b"", b"\xff", b"[1]", b"{}", b"[" * 200_000, json.dumps({**claims, "more": 1}).encode()):
        path.write_bytes(content)
        with pytest.raises(CertificateRefused):
            read_claims(path)
    with pytest.raises(DataError):
        read_claims(tmp_path / "nowhere.json")


def test_rules_that_the_audit_cannot_derive_are_refused():
    import dataclasses

    policy = parse_policy(KINDS)
    rule = dataclasses.replace(policy.rules[-1], everything=None)
    strange = dataclasses.replace(policy, resolved=dataclasses.replace(policy.resolved, rules=(rule,)))
    claims = {**claims_about(policy), "fingerprint": strange.fingerprint}
    with pytest.raises(UnsupportedCombination, match="cannot re-derive the rule in line"):
        audit_policy(claims, strange)
