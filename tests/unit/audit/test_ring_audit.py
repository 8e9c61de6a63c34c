"""Rings of people in audits: followed person by person beside all rings, and noise that hides too few is refused."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from reference.forged import forged
from reference.informed_observers import all_rings

import dxgeom as dx
from dxgeom.audit.listed_shifts import ring_shifts
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.queries import LinearQueries

HEAD = """policy: t
universe: {attributes: {kind: [a, b, c], ill: [no, yes]}}
rules:
  - {change: kind, epsilon: 0.5}
  - {change: ill, epsilon: 1}
"""
KNOWN = "known:\n  - totals: kind\n"


APART = HEAD.replace("  - {change: ill, epsilon: 1}\n", "unconnected: allow\n")
"""Who is ill is hidden of nobody, so that some who change places are at no finite distance."""


def held(hold, more="", known=KNOWN, head=HEAD):
    return parse_policy(f"{head}{more}{known}{'' if hold is None else f'hold: {hold}'}").compile()


@pytest.mark.parametrize(("hold", "people"), [("2", 2), ("all", 3)])
@pytest.mark.parametrize(
    ("head", "presence"), [(HEAD, ""), (HEAD, "  - {presence: true, epsilon: 0.4}\n"), (APART, "")]
)
def test_rings_followed_person_by_person_are_all_rings(hold, people, head, presence):
    counts = "known:\n  - {where: ill == 'yes' and kind == 'c', count: 4}\n  - totals: kind\n"
    metric = held(hold, presence, counts, head)
    labels = metric.known.classes.of_elements(metric.universe)
    codes, rng = np.arange(metric.size), random.Random(people)
    apart = np.asarray(metric.metric.distance(codes[:, None], codes[None, :]))
    weights = np.array([[rng.randrange(-1, 2) for _ in codes] for _ in range(2)])
    expected: dict[tuple[int, ...], float] = {}
    for change, far in all_rings(apart, labels.tolist(), people):
        moved = tuple((weights @ np.array(change)).tolist())
        if any(moved) and np.isfinite(far):
            expected[moved] = min(expected.get(moved, np.inf), far)
    found = ring_shifts(weights, metric)
    shifts = [tuple(one) for one in found.shifts.tolist()]
    assert dict(zip(shifts, found.distances.tolist(), strict=True)) == expected


def planned(hold, mechanism, privacy=""):
    metric = parse_policy(f"{privacy}{HEAD}{KNOWN}{'' if hold is None else f'hold: {hold}'}").compile()
    return dx.plan(metric, LinearQueries.marginals(metric.universe, [["kind", "ill"]]), mechanism=mechanism)


@pytest.mark.long
def test_whoever_stands_in_for_somebody_may_come_from_an_infinite_distance():
    """Who is ill is protected of nobody, yet tells who changed places with whom: without noise the audit refuses it."""
    plans = {}
    for hold in (None, "all"):
        metric = held(hold, head=APART)
        asked = LinearQueries.from_matrix(["ill"], [[0, 1] * 3], metric.universe)
        plans[hold] = dx.plan(metric, asked, mechanism="laplace")
    assert plans[None].mechanism.law is None and audit_plan(plans[None]).holds
    assert plans["all"].predicted_mse == pytest.approx(32, rel=1e-3) and audit_plan(plans["all"]).holds
    with pytest.raises(CertificateRefused, match="shows more of the records"):
        audit_plan(forged(plans[None], metric=plans["all"].metric))


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "privacy"), [("laplace", ""), ("hull", ""), ("gaussian", "privacy: concentrated\n")]
)
def test_noise_that_holds_for_who_knows_counts_passes_and_noise_for_fewer_does_not(mechanism, privacy):
    plans = {hold: planned(hold, mechanism, privacy) for hold in (None, "2", "all")}
    for hold, orders in (("2", 3), ("all", 5)):
        audit = audit_plan(plans[hold])
        assert audit.holds
        assert f"rings of people through classes in {orders} orders" in audit.checked[1]
    for fewer, more in ((None, "2"), (None, "all"), ("2", "all")):
        with pytest.raises(CertificateRefused, match="does not hide"):
            audit_plan(forged(plans[fewer], metric=plans[more].metric))


def test_classes_that_are_not_those_of_the_counts_are_refused():
    metric = held("2")
    classes = metric.known.classes
    for labels, count in (([0, 0, 1], 2), ([0, 0, 0], 1)):
        other = replace(classes, labels=np.array(labels), count=count)
        spoiled = forged(metric, known=replace(metric.known, classes=other))
        with pytest.raises(CertificateRefused, match="counts tell apart"):
            ring_shifts(np.eye(6, dtype=np.int64), spoiled)
