"""Attributes whose values are the nodes of a graph."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.audit.claims import claims_of
from dxgeom.audit.policy_audit import audit_policy
from dxgeom.errors import CertificateRefused, PolicyError
from dxgeom.metrics.graph import GraphMetric
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.queries.queries_file import parse_queries
from dxgeom.universe.attributes import OUTSIDE

ROADS = "from,to,metres\nalpha,beta,1500\nbeta,gamma,0.5e3\ngamma,alpha,4000\ngamma,delta,2000\n"
NODES = "junction,height,kind\nalpha,10,port\nbeta,20,inn\ngamma,30,inn\ndelta,40,mill\n"
LENGTHS = np.array([[0, 1500, 2000, 4000], [1500, 0, 500, 2500], [2000, 500, 0, 2000], [4000, 2500, 2000, 0]])
HOPS = np.array([[0, 1, 1, 2], [1, 0, 1, 2], [1, 1, 0, 1], [2, 2, 1, 0]])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "roads.csv").write_text(ROADS)
    (tmp_path / "nodes.csv").write_text(NODES)
    return tmp_path


def policy(
    folder: Path, *rules: str, graph: str = "graph: roads.csv, length: metres, unit: m", more: str = ""
) -> Policy:
    written = "".join(f"  - {{change: stop, {rule}}}\n" for rule in rules)
    text = f"policy: p\nuniverse:\n  attributes:\n    stop: {{{graph}}}\nrules:\n{written}{more}"
    return parse_policy(text, folder=folder)


def distances(found: Policy) -> np.ndarray:
    codes = np.arange(found.universe.size)
    return found.compile().distance(codes[:, None], codes[None, :])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("epsilon: 0.5, per: 1 step", 0.5 * HOPS),
        ("epsilon: 0.5, per: 2 steps", 0.25 * HOPS),
        ("epsilon: 3, per: 10 km", LENGTHS * 3 / 10_000),
        ("epsilon: 3, per: 10000 m", LENGTHS * 3 / 10_000),
        ("epsilon: 1, within: 1 step", 1.0 * HOPS),
        ("epsilon: 1, within: 2 steps", 1.0 * (HOPS > 0)),
        ("epsilon: 1, within: 2 km", np.array([[0, 1, 1, 2], [1, 0, 1, 2], [1, 1, 0, 1], [2, 2, 1, 0.0]])),
        ("epsilon: 1, within: 2 km, beyond: linear", np.where(LENGTHS > 0, np.maximum(1, LENGTHS / 2000), 0)),
    ],
)
def test_distances_go_along_the_edges(folder, rule, expected):
    found = policy(folder, rule)
    assert isinstance(found.compile().metric, GraphMetric)
    assert np.allclose(distances(found), expected, rtol=1e-12)
    assert np.all(distances(found) <= expected)


def test_distance_along_a_graph_is_generated_by_its_edges(folder):
    blocks = list(policy(folder, "epsilon: 1, per: 1 km").compile().metric.generating_pairs())
    assert sum(block.bound.size for block in blocks) == 4


def test_a_smooth_threshold_on_a_long_path_needs_few_pairs_and_is_exact(tmp_path):
    (tmp_path / "chain.csv").write_text("a,b\n" + "".join(f"{k},{k + 1}\n" for k in range(300)))
    found = policy(tmp_path, "epsilon: 1, within: 3 steps, beyond: linear", graph="graph: chain.csv")
    apart = np.abs(np.subtract.outer(np.arange(301), np.arange(301)))
    assert np.allclose(distances(found), np.where(apart > 0, np.maximum(1, apart / 3), 0), rtol=1e-11)
    pairs = sum(block.bound.size for block in found.compile().metric.generating_pairs())
    assert pairs <= 301 * 7


def test_the_order_of_edges_matters_to_the_numbering_only_and_their_direction_to_nothing(folder):
    with_nodes = "graph: roads.csv, nodes: nodes.csv"
    before = policy(folder, "epsilon: 1, per: 1 step", graph=with_nodes)
    head, *lines = ROADS.splitlines()
    turned = [",".join([line.split(",")[1], line.split(",")[0], line.split(",")[2]]) for line in reversed(lines)]
    (folder / "roads.csv").write_text("\n".join([head, *turned, turned[0]]) + "\n")
    assert policy(folder, "epsilon: 1, per: 1 step", graph=with_nodes).fingerprint == before.fingerprint


def test_edges_lengths_and_their_unit_are_part_of_the_meaning(folder):
    rule = "epsilon: 1, per: 1 step"
    graphs = ["graph: roads.csv", "graph: roads.csv, length: metres", "graph: roads.csv, length: metres, unit: km"]
    found = {policy(folder, rule, graph=graph).fingerprint for graph in graphs}
    (folder / "roads.csv").write_text(ROADS.replace("gamma,alpha,4000\n", ""))
    found.add(policy(folder, rule, graph=graphs[0]).fingerprint)
    assert len(found) == 4


def test_of_parallel_edges_the_shorter_counts(folder):
    (folder / "roads.csv").write_text(ROADS + "beta,alpha,100\n")
    assert distances(policy(folder, "epsilon: 1, per: 1 km"))[0, 1] == pytest.approx(0.1)


def test_a_graph_in_parts_is_an_error_that_names_them_unless_allowed(folder):
    (folder / "roads.csv").write_text(ROADS + "epsilon,zeta,1\n")
    for rule in ("epsilon: 1, per: 1 step", "epsilon: 1, within: 9 km", "epsilon: 1, within: 1 km, beyond: linear"):
        with pytest.raises(PolicyError, match=r"4 with 'alpha', 2 with 'epsilon'") as caught:
            policy(folder, rule)
        assert "join the parts by an edge" in str(caught.value)
        found = policy(folder, rule, more="unconnected: allow\n")
        assert np.isinf(distances(found)[0, 4])
        assert found.explain(0, 4).apart == ("stop",)
    assert distances(policy(folder, "epsilon: 1, per: 1 step", "epsilon: 2")).max() <= 2


def test_nodes_without_an_edge_come_from_the_file_of_nodes_with_columns_for_queries(folder):
    (folder / "nodes.csv").write_text(NODES + "island,50,inn\n")
    graph = "graph: roads.csv, nodes: nodes.csv"
    with pytest.raises(PolicyError, match="1 with 'island'"):
        policy(folder, "epsilon: 1, per: 1 step", graph=graph)
    found = policy(folder, "epsilon: 1, per: 1 step", "epsilon: 4", graph=graph)
    assert found.universe.attributes[0].labels == ("alpha", "beta", "gamma", "delta", "island")
    queries = parse_queries("queries:\n  - count: kind == 'inn'\n  - sum: height\n", found)
    assert dx.plan(found.compile(), queries).predicted_mse > 0


def test_raw_values_are_the_nodes_letter_for_letter(folder):
    attribute = policy(folder, "epsilon: 1").universe.attributes[0]
    assert attribute.encode(["delta", "alpha", "Alpha", None]).tolist() == [3, 0, OUTSIDE, OUTSIDE]


def test_a_path_is_explained_exactly(folder):
    told = policy(folder, "epsilon: 1, per: 3 km").explain({"stop": "alpha"}, {"stop": "delta"})
    assert told.distance == Fraction(4, 3)
    mixed = policy(folder, "epsilon: 1, per: 1 km", "epsilon: 0.25, within: 1 step")
    steps = mixed.explain({"stop": "alpha"}, {"stop": "delta"})
    assert steps.distance == Fraction(1, 2)
    assert [hop.end for hop in steps.hops] == ["gamma", "delta"]


def test_the_form_says_that_edges_generate_the_distance(folder):
    form, _ = policy(folder, "epsilon: 1, per: 3 km").forms()
    assert form.form == "graph"
    assert "shortest paths over the 4 pairs that generate it" in form.why


@pytest.mark.parametrize(
    "rules",
    [
        ("epsilon: 1, per: 3 km",),
        ("epsilon: 1, within: 2 steps", "epsilon: 5, per: 1 km"),
        ("epsilon: 1, within: 2 km, beyond: linear", "epsilon: 0.1, per: 1 step"),
    ],
)
def test_the_audit_finds_the_same_distances_edge_by_edge(folder, rules):
    found = policy(folder, *rules)
    claims = json.loads(json.dumps(claims_of(found.compile(), "policy")))
    assert len(audit_policy(claims, found).lines) == 2
    for factor, said in ((1.0001, "raised"), (0.9999, "lowered")):
        altered = json.loads(json.dumps(claims))
        altered["distances"][2][2] *= factor
        with pytest.raises(CertificateRefused, match=said):
            audit_policy(altered, found)


def test_a_graph_with_a_hundred_thousand_nodes_compiles(tmp_path):
    side = 317
    lines = [f"{row}.{col},{row}.{col + 1}\n" for row in range(side) for col in range(side - 1)]
    lines += [f"{row}.{col},{row + 1}.{col}\n" for row in range(side - 1) for col in range(side)]
    (tmp_path / "grid.csv").write_text("from,to\n" + "".join(lines))
    found = policy(tmp_path, "epsilon: 1, per: 10 steps", "epsilon: 0.5, within: 2 steps", graph="graph: grid.csv")
    corner = found.universe.attributes[0].labels.index(f"{side - 1}.{side - 1}")
    assert found.compile().distance(0, corner) == pytest.approx(63.2, rel=1e-9)


def test_too_many_near_nodes_are_an_error_and_not_a_hang(tmp_path, monkeypatch):
    monkeypatch.setattr("dxgeom.policy.axes.MAX_PAIRS", 1_000_000)
    (tmp_path / "star.csv").write_text("a,b\n" + "".join(f"hub,{k}\n" for k in range(8000)))
    with pytest.raises(PolicyError, match=r"DX138.*more than 1,000,000 pairs"):
        policy(tmp_path, "epsilon: 1, within: 2 steps", graph="graph: star.csv")


def test_a_graph_listed_in_the_policy_is_that_of_the_files(folder):
    edges = "[[alpha, beta, 1500], [beta, gamma, 0.5e3], [gamma, alpha, 4000], [gamma, delta, 2000]]"
    listed = policy(folder, "epsilon: 1, per: 1 km", graph=f"graph: {edges}, unit: m")
    assert listed.fingerprint == policy(folder, "epsilon: 1, per: 1 km").fingerprint
    turned = policy(
        folder, "epsilon: 1, per: 1 km", graph=f"graph: {edges}, unit: m, nodes: [delta, gamma, beta, alpha]"
    )
    assert turned.universe.attributes[0].labels == ("delta", "gamma", "beta", "alpha")
    assert np.array_equal(distances(turned), distances(listed)[::-1, ::-1])
