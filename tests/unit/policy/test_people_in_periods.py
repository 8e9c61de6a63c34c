"""People who count once in each period: shares by hand, what one period can change, and what is refused."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.engines.counted_tables import table_counts
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.people import person_periods
from dxgeom.metrics.components import components_of
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.universe.people.people import SHARES, People

DAYS = [f"2027-01-{day:02}" for day in range(1, 5)]
PEOPLE = {"column": "who", "count": "once", "in": "period"}


def policy(people=PEOPLE, **more):
    return Policy.from_dict(
        {
            "policy": "visits",
            "universe": {"attributes": {"ward": ["a", "b", "c"]}},
            "time": {"column": "day", "from": DAYS[0], "to": DAYS[-1], "every": "day"},
            "rules": [{"presence": True, "epsilon": 1}, {"change": "ward", "epsilon": 0.5}],
            "people": people,
            **more,
        }
    )


def by_hand(rows, made):
    """Shares of each ward and day: each person's rows of a day by themselves; a row outside takes its part with it."""
    wards, days = ("a", "b", "c"), made.universe.attribute("day")
    cells = np.zeros((3, days.size), dtype=object)
    each = Counter((who, int(days.encode([day])[0])) for who, _, day in rows)
    for who, ward, day in rows:
        code = int(days.encode([day])[0])
        if ward in wards and code >= 0:
            cells[wards.index(ward), code] += Fraction(SHARES, each[who, code])
    return cells


def random_rows(seed):
    draw = np.random.default_rng(seed)
    days, wards = [*DAYS, "2026-05-05", "2027-02-02", None], ["a", "b", "c", "z", None]
    return [
        (f"p{draw.integers(0, 4)}", wards[draw.choice(5, p=[0.3, 0.3, 0.2, 0.1, 0.1])], days[draw.integers(0, 7)])
        for _ in range(draw.integers(1, 25))
    ]


def table(rows):
    who, ward, day = (list(column) for column in zip(*rows, strict=True))
    return pa.table({"who": who, "ward": ward, "day": pa.array(day).cast(pa.date32())})


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_tables_of_people_are_what_counting_period_by_period_gives(seed):
    made = policy()
    rows = random_rows(seed)
    components = components_of(made.compile().metric)
    found = histogram_of_table(table(rows), made.universe, outside="drop", component_of=components.of)
    wanted = by_hand(rows, made)
    assert found.counts[:18].reshape(3, 6).tolist() == wanted.tolist()
    queries = dx.universe.MarginalQueries.of(made.universe, [["ward"], ["ward", "day"]])
    counted = table_counts(table(rows), queries, outside="drop", component_keys=components.keys(2))
    assert counted.cells[0].tolist() == wanted.sum(axis=1).tolist()
    assert counted.cells[1].reshape(3, 6).tolist() == wanted.tolist()


def test_a_person_in_a_period_is_told_from_all_others():
    rng = np.random.default_rng(7)
    person, period = np.sort(rng.integers(0, 5, 40)), rng.integers(-1, 4, 40)
    order, number = person_periods(person, period)
    pairs = [*zip(person[order].tolist(), period[order].tolist(), strict=True)]
    assert sorted(order.tolist()) == list(range(40))
    assert number[0] == 0
    assert set(np.diff(number).tolist()) <= {0, 1}
    for one, other in itertools.pairwise(range(40)):
        assert (number[one] == number[other]) == (pairs[one] == pairs[other])
    assert len(set(pairs)) == number[-1] + 1


def carried(before, after, metric, absent):
    """What it costs at least to carry one person's shares of a period to the other's, the rest to or from absence."""
    from scipy.optimize import linprog

    size = len(before)
    supply = np.append(before, max(0.0, after.sum() - before.sum()))
    demand = np.append(after, max(0.0, before.sum() - after.sum()))
    places = [*range(size), absent]
    cost = np.array([[float(metric.distance(i, j)) if i != j else 0.0 for j in places] for i in places])
    rows = np.kron(np.eye(size + 1), np.ones(size + 1))
    columns = np.kron(np.ones(size + 1), np.eye(size + 1))
    found = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([supply, demand]))
    return found.fun


@pytest.mark.long
def test_whatever_a_person_does_in_one_period_costs_no_more_than_check_says_and_other_periods_stay():
    """All pairs of up to two rows of the person on a day, whatever the rows of other days."""
    made = policy()
    metric, most = made.metric, float(made.review().time.spans[0].distance)
    wards, worst = ("a", "b", "c", "z"), 0.0
    choices = [rows for n in range(3) for rows in itertools.combinations_with_replacement(wards, n)]
    other = [("x", "a", DAYS[0]), ("x", "b", DAYS[2]), ("x", "b", DAYS[2])]
    for first, second in itertools.combinations(choices, 2):
        both = [by_hand([*other, *(("x", ward, DAYS[1]) for ward in rows)], made) for rows in (first, second)]
        before, after = (one.ravel().astype(float) / SHARES for one in both)
        changed = {int(day) for day in np.flatnonzero((both[0] != both[1]).any(axis=0))}
        assert changed <= {2}
        worst = max(worst, carried(before, after, metric, made.universe.absent))
        assert worst <= most * (1 + 1e-9)
    assert worst == pytest.approx(1)


def test_people_in_periods_are_said_and_kept_in_text_and_fingerprint():
    made = policy()
    assert made.universe.reading.people == People("who", "once", within="day")
    assert parse_policy(made.to_yaml()).fingerprint == made.fingerprint != policy(people="one row each").fingerprint
    said = "\n".join(made.review().lines())
    assert "counts once in each period of 'day'" in said
    assert "Over several periods distances add up" in said
    assert made.universe.reading.people.records_are == "people, in each period"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"people": {"column": "who", "count": "single", "in": "period"}}, "'in: period' is for people who count once"),
        ({"people": {"column": "who", "count": "once", "in": "day"}}, "DX108: 'in'"),
        ({"people": {"column": "who", "count": "once"}}, "write 'in: period' beside it"),
    ],
)
def test_other_ways_to_count_people_over_time_are_refused(more, told):
    with pytest.raises(dx.errors.PolicyError) as caught:
        policy(**more)
    assert told in str(caught.value)


def test_people_without_time_have_no_periods():
    with pytest.raises(dx.errors.PolicyError, match="state a 'time' and 'count: once'"):
        Policy.from_dict(
            {
                "policy": "p",
                "universe": {"attributes": {"a": ["b", "c"]}},
                "rules": [{"change": "a", "epsilon": 1}],
                "people": PEOPLE,
            }
        )
    with pytest.raises(dx.errors.UnsupportedCombination):
        People("who", "rows", 3, within="day")


def test_two_people_are_explained_one_period_at_a_time():
    made = policy()
    one = made.explain_people([{"ward": "a", "day": DAYS[0]}, {"ward": "b", "day": DAYS[0]}], [])
    assert float(one.distance) == pytest.approx(1)
    with pytest.raises(dx.errors.DataError, match="explain rows of one period"):
        made.explain_people([{"ward": "a", "day": DAYS[0]}, {"ward": "b", "day": DAYS[1]}], [])
