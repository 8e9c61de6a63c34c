"""Plans of whole tables of counts: which candidates, which bounds, and the same law from a file."""

from __future__ import annotations

import itertools

import pytest

import dxgeom as dx
from dxgeom.errors import DxgeomError

SIZES = (3, 4, 2)


def policy(privacy="pure", presence=False):
    return dx.Policy.from_dict(
        {
            "policy": "tables",
            "universe": {
                "attributes": {f"a{i}": {"values": [f"v{j}" for j in range(size)]} for i, size in enumerate(SIZES)}
            },
            "rules": [
                *({"change": f"a{i}", "epsilon": 1} for i in range(len(SIZES))),
                *([{"presence": True, "epsilon": 1}] if presence else []),
            ],
            "privacy": privacy,
        }
    )


def planned(privacy="pure", presence=False, **how):
    own = policy(privacy, presence)
    return own, dx.plan(own.compile(), dx.LinearQueries.marginals(own.universe, ways=2), **how)


@pytest.mark.parametrize("presence", [False, True])
def test_whole_tables_are_a_candidate_and_their_dual_a_bound(presence):
    _, plan = planned(presence=presence)
    found = {candidate.name: candidate.loss for candidate in plan.candidates}
    assert "marginal-laplace" in found
    assert "marginal-gaussian" not in found
    assert found["marginal-laplace"] < found["laplace"]
    assert plan.bounds["gaussian"] <= plan.lower_bound


def test_concentrated_plans_take_the_closed_form_and_say_how_near_it_is():
    _, plan = planned("concentrated")
    assert plan.mechanism.name == "marginal-gaussian"
    assert plan.covariance_gap < 1e-9
    assert 0 < plan.bounds["unbiased"] < plan.bounds["gaussian"] == plan.bounds["additive"]
    _, general = planned("concentrated", mechanism="gaussian")
    assert general.loss == pytest.approx(plan.loss, rel=1e-3)
    assert general.bounds["gaussian"] == pytest.approx(plan.bounds["gaussian"], rel=1e-8)


def test_queries_that_are_no_tables_do_not_list_it_and_refuse_it_by_name():
    own = policy()
    queries = dx.LinearQueries.prefixes(dx.Policy.from_dict(_ages()).universe, "age")
    metric = dx.Policy.from_dict(_ages()).compile()
    assert all(not one.name.startswith("marginal") for one in dx.plan(metric, queries).candidates)
    with pytest.raises(DxgeomError, match="not whole tables of counts"):
        dx.plan(metric, queries, mechanism="marginal-laplace")
    assert own.privacy == "pure"


def _ages():
    return {
        "policy": "ages",
        "universe": {"attributes": {"age": {"range": [0, 4], "step": 1}}},
        "rules": [{"change": "age", "epsilon": 1}],
    }


def test_pure_privacy_refuses_normal_noise_in_tables():
    with pytest.raises(DxgeomError, match="concentrated"):
        planned(mechanism="marginal-gaussian")


@pytest.mark.parametrize(("privacy", "presence"), list(itertools.product(["pure", "concentrated"], [False, True])))
def test_a_plan_of_tables_comes_back_from_its_file(tmp_path, privacy, presence):
    name = "marginal-laplace" if privacy == "pure" else "marginal-gaussian"
    own, plan = planned(privacy, presence, mechanism=name)
    again = dx.save_plan(plan, tmp_path / "plan.json", policy=own)
    assert again.fingerprint == plan.fingerprint
    assert again.plan.mechanism.fingerprint == plan.mechanism.fingerprint
    loaded = dx.load_plan(tmp_path / "plan.json")
    released = loaded.plan.rehearse(spend="1/2")
    assert len(released.answer.values) == plan.queries.count


@pytest.mark.parametrize("factor", [0.5, -1.0, 0.0])
def test_a_file_with_other_scales_is_refused(tmp_path, factor):
    own, plan = planned(mechanism="marginal-laplace")
    dx.save_plan(plan, tmp_path / "plan.json", policy=own)
    text = (tmp_path / "plan.json").read_text()
    scale = max(plan.mechanism.mixing.measured.scales)
    forged = text.replace(f'"{float(scale).hex()}"', f'"{float(scale * factor).hex()}"')
    assert forged != text
    (tmp_path / "forged.json").write_text(forged)
    with pytest.raises(DxgeomError):
        dx.load_plan(tmp_path / "forged.json")


@pytest.mark.long
def test_error_targets_are_met_at_the_least_spend():
    own = policy("concentrated")
    queries = dx.LinearQueries.marginals(own.universe, ways=2)
    plan = dx.plan(own.compile(), queries, errors=[5] * 12 + [8] * (queries.count - 12))
    assert plan.mechanism.name == "marginal-gaussian"
    assert max(plan.rmse(plan.least_spend)[:12]) <= 5
    assert max(plan.rmse(plan.least_spend)[12:]) <= 8
