"""``weight``: counts, sums and means in which each record counts a number of its own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.errors import PredicateError, QueryError
from dxgeom.queries.syntax import OF_OTHER_LANGUAGES
from dxgeom.universe.predicates import parse_predicate

PEOPLE = pa.table({"sex": ["F", "M", "F", "M", "F"], "age": [21, 4, 37, 60, 9], "w": [1, 3, 0, 2, 5]})


def policy_of(**more: Any) -> dx.Policy:
    attributes = {
        "sex": ["F", "M"],
        "age": {"range": [0, 60], "step": 1, "whole": True},
        "w": {"range": [0, 5], "step": 1, "whole": True},
        **more,
    }
    rules = [{"change": name, "epsilon": 10**4} for name in attributes]
    return dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})


def asked(policy: dx.Policy, *entries: Any, records: int | None = None) -> Any:
    return dx.queries_from_dict({"queries": list(entries)}, policy, records)


def test_weighted_answers_are_those_of_the_rows() -> None:
    policy = policy_of()
    queries = asked(
        policy,
        {"count": "sex == 'F'", "weight": "w"},
        {"sum": "age", "weight": "w", "where": "age > 5"},
        {"mean": "age", "weight": "w"},
        {"mean": "age", "weight": "w", "by": "sex"},
        {"name": "by sex", "sum": "age", "weight": "w", "by": "sex"},
    )
    release = dx.plan(policy.compile(), queries, mechanism="laplace").release(
        PEOPLE, ledger=":memory:", spend=1, insecure_test_seed=1
    )
    told = {name: one.value for name, one in release.answer.by_name.items()}
    assert told["sex == 'F' weighted by w"] == pytest.approx(6, abs=0.5)
    assert told["sum of age weighted by w where age > 5"] == pytest.approx(21 + 120 + 45, abs=2)
    assert told["by sex, sex=M"] == pytest.approx(12 + 120, abs=2)
    ratios = {one.name: one for one in release.answer.ratios(0.9999)}
    for name, true in (
        ("mean age weighted by w", 198 / 11),
        ("mean age weighted by w, sex=F", 66 / 6),
        ("mean age weighted by w, sex=M", 132 / 5),
    ):
        low, high = ratios[name].interval
        assert low <= true <= high and ratios[name].value == pytest.approx(true, abs=0.5)


def test_a_weight_changes_the_noise_as_it_changes_the_sensitivity() -> None:
    policy = policy_of()
    plain, weighted = (
        dx.plan(policy.compile(), asked(policy, {"count": "sex == 'F'", **said}), mechanism="laplace").rmse(1)[0]
        for said in ({}, {"weight": "w"})
    )
    assert weighted == pytest.approx(5 * plain, rel=1e-3)


def test_what_is_counted_is_measured_in_its_weights() -> None:
    policy = policy_of()
    queries = asked(policy, {"mean": "age", "weight": "w"}, {"count": "true", "weight": "w", "unit": "people meant"})
    assert queries.measures == ("age weighted by w", "people meant")
    assert asked(policy, {"mean": "age", "weight": "w"}).measures == ("age weighted by w", "w")


def test_bars_hold_what_rounding_of_both_numbers_does() -> None:
    policy = policy_of(w={"range": [0, 2], "step": "0.5"}, age={"range": [0, 60], "step": 10})
    (rounding,) = asked(policy, {"sum": "age", "weight": "w"}).each_rounding
    random = np.random.default_rng(4)
    age, weight = random.uniform(0, 60, 500), random.uniform(0, 2, 500)
    middles = [np.floor(raw / step) * step + step / 2 for raw, step in ((age, 10), (weight, 0.5))]
    off = np.abs(age * weight - middles[0] * middles[1])
    assert off.max() <= rounding.per_record and off.max() > 0.5 * float(rounding.per_record)
    (count,) = asked(policy, {"count": "age < 10", "weight": "w"}).each_rounding
    assert count.per_record == Fraction(1, 4)


def test_what_cannot_be_a_weight_is_refused_by_name() -> None:
    steps = policy_of(
        w={"range": [0, 2], "step": "0.5"},
        t={"range": [-3, 3], "step": 1},
        s={"range": [0, 4], "step": 2, "whole": True},
    )
    for entry, said in (
        ({"mean": "age", "weight": "w"}, "the weights of a mean are exact, and values of 'w' stand for many numbers"),
        ({"mean": "age", "weight": "s"}, "a value is one number in '{range: [0, 9], step: 1, whole: true}'"),
        ({"sum": "age", "weight": "t"}, "a weight is 0 or more, and these numbers reach down to -3"),
        ({"sum": "age", "weight": "sex"}, "holds words; only numbers can be added up"),
        ({"share": "sex == 'F'", "weight": "w"}, "'weight' goes with count, sum, mean and variance, not with share"),
        ({"marginal": ["sex"], "weight": "w"}, "'weight' goes with count, sum, mean and variance, not with marginal"),
    ):
        with pytest.raises(QueryError, match="DX20") as caught:
            asked(steps, entry)
        assert said in str(caught.value)


def test_universes_without_a_histogram_weigh_records_one_query_at_a_time() -> None:
    wide = policy_of(**{f"u{k}": {"range": [0, 39], "step": 1} for k in range(5)})
    queries = asked(wide, {"count": "sex == 'F'", "weight": "w"}, {"count": "true"})
    assert type(queries).__name__ == "LinearQueries" and queries.measures == ("w", "records")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"count": "true", "group_by": "sex"}, "write 'by: column'"),
        ({"max": "age"}, "write 'quantiles: column' with 'at: [0.05, 0.95]'"),
        ({"count_distinct": "sex"}, "write a task, 'tasks: [{name: how many, distinct: column}]'"),
        ({"count": "true", "TOP": 3}, "select: {best: column, top: 3}"),
        ({"count": "true", "weights": "w"}, "write 'weight: column'"),
        ({"std": "age"}, "write 'variance: column'"),
        ({"count": "true", "epsilon": 1}, "the policy's rules say which epsilon"),
        ({"count": "true", "seed": 1}, "drawn from the system's randomness"),
        ({"sum": "age", "between": "1 and 2"}, "write 'where: 18 <= age < 65'"),
    ],
)
def test_words_of_other_languages_are_pointed_to_ours(entry: Any, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        asked(policy_of(), entry)
    assert said in str(caught.value) and "did you mean" not in str(caught.value)
    assert all(word == word.lower() for word in OF_OTHER_LANGUAGES)


@pytest.mark.parametrize(
    ("condition", "advice"),
    [
        ("age => 65", "write >="),
        ("age =< 65", "write <="),
        ("age = 65", "compare with =="),
        ("age between 5 and 65", "write both ends, as in 18 <= age < 65"),
        ("age <> 65", "write != where two values differ"),
        ("age is null", "write 'is missing', or 'is not missing'"),
    ],
)
def test_conditions_of_other_languages_are_pointed_to_ours(condition: str, advice: str) -> None:
    with pytest.raises(PredicateError) as caught:
        parse_predicate(condition)
    assert caught.value.advice == advice
