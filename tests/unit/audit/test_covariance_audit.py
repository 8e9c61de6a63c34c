"""Gaussian noise is checked again by its covariance, in balls; what is too narrow or not the best is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.errors import CertificateRefused

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
        other = replace(plan, mechanism=replace(plan.mechanism, law=law))
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
        dx.audit.audit_covariance(replace(plan, mechanism=replace(plan.mechanism, mixing=mixing)))


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
