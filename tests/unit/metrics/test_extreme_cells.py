"""Under one distance for any change, pairs of extreme kinds of records stand for all."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.forged import forged

import dxgeom as dx
from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics import generating_pairs

POLICY = """
policy: one distance
universe:
  attributes:
    place: [a, b, c]
    wait: {range: [0, 12], step: 1, whole: true}
    dose: {bins: [0, 1, 2, 3.5, 7]}
rules:
  - between: everything
    epsilon: 1
"""
PRESENCE = "  - presence: true\n    epsilon: 0.75\n"
QUERIES = """
queries:
  - {name: places, marginal: place}
  - {name: waits, sum: wait, by: place}
  - {name: doses, sum: dose}
  - {name: late, count: wait > 7}
"""
SOME = "queries: [{name: places, marginal: place}, {name: doses, sum: dose}]"


def changes(monkeypatch, few, presence=False):
    policy = dx.parse_policy(POLICY + (PRESENCE if presence else ""))
    monkeypatch.setattr(generating_pairs, "_FEW_PAIRS", few)
    return sensitivity_of(policy.compile(), dx.parse_queries(QUERIES, policy))


def norms(rows, bounds, generator):
    """The largest of some norms of rows over bounds: sums, maxima, lengths after a random map."""
    scaled = rows / bounds[:, None]
    turned = scaled @ generator.standard_normal((rows.shape[1], 5))
    return [
        np.abs(turned).sum(axis=1).max(),
        np.abs(turned).max(),
        np.linalg.norm(turned, axis=1).max(),
        *np.abs(scaled).max(axis=0),
    ]


@pytest.mark.parametrize("presence", [False, True])
def test_no_norm_of_a_change_is_larger_for_a_pair_that_is_left_out(monkeypatch, presence):
    every, some = (changes(monkeypatch, few, presence) for few in (10**9, 0))
    # Along the line of waiting times, and of doses, only ends and what a count tells apart stay.
    assert len(some.bounds) < len(every.bounds) / 4
    for seed in range(20):
        found = [norms(one.differences, one.bounds, np.random.default_rng(seed)) for one in (every, some)]
        np.testing.assert_allclose(*found, rtol=1e-12)


@given(st.integers(0, 10**9), st.integers(3, 9), st.integers(1, 4))
def test_a_point_that_is_left_out_lies_between_two_that_stay(seed, count, width):
    generator = np.random.default_rng(seed)
    line = np.outer(generator.integers(0, 5, count), generator.integers(-2, 3, width))
    points = line + generator.integers(-1, 2, (count, width)) * generator.integers(0, 2, (count, 1))
    points = np.unique(points, axis=0)
    (inside,) = generating_pairs._between(points[None], np.ones((1, len(points)), dtype=np.bool_))
    stay = points[~inside]
    for point in points[inside]:
        assert any(on_segment(point, low, high) for low, high in itertools.combinations(stay, 2))


def on_segment(point, low, high):
    """Exactly, in fractions."""
    place = int(np.argmax(np.abs(high - low)))
    share = Fraction(int(point[place] - low[place]), int(high[place] - low[place]))
    return 0 <= share <= 1 and all(p - a == share * int(b - a) for p, a, b in zip(point, low, high, strict=True))


def test_weights_whose_products_may_not_fit_leave_all_cells(monkeypatch):
    monkeypatch.setattr(generating_pairs, "_PRODUCTS_FIT", 2)
    assert len(changes(monkeypatch, 0).bounds) == len(changes(monkeypatch, 10**9).bounds)


def test_noise_that_jumps_between_extreme_kinds_only_is_no_fault_to_an_audit(monkeypatch):
    plan, wrong = jumping(monkeypatch, 0)
    # That all other changes lie between these has no second route, which is said, and is not called wrong.
    found = dx.audit.audit_plan(plan)
    assert not found.holds and "jumps along all but" in found.not_audited[0]
    with pytest.raises(CertificateRefused, match="jumps along"):
        dx.audit.audit_plan(wrong)


def jumping(monkeypatch, few):
    """A plan whose noise jumps, and the same with jumps that are promised too much."""
    policy = dx.parse_policy(POLICY)
    monkeypatch.setattr(generating_pairs, "_FEW_PAIRS", few)
    plan = dx.plan(policy.compile(), dx.parse_queries(SOME, policy), mechanism="gaussian-with-jumps")
    law = plan.mechanism.law
    longer = type(law).around(law.gaussian, replace(law.shifts, distances=law.shifts.distances * 1.01))
    return plan, replace(plan, mechanism=forged(plan.mechanism, law=longer))


def test_very_many_lines_are_looked_at_together(monkeypatch):
    attributes = {name: ["no", "yes", "maybe"][: 2 + (name == "h")] for name in "abcdefgh"}
    policy = dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": attributes}, "rules": [{"between": "everything", "epsilon": 1}]}
    )
    asked = [*(f"{name} == 'no'" for name in attributes), "h == 'yes'"]
    queries = dx.queries_from_dict({"queries": [{"count": one} for one in asked]}, policy)
    looks, own = [], generating_pairs._between
    monkeypatch.setattr(generating_pairs, "_FEW_PAIRS", 0)
    monkeypatch.setattr(generating_pairs, "_between", lambda *line: looks.append(line) or own(*line))
    sensitivity_of(policy.compile(), queries)
    # Once for all lines of three values, whatever the other seven attributes are; none lies between two others.
    assert 0 < len(looks) <= 2
