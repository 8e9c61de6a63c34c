"""Plans of keys along a tree pass their audit, and whatever is spoiled in them does not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.forged import forged

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.key_counts import NoisyKeys
from dxgeom.mechanisms.linear.rolled_up_keys import RolledUpKeys

RULES = [{"change": "a", "epsilon": 1}, {"change": "b", "individuals": {"x": "0.2", "y": 1, "z": "0.5"}}]
PRESENCE = [{"presence": True, "epsilon": "0.5"}]


def plan_of(rules=RULES, privacy="pure", rollup=None, people=None, **said):
    attributes = {"a": ["p", "q"], "b": ["x", "y", "z"], "c": ["u", "v"]}
    policy = dx.Policy.from_dict(
        {
            "policy": "keys",
            "universe": {"attributes": attributes},
            "rules": [*rules, *([] if rules is PRESENCE else [{"change": "c", "epsilon": 2}])],
            "budget": 100,
            "privacy": privacy,
            "unconnected": "allow",
            **({} if people is None else {"people": people}),
        }
    )
    asked = {"keys": ["a", "b", "c"], "rollup": rollup or {"b": "0.2", "a": "0.3"}, **(said or {"at_least": 3})}
    return dx.plan(policy.compile(), dx.queries_from_dict({"tasks": [asked]}, policy))


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """What plans and audits is loaded before a test is timed."""
    audit_plan(plan_of(rollup={"a": "0.5"}))


def with_levels(plan, change):
    (part,) = plan.parts
    mechanism = forged(part.mechanism)
    vars(mechanism)["levels"] = change(part.mechanism.levels)
    return forged(part, mechanism=mechanism)


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("rules", [RULES, PRESENCE])
def test_every_plan_of_keys_along_a_tree_holds(rules, privacy):
    audit = audit_plan(plan_of(rules, privacy))
    assert audit.holds
    assert len(audit.checked) == 3


@pytest.mark.long
def test_keys_of_people_along_a_tree_hold():
    assert audit_plan(plan_of(people={"column": "who", "count": "once"}, spurious="0.5", rollup={"a": "0.5"})).holds


def test_levels_that_take_more_than_the_spend_are_refused():
    plan = with_levels(plan_of(), lambda levels: (levels[0]._replace(share=Fraction(1)), *levels[1:]))
    with pytest.raises(CertificateRefused, match="more than what is spent"):
        audit_plan(plan)


def test_less_noise_in_one_level_is_refused():
    def spoiled(levels):
        counts = forged(levels[1].counts)
        first, *others = levels[1].counts.blocks
        vars(counts)["blocks"] = (first._replace(scale=first.scale * 0.9), *others)
        return levels[0], levels[1]._replace(counts=counts), levels[2]

    with pytest.raises(CertificateRefused, match="does not hide"):
        audit_plan(with_levels(plan_of(), spoiled))


def test_a_level_of_other_keys_is_refused():
    plan = with_levels(plan_of(), lambda levels: (levels[0]._replace(places=(2,)), *levels[1:]))
    with pytest.raises(CertificateRefused, match=r"not below|other keys"):
        audit_plan(plan)


@pytest.mark.parametrize("off", [0, 1])
def test_rows_that_look_at_the_data_are_refused(monkeypatch, off):
    drawn = RolledUpKeys.drawn

    def spoiled(self, data, *rest):
        found = drawn(self, data, *rest)
        kept = np.arange(len(found.keys)) < len(found.keys) - 1 + off
        counts = found.numerators + off * (int(data.counts[0]) > 0)
        return NoisyKeys(found.keys[kept], counts[kept], found.divisor)

    monkeypatch.setattr(RolledUpKeys, "drawn", spoiled)
    with pytest.raises(CertificateRefused, match="other rows"):
        audit_plan(plan_of(rollup={"a": "0.5"}))
