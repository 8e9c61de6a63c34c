"""``variance``: of a number, in groups and with weights, with bars that hold it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.errors import QueryError, UnsupportedCombination
from dxgeom.plan_files.queries_data import weights_data

PEOPLE = pa.table({"sex": ["F", "M", "F", "M", "F"], "age": [21, 4, 37, 60, 9], "w": [1, 3, 0, 2, 5]})
WHOLE = {"range": [0, 60], "step": 1, "whole": True}


def policy_of(epsilon: int, age: Any = WHOLE, presence: bool = False) -> dx.Policy:
    attributes = {"sex": ["F", "M"], "age": age, "w": {"range": [0, 5], "step": 1, "whole": True}}
    rules = [{"change": name, "epsilon": epsilon} for name in attributes]
    if presence:
        rules = [{"presence": True, "epsilon": epsilon}]
    return dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})


def asked(policy: dx.Policy, *entries: Any) -> Any:
    return dx.queries_from_dict({"queries": list(entries)}, policy)


def released(policy: dx.Policy, table: Any, *entries: Any, level: float = 0.9999, seed: int = 1) -> dict[str, Any]:
    plan = dx.plan(policy.compile(), asked(policy, *entries), mechanism="laplace")
    release = plan.release(table, ledger=":memory:", spend=1, insecure_test_seed=seed)
    return {one.name: one for one in release.answer.ratios(level)}


def test_variances_are_those_of_the_rows() -> None:
    found = released(
        policy_of(10**6),
        PEOPLE,
        {"variance": "age"},
        {"variance": "age", "by": "sex"},
        {"name": "weighed", "variance": "age", "weight": "w"},
        {"variance": "age", "where": "age > 5"},
    )
    age, weight = (PEOPLE[name].to_numpy() for name in ("age", "w"))
    mean = np.average(age, weights=weight)
    for name, true in (
        ("variance of age", age.var()),
        ("variance of age, sex=F", np.var([21, 37, 9])),
        ("variance of age, sex=M", np.var([4, 60])),
        ("weighed", np.average((age - mean) ** 2, weights=weight)),
        ("variance of age where age > 5", np.var([21, 37, 60, 9])),
    ):
        low, high = found[name].interval
        assert low <= true <= high <= low + 1
        assert found[name].value == pytest.approx(true, abs=0.1) and found[name].within == (0, 900)


@pytest.mark.parametrize("presence", [False, True])
def test_intervals_hold_the_variance_as_often_as_they_say(presence: bool) -> None:
    policy = policy_of(2, {"range": [0, 60], "step": 20, "whole": True, "clamp": True}, presence)
    ages = np.random.default_rng(3).integers(0, 61, 200)
    table = pa.table({"sex": ["F"] * 200, "age": ages, "w": [1] * 200})
    plan = dx.plan(policy.compile(), asked(policy, {"variance": "age"}), mechanism="laplace")
    held = 0
    for seed in range(40):
        release = plan.release(table, ledger=":memory:", spend=1, insecure_test_seed=seed)
        low, high = release.answer.ratios(0.8)[0].interval
        held += low <= ages.var() <= high
    assert held >= 32


def test_raw_numbers_lie_in_the_bars_of_their_steps() -> None:
    policy = policy_of(10**7, {"range": [0, 60], "step": 10})
    plan = dx.plan(policy.compile(), asked(policy, {"variance": "age"}), mechanism="laplace")
    random = np.random.default_rng(5)
    for spread in (1, 12, 30):
        raw = np.clip(random.normal(33, spread, 400), 0, 60)
        table = pa.table({"sex": ["F"] * 400, "age": raw, "w": [1] * 400})
        (found,) = plan.release(table, ledger=":memory:", spend=1, insecure_test_seed=1).answer.ratios(0.9999)
        assert found.interval[0] <= raw.var() <= found.interval[1]


def test_a_mean_beside_it_shares_its_sum_and_its_count() -> None:
    policy = policy_of(1)
    queries = asked(policy, {"variance": "age", "by": "sex"}, {"mean": "age", "by": "sex"})
    assert queries.count == 6 and len(queries.ratios) == len(queries.variances) == 2
    assert queries.measures[-1] == "age squared" and len({queries.fingerprint, queries.only([0, 1]).fingerprint}) == 2
    twice = dx.LinearQueries.stack([asked(policy, {"name": "a", "variance": "w"}), queries])
    assert [(one.numerator, one.denominator, one.squares) for one in twice.variances][1:] == [
        tuple(3 + at for at in (one.numerator, one.denominator, one.squares)) for one in queries.variances
    ]
    with pytest.raises(UnsupportedCombination, match="cannot hold the variances of queries made in Python"):
        weights_data(twice)


def test_a_plan_file_holds_them_as_they_were_written(tmp_path: Path) -> None:
    policy = policy_of(1)
    plan = dx.plan(policy.compile(), asked(policy, {"variance": "age"}), mechanism="laplace")
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert dx.load_plan(tmp_path / "plan.json").queries.variances == plan.queries.variances


def test_what_has_no_variance_is_refused_by_name() -> None:
    policy = policy_of(1)
    for entry, said in (
        ({"variance": "sex"}, "'sex' holds words; only numbers can be added up"),
        ({"variance": "age", "error": 1}, "'error' is asked of answers that noise is chosen for"),
        ({"std": "age"}, "write 'variance: column'; its root is the standard deviation"),
    ):
        with pytest.raises(QueryError) as caught:
            asked(policy, entry)
        assert said in str(caught.value)


def test_squares_of_large_numbers_are_planned_for() -> None:
    # Their mean squared errors are of the order of (10^16)^2, beyond what a file may state.
    policy = policy_of(1, {"range": [0, 10**8], "step": 5 * 10**6})
    plan = dx.plan(policy.compile(), asked(policy, {"variance": "age", "by": "sex"}), mechanism="laplace")
    table = pa.table({"sex": ["F", "M"], "age": [10**6, 10**8], "w": [1, 1]})
    answers = plan.release(table, ledger=":memory:", spend=1, insecure_test_seed=1).answer
    assert [one.within for one in answers.ratios(0.9)] == [(0, (5 * 10**7) ** 2)] * 2
