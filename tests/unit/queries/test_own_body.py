"""Bodies of one's own in queries files and on the command line: the same noise as by ``dx.Search(body=…)``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.errors import QueryError, UnsupportedCombination
from dxgeom.queries.queries_file import NoBody, corners_stated

POLICY = """\
policy: p
universe: {attributes: {a: [x, y, z], n: {range: [0, 3], step: 1}}}
rules: [{change: a, epsilon: 1}, {change: n, epsilon: 0.5, per: 1}]
"""
ASKED = "queries:\n  - {count: a == 'x', name: one}\n  - {sum: n, name: other}\n"
SQUARE = "POLYGON ((1 -1, 1 1, -1 1, -1 -1, 1 -1))"


@pytest.fixture(scope="module")
def policy():
    return dx.parse_policy(POLICY)


@pytest.fixture(scope="module", autouse=True)
def _loaded(policy):
    """What plans is loaded before a test is timed."""
    dx.plan(policy.compile(), dx.parse_queries(ASKED, policy))


@pytest.mark.parametrize("body", ["[[1, 1], [1, -1]]", f"'{SQUARE}'", '[["1", 1.0], [1e0, -1]]'])
def test_a_file_states_what_a_search_may(policy, body):
    asked = dx.parse_queries(f"body: {body}\n{ASKED}", policy)
    metric = policy.compile()
    found = dx.plan(metric, asked, mechanism="body")
    alike = dx.plan(metric, dx.parse_queries(ASKED, policy), search=dx.Search(body=[[1, 1], [1, -1]]), mechanism="body")
    assert found.mechanism.fingerprint == alike.mechanism.fingerprint
    assert found.loss == alike.loss
    assert asked.body is not None


def test_what_a_call_says_takes_the_place_of_the_file(policy):
    asked = dx.parse_queries(f"body: [[1, 1], [1, -1]]\n{ASKED}", policy)
    body = dx.geometry.Box(np.array([1.0, 3.0]))
    found = dx.plan(policy.compile(), asked, search=dx.Search(body=body), mechanism="body")
    plain = dx.plan(policy.compile(), dx.parse_queries(ASKED, policy), search=dx.Search(body=body), mechanism="body")
    assert found.mechanism.fingerprint == plain.mechanism.fingerprint


def test_fingerprints_of_queries_without_a_body_stay_and_stacks_refuse_one(policy):
    plain, bodied = dx.parse_queries(ASKED, policy), dx.parse_queries(f"body: [[1, 1], [1, -1]]\n{ASKED}", policy)
    assert plain.body is None
    assert plain.fingerprint != bodied.fingerprint
    with pytest.raises(UnsupportedCombination, match="no body"):
        dx.LinearQueries.stack([plain, bodied])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("[[1, 0, 0], [0, 1, 0]]", "have 3 numbers, and there are 2 answers"),
        ("[[1, 0], [0]]", "some have more"),
        ("[[1, a], [0, 1]]", "holds numbers; found 'a'"),
        ("[]", "a list of corners"),
        ("[1, 2]", "a list of corners"),
        ("{a: 1}", "a list of corners"),
        ("CIRCLE (0 0)", "one polygon in WKT"),
        ("POLYGON ((1 0, 0 1, 1 0))", "three corners or more"),
        ("POLYGON ((1 0, 0 1, -1 0, 0 -1))", "first one again"),
        ("POLYGON ((2 0, 0 1, -1 0, 0 -1, 2 0))", "symmetric about 0"),
        ("POLYGON ((4 0, 1 1, 0 4, -1 1, -4 0, -1 -1, 0 -4, 1 -1, 4 0))", "is convex"),
        ("POLYGON ((1 0 0, 0 1 0, -1 0 0, 0 -1 0, 1 0 0))", "two numbers each"),
    ],
)
def test_what_is_no_body_is_refused_at_its_place_with_all_other_mistakes(policy, body, said):
    text = f"body: {body}\nqueries:\n  - {{count: a == 'x', name: one}}\n  - {{sum: nobody, name: other}}\n"
    if "answers" in said:
        text = f"body: {body}\n{ASKED}"
    with pytest.raises(QueryError) as caught:
        dx.parse_queries(text, policy)
    found = [one for one in caught.value.diagnostics if one.code == "DX222"]
    assert len(found) == 1
    assert said in found[0].message
    assert len(caught.value.diagnostics) == 1 + ("answers" not in said)


@pytest.mark.parametrize("asked", ["queries: [{median: n}]", "tasks: [{name: t, queries: [{count: true}]}]"])
def test_a_body_is_of_counts_and_sums_alone(policy, asked):
    with pytest.raises(QueryError, match="asks for something else"):
        dx.parse_queries(f"body: [[1]]\n{asked}\n", policy)


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=2, max_size=7))
def test_polygons_are_taken_exactly_where_they_are_convex_and_symmetric(points):
    """Beside Shapely: a ring through these points and their opposites, in this order, and the ring of their hull."""
    both = [*points, *[(-x, -y) for x, y in points]]
    hull = shapely.convex_hull(shapely.MultiPoint(both))
    for ring in ([*both, both[0]], list(hull.exterior.coords) if hull.geom_type == "Polygon" else []):
        if not ring:
            continue
        polygon = shapely.Polygon(ring)
        fits = polygon.is_valid and polygon.area > 0 and polygon.equals(polygon.convex_hull)
        text = "POLYGON ((" + ", ".join(f"{x:g} {y:g}" for x, y in ring) + "))"
        try:
            corners = corners_stated(text)
        except NoBody:
            assert not fits or len({*ring}) < len(ring) - 1
        else:
            assert fits
            assert {*corners} == {(Fraction(int(x)), Fraction(int(y))) for x, y in ring}


def commands(tmp_path):
    (tmp_path / "p.yaml").write_text(POLICY)
    (tmp_path / "q.yaml").write_text(ASKED)
    (tmp_path / "body.wkt").write_text(SQUARE)
    return [str(tmp_path / "p.yaml"), str(tmp_path / "q.yaml")]


@pytest.mark.long
def test_the_command_takes_corners_a_polygon_and_their_file(tmp_path):
    files = commands(tmp_path)
    runner, found = CliRunner(), set()
    for number, body in enumerate(("[[1, 1], [1, -1]]", SQUARE, str(tmp_path / "body.wkt"))):
        plan = str(tmp_path / f"plan{number}.json")
        said = runner.invoke(app, ["plan", *files, "--body", body, "--mechanism", "body", "--output", plan])
        assert said.exit_code == 0, said.output
        found.add(dx.load_plan(plan).fingerprint)
    assert len(found) == 1


@pytest.mark.parametrize("body", ["[[1, 1], [1", "[[1, x]]", "POLYGON ((0 0))", "nowhere.wkt"])
def test_the_command_refuses_what_is_no_body(tmp_path, body):
    said = CliRunner().invoke(app, ["plan", *commands(tmp_path), "--body", body])
    assert said.exit_code == 2
    assert "Traceback" not in said.output


@pytest.mark.long
def test_a_plan_by_the_files_body_is_written_and_read_again(tmp_path, policy):
    asked = dx.parse_queries(f"body: '{SQUARE}'\n{ASKED}", policy)
    plan = dx.plan(policy.compile(), asked, mechanism="body")
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    again = dx.load_plan(tmp_path / "plan.json")
    assert again.fingerprint == plan.fingerprint
    assert again.queries.body == asked.body
