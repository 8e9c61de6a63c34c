"""What queries mean where values may be missing: comparisons are false, sums add nothing, intervals leave them out."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import QueryError, UnsupportedCombination
from dxgeom.mechanisms.quantiles.question import ordered_values

POLICY = dx.parse_policy(
    """
policy: missing
universe:
  attributes:
    sex: {values: [F, M], missing: {epsilon: 1}}
    age: {range: [0, 3], step: 1, whole: true, missing: {epsilon: 1}}
    bin: {bins: [0, 2, 6], missing: public}
    day: {dates: [2024-01-01, 2024-01-03], step: 1, missing: {epsilon: 1}}
    sure: [yes, no]
rules:
  - change: [sex, age, bin, day, sure]
    epsilon: 1
"""
)
RECORDS = list(itertools.product("FM?", [0, 1, 2, 3, None], [1, 4, None], ["1", "2", "3", None], ["yes", "no"]))
COUNTS = np.random.default_rng(5).integers(0, 9, len(RECORDS))


def total(chosen: object, weight: object = lambda record: 1) -> Fraction:
    """Summed one record after another, in the order in which the universe numbers them."""
    return sum((Fraction(int(n)) * weight(r) for r, n in zip(RECORDS, COUNTS, strict=True) if chosen(r)), Fraction(0))  # type: ignore[operator]


def asked(text: str) -> dict[str, Fraction]:
    queries = dx.parse_queries(f"queries:\n  - {text}\n", POLICY)
    return dict(zip(queries.names, queries.answers(COUNTS), strict=True))


CONDITIONS = {
    "sex is missing": lambda r: r[0] == "?",
    "sex is not missing": lambda r: r[0] != "?",
    "not sex is missing": lambda r: r[0] != "?",
    "sex == 'F'": lambda r: r[0] == "F",
    "sex != 'F'": lambda r: r[0] == "M",
    "not sex == 'F'": lambda r: r[0] in "M?",
    "sex in ['F', 'M']": lambda r: r[0] != "?",
    "sex not in ['F']": lambda r: r[0] == "M",
    "age >= 2": lambda r: r[1] is not None and r[1] >= 2,
    "not age >= 2": lambda r: r[1] is None or r[1] < 2,
    "0 <= age < 2": lambda r: r[1] is not None and r[1] < 2,
    "bin < 2": lambda r: r[2] == 1,
    "day <= '2024-01-02'": lambda r: r[3] is not None and r[3] <= "2",
    "day is missing and sure == 'yes'": lambda r: r[3] is None and r[4] == "yes",
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_comparison_with_a_missing_value_is_false(condition: str) -> None:
    assert list(asked(f'count: "{condition}"').values()) == [total(CONDITIONS[condition])]


def test_a_missing_value_adds_nothing_to_a_sum() -> None:
    assert asked("sum: age") == {"sum of age": total(lambda r: r[1] is not None, lambda r: r[1])}
    assert asked("sum: bin") == {"sum of bin": total(lambda r: r[2] is not None, lambda r: r[2])}


def test_a_marginal_has_a_row_for_what_is_missing_and_intervals_leave_it_out() -> None:
    found = asked("marginal: [sex]")
    assert found == {
        f"sex={sex}": total(lambda r, s=s: r[0] == s) for sex, s in zip(["F", "M", "missing"], "FM?", strict=True)
    }
    found = asked("prefixes: age")
    assert found == {f"age up to {k}": total(lambda r, k=k: r[1] is not None and r[1] <= k) for k in range(4)}
    found = asked("ranges: age\n    at: [2]")
    assert found == {
        "age below 2": total(lambda r: r[1] in (0, 1)),
        "age anywhere": total(lambda r: r[1] is not None),
        "age from 2 up": total(lambda r: r[1] in (2, 3)),
    }
    assert asked("prefixes: day")["day up to 2024-01-03"] == total(lambda r: r[3] is not None)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("count: sure is missing", "'sure' is never missing in this policy"),
        ("count: sex is mising", "expected 'missing', found 'mising'"),
        ("count: 3 is missing", "a column stands before 'is missing'"),
    ],
)
def test_what_cannot_be_asked_is_told(query: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        dx.parse_queries(f"records: 9\nqueries:\n  - {query}\n", POLICY)


def test_a_plan_hides_missing_values_and_its_answers_are_released() -> None:
    queries = dx.parse_queries(
        "queries:\n  - count: age is missing\n  - count: bin is not missing\n  - sum: age\n", POLICY
    )
    plan = dx.plan(POLICY.compile(), queries)
    release = plan.release(COUNTS, ledger=":memory:", spend=1, insecure_test_seed=3)
    assert plan.predicted_mse > 0
    assert release.values[1] == queries.answers(COUNTS)[1]
    assert release.values[0] != queries.answers(COUNTS)[0]


def test_a_quantile_of_values_that_may_be_missing_is_refused() -> None:
    with pytest.raises(UnsupportedCombination, match=r"'age' may be missing, .* ask for counts"):
        ordered_values(POLICY.compile(), "age")


def test_a_mean_of_what_is_there_is_a_sum_over_a_count() -> None:
    queries = dx.parse_queries("queries:\n  - {mean: age}\n", POLICY)
    assert queries.names == ("sum of age", "records with age")
    there = total(lambda r: r[1] is not None)
    assert queries.answers(COUNTS) == [total(lambda r: r[1] is not None, lambda r: r[1]), there]
    (ratio,) = queries.ratios
    assert (ratio.name, ratio.numerator, ratio.denominator, ratio.within) == ("mean age", 0, 1, (0, 3))
