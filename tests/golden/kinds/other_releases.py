"""Releases of which there is no plan file: answers about one secret, families, mechanisms by themselves, models.

Each goes into the ledger of its kind, under its own name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from reference.mechanisms import CASES

import dxgeom as dx
from dxgeom.lab.answers import plan_answer
from dxgeom.lab.data_sets import data_set_policy_from_dict
from dxgeom.learning import PrivateLinearRegression, PrivateLogisticRegression
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.metric import DataSet
from dxgeom.policy.policy import Policy
from golden.kinds.keeping import SEED, TABLES
from golden.kinds.recipes import mixed_policy

Releasing = Callable[[Path, str], Any]
"""Releases into a ledger under a name, or finds what was released so."""

SMALL = Fraction(1, 64)
ACCOUNTS = {
    "marginal-laplace": "tables",
    "boxes-laplace": "tables",
    "kronecker-gaussian": "bases",
    "series": "series",
    "distinct count": "different values",
    "noisy keys": "keys",
    "statistic, hull": "hull",
    "statistic, cylinders": "cylinders",
    "logistic regression": "arrays",
    "linear regression": "arrays",
    "test errors": "arrays",
    "fewest errors": "arrays",
    "labels": "arrays",
    "parallel": "halves",
    "fit to counts": "fit",
}
FOR_ONE_SPEND = {
    *("truncated geometric", "finite Laplace", "halved exponential", "optimal table", "banded geometric"),
    *("banded Laplace", "privacy first", "ladder", "composed", "planar Laplace", "staircase", "layered line"),
}
"""Mechanisms that answer about one secret, which are asked of policies below."""
SINCE = {
    "toeplitz-gaussian",
    "adaptive tables",
    "adaptive tables on a histogram",
    "noisy keys along a tree",
    "noisy keys that nobody listed",
}
"""Younger than what was recorded."""
MECHANISMS = {name: ACCOUNTS.get(name, "line") for name in CASES if name not in FOR_ONE_SPEND | SINCE}
"""The ledger of each mechanism: one for each account."""


def other_releases() -> Iterator[tuple[str, str, Releasing]]:
    """Each with its ledger and its name there."""
    for name, account in MECHANISMS.items():
        yield f"mechanisms, {account}", name, _by_mechanism(name)
    for name, (policy, task, secret) in SECRETS.items():
        yield f"secrets, {policy}", name, _about_a_secret(policy, task, secret)
    for family in ("mwem", "small-database", "families"):
        yield "families", family, _by_family(family)
    yield "models", "linear", _fitted(PrivateLinearRegression)
    yield "models", "logistic", _fitted(PrivateLogisticRegression)


def _by_mechanism(name: str) -> Releasing:
    def release(ledger: Path, key: str) -> Any:
        case = CASES[name]
        return dx.release(case.make(), case.data, ledger=ledger, spend=SMALL, id=key, insecure_test_seed=SEED)

    return release


NUMBERS = {"age": {"range": [0, 20], "step": 2}}
POLICIES: dict[str, Any] = {
    "numbers": {"universe": {"attributes": NUMBERS}, "rules": [{"change": "age", "epsilon": 1}]},
    "records": {
        "universe": {"attributes": {"age": {"range": [0, 6], "step": 2}, "ill": ["no", "yes"]}},
        "rules": [{"change": "age", "epsilon": "0.5", "per": 2}, {"change": "ill", "epsilon": 1}],
    },
    "places": {
        "universe": {
            "attributes": {"place": {"points": "places.csv", "key": "place", "x": "east", "y": "north", "unit": "m"}}
        },
        "rules": [{"change": "place", "epsilon": "0.01", "per": "1 m"}],
    },
}
DATA_SETS: dict[str, Any] = {
    "graphs": {"graphs": {"nodes": 4, "epsilon": 1}},
    "database": {"database": {"individuals": 3, "largest": 10, "step": "0.5", "epsilon": "0.4"}},
}
AGE_4 = {"age": 4, "ill": "yes"}
SECRETS: dict[str, tuple[str, Any, Any]] = {
    "truncated_geometric": ("records", {"answer": "truncated_geometric", "of": "age"}, 4),
    "finite_laplace": ("numbers", {"answer": "finite_laplace", "guess": "best"}, 4),
    "halved_exponential": ("records", "halved_exponential", AGE_4),
    "optimal": ("numbers", {"answer": "optimal", "loss": "squared", "prior": {"0": 3, "20": 1}}, 4),
    "bracketed": ("records", {"answer": "bracketed", "loss": "distance"}, AGE_4),
    "planar": ("places", {"answer": "planar", "of": "place"}, "b"),
    "staircase": ("numbers", "staircase", 4),
    "layered": ("numbers", "layered", 4),
    "privacy_first": ("graphs", {"answer": "privacy_first", "of": "triangles"}, "a-b, b-c, c-a, d"),
    "ladder": ("graphs", {"answer": "ladder", "of": "edges"}, "a-b, b-c, c-a, d"),
    "composed": ("graphs", {"answer": "composed", "of": {"stars": 2}}, "a-b, b-c, c-a, d"),
    "of a database": ("database", {"answer": "optimal", "of": "sum"}, "1, 2, absent"),
}


def _about_a_secret(name: str, task: Any, secret: Any) -> Releasing:
    def release(ledger: Path, key: str) -> Any:
        stated = {"policy": name, "budget": 100, **(POLICIES | DATA_SETS)[name]}
        read: Any = data_set_policy_from_dict if name in DATA_SETS else partial(Policy.from_dict, folder=TABLES)
        plan = plan_answer(read(stated), task, spend="1/2")
        return plan.release(secret, ledger=ledger, id=key, insecure_test_seed=SEED)

    return release


def _by_family(family: str) -> Releasing:
    def release(ledger: Path, key: str) -> Any:
        policy = mixed_policy("pure")
        queries = dx.queries_from_dict({"queries": [{"marginals": {"ways": 1, "of": ["sex", "ward"]}}]}, policy)
        plan = dx.plan(policy.compile(), queries, mechanism=family, spend="1/2", records=40)
        table = TABLES / "people.csv"
        return plan.release(table, ledger=ledger, spend="1/2", id=key, insecure_test_seed=SEED)

    return release


def _fitted(model: Any) -> Releasing:
    def release(ledger: Path, key: str) -> Any:
        places = np.arange(200)
        table, labels = np.stack([places % 7 / 7, places % 5 / 5], axis=1), (places % 7 > 3).astype(int)
        bounds: dict[str, Any] = {"bounds": (0, 1)} | ({"response": (0, 1)} if model is PrivateLinearRegression else {})
        fit = model(epsilon="1/2", ledger=str(ledger), budget=10, id=key, insecure_test_seed=SEED, **bounds)
        return fit.fit(table, labels).release_

    return release


def divided(path: Path) -> None:
    """A ledger of one data set in two editions, with a budget of its own, allotments, and answers of several sorts."""
    visits = [DataSet("visits", edition, budget=Fraction(3)) for edition in ("2025", "2026")]
    with Ledger.open(path, policy_fingerprint="f", policy_name="clinic", budget=Fraction(1), data_set=visits[0]) as one:
        first = one.charge(Fraction(1, 4), purpose="weekly counts", plan_fingerprint="p", key="monday")
        one.store(first, json.dumps({"answers": [{"name": "women", "value": 3.0, "rmse": 0.5}]}))
        one.allot({"ward A": Fraction(1, 8), "ward B": Fraction(1, 3)})
        told = one.charge(Fraction(1, 16), purpose="for a ward", plan_fingerprint="q", owner="ward A")
        one.store(told, "in words")
    with Ledger.open(path, policy_fingerprint="g", policy_name="census", budget=Fraction(2), data_set=visits[1]) as two:
        two.charge(Fraction(1, 2), purpose="lost", plan_fingerprint="q")
        two.store(two.charge(Fraction(1, 2), purpose="bytes", plan_fingerprint="q", reserve=10), b"\xff\x00")


def disjoint(path: Path) -> None:
    """A ledger of a data set with other people in each edition, of concentrated privacy."""
    for edition in ("1", "2"):
        month = DataSet("visits", edition, disjoint=True, budget=Fraction(2))
        with Ledger.open(
            path,
            policy_fingerprint="f",
            policy_name="clinic",
            budget=Fraction(1),
            data_set=month,
            privacy_measure="concentrated",
        ) as opened:
            opened.store(opened.charge(Fraction(1, 2), purpose=edition, plan_fingerprint="p"), '{"answer": 3}')


KEPT = {"divided": divided, "disjoint": disjoint}
"""Ledgers that no plan was released into."""
