"""``within``: in sums and means, numbers beyond an end count as that end; and ends that are found privately."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import PlanError, QueryError
from dxgeom.ledger.history import verify_ledger

INCOMES = {"range": [0, 1000], "step": 10}
ROWS = {"income": [0, 200, 900], "ward": ["N"] * 3}


def policy_of(*, per: Any = None, income: Any = INCOMES) -> dx.Policy:
    rule: dict[str, Any] = {"change": "income", "epsilon": 1} | ({} if per is None else {"per": per})
    return dx.Policy.from_dict(
        {
            "policy": "p",
            "universe": {"attributes": {"income": income, "ward": ["N", "S"]}},
            "rules": [rule, {"change": "ward", "epsilon": 1}],
            "budget": 99,
        }
    )


def asked(policy: dx.Policy, *entries: Any, records: int | None = None) -> Any:
    return dx.queries_from_dict({"queries": list(entries)}, policy, records)


def plan_of(policy: dx.Policy, *entries: Any, records: int | None = None) -> Any:
    return dx.plan(policy.compile(), asked(policy, *entries, records=records), mechanism="laplace")


def rows_of_weights(queries: Any) -> list[list[Fraction]]:
    """Each query's exact weights, a number for each possible record."""
    matrix = queries.listed.tables.matrix()
    return [[int(each) * unit for each in row] for row, unit in zip(matrix, queries.units, strict=True)]


POLICY = policy_of(income={"range": [-20, 60], "step": 10})
MIDDLES = [*range(-15, 60, 10), 60]


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.decimals(-30, 80, places=2), min_size=2, max_size=2)
    .map(sorted)
    .filter(lambda ends: ends[1] >= -20 and ends[0] <= 60)
)
def test_numbers_beyond_an_end_count_as_that_end(ends: list[Decimal]) -> None:
    queries = asked(POLICY, {"sum": "income", "within": [*map(str, ends)], "where": "ward == 'N'"})
    by_hand = [min(max(Fraction(one), *map(Fraction, ends[:1])), Fraction(ends[1])) for one in MIDDLES]
    assert rows_of_weights(queries) == [[one * there for one in by_hand for there in (1, 0)]]


def test_names_say_it_and_ends_beyond_all_numbers_change_nothing_else() -> None:
    bare, inside, beyond = (
        asked(POLICY, {"sum": "income", **more}) for more in ({}, {"within": [5, "20"]}, {"within": [-20, 100]})
    )
    assert inside.names == ("sum of income within 5 to 20",)
    assert beyond.names == ("sum of income within -20 to 100",)
    assert rows_of_weights(bare) == rows_of_weights(beyond) != rows_of_weights(inside)
    assert bare.rounding == beyond.rounding
    groups = asked(POLICY, {"sum": "income", "within": [5, 20], "by": "ward"})
    assert groups.names == tuple(f"sum of income within 5 to 20, ward={ward}" for ward in "NS")
    assert len({one.fingerprint for one in (bare, inside, beyond)}) == 3


def test_means_are_of_clamped_numbers_within_their_ends() -> None:
    (ratio,) = asked(POLICY, {"mean": "income", "within": [5, 20], "where": "ward == 'N'"}).ratios
    assert ratio.within == (5, 20)
    assert ratio.name == "mean income within 5 to 20 where ward == 'N'"
    mean = asked(POLICY, {"mean": "income", "within": [5, 20]}, records=4)
    assert mean.names == ("mean income within 5 to 20",)
    assert rows_of_weights(mean)[0][0] == Fraction(5, 4)


@pytest.mark.parametrize(
    ("within", "per_record"),
    [([5, 20], 10), ([12, 14], 2), ([300, 400], 100), ([1000, 3000], 0), ([0, 0], 0), ([-9, 2000], 495)],
)
def test_rounding_is_that_of_clamped_numbers(within: list[int], per_record: int) -> None:
    """A number from 10 to 1,000 stands as 505 before it is clamped: within 5 and 20 as 20, which is at most 10 off."""
    queries = asked(policy_of(income={"bins": [0, 10, 1000]}), {"sum": "income", "within": within})
    assert queries.rounding[0].per_record == per_record
    clamped = [[min(max(one, within[0]), within[1]) for one in (raw, 5 if raw < 10 else 505)] for raw in range(1001)]
    assert per_record - 1 < max(abs(one - other) for one, other in clamped) <= per_record


@pytest.mark.parametrize("within", [[2000, 3000], [-9, -3]])
def test_ends_beyond_which_no_number_lies_are_a_mistake(within: list[int]) -> None:
    with pytest.raises(dx.QueryError, match=r"income' goes from 0 to 1000, and all of that would count as one number"):
        asked(policy_of(income={"bins": [0, 10, 1000]}), {"sum": "income", "within": within})


@pytest.mark.long
def test_noise_is_that_of_the_shorter_range_unless_distance_is_protected() -> None:
    """At ε = 1 for any change, Laplace noise on a sum within [a, b] has scale b − a; by distance it has the same
    whatever is cut off, which is then only a bias."""
    for ends, width in (([0, 1000], 1000), ([100, 350], 250)):
        mse = float(plan_of(policy_of(), {"sum": "income", "within": ends}).predicted_mse)
        assert mse == pytest.approx(2 * width**2, rel=0.01)
    by_distance = [
        float(plan_of(policy_of(per=100), {"sum": "income", "within": ends}).predicted_mse)
        for ends in ([0, 1000], [100, 350])
    ]
    assert by_distance[1] == pytest.approx(by_distance[0])


@pytest.mark.long
def test_plan_file_and_release_say_that_answers_are_about_clamped_numbers(tmp_path: Any) -> None:
    policy = policy_of()
    plan = plan_of(policy, {"sum": "income", "within": [100, 300]})
    said = "numbers beyond an end count as that end: answers are about clamped 'income', and bars say nothing"
    assert said in " ".join(plan.lines())
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    again = dx.load_plan(tmp_path / "plan.json")
    assert again.fingerprint == plan.fingerprint
    release = again.release(ROWS, ledger=":memory:", spend=99, insecure_test_seed=1)
    assert said in release.to_json()
    assert abs(float(release.values[0]) - (100 + 200 + 300)) < 60


def test_a_forged_file_with_other_ends_is_refused(tmp_path: Any) -> None:
    policy, path = policy_of(), tmp_path / "plan.json"
    dx.save_plan(plan_of(policy, {"sum": "income", "within": [100, 300]}), path, policy=policy)
    text = path.read_text()
    for old, new in (('["100","300"]', '["100","900"]'), (',"within":["100","300"]', ""), ('["100","300"]', '["3"]')):
        forged = text.replace(old, new)
        assert forged != text
        path.write_text(forged)
        with pytest.raises(PlanError):
            dx.load_plan(path)


@pytest.mark.parametrize("within", [[3], [3, 2], "34", 3, [1, 2, 3], ["a", 3], [[1], 2], {"from": 1}, [], [1, None]])
def test_what_is_no_pair_of_ends_is_refused(within: Any) -> None:
    with pytest.raises(QueryError, match=r"'within' is the lowest and the highest number") as refused:
        asked(POLICY, {"sum": "income", "within": within})
    assert "DX108" in str(refused.value)


def test_wrong_ends_and_those_of_other_queries_are_refused_together() -> None:
    with pytest.raises(QueryError) as refused:
        asked(POLICY, {"sum": "income", "within": [2, 1]}, {"count": "true", "within": [1, 2]})
    assert str(refused.value).count("'within'") == 2
    assert "'within' goes with sum and mean, not with count" in str(refused.value)


@pytest.mark.long
def test_ends_are_found_privately_and_charged(tmp_path: Any) -> None:
    """Two quantiles are released first, and are numbers of the policy then; the sum within them is released after it,
    and both are in the ledger."""
    policy, ledger = policy_of(), str(tmp_path / "a.db")
    draw = np.random.default_rng(4)
    incomes = (np.minimum(draw.lognormal(4.5, 0.4, 5000), 1000) // 10 * 10).astype(int)
    rows = {"income": incomes, "ward": draw.choice(["N", "S"], 5000)}
    ends = dx.quantiles.quantile_mechanism(policy.compile(), "income", [0.01, 0.99])
    low, high = dx.release(ends, rows, ledger=ledger, spend=1).answer.numbers
    assert 0 <= low < high < 400
    plan = plan_of(policy, {"sum": "income", "within": [str(low), str(high)]})
    release = plan.release(rows, ledger=ledger, spend=1)
    plain = plan_of(policy, {"sum": "income"})
    assert float(plan.predicted_mse) < float(plain.predicted_mse) / 6
    cut = np.clip(incomes + 5, float(low), float(high)).sum()
    assert abs(float(release.values[0]) - cut) < 20 * float(high - low)
    assert [entry.spend for entry in verify_ledger(ledger).entries] == [Fraction(1), Fraction(1)]
