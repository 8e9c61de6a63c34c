"""Gaussian noise is checked again by its covariance, in balls; what is too narrow or not the best is told."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reference.forged import forged
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.errors import CertificateRefused
from dxgeom.noise.jumps import rates_of_reaches

POLICY = """
policy: visits
universe: {attributes: {days: {range: [0, 5], step: 1}, site: [north, south, east]}}
rules:
  - {change: days, epsilon: 0.1, per: 1}
  - {change: site, epsilon: 0.5}
privacy: concentrated
"""
QUERIES = "queries:\n  - marginal: site\n  - sum: days\n  - prefixes: days\n"


def planned(**options):
    policy = dx.parse_policy(POLICY)
    return policy, dx.plan(policy.compile(), dx.parse_queries(QUERIES, policy), **options)


@pytest.mark.parametrize("objective", ["balanced", "mse", "max"])
def test_gaussian_noise_holds_by_another_route(objective):
    _, plan = planned(objective=objective, mechanism="gaussian")
    found = dx.audit.audit_covariance(plan)
    assert 0 <= found.gap <= 2e-9
    assert found.differences == len(plan.mechanism.sensitivity.bounds) and found.in_balls > 0


def test_narrower_noise_is_refused_and_wider_noise_is_told():
    _, plan = planned(objective="mse", mechanism="gaussian")
    axes = plan.mechanism.law.body.axes
    for factor in (1 - 1e-9, 1.1):
        law = dx.noise.GaussianNoise(dx.geometry.Ellipsoid(axes * factor))
        other = replace(plan, mechanism=forged(plan.mechanism, law=law))
        if factor < 1:
            with pytest.raises(CertificateRefused, match="too narrow"):
                dx.audit.audit_covariance(other)
        else:
            assert dx.audit.audit_covariance(other).gap == pytest.approx(1.1**2 - 1, rel=1e-6)


def test_noise_that_does_not_follow_as_it_says_is_refused():
    _, plan = planned(objective="mse", mechanism="gaussian")
    mixing = plan.mechanism.mixing_matrix.copy()
    follows = next(row for row in range(len(mixing)) if sum(share != 0 for share in mixing[row]) > 1)
    mixing[follows] = mixing[0]
    with pytest.raises(CertificateRefused, match="does not follow"):
        dx.audit.audit_covariance(replace(plan, mechanism=forged(plan.mechanism, mixing=mixing)))


def test_other_noise_is_refused():
    with pytest.raises(CertificateRefused, match="by laplace"):
        dx.audit.audit_covariance(planned(mechanism="laplace")[1])


def test_the_command_audits_a_plan_file(tmp_path: Path):
    policy, plan = planned(mechanism="gaussian")
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    said = CliRunner().invoke(app, ["audit", "covariance", str(tmp_path / "plan.json")])
    assert (
        said.exit_code == 0 and "verdict  holds" in said.stdout and "no Gaussian noise has an objective" in said.stdout
    )
    as_json = CliRunner().invoke(app, ["audit", "covariance", str(tmp_path / "plan.json"), "--format", "json"])
    assert '"verdict": "holds"' in as_json.stdout


def with_jumps(change=None):
    rows = np.random.default_rng(4).integers(0, 3, (4, 9)).tolist()
    queries = dx.LinearQueries.from_matrix(["a", "b", "c", "d"], rows)
    plan = dx.plan(dx.verify_metric(1 - np.eye(9)), queries, mechanism="gaussian-with-jumps")
    if change is None:
        return plan
    mechanism = forged(plan.mechanism, law=change(plan.mechanism.law))
    return replace(plan, mechanism=mechanism)


def test_gaussian_noise_with_jumps_is_confirmed_by_another_route():
    plan = with_jumps()
    found = dx.audit.audit_covariance(plan)
    assert found.with_jumps
    assert found.differences == len(plan.mechanism.sensitivity.bounds)
    assert found.gap > 1
    assert "jumps along all" in found.lines()[0]


def test_noise_that_does_not_jump_along_some_difference_is_refused():
    def without_the_first(law):
        shifts = law.shifts
        fewer = type(shifts)(shifts.columns, shifts.first[1:], shifts.second[1:], shifts.distances[1:])
        return type(law)(law.gaussian, fewer, law.reaches[1:])

    with pytest.raises(CertificateRefused, match="jumps along"):
        dx.audit.audit_covariance(with_jumps(without_the_first))


def test_jumps_that_are_promised_too_much_are_refused():
    def longer(law):
        return type(law).around(law.gaussian, replace(law.shifts, distances=law.shifts.distances * 1.01))

    with pytest.raises(CertificateRefused, match="jumps along"):
        dx.audit.audit_covariance(with_jumps(longer))


def test_a_reach_that_is_not_there_is_refused():
    plan = with_jumps()
    law = plan.mechanism.law
    reaching = copy.copy(law)
    object.__setattr__(reaching, "reaches", law.reaches + 1)
    with pytest.raises(CertificateRefused, match="too narrow"):
        dx.audit.audit_covariance(replace(plan, mechanism=forged(plan.mechanism, law=reaching)))


def test_jumps_that_are_too_seldom_are_refused(monkeypatch):
    seldom = rates_of_reaches() - np.minimum(rates_of_reaches(), np.uint64(2))
    monkeypatch.setattr("dxgeom.audit.covariance_audit.rates_of_reaches", lambda: seldom)
    with pytest.raises(CertificateRefused, match="not as frequent"):
        dx.audit.audit_covariance(with_jumps())
