"""What every plan says of itself: at which spend, never a number that is not known, and the same from its file."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from golden.kinds import keeping
from golden.kinds.recipes import mixed_policy
from golden.matrix import FILES

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination


def loaded(kind):
    return dx.load_plan(keeping.plan_file(kind))


def planned(**how):
    policy = mixed_policy("pure")
    asked = dx.queries_from_dict({"records": 40, "queries": [{"marginal": "sex"}, {"count": "age < 3"}]}, policy)
    return policy, dx.plan(policy.compile(), asked, **how)


@pytest.fixture
def kept(tmp_path):
    policy, plan = planned()
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy, spend="1/4")
    return plan, dx.load_plan(tmp_path / "plan.json")


TAKING_SPENDS = (
    "rmse",
    "half_widths",
    "bars",
    "statements",
    "useless_answers",
    "rehearse",
    "at_spend",
    "spend_of_figures",
)


@pytest.mark.parametrize("member", TAKING_SPENDS)
def test_what_takes_a_spend_is_at_that_of_the_file_and_at_no_other(member, kept):
    _, again = kept
    getattr(again, member)()
    getattr(again, member)(spend="0.25")
    with pytest.raises(UnsupportedCombination, match="made for the spend 1/4, found 1"):
        getattr(again, member)(spend=1)


def test_figures_are_at_the_spend_of_the_file_or_at_one(kept):
    plan, again = kept
    assert (plan.spend, again.spend, again.plan.spend, again.rehearse().spent) == (
        None,
        Fraction(1, 4),
        None,
        Fraction(1, 4),
    )
    assert np.array_equal(again.rmse(), plan.rmse("1/4"))
    assert np.array_equal(again.half_widths(0.9), plan.half_widths(0.9, "1/4"))
    assert np.array_equal(again.bars().rmse, again.rmse())
    assert again.statements() == plan.statements("1/4") != plan.statements()
    assert np.array_equal(plan.rmse(), plan.rmse(1))
    assert again.as_dict()["queries"] == again.plan.as_dict()["queries"] == plan.as_dict()["queries"]
    assert repr(again) == repr(plan)


def test_a_release_without_any_spend_is_refused_before_anything_is_charged(tmp_path):
    _, plan = planned()
    with pytest.raises(UnsupportedCombination, match="states no spend"):
        plan.release(keeping.TABLES / "people.csv", ledger=tmp_path / "ledger.db")
    assert not (tmp_path / "ledger.db").exists()
    _, plan = planned(errors=[2, 2, 3])
    assert plan.rehearse().spent == plan.at_spend() == plan.least_spend


@pytest.mark.parametrize("kind", FILES)
def test_a_plan_from_a_file_is_one_of_the_kind_that_was_written(kind, tmp_path):
    again = loaded(kind)
    assert again.kind is again.plan.kind
    assert (again.plan.file, again.plan.policy, again.plan.digest) == (None, None, None)
    assert again.lines() == again.lines() != []
    dx.save_plan(again, tmp_path / "again.json", policy=again.policy, spend=again.spend)
    assert dx.load_plan(tmp_path / "again.json").fingerprint == again.fingerprint
    assert dx.plan_files.differences(again, dx.load_plan(tmp_path / "again.json")).lines() == [
        "the two plans are the same"
    ]


@pytest.mark.parametrize(
    "kind", ["tables, pure, plain, marginal-laplace", "boxes, pure, presence, plain", "tasks, pure, series"]
)
def test_what_is_known_beforehand_is_what_the_answers_say(kind):
    plan = loaded(kind)
    released = plan.rehearse(spend=None if plan.spend else keeping.SPEND)
    spend = released.spent
    assert np.array_equal(plan.half_widths(0.9, spend), released.half_widths(0.9))
    assert np.array_equal(plan.rmse(spend), released.rmse)


def test_tables_and_quantiles_are_told_as_what_they_are():
    (said,) = loaded("tables, pure, plain, marginal-laplace").statements()
    assert said.startswith("each cell of 4 tables by marginal-laplace is off by at most ")
    plan = loaded("quantiles, groups")
    each = zip(plan.lines(), plan.queries.names, plan.statements(), strict=True)
    assert all(line == f"'{name}': {said}" for line, name, said in each)


def test_errors_of_tasks_are_those_of_each_at_its_share():
    plan = loaded("tasks, pure, statistics").plan
    (part,), (share,) = plan.parts, plan.tasks.shares
    assert np.array_equal(plan.rmse("1/2"), part.rmse(share / 2))
    assert np.array_equal(plan.half_widths(0.8, "1/2"), part.half_widths(0.8, share / 2))
    assert plan.statements("1/2") == (part.statements(share / 2),)


@pytest.mark.parametrize("kind", ["synthesize", "fit linear", "fit logistic"])
def test_what_only_the_answers_tell_is_no_number_before(kind):
    plan = loaded(f"tasks, pure, {kind}").plan
    for one in (plan, *plan.parts):
        for member in (one.rmse, one.half_widths, lambda one=one: one.biases):
            with pytest.raises(UnsupportedCombination):
                member()


def test_a_bound_that_grows_with_the_records_needs_their_number():
    (plan,) = loaded("tasks, pure, small database").parts
    with pytest.raises(UnsupportedCombination, match="grows with the number of records"):
        plan.half_widths()
    assert set(plan.half_widths(0.9, 1, 50)) == {plan.mechanism.error_bound(50, 0.9, 1)}
    assert plan.half_widths(0.9, 1, 50)[0] != plan.half_widths(0.9, 1, 5000)[0]
