"""Plans of keys pass their audit without data, and whatever is spoiled in what a release would run does not."""

from __future__ import annotations

import itertools
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
from dxgeom.mechanisms.linear.key_counts import KeyCounts, NoisyKeys
from dxgeom.metrics.families import DiscreteMetric

CONSTANT = [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": 3}]
PER_VALUE = [{"change": "a", "epsilon": "0.5"}, {"change": "b", "individuals": {"x": "0.1", "y": 1, "z": "0.3"}}]
PER_DISTANCE = [{"change": "a", "epsilon": "0.5"}, {"change": "n", "epsilon": "0.2", "per": 1}]
CAPPED = [{"change": "b", "epsilon": 2}, {"change": ["a", "b"], "together": True, "epsilon": "1.5"}]
PRESENCE = {"presence": True, "epsilon": "0.75"}
EACH_POLICY = {
    "constant": CONSTANT,
    "per value": PER_VALUE,
    "per distance": PER_DISTANCE,
    "together": CAPPED,
    "presence": [*PER_VALUE, PRESENCE],
}
KEYS = {"per distance": ["a", "n"]}


def policy_of(rules, privacy="pure", keys=("a", "b"), people=None):
    attributes = {"a": ["p", "q"], "b": ["x", "y", "z"], "n": {"range": [0, 4], "step": 1}}
    return dx.Policy.from_dict(
        {
            "policy": "keys",
            "universe": {"attributes": {name: own for name, own in attributes.items() if name in keys}},
            "rules": rules,
            "budget": 100,
            "privacy": privacy,
            "unconnected": "allow",
            **({} if people is None else {"people": people}),
        }
    )


def plan_of(rules, privacy="pure", keys=("a", "b"), people=None, **said):
    policy = policy_of(rules, privacy, keys, people)
    tasks = dx.queries_from_dict({"tasks": [{"keys": [*keys], **(said or {"at_least": 3})}]}, policy)
    return dx.plan(policy.compile(), tasks)


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """What plans and audits is loaded before a test is timed."""
    audit_plan(plan_of(CONSTANT))


def with_mechanism(plan, mechanism):
    (part,) = plan.parts
    return forged(part, mechanism=mechanism)


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("name", EACH_POLICY)
def test_every_plan_of_keys_holds(name, privacy):
    audit = audit_plan(plan_of(EACH_POLICY[name], privacy, KEYS.get(name, ("a", "b"))))
    assert audit.holds
    assert len(audit.checked) == 2


@pytest.mark.parametrize("count", [{"count": "once"}, {"count": "rows", "at_most": 3}])
def test_keys_of_people_hold(count):
    assert audit_plan(plan_of(CONSTANT, people={"column": "who", **count}, spurious="0.5")).holds


def enumerated(mechanism):
    """Whether each two records' keys have rates that the metric allows, over all of them, in float64."""
    universe, metric = mechanism.metric.universe, mechanism.metric
    codes = [np.asarray(axis).ravel() for axis in np.indices(universe.shape)]
    number = np.zeros(len(codes[0]), dtype=np.int64)
    for own in mechanism.columns_of_keys:
        number = number * len(own.words) + own.codes[codes[own.axis]]
    scale = np.array([block.scale for block in mechanism.blocks])[mechanism.blocks_of(number)]
    power = 2 if mechanism.normal else 1
    rates = scale**-power
    for i, j in itertools.combinations(range(len(number)), 2):
        if number[i] != number[j] and rates[i] + rates[j] > float(metric.distance(i, j)) ** power * (1 + 1e-12):
            return False
    return metric.absent is None or max(rates) <= float(metric.distance(0, metric.absent)) ** power * (1 + 1e-12)


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("name", EACH_POLICY)
def test_scales_are_refused_exactly_where_two_records_are_told_apart(name, privacy):
    """Each block in turn has less noise, by factors around what the enumeration over all records allows."""
    plan = plan_of(EACH_POLICY[name], privacy, KEYS.get(name, ("a", "b")))
    mechanism = plan.parts[0].mechanism
    refused = 0
    for place, factor in itertools.product(range(len(mechanism.blocks)), (0.2, 0.6, 0.999, 1.001)):
        blocks = list(mechanism.blocks)
        blocks[place] = blocks[place]._replace(scale=blocks[place].scale * factor)
        spoiled = forged(mechanism)
        vars(spoiled)["blocks"] = tuple(blocks)
        if enumerated(spoiled):
            assert audit_plan(with_mechanism(plan, spoiled)).holds
        else:
            with pytest.raises(CertificateRefused, match="does not hide"):
                audit_plan(with_mechanism(plan, spoiled))
            refused += 1
    assert refused >= len(mechanism.blocks)


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_noise_that_is_a_little_too_small_is_refused(privacy):
    plan = plan_of(CONSTANT, privacy)
    spoiled = forged(plan.parts[0].mechanism)
    (block,) = spoiled.blocks
    vars(spoiled)["blocks"] = (block._replace(scale=block.scale * (1 - 2.0**-45)),)
    with pytest.raises(CertificateRefused, match="does not hide"):
        audit_plan(with_mechanism(plan, spoiled))


def spoiled_answers(monkeypatch, change):
    drawn = KeyCounts.drawn
    monkeypatch.setattr(KeyCounts, "drawn", lambda self, data, *rest: change(drawn(self, data, *rest), data))


def without_empty_keys(answer, data):
    """What is easily done, and tells that a reported key has a record."""
    kept = np.isin(answer.keys, data.keys)
    return NoisyKeys(answer.keys[kept], answer.numerators[kept], answer.divisor)


def with_every_key_of_many(answer, data):
    """Keys of many records are reported whatever their noise is."""
    keys = np.union1d(answer.keys, data.keys[data.counts >= 5])
    return NoisyKeys(keys, np.full(len(keys), 5), answer.divisor)


def with_true_counts(answer, data):
    exact = dict(zip(data.keys.tolist(), data.counts.tolist(), strict=True))
    both = zip(answer.keys.tolist(), answer.numerators.tolist(), strict=True)
    return NoisyKeys(answer.keys, np.array([exact.get(*one) for one in both], dtype=np.int64), answer.divisor)


@pytest.mark.parametrize("change", [without_empty_keys, with_every_key_of_many, with_true_counts])
def test_answers_that_look_at_the_data_elsewhere_are_refused(monkeypatch, change):
    plan = plan_of([{"presence": True, "epsilon": "0.02"}], keys=("a", "b", "n"), at_least=5)
    assert audit_plan(plan).holds
    spoiled_answers(monkeypatch, change)
    with pytest.raises(CertificateRefused, match="others are reported"):
        audit_plan(plan)


def test_another_chance_of_empty_keys_is_refused(monkeypatch):
    plan = plan_of(CONSTANT)
    law = type(plan.parts[0].mechanism.events(Fraction(1), 3)[0])
    chance = law._chance
    monkeypatch.setattr(law, "_chance", lambda self: chance(self) * (1 - 2.0**-40))
    with pytest.raises(CertificateRefused, match="another chance"):
        audit_plan(plan)


def test_a_key_in_no_block_and_values_in_two_are_refused():
    plan = plan_of(PER_VALUE)
    mechanism = plan.parts[0].mechanism
    for blocks in (mechanism.blocks[1:], (*mechanism.blocks, mechanism.blocks[0])):
        spoiled = forged(mechanism)
        vars(spoiled)["blocks"] = blocks
        with pytest.raises(CertificateRefused, match=r"no scale, or several|with one scale"):
            audit_plan(with_mechanism(plan, spoiled))


def test_keys_are_audited_in_spaces_that_nobody_lists():
    """Of three times a thousand values; their moves are not gone through where all are alike."""
    attributes = {name: {"range": [0, 999], "step": 1} for name in ("a", "b", "c")}
    policy = dx.Policy.from_dict(
        {
            "policy": "keys",
            "universe": {"attributes": attributes},
            "rules": [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": 2}, {"change": "c", "epsilon": 2}],
        }
    )
    tasks = dx.queries_from_dict({"tasks": [{"keys": ["a", "b", "c"], "spurious": 1}]}, policy)
    plan = dx.plan(policy.compile(), tasks)
    assert isinstance(policy.compile().metric.parts[0], DiscreteMetric)
    assert audit_plan(plan).holds


@pytest.mark.long
def test_the_command_audits_a_plan_file(tmp_path):
    path = tmp_path / "plan.json"
    dx.save_plan(plan_of(PER_VALUE), path, policy=policy_of(PER_VALUE))
    answer = CliRunner().invoke(app, ["audit", "plan", str(path), "--format", "json"])
    assert answer.exit_code == 0
    assert json.loads(answer.stdout)["verdict"] == "holds"
