"""Facets of hulls, found anew by double description: what is missing or too much is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.audit.hull_audit import _hulls_in
from dxgeom.errors import CertificateRefused, MissingExtra, TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.geometry.polytope import hull_of_points
from dxgeom.geometry.round_bodies import CartesianProduct, FreeSum, LinearImage

CUBE = np.array(list(itertools.product([1.0, -1.0], repeat=3)))
PRISMS = np.array([a - b for a, b in itertools.permutations(np.vstack([np.eye(4), np.zeros(4)]), 2)])
GENERIC = np.random.default_rng(0).standard_normal((40, 4))

IN_RATIONALS = """
import itertools
from fractions import Fraction

matrix_from_array = lambda rows, rep_type: rows
polyhedron_from_matrix = lambda rows: rows

class copy_inequalities:
    def __init__(self, rows):
        assert all(type(entry) is Fraction for row in rows for entry in row)
        self.lin_set = set()

def copy_incidence(rows):
    found = set()
    for (_, a, b), (_, c, d) in itertools.combinations(rows, 2):
        area = a * d - b * c
        heights = [(x * (d - b) + y * (a - c)) / area for _, x, y in rows] if area else [2]
        if max(heights) == 1:
            found.add(frozenset(place for place, height in enumerate(heights) if height == 1))
    return list(found)
"""


def planes(body):
    """For each simplex, the plane that it lies in."""
    rows = [tuple(row) for row in (body.fan.normals / body.fan.volumes[:, None]).astype(float).tolist()]
    return np.array([rows.index(row) for row in rows])


@pytest.mark.parametrize(("points", "facets"), [(CUBE, 6), (PRISMS, 30), (GENERIC, None)])
def test_hulls_have_all_their_facets(points, facets):
    body = hull_of_points(points)
    found = dx.audit.audit_hull(body)
    assert found.vertices == len(body.fan.vertices)
    assert found.facets == (len(set(planes(body).tolist())) if facets is None else facets)
    assert not found.exact
    assert "float64" in found.lines()[1]


@pytest.mark.parametrize("points", [CUBE, PRISMS, GENERIC])
def test_a_facet_that_is_left_out_is_found(points):
    body = hull_of_points(points)
    kept = planes(body) != planes(body)[-1]
    fan = body.fan
    holed = fan._replace(simplices=fan.simplices[kept], normals=fan.normals[kept], volumes=fan.volumes[kept])
    with pytest.raises(CertificateRefused, match="facet that the body lacks"):
        dx.audit.audit_hull(replace(body, fan=holed))


@pytest.mark.parametrize("change", [-1, 1])
def test_a_facet_in_another_place_is_found(change):
    body = hull_of_points(GENERIC)
    volumes = body.fan.volumes.copy()
    volumes[3] += change
    with pytest.raises(CertificateRefused, match="none of its vertices' hull"):
        dx.audit.audit_hull(replace(body, fan=body.fan._replace(volumes=volumes)))


def test_large_hulls_and_long_searches_are_refused(monkeypatch):
    body = hull_of_points(CUBE)
    with pytest.raises(TooLarge, match=r"longer than 0\.001 s"):
        dx.audit.audit_hull(body, seconds=0.001)
    monkeypatch.setattr("dxgeom.audit.hull_audit.MOST_FACETS", 5)
    with pytest.raises(TooLarge, match="8 and 6"):
        dx.audit.audit_hull(body)
    with pytest.raises(WrongArgument, match="'body'"):
        dx.audit.audit_hull(CUBE)


def test_rationals_are_exchanged_where_the_library_takes_them(monkeypatch, tmp_path):
    (tmp_path / "cdd").mkdir()
    (tmp_path / "cdd" / "__init__.py").write_text("class RepType:\n    GENERATOR = 2\n")
    (tmp_path / "cdd" / "gmp.py").write_text(IN_RATIONALS)
    monkeypatch.syspath_prepend(tmp_path)
    body = hull_of_points(np.array([[3.0, 1.0], [1.0, 2.0], [-1.0, 2.0]]) / 7)
    found = dx.audit.audit_hull(body)
    assert found.exact
    assert found.facets == len(body.fan.simplices) == 6
    assert "proves" in found.lines()[1]


def test_who_has_no_pycddlib_is_told_the_extra_and_its_license(monkeypatch, tmp_path):
    (tmp_path / "cdd.py").write_text("raise ImportError\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtra, match=r"GPL.*pip install 'dxgeom\[cdd\]'"):
        dx.audit.audit_hull(hull_of_points(CUBE))


def test_hulls_of_a_plan_are_audited_each_by_its_name():
    queries = dx.LinearQueries.from_matrix(["a", "b", "c"], [[1, 0, 0, 1], [0, 1, 0, 1], [2, 0, 1, 0]])
    planned = dx.plan(dx.verify_metric(1 - np.eye(4)), queries, mechanism="hull")
    ((name, found),) = dx.audit.audit_hulls(planned)
    assert name == "hull"
    assert found.vertices == len(planned.mechanism.law.body.fan.vertices)
    with pytest.raises(UnsupportedCombination, match="no noise of this plan has a hull"):
        dx.audit.audit_hulls(dx.plan(planned.metric, queries, mechanism="laplace"))
    with pytest.raises(WrongArgument, match="'plan'"):
        dx.audit.audit_hulls(planned.mechanism)


def test_bodies_made_of_hulls_are_taken_apart():
    hull = hull_of_points(CUBE)
    made = CartesianProduct((LinearImage(hull, np.eye(3) * 2), FreeSum((hull, hull))))
    assert [one is hull for one in _hulls_in(made)] == [True] * 3
