"""A policy says which data it is about; that is carried to its account, and is no part of its meaning."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import account_of
from dxgeom.metrics.metric import UNNAMED, DataSet
from dxgeom.policy.policy import Policy, parse_policy

TEXT = "policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules: [{change: a, epsilon: 1}]\n"


@pytest.mark.parametrize(
    ("written", "meant", "told"),
    [
        (
            "{name: visits}",
            DataSet("visits"),
            "About data set 'visits': policies about it share a ledger, and spends add",
        ),
        ("{name: 7, edition: 010}", DataSet("7", "010"), "edition '010'"),
        (
            "{name: v, edition: 2026-01, people: disjoint, budget: 0.5}",
            DataSet("v", "2026-01", disjoint=True, budget=Fraction(1, 2)),
            "has other people and the whole budget; under all policies together at most 0.5 is spent.",
        ),
    ],
)
def test_the_account_of_a_policy_is_about_the_data_that_it_names(written: str, meant: DataSet, told: str) -> None:
    policy = parse_policy(f"{TEXT}dataset: {written}")
    assert policy.data_set == meant
    assert account_of(policy.compile()) == Account("p", policy.fingerprint, Fraction(1), data_set=meant)
    assert policy.fingerprint == parse_policy(TEXT).fingerprint
    assert any(told in line for line in policy.review().lines())
    assert told in policy.review().as_dict()["data_set"]
    assert parse_policy(policy.to_yaml()).data_set == meant


def test_a_policy_that_names_no_data_says_so() -> None:
    policy = parse_policy(TEXT)
    assert policy.data_set == account_of(policy.compile()).data_set == UNNAMED
    assert "data_set" not in policy.review().as_dict()
    assert any(line.startswith("  About data without a name") for line in policy.review().lines())


def test_python_data_name_the_data_set_as_a_file_does() -> None:
    data = {"policy": "p", "universe": {"attributes": {"a": ["x", "y"]}}, "rules": [{"change": "a", "epsilon": 1}]}
    stated = {"name": "v", "edition": 2026, "budget": Fraction(1, 2)}
    assert Policy.from_dict({**data, "dataset": stated}).data_set == DataSet("v", "2026", budget=Fraction(1, 2))
