"""Normal noise in tables is audited by another route, which finds noise that is too narrow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reference.forged import forged

import dxgeom as dx
from dxgeom.audit.covariance_audit import audit_covariance
from dxgeom.errors import CertificateRefused
from dxgeom.noise.composed import ProductNoise


def planned(presence, **how):
    policy = dx.Policy.from_dict(
        {
            "policy": "tables",
            "privacy": "concentrated",
            "universe": {"attributes": {f"a{i}": {"values": [f"v{j}" for j in range(i + 2)]} for i in range(3)}},
            "rules": [
                {"change": "a0", "epsilon": 1},
                {"change": "a1", "epsilon": "0.5"},
                {"change": "a2", "epsilon": 2},
                *([{"presence": True, "epsilon": "0.9"}] if presence else []),
            ],
        }
    )
    queries = dx.LinearQueries.marginals(policy.universe, ways=2)
    return dx.plan(policy.compile(), queries, mechanism="marginal-gaussian", **how)


@pytest.mark.parametrize("presence", [False, True])
def test_the_audit_agrees_with_the_plan(presence):
    plan = planned(presence)
    audit = audit_covariance(plan)
    assert audit.differences == len(plan.mechanism.sensitivity.bounds)
    assert 0 <= audit.gap < 1e-8
    assert "all" in audit.lines()[0]


def test_noise_that_is_a_trifle_too_narrow_is_found():
    plan = planned(False)
    parts = plan.mechanism.law.parts
    narrower = ProductNoise(tuple(replace(part, scale=part.scale * (1 - 1e-9)) for part in parts))
    with pytest.raises(CertificateRefused, match="too narrow"):
        audit_covariance(replace(plan, mechanism=forged(plan.mechanism, law=narrower)))


def test_the_bound_of_the_worst_answer_is_weaker_and_holds():
    assert audit_covariance(planned(False, objective="max")).gap >= 0


def test_laplace_noise_is_refused():
    policy = dx.Policy.from_dict(
        {
            "policy": "tables",
            "universe": {"attributes": {"a": {"values": ["x", "y"]}, "b": {"values": ["x", "y"]}}},
            "rules": [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": 1}],
        }
    )
    queries = dx.LinearQueries.marginals(policy.universe, ways=2)
    with pytest.raises(CertificateRefused):
        audit_covariance(dx.plan(policy.compile(), queries, mechanism="marginal-laplace"))
