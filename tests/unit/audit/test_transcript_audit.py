"""What the steps of a stored release paid is checked again, and every altered step is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize  # noqa: F401 (loaded before a test is timed)
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.transcript_audit import _audited, _held_against_pairs, audit_release
from dxgeom.cli.main import app
from dxgeom.errors import CertificateRefused
from dxgeom.numeric.randomness import InsecureSeededRandomness

PRESENCE = ", {presence: true, epsilon: 1}"
JOINTLY = ", {change: [sex, ward], together: true, epsilon: '0.6'}"
POLICY = """policy: survey
universe: {attributes: {sex: [f, m], ward: [a, b, c], age: {range: [0, 9], step: 1}}}
budget: 20
rules: [{change: sex, epsilon: '0.5'}, {change: ward, epsilon: '0.3'}, {change: age, epsilon: '0.1', per: 1}%s]
%s"""
CASES = {
    f"{privacy}{name}": (privacy, more)
    for privacy in ("pure", "concentrated")
    for name, more in (("", ""), (", presence", PRESENCE), (", jointly", JOINTLY))
}


def made(case, bars="0.2", rounds=None, seed=1):
    privacy, more = CASES[case]
    policy = dx.parse_policy(POLICY % (more, "privacy: concentrated\n" if privacy == "concentrated" else ""))
    body = {"workload": [{"marginals": [["sex", "ward"], ["ward", "age"]]}], "bars": bars}
    tasks = [
        {"name": "few", "share": "1/2", "adaptive": body | ({} if rounds is None else {"rounds": rounds})},
        {"name": "all", "share": "1/2", "queries": [{"count": "sex == 'f'"}]},
    ]
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"tasks": tasks}, policy))
    counts = np.random.default_rng(seed).integers(0, 9, policy.universe.size)
    counts[policy.universe.record_types :] = 0
    return policy, plan, counts


def answered(case, **how):
    policy, plan, counts = made(case, **how)
    own = plan.parts[0].mechanism
    (answer,) = own.draws(counts, Fraction(1, 2), 1, InsecureSeededRandomness(1))
    return policy.compile(), own.inner, answer


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", [{"bars": "0.2"}, {"bars": "0", "rounds": 3}], ids=["bars", "rounds"])
def test_what_was_drawn_is_confirmed(case, how):
    metric, own, answer = answered(case, **how)
    first, second = _audited(own, answer, Fraction(1, 2), metric)
    assert "exact" in first
    assert "hidden by all steps together" in second


def altered(answer, place, **change):
    steps = list(answer.transcript)
    steps[place] = replace(steps[place], **change)
    return replace(answer, transcript=tuple(steps))


@pytest.mark.parametrize("case", ["pure", "concentrated, presence"])
def test_every_altered_step_is_refused(case):
    metric, own, answer = answered(case)
    last = answer.transcript[-1]
    less = {limit: cost * Fraction(99, 100) for limit, cost in last.selecting.items()}
    wrong = [
        altered(answer, 0, spread=answer.transcript[0].spread * Fraction(99, 100)),
        altered(answer, -1, spread=last.spread * Fraction(99, 100)),
        altered(answer, -1, rate=last.rate * 2),
        altered(answer, -1, selecting=less),
        altered(answer, -1, measuring=less),
        altered(answer, -1, axes=(0, 1) if last.axes != (0, 1) else (1, 2)),
        altered(answer, 0, rate=last.rate),
        replace(answer, transcript=answer.transcript[1:]),
        replace(answer, transcript=(*answer.transcript, last)),
        replace(answer, fresh=answer.fresh[:1]),
        replace(answer, fresh=tuple(replace(one, spread=one.spread / 2) for one in answer.fresh)),
    ]
    for number, one in enumerate(wrong):
        with pytest.raises(CertificateRefused):
            list(_audited(own, one, Fraction(1, 2), metric))
            pytest.fail(f"the alteration {number} was not seen")


def test_a_promise_that_is_kept_at_a_larger_spend_only_is_refused():
    """The second route by itself: a mechanism whose limits are twice what its metric allows."""
    metric, own, answer = answered("concentrated")
    steps = (*answer.transcript, *answer.fresh)
    with pytest.raises(CertificateRefused, match="show more of a change of"):
        _held_against_pairs(own, steps, Fraction(49, 100), metric)
    assert "different changes" in _held_against_pairs(own, steps, Fraction(1, 2), metric)


@pytest.mark.long
def test_the_command_checks_a_stored_release_and_names_what_keeps_no_steps(tmp_path):
    policy, plan, counts = made("concentrated, presence", rounds=3)
    dx.save_plan(plan, tmp_path / "p.json", policy=policy, spend=1)
    plan.release(counts, ledger=tmp_path / "l.db", spend=1)
    words = ("audit", "release", tmp_path / "l.db", "--entry", 1, "--plan", tmp_path / "p.json")
    found = CliRunner().invoke(app, [*map(str, words)])
    assert found.exit_code == 0, found.output
    assert "checked  task 'few': each of " in found.output
    assert audit_release(dx.load_plan(tmp_path / "p.json"), tmp_path / "l.db", 1).checked
    other = dx.plan(policy.compile(), dx.queries_from_dict({"queries": [{"count": "sex == 'f'"}]}, policy))
    other.release(counts, ledger=tmp_path / "l.db", spend="1/2")
    with pytest.raises(dx.UnsupportedCombination, match="no steps that were kept"):
        audit_release(other, tmp_path / "l.db", 2)
