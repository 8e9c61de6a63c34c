"""The hull's law, drawn by rejection: the same errors, and how many tries are kept is told before."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.noise.rejection import RejectionNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness

METRIC = dx.verify_metric(1 - np.eye(3))
QUERIES = dx.LinearQueries.from_matrix(["a", "b"], [[0, 1, 0], [0, 0, 1]])


def test_it_is_the_law_of_the_hull_with_its_acceptance_told_beforehand():
    """A hexagon of area 3; the ellipse around it that holds its corners most tightly has the area 2π/√3."""
    hull, otherwise = (dx.plan(METRIC, QUERIES, mechanism=name) for name in ("hull", "hull-by-rejection"))
    law = otherwise.mechanism.law
    assert isinstance(law, RejectionNoise)
    assert otherwise.predicted_mse == pytest.approx(hull.predicted_mse)
    assert otherwise.as_dict()["acceptance"] == law.acceptance == pytest.approx(3 * 3**0.5 / (2 * np.pi), abs=1e-4)
    assert any("0.827 of all tries are kept, 1.21 tries an answer" in line for line in otherwise.lines())
    assert "acceptance" not in hull.as_dict()
    answers = otherwise.mechanism.draws(np.array([5, 6, 7]), Fraction(1), 2000, InsecureSeededRandomness(1))
    errors = ((np.array(answers, dtype=np.float64) - [6, 7]) ** 2).sum(axis=1)
    assert abs(errors.mean() - otherwise.predicted_mse) <= 6 * errors.std() / len(errors) ** 0.5


def test_it_is_built_when_named_only():
    assert "hull-by-rejection" not in [
        one.name for one in dx.plan(METRIC, QUERIES, search=dx.Search(published=True)).candidates
    ]


def test_its_plan_comes_back_from_its_file(tmp_path):
    policy = dx.parse_policy("policy: p\nuniverse: {attributes: {a: [x, y, z]}}\nrules: [{change: a, epsilon: 1}]")
    queries = dx.queries_from_dict({"queries": [{"count": "a == 'x'"}, {"count": "a == 'y'"}]}, policy)
    plan = dx.plan(policy.compile(), queries, mechanism="hull-by-rejection")
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert dx.load_plan(tmp_path / "plan.json").plan.fingerprint == plan.fingerprint
