"""Answers about one secret of a policy: what each mechanism needs, tells and charges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.errors import CertificateRefused, DataError, UnsupportedCombination
from dxgeom.lab.answers import answer, plan_answer
from dxgeom.lab.secrets import secrets_of
from dxgeom.ledger.ledger import Ledger
from dxgeom.policy.policy import Policy, load_policy


def policy_of(attributes, rules, **more):
    return Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules, **more})


NUMBERS = policy_of({"age": {"range": [0, 20], "step": 2}}, [{"change": "age", "epsilon": 1}])
TWO = policy_of(
    {"age": {"range": [0, 6], "step": 2}, "ill": ["no", "yes"]},
    [{"change": "age", "epsilon": "0.5", "per": 2}, {"change": "ill", "epsilon": 1}],
)
VACCINATIONS = load_policy(POLICIES / "vaccinations" / "policy.yaml")
MOBILITY = load_policy(POLICIES / "mobility" / "policy.yaml")
ANSWERED = [
    (NUMBERS, "staircase", 4),
    (NUMBERS, "layered", "4"),
    (NUMBERS, {"answer": "optimal", "loss": "squared", "prior": {"0": 3, "20": 1}}, 4),
    (NUMBERS, {"answer": "finite_laplace", "guess": "best"}, 4),
    (TWO, {"answer": "truncated_geometric", "of": "age"}, 6),
    (TWO, "halved_exponential", {"age": 6, "ill": "yes"}),
    (TWO, {"answer": "bracketed", "loss": "distance"}, {"age": "6", "ill": "yes"}),
    (VACCINATIONS, {"answer": "staircase", "of": "day"}, "2024-01-17"),
    (VACCINATIONS, {"answer": "truncated_geometric", "of": "day", "guess": "best"}, "2024-01-17"),
    (MOBILITY, {"answer": "planar", "of": "mast"}, "M1"),
    (MOBILITY, {"answer": "optimal", "of": "mast", "loss": "squared"}, "M1"),
]


@pytest.mark.parametrize(("policy", "task", "secret"), ANSWERED, ids=lambda one: str(one)[:40])
def test_a_task_is_planned_rehearsed_released_and_found_again(policy, task, secret, tmp_path):
    plan = plan_answer(policy, task, spend="1/2")
    assert plan.errors
    assert plan.as_dict()["errors"] == list(plan.errors)
    rehearsed = plan.rehearse()
    assert rehearsed.rehearsal
    assert rehearsed.answer.errors == plan.errors
    file = tmp_path / "ledger.db"
    released = plan.release(secret, ledger=file, id="one")
    assert (released.spent, released.remaining) == (Fraction(1, 2), policy.budget - Fraction(1, 2))
    assert released.as_dict()["answer"] == released.answer.as_dict()
    assert released.answer.in_words
    again = answer(policy, task, secret, ledger=file, spend="0.5", id="one")
    assert again.repeated
    assert again.answer == released.answer
    assert again.remaining == released.remaining


def test_an_answer_about_an_attribute_and_one_about_records_share_an_account(tmp_path):
    file = tmp_path / "ledger.db"
    answer(TWO, {"answer": "staircase", "of": "age"}, 2, ledger=file, spend="1/2")
    assert answer(TWO, "optimal", {"age": 2, "ill": "no"}, ledger=file, spend="1/2").remaining == 0
    with pytest.raises(dx.BudgetExceeded):
        answer(TWO, "optimal", {"age": 2, "ill": "no"}, ledger=file, spend="1/2")


def test_the_metric_of_an_attribute_never_exceeds_that_of_records():
    for policy in (TWO, VACCINATIONS, MOBILITY):
        whole = policy.compile()
        codes = policy.universe.listed_codes
        for place, name in enumerate(policy.universe.names):
            part = secrets_of(policy, name).metric
            i, j = np.meshgrid(*[np.arange(0, whole.size, max(1, whole.size // 60))] * 2)
            apart = part.distance(codes[place][i], codes[place][j])
            assert np.all(apart <= whole.distance(i, j) * (1 + 1e-12))


@pytest.mark.parametrize(
    ("task", "secret", "said"),
    [
        ("planar", 4, "no coordinates"),
        ({"answer": "staircase", "loss": "squared"}, 4, "'loss' says nothing to staircase"),
        ({"answer": "staircase", "width": 2}, 4, "its own best width"),
        ({"answer": "finite_laplace", "stretch": 2}, 4, "'stretch'"),
        ({"answer": "optimal", "of": "weight"}, 4, "no attribute"),
        ({"answer": "optimal", "prior": "people"}, 4, "no column of numbers"),
        ({"answer": "layered", "width": 1}, 4, "whole number of steps"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_charged(task, secret, said, tmp_path):
    with pytest.raises(UnsupportedCombination, match=said):
        answer(NUMBERS, task, secret, ledger=tmp_path / "ledger.db", spend=1)
    assert not (tmp_path / "ledger.db").exists()


def test_values_in_no_line_have_no_truncated_geometric_mechanism():
    with pytest.raises(CertificateRefused, match="truncated_geometric does not fit"):
        plan_answer(NUMBERS, "truncated_geometric", spend=1)


@pytest.mark.parametrize("secret", ["old", 21, -1, {"ill": "no"}, {"age": 4, "ill": "no"}, 1.5j])
def test_what_is_no_secret_costs_nothing(secret, tmp_path):
    with pytest.raises(DataError):
        answer(NUMBERS, "staircase", secret, ledger=tmp_path / "ledger.db", spend=1)
    assert not (tmp_path / "ledger.db").exists()


def test_words_have_no_numbers():
    words = policy_of({"ill": ["no", "yes"]}, [{"change": "ill", "epsilon": 1}])
    with pytest.raises(UnsupportedCombination, match="numbers and days"):
        plan_answer(words, "staircase", spend=1)
    with pytest.raises(UnsupportedCombination, match="these are words"):
        plan_answer(words, {"answer": "optimal", "loss": "squared"}, spend=1)


def test_people_with_many_rows_have_no_single_secret():
    many = policy_of(
        {"ill": ["no", "yes"]}, [{"change": "ill", "epsilon": 1}], people={"column": "who", "count": "once"}
    )
    with pytest.raises(UnsupportedCombination, match="people here may have many"):
        answer(many, "optimal", "no", ledger=":memory:", spend=1)


def test_an_open_ledger_counts_answers_and_counts_alike():
    account = TWO.compile()
    with Ledger.open(
        ":memory:", policy_fingerprint=account.fingerprint, policy_name=account.title, budget=account.budget
    ) as ledger:
        answer(TWO, "optimal", {"age": 2, "ill": "no"}, ledger=ledger, spend="1/4", purpose="why not")
        queries = dx.queries_from_dict({"queries": [{"count": "age >= 2"}]}, TWO)
        dx.plan(account, queries).release(np.ones(8, dtype=np.int64), ledger=ledger, spend="1/4")
        assert ledger.spent() == Fraction(1, 2)
        assert next(entry.purpose for entry in ledger.entries()) == "why not"
