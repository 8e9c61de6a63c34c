"""Counts along a policy's time: each period, running totals, sliding windows, against sums by hand."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.policy.policy import Policy

FIRST = date(2027, 1, 1)


def policy(every="day", to="2027-03-31", wards=2, **more):
    return Policy.from_dict(
        {
            "policy": "visits",
            "universe": {"attributes": {"ward": [f"w{k}" for k in range(wards)], **more}},
            "time": {"column": "day", "from": "2027-01-01", "to": to, "every": every},
            "rules": [{"presence": True, "epsilon": 1}, {"change": ["ward", *more], "epsilon": 1}],
        }
    )


def asked(made, *queries):
    return dx.queries_from_dict({"queries": [*queries]}, made)


def answers(made, *queries, seed=0):
    """The exact answers on made-up counts (ward, code), by name."""
    counts = np.random.default_rng(seed).integers(0, 9, made.universe.shape)
    found = asked(made, *queries)
    return dict(zip(found.names, found.tables.matrix()[:, : counts.size] @ counts.ravel(), strict=True)), counts


def day(number):
    return (FIRST + timedelta(number)).isoformat()


def test_a_count_for_each_period_leaves_out_what_lies_before_and_after():
    found, counts = answers(policy(), {"every": "day"})
    assert found == {f"day={day(k)}": counts[:, 1 + k].sum() for k in range(90)}


def test_longer_periods_are_made_of_short_ones():
    found, counts = answers(policy(), {"every": "month"})
    ends = {"2027-01-01": (0, 31), "2027-02-01": (31, 59), "2027-03-01": (59, 90)}
    assert found == {
        f"day from {start} to {day(end - 1)}": counts[:, 1 + low : 1 + end].sum() for start, (low, end) in ends.items()
    }


def test_running_totals_count_from_the_first_period_or_since_ever():
    so_far, counts = answers(policy(), {"total": "so far"})
    ever, _ = answers(policy(), {"total": "since ever"})
    for k in range(90):
        assert so_far[f"day so far to {day(k)}"] == counts[:, 1 : 2 + k].sum()
        assert ever[f"day up to {day(k)}"] == counts[:, : 2 + k].sum()
    assert len(so_far) == len(ever) == 90


def test_windows_slide_where_all_their_periods_are_there():
    found, counts = answers(policy(), {"window": "7 days"})
    assert found == {f"7 days of day to {day(k + 6)}": counts[:, 1 + k : 8 + k].sum() for k in range(84)}


def test_a_period_is_held_against_the_one_so_long_before():
    found, counts = answers(policy(), {"against": "28 days"})
    days = counts.sum(axis=0)
    assert found == {f"day {day(k + 28)} against {day(k)}": days[29 + k] - days[1 + k] for k in range(62)}
    assert [*found] == [*answers(policy(), {"against": "28 steps"})[0]]


def test_very_many_differences_are_refused_in_words():
    made = policy(to="2028-12-31", wards=40)
    with pytest.raises(dx.errors.QueryError, match="ask fewer queries at once"):
        asked(made, {"against": "365 days", "by": "ward"})


def test_questions_along_time_stand_beside_each_other_under_names_of_their_own():
    each = [{"every": "day"}, {"every": "month"}, {"total": "so far"}, {"total": "since ever"}, {"window": "28 days"}]
    assert len(set(asked(policy(), *each).names)) == 90 + 3 + 90 + 90 + 63


@pytest.mark.parametrize(
    "query", [{"every": "day"}, {"total": "so far"}, {"window": "3 days"}, {"every": "quarter"}, {"against": "28 days"}]
)
def test_other_columns_group_what_is_counted_along_time(query):
    made = policy()
    whole, counts = answers(made, query)
    found, _ = answers(made, {**query, "by": "ward"})
    assert len(found) == 2 * len(whole)
    for ward in range(2):
        alone = np.zeros_like(counts)
        alone[ward] = counts[ward]
        some = asked(made, query)
        each = some.tables.matrix()[:, : alone.size] @ alone.ravel()
        values = [*found.values()][ward * len(whole) : (ward + 1) * len(whole)]
        assert values == each.tolist()
    assert all(("ward=w0" in name) != ("ward=w1" in name) for name in found)


@pytest.mark.long
def test_conditions_and_names_go_along():
    made = policy()
    found, counts = answers(made, {"total": "so far", "where": "ward == 'w1'", "name": "visits", "by": "ward"})
    name = f"visits: day so far to {day(4)} where ward == 'w1', ward=w1"
    assert found[name] == counts[1, 1:6].sum()
    plan = dx.plan(made.compile(), asked(made, {"every": "quarter", "by": "ward", "name": "q"}))
    assert len(plan.queries.names) == 2


def test_very_many_counts_along_time_are_kept_as_boxes():
    made = policy(to="2028-12-31", wards=40, age={"range": [0, 1000], "step": 1}, of={"range": [0, 1000], "step": 1})
    boxes = asked(made, {"total": "since ever", "by": "ward"})
    assert type(boxes).__name__ == "BoxQueries"
    assert boxes.count == 40 * 731


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"every": "hour"}, "'every' says how long a period is"),
        ({"every": "week"}, "and these make no whole weeks"),
        ({"every": "year"}, "and these make no whole years"),
        ({"total": "sofar"}, "did you mean 'so far'"),
        ({"window": "0 days"}, "'window' says how long it is"),
        ({"window": "1.5 days"}, "'window' is of 1 to 90 whole periods"),
        ({"window": "91 days"}, "'window' is of 1 to 90 whole periods"),
        ({"against": "90 days"}, "'against' is of 1 to 89 whole periods"),
        ({"against": "a year"}, "'against' says how long it is"),
        ({"window": "1 km"}, "holds periods of a day"),
        ({"every": "day", "by": "day"}, "grouped by one column of each other attribute"),
        ({"every": "day", "by": "wrad"}, "did you mean 'ward'"),
    ],
)
def test_what_no_time_has_is_refused_by_name(query, told):
    with pytest.raises(dx.errors.QueryError) as caught:
        asked(policy(), query)
    assert told in str(caught.value)


def test_without_time_nothing_is_counted_along_it():
    made = Policy.from_dict(
        {"policy": "p", "universe": {"attributes": {"a": ["b", "c"]}}, "rules": [{"change": "a", "epsilon": 1}]}
    )
    with pytest.raises(dx.errors.QueryError, match="the policy states no time"):
        asked(made, {"total": "so far"})
