from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas
import pytest

import dxgeom as dx
from dxgeom.errors import (
    BudgetExceeded,
    DataError,
    DxgeomError,
    LedgerError,
    UnsupportedCombination,
    WrongArgument,
)
from dxgeom.lab.laplace_tables import truncated_geometric
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.contract.composition import followed_by, in_sequence
from dxgeom.mechanisms.selection.selections import selection
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.verification import verify
from dxgeom.planner.choose import plan
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.queries import LinearQueries


def mechanism(spend=Fraction(1, 4), fingerprint="a"):
    metric = LineMetric(tuple(Fraction(i) for i in range(6)), Fraction(1))
    return truncated_geometric(verify(metric, title="line", fingerprint=fingerprint, budget=Fraction(1)), spend)


def test_the_ledger_is_charged_with_the_mechanisms_spend(tmp_path):
    place = tmp_path / "a.db"
    first = dx.release(mechanism(), 2, ledger=str(place), insecure_test_seed=1)
    second = dx.release(mechanism(), 2, ledger=str(place))
    assert (first.spent, first.remaining, first.secure) == (Fraction(1, 4), Fraction(3, 4), False)
    assert (second.remaining, second.secure) == (Fraction(1, 2), True)
    assert 0 <= first.answer < 6
    with Ledger.open(place, policy_fingerprint="a", policy_name="line", budget=Fraction(1)) as ledger:
        entry = ledger.entries()[0]
        assert entry.purpose == "one answer by truncated geometric"
        assert entry.plan_fingerprint == mechanism().fingerprint


def test_nothing_is_drawn_when_the_budget_is_gone(tmp_path):
    table = mechanism(Fraction(3, 4))
    place = str(tmp_path / "a.db")
    dx.release(table, 0, ledger=place)
    object.__setattr__(table, "law", None)
    with pytest.raises(BudgetExceeded):
        dx.release(table, 0, ledger=place)


def test_an_unknown_secret_is_refused_before_anything_is_charged():
    table = mechanism()
    with Ledger.open(":memory:", policy_fingerprint="a", policy_name="line", budget=Fraction(1)) as ledger:
        for secret in (-1, 6):
            with pytest.raises(DataError):
                dx.release(table, secret, ledger=ledger)
        assert ledger.spent() == 0


def test_another_policys_ledger_is_refused():
    with (
        Ledger.open(":memory:", policy_fingerprint="b", policy_name="line", budget=Fraction(1)) as ledger,
        pytest.raises(LedgerError, match="another policy"),
    ):
        dx.release(mechanism(), 0, ledger=ledger)


def test_a_seed_that_is_none_costs_nothing():
    with Ledger.open(":memory:", policy_fingerprint="a", policy_name="line", budget=Fraction(1)) as ledger:
        with pytest.raises(TypeError):
            dx.release(mechanism(), 0, ledger=ledger, insecure_test_seed="five")
        assert ledger.spent() == 0


def test_a_table_is_read_for_sequences_and_for_what_follows_them():
    policy = parse_policy("policy: p\nuniverse: {attributes: {x: [a, b]}}\nrules: [{change: x, epsilon: 1}]")
    metric = policy.compile()
    candidates = LinearQueries.from_matrix(list("ab"), np.eye(2, dtype=int), universe=metric.universe)
    twice = in_sequence([selection(metric, candidates)] * 2)
    named = followed_by(twice, lambda places: {"first": "ab"[places[0]], "both": list(places)}, "names")
    table = pandas.DataFrame({"x": ["a"] * 1000})
    release = dx.release(named, table, ledger=":memory:", spend=1, insecure_test_seed=1)
    assert json.loads(release.to_json())["answer"] == {"first": "a", "both": [0, 0]}
    assert release.records == 1000
    with pytest.raises(DataError, match="secrets are integers"):
        dx.release(mechanism(), table, ledger=":memory:")
    for about_tables in ({"outside": "drop"}, {"count_column": "x"}):
        with pytest.raises(UnsupportedCombination, match="reads no histogram"):
            dx.release(mechanism(), 2, ledger=":memory:", **about_tables)


def test_means_are_for_the_records_they_were_divided_by_whatever_releases_them():
    metric = verify(LineMetric((Fraction(0), Fraction(1)), Fraction(1)), title="l", fingerprint="l", budget=Fraction(1))
    means = replace(LinearQueries.from_matrix(list("m"), [[0, Fraction(1, 10)]]), records=10)
    for made in (plan(metric, means, mechanism="laplace").mechanism, selection(metric, means)):
        dx.release(made, [5, 5], ledger=":memory:", spend=1)
        with pytest.raises(DataError, match="written for 10 records"):
            dx.release(made, [5, 6], ledger=":memory:", spend=1)


ABSENT = {
    "policy": "members",
    "universe": {"attributes": {"team": ["a", "b", "c"]}},
    "rules": [{"change": "team", "epsilon": 1}, {"presence": True, "epsilon": 1}],
}


def test_a_number_of_records_that_only_the_queries_know_to_be_private_is_not_told():
    universe = dx.Policy.from_dict(ABSENT).universe
    plan = dx.plan(dx.verify_metric(np.ones((4, 4)) - np.eye(4)), dx.LinearQueries.marginals(universe, ways=1))
    release = dx.release(plan.mechanism, np.array([3, 4, 5]), ledger=":memory:", spend=1)
    assert (release.records, release.dropped) == (None, None)
    with pytest.raises(DataError, match="absent"):
        dx.release(plan.mechanism, np.array([3, 4, 5, 1]), ledger=":memory:", spend=1)


def test_more_records_than_64_bits_count_are_refused_before_anything_is_charged():
    """Sums over classes would start again from below, and tell neighbours apart by twice what 64 bits hold."""
    policy = dx.Policy.from_dict(
        {
            "policy": "two",
            "universe": {"attributes": {"team": ["a", "b", "c"], "side": ["x", "y"]}},
            "rules": [{"change": "team", "epsilon": 1}, {"change": "side", "epsilon": 1}],
        }
    )
    plan = dx.plan(policy.compile(), dx.LinearQueries.marginals(policy.universe, [["side"]]))
    counts = np.array([2**62, 0, 2**61, 0, 2**61, 0])
    with pytest.raises(DataError, match="at most"):
        dx.release(plan.mechanism, counts, ledger=":memory:", spend=1)
    counts[0] -= 1
    release = dx.release(plan.mechanism, counts, ledger=":memory:", spend=1, insecure_test_seed=1)
    assert abs(release.answer[0] - (2**63 - 1)) < 1000


def counts_of(spend=1, **changes):
    """A release of two counts, with some arguments wrong."""
    plan = dx.plan(dx.verify_metric([[0, 1], [1, 0]]), dx.LinearQueries.from_matrix(list("ab"), [[1, 0], [0, 1]]))
    arguments = {"mechanism": plan.mechanism, "data": [3, 4], "spend": spend, **changes}
    return dx.release(arguments.pop("mechanism"), arguments.pop("data"), **arguments)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"spend": 2}, "budget"),
        ({"spend": 0}, "positive number"),
        ({"spend": None}, "say how much"),
        ({"purpose": "\ud800"}, "UTF-8"),
        ({"purpose": 7}, "say in words what the answers are for"),
        ({"plan_fingerprint": 7}, "fingerprint is text"),
        ({"data": [3, 4, 5]}, "counts"),
        ({"data": [[3], [4, 5]]}, "different lengths"),
        ({"data": None}, "found None"),
        ({"data": {"a": 3}}, "found a dictionary that is none: give a list"),
        ({"data": "people.csv"}, "universe"),
        ({"outside": "ignore"}, "'refuse' or 'drop'"),
        ({"count_column": "n"}, "has no columns"),
        ({"insecure_test_seed": "five"}, "int"),
        ({"mechanism": "laplace"}, "plan.mechanism"),
    ],
)
def test_no_refusal_begins_a_ledger(tmp_path, changes, words):
    place = tmp_path / "privacy.db"
    with pytest.raises((DxgeomError, TypeError), match=words):
        counts_of(ledger=place, **changes)
    assert not list(tmp_path.iterdir())
    assert counts_of(ledger=place).remaining == 0
    with pytest.raises(BudgetExceeded):
        counts_of(ledger=place, spend="1e-9")


@pytest.mark.parametrize("ledger", [None, 3, b"privacy.db"])
def test_a_ledger_is_a_file_or_an_open_ledger(ledger):
    with pytest.raises(WrongArgument, match=r"'ledger' is of type str or Path or Ledger; found .*: name a file"):
        counts_of(ledger=ledger)


def test_a_release_of_a_plan_is_a_release_whose_answer_knows_its_errors():
    metric, queries = dx.verify_metric([[0, 1], [1, 0]]), dx.LinearQueries.from_matrix(list("ab"), [[1, 0], [0, 1]])
    plan = dx.plan(metric, queries)
    planned = plan.release([3, 4], ledger=":memory:", spend=1, insecure_test_seed=1)
    bare = dx.release(plan.mechanism, [3, 4], ledger=":memory:", spend=1, insecure_test_seed=1)
    assert isinstance(planned, dx.Release)
    assert isinstance(bare, dx.Release)
    assert planned.answer.exact_values == planned.exact_values == bare.answer
    assert (planned.records, planned.dropped) == (bare.records, bare.dropped) == (7, 0)
    assert (planned.plan_fingerprint, bare.plan_fingerprint) == (plan.fingerprint, plan.mechanism.fingerprint)
    assert np.array_equal(planned.rmse, planned.answer.rmse)
    written = json.loads(planned.to_json(0.9))
    assert list(written) == [
        "format",
        "answers",
        "level",
        "warnings",
        "spent",
        "remaining",
        "records",
        "public",
        "dropped_rows",
        "assumed",
        "mechanism",
        "time",
        "secure_randomness",
        "policy",
        "queries_fingerprint",
        "plan_fingerprint",
    ]
    assert written["level"] == 0.9
