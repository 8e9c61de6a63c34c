from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import NotAMetric, UnsupportedCombination

INF = float("inf")


def shortest(edges):
    names = list(dict.fromkeys(name for edge in edges for name in edge[:2]))
    paths = {(a, b): Fraction(0) if a == b else INF for a in names for b in names}
    for a, b, distance in edges:
        paths[a, b] = paths[b, a] = min(paths[a, b], distance)
    for k, i, j in itertools.product(names, repeat=3):
        paths[i, j] = min(paths[i, j], paths[i, k] + paths[k, j])
    return paths


edge_lists = st.dictionaries(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")).filter(lambda pair: pair[0] < pair[1]),
    st.fractions(0, 20, max_denominator=12),
    min_size=1,
).map(lambda pairs: [(a, b, distance) for (a, b), distance in pairs.items()])


@settings(deadline=None)
@given(edge_lists)
def test_an_edge_list_holds_exactly_when_no_path_is_shorter_than_an_edge(edges):
    paths = shortest(edges)
    if all(paths[a, b] == distance for a, b, distance in edges):
        verdict = dx.verify_edges(edges)
        assert verdict.certificate.verdict == "holds"
        index = {name: place for place, name in enumerate(verdict.names)}
        for (a, b), distance in paths.items():
            assert float(verdict.metric.distance(index[a], index[b])) == pytest.approx(float(distance), rel=1e-12)
    else:
        with pytest.raises(NotAMetric) as caught:
            dx.verify_edges(edges)
        names = sorted({name for edge in edges for name in edge[:2]})
        path = [names[node] for node in caught.value.witness]
        stated = {frozenset(edge[:2]): edge[2] for edge in edges}
        along = sum(stated[frozenset(step)] for step in itertools.pairwise(path))
        assert along < stated[frozenset((path[0], path[-1]))]


@settings(deadline=None)
@given(edge_lists)
def test_repaired_edges_are_the_shortest_paths(edges):
    paths = shortest(edges)
    repair = dx.metrics.repair_edges(edges)
    assert list(repair.distances) == [paths[a, b] for a, b, _ in edges]
    assert repair.fell == sum(paths[a, b] < distance for a, b, distance in edges)
    lowered = [(a, b, distance) for (a, b, _), distance in zip(edges, repair.distances, strict=True)]
    assert dx.verify_edges(lowered).certificate.excess == 0


def test_a_violation_of_one_part_in_a_billion_is_found_at_the_end_of_a_long_path():
    chain = [(str(k), str(k + 1), Fraction(1, 10)) for k in range(1000)]
    assert dx.verify_edges([*chain, ("0", "1000", Fraction(100))]).certificate.verdict == "holds"
    with pytest.raises(NotAMetric) as caught:
        dx.verify_edges([*chain, ("0", "1000", Fraction(100) + Fraction(1, 10**7))])
    assert len(caught.value.witness) == 1001


def test_float_sums_along_a_path_are_within_rounding():
    chain = [(str(k), str(k + 1), 0.1) for k in range(9)]
    certificate = dx.verify_edges([*chain, ("0", "9", 0.9)]).certificate
    assert (certificate.verdict, certificate.tolerance) == ("within rounding", 2.0**-48)


def test_parts_of_a_graph_are_infinitely_far_apart():
    verdict = dx.verify_edges([("a", "b", 1), ("c", "d", 2), ("a", "c", INF)])
    assert verdict.components == 2
    assert verdict.metric.distance(0, 2) == INF
    with pytest.raises(NotAMetric, match="inf between"):
        dx.verify_edges([("a", "b", 1), ("b", "c", 2), ("a", "c", INF)])


@pytest.mark.parametrize(
    ("edges", "broken"),
    [
        ([("a", "b", -1)], "no distance is negative"),
        ([("a", "b", float("nan"))], "no distance is NaN"),
        ([("a", "a", 1)], "from itself is 0"),
        ([("a", "b", 1), ("b", "a", 2)], "stated twice"),
        ([], "at least one edge"),
        ([("a", "b", 2**53)], "beyond 2"),
    ],
)
def test_statements_that_break_an_axiom_are_refused(edges, broken):
    with pytest.raises(NotAMetric, match=broken):
        dx.verify_edges(edges)


def test_the_fingerprint_names_the_statements_not_their_order():
    edges = [("a", "b", 1), ("b", "c", 2), ("c", "a", 3)]
    turned = [("c", "b", 2), ("a", "c", 3), ("a", "b", 1), ("b", "a", 1)]
    assert dx.verify_edges(edges).metric.fingerprint == dx.verify_edges(turned).metric.fingerprint
    assert dx.verify_edges(edges).metric.fingerprint != dx.verify_edges(edges[:2]).metric.fingerprint


def test_checking_edges_can_stop_at_the_first_violation():
    edges = [("a", "b", 1), ("b", "c", 1), ("a", "c", 5)]
    with pytest.raises(NotAMetric, match="at least 1 of 3"):
        dx.verify_edges(edges, first=True)


def test_edges_count_concentrated_privacy_where_that_is_said():
    edges = [("a", "b", 1), ("b", "c", Fraction(1, 2))]
    found, pure = dx.verify_edges(edges, privacy="concentrated").metric, dx.verify_edges(edges).metric
    assert (found.privacy, pure.privacy) == ("concentrated", "pure") and found.fingerprint != pure.fingerprint
    queries = dx.LinearQueries.from_matrix(["x"], [[0, 1, 1]])
    assert dx.plan(found, queries).mechanism.law.concentrated and not dx.plan(pure, queries).mechanism.law.concentrated
    with pytest.raises(UnsupportedCombination, match="pure"):
        dx.verify_edges(edges, privacy="zero")
