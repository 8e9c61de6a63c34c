"""Plans of keys that nobody listed pass their audit, and whatever is spoiled in what a release would run does not."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from reference.forged import forged
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.cli.main import app
from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.key_counts import NoisyKeys
from dxgeom.mechanisms.linear.unlisted_keys import UnlistedKeys

PRESENCE = [{"presence": True, "epsilon": 1}]
CHANGE = [{"change": "page", "epsilon": 2}, {"change": "country", "individuals": {"DE": "0.25", "FR": 1}}]
RULES = {"presence": PRESENCE, "per value": CHANGE}
PEOPLE = {"one": "one row each", "rows": {"column": "user", "count": "rows", "at_most": 5, "order": "time"}}


def policy_of(rules=PRESENCE, privacy="pure", people="one row each"):
    return dx.Policy.from_dict(
        {
            "policy": "pages",
            "universe": {"attributes": {"page": {"open": "text"}, "country": ["DE", "FR"]}},
            "rules": rules,
            "budget": 9,
            "delta": "1e-3",
            "privacy": privacy,
            "people": people,
            "unconnected": "allow",
        }
    )


def plan_of(*said, **more):
    policy = policy_of(*said, **more)
    tasks = dx.queries_from_dict({"tasks": [{"keys": ["page", "country"], "delta": "1e-6"}]}, policy)
    return dx.plan(policy.compile(), tasks)


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """What plans and audits is loaded before a test is timed."""
    audit_plan(plan_of())


def with_mechanism(plan, mechanism):
    (part,) = plan.parts
    return forged(part, mechanism=mechanism)


@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("rules", RULES)
def test_every_plan_of_open_keys_holds(rules, privacy, people):
    audit = audit_plan(plan_of(RULES[rules], privacy, PEOPLE[people]))
    assert audit.holds
    assert len(audit.checked) == 3


@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_a_threshold_that_is_one_less_is_refused(monkeypatch, privacy, people):
    plan, threshold = plan_of(PRESENCE, privacy, PEOPLE[people]), UnlistedKeys.threshold
    for less, holds in ((-3, True), (1, False), (10**6, False)):
        monkeypatch.setattr(UnlistedKeys, "threshold", lambda self, spend, by=less: threshold(self, spend) - by)
        if holds:
            assert audit_plan(plan).holds
        else:
            with pytest.raises(CertificateRefused, match=r"more than the stated chance|without a record"):
                audit_plan(plan)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda own: vars(own).update(chance=Fraction(1, 100)), "none that the policy allows"),
        (lambda own: vars(own).update(chance=Fraction(-1, 100)), "none that the policy allows"),
        (lambda own: vars(own).update(columns_of_keys=own.columns_of_keys[1:]), "other keys"),
        (lambda own: vars(own).update(listed_keys=1), "numbered otherwise"),
    ],
)
def test_what_is_spoiled_in_the_mechanism_is_found(spoil, said):
    plan = plan_of()
    spoiled = forged(plan.parts[0].mechanism)
    spoil(spoiled)
    with pytest.raises(CertificateRefused, match=said):
        audit_plan(with_mechanism(plan, spoiled))


def test_fewer_rows_than_people_have_are_refused(monkeypatch):
    plan = plan_of(people=PEOPLE["rows"])
    monkeypatch.setattr(UnlistedKeys, "rows", 1)
    with pytest.raises(CertificateRefused, match="other numbers of rows"):
        audit_plan(plan)


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_noise_that_is_a_little_too_small_is_refused(privacy):
    plan = plan_of(PRESENCE, privacy)
    spoiled = forged(plan.parts[0].mechanism)
    known = forged(spoiled.known)
    (block,) = known.blocks
    vars(known)["blocks"] = (block._replace(scale=block.scale * (1 - 2.0**-45)),)
    vars(spoiled)["known"] = known
    with pytest.raises(CertificateRefused, match="does not hide"):
        audit_plan(with_mechanism(plan, spoiled))


def spoiled_answers(monkeypatch, change):
    drawn = UnlistedKeys.drawn
    monkeypatch.setattr(UnlistedKeys, "drawn", lambda self, data, *rest: change(drawn(self, data, *rest), data))


def with_other_texts(answer, data):
    """Texts that are not reported, as an answer would have them that numbers texts among all."""
    return NoisyKeys(answer.keys, answer.numerators, 1, tuple(sorted({*answer.words, data.words[0]})))


def without_the_last(answer, data):
    return NoisyKeys(answer.keys[:-1], answer.numerators[:-1], 1, answer.words)


def with_true_counts(answer, data):
    return NoisyKeys(answer.keys, np.sort(data.counts)[-len(answer.keys) :], 1, answer.words)


def with_a_key_of_nobody(answer, data):
    keys = np.append(answer.keys, np.int64(2 * len(answer.words)))
    return NoisyKeys(keys, np.append(answer.numerators, np.int64(99)), 1, (*answer.words, "zzz"))


@pytest.mark.parametrize("change", [with_other_texts, without_the_last, with_true_counts, with_a_key_of_nobody])
def test_answers_that_tell_more_are_refused(monkeypatch, change):
    plan = plan_of()
    spoiled_answers(monkeypatch, change)
    with pytest.raises(CertificateRefused, match=r"reported|other texts"):
        audit_plan(plan)


@pytest.mark.long
def test_the_command_audits_a_plan_file(tmp_path):
    path = tmp_path / "plan.json"
    dx.save_plan(plan_of(people=PEOPLE["rows"]), path, policy=policy_of(people=PEOPLE["rows"]))
    answer = CliRunner().invoke(app, ["audit", "plan", str(path), "--format", "json"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["verdict"] == "holds"
    assert "5 rows, in balls" in answer.stdout
