"""Plans by Gaussian noise with jumps as files: the normal part is written, all else is made anew and proved."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import PlanError
from dxgeom.plan_files.text.json_text import digest_of

POLICY = """policy: shifts
universe: {attributes: {ward: [a, b, c, d], days: {range: [0, 4], step: 1}}}
rules: [{change: ward, epsilon: 1}, {change: days, epsilon: EPSILON, per: 1}]
"""


def planned(epsilon="0.5"):
    policy = dx.parse_policy(POLICY.replace("EPSILON", epsilon))
    rows = np.random.default_rng(2).integers(0, 3, (6, policy.universe.size))
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(6)], rows.tolist())
    return policy, dx.plan(policy.compile(), queries, mechanism="gaussian-with-jumps")


@pytest.fixture
def honest(tmp_path):
    policy, plan = planned()
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy, spend="1/2")
    return json.loads((tmp_path / "plan.json").read_text(encoding="ascii"))


def refused(document, tmp_path):
    """The code and the place that a changed file is refused with, its digest being its own."""
    document = {**document, "digest": digest_of(document)}
    (tmp_path / "forged.json").write_text(json.dumps(document), encoding="ascii")
    with pytest.raises(PlanError) as caught:
        dx.load_plan(tmp_path / "forged.json")
    (mistake,) = caught.value.diagnostics
    return mistake.code, mistake.path


def with_axes(document, change):
    changed = json.loads(json.dumps(document))
    axes = changed["mechanism"]["law"]["axes"]
    axes["floats"] = [change(float.fromhex(one)).hex() for one in axes["floats"]]
    return changed


def test_a_plan_answers_from_its_file_as_it_does_itself(tmp_path):
    policy, plan = planned()
    loaded = dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert loaded.fingerprint == plan.fingerprint
    assert loaded.plan.mechanism.law.digest == plan.mechanism.law.digest
    counts = np.arange(policy.universe.size)
    drawn = [
        one.release(counts, ledger=":memory:", spend="1/4", insecure_test_seed=7).exact_values for one in (plan, loaded)
    ]
    assert drawn[0] == drawn[1]


def test_what_it_jumps_along_is_not_written(honest):
    size = 6
    assert set(honest["mechanism"]["law"]) == {"kind", "axes"}
    assert honest["mechanism"]["law"]["axes"]["shape"] == [size, size]


def test_another_normal_part_is_another_law_though_it_may_be_private(honest, tmp_path):
    for factor in (1 - 1e-3, 1 + 1e-3):
        code, place = refused(with_axes(honest, lambda one, by=factor: one * by), tmp_path)
        assert (code, place.split(".")[-1]) == ("DX307", "fingerprint")


def test_a_normal_part_that_is_too_narrow_is_refused(honest, tmp_path):
    assert refused(with_axes(honest, lambda one: one / 4), tmp_path) == ("DX306", "mechanism.law")


def test_the_file_of_a_weaker_policy_does_not_serve_a_stricter_one(honest, tmp_path):
    policy, _ = planned("0.1")
    forged = json.loads(json.dumps(honest))
    forged["policy"] = {**forged["policy"], "written": json.loads(json.dumps(honest["policy"]["written"]))}
    forged["policy"]["written"]["rules"][1]["epsilon"] = "0.1"
    forged["policy"]["fingerprint"] = policy.fingerprint
    code, place = refused(forged, tmp_path)
    assert code in ("DX306", "DX307") and place.startswith("mechanism")


@pytest.mark.parametrize(
    "law",
    [
        {"kind": "GaussianWithJumps"},
        {"kind": "GaussianWithJumps", "axes": {"shape": [1, 1], "floats": ["0x1.0000000000000p+9"]}},
        {"kind": "GaussianWithJumps", "axes": {"shape": [6], "floats": ["0x1.0000000000000p+9"] * 6}},
        {"kind": "GaussianWithJumps", "axes": {"shape": [6, 6], "floats": ["0x0.0p+0"] * 36}},
        {"kind": "GaussianWithJumps", "axes": {"shape": [6, 6], "floats": ["inf"] * 36}},
        {"kind": "GaussianWithJumps", "axes": [], "reaches": []},
        {"kind": "LinearImageNoise", "inner": {"kind": "GaussianWithJumps"}, "map": {"shape": [1, 1], "floats": []}},
    ],
)
def test_what_is_no_such_law_is_refused(law, honest, tmp_path):
    forged = {**honest, "mechanism": {**honest["mechanism"], "law": law}}
    code, place = refused(forged, tmp_path)
    assert code in ("DX302", "DX303", "DX305", "DX306") and place.startswith("mechanism.law")
