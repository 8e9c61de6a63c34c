"""Time in a policy: its periods, how days find theirs, what is refused, and what is said of weeks and of a life."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import dxgeom as dx
from dxgeom.audit.claims import claims_of
from dxgeom.audit.policy_audit import audit_policy
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import PolicyError
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.periods import BEFORE, PeriodAttribute, Periods

DAY = {"column": "loaded", "from": "2027-01-01", "to": "2027-01-14", "every": "day"}
MOVED = {"change": "loaded", "per": "7 days", "epsilon": 1}

TWO_YEARS = {
    every: Periods(date(2027, 1, 1), date(2028, 12, 28) if every == "week" else date(2028, 12, 31), every)
    for every in ("day", "week", "month", "quarter", "year")
}


def policy(time=DAY, rules=(MOVED,), **more):
    return Policy.from_dict(
        {
            "policy": "visits",
            "privacy": "concentrated",
            "universe": {"attributes": {"ward": ["a", "b"]}},
            "time": time,
            "rules": [{"presence": True, "epsilon": 1}, {"change": "ward", "epsilon": 0.5}, *rules],
            **more,
        }
    )


def test_the_periods_of_a_policy_are_known_by_name_and_edge():
    time = policy().time
    assert time.attribute == "loaded"
    assert time.ids == tuple(f"2027-01-{day:02}" for day in range(1, 15))
    assert time.edges[0] == date(2027, 1, 1)
    assert time.edges[-1] == date(2027, 1, 15)
    assert len(time.edges) == len(time.ids) + 1
    assert (time.before, time.after) == (BEFORE, "2027-01-15")
    assert time.period_of("2027-01-03") == "2027-01-03"
    assert time.period_of(date(2027, 1, 15)) is None
    assert time.period_of("2026-12-31") is None
    assert time.period_of("yesterday") is None
    assert policy(rules=()).universe.names == ("ward", "loaded")


def test_a_policy_without_time_has_none():
    made = {"policy": "p", "universe": {"attributes": {"a": ["b", "c"]}}, "rules": [{"change": "a", "epsilon": 1}]}
    assert Policy.from_dict(made).time is None


def test_a_moment_of_another_zone_finds_the_day_that_calendars_show():
    time = policy({**DAY, "zone": "Europe/Berlin"}).time
    late = datetime(2027, 1, 1, 23, 30, tzinfo=UTC)
    assert time.period_of(late) == "2027-01-02"
    assert time.period_of(late.astimezone(ZoneInfo("America/New_York"))) == "2027-01-02"
    assert policy().time.period_of(late) is None  # no calendar is named


@pytest.mark.parametrize("every", [*TWO_YEARS])
@settings(max_examples=20, deadline=None)
@given(days=st.lists(st.dates(date(2026, 1, 1), date(2029, 12, 31)), min_size=1, max_size=8))
def test_a_day_is_in_the_one_period_that_holds_it(every, days):
    periods = TWO_YEARS[every]
    assert periods.whole
    edges, last = [*periods.starts, periods.end], periods.last
    attribute = PeriodAttribute("t", periods)
    codes = attribute.encode(days)
    for day, code in zip(days, codes, strict=True):
        inside = [k for k in range(len(edges) - 1) if edges[k] <= day < edges[k + 1]]
        assert len(inside) == (date(2027, 1, 1) <= day <= last)
        assert periods.period_of(day) == (edges[inside[0]].isoformat() if inside else None)
        assert code == (1 + inside[0] if inside else 0 if day < edges[0] else attribute.size - 1)
    alone = PeriodAttribute("t", periods, before=False, after=False)
    assert [OUTSIDE if not 1 <= code <= len(periods.ids) else code - 1 for code in codes] == alone.encode(days).tolist()


@pytest.mark.parametrize("every", [*TWO_YEARS])
def test_what_a_period_is_called_is_a_day_of_it(every):
    attribute = PeriodAttribute("t", TWO_YEARS[every])
    assert attribute.encode(attribute.labels).tolist() == list(range(attribute.size))


@pytest.mark.long
def test_rows_are_counted_in_the_period_of_their_day():
    made = policy({**DAY, "every": "week"}, rules=())
    days = ["2026-12-31", "2027-01-01", "2027-01-07", "2027-01-08", "2027-01-14", "2027-01-15", "2031-05-05"]
    rows = {"ward": ["a"] * 7, "loaded": [date.fromisoformat(day) for day in days]}
    counts = np.asarray(histogram_of_table(pa.table(rows), made.universe).counts)[:8]
    assert counts.reshape(2, 4).tolist() == [[1, 2, 2, 2], [0, 0, 0, 0]]


def test_the_text_of_a_policy_with_time_means_the_same():
    made = policy({**DAY, "zone": "Europe/Berlin", "title": "Day", "before": False})
    again = parse_policy(made.to_yaml())
    assert again.fingerprint == made.fingerprint
    assert again.time == made.time
    assert made.universe.attribute("loaded").labels[0] == "2027-01-01"
    assert made.labels.attribute("loaded") == "Day"
    assert made.labels.value("loaded", "2027-01-15") == "after 2027-01-14"


def test_what_lies_outside_the_window_changes_the_fingerprint():
    prints = {policy({**DAY, **more}).fingerprint for more in ({}, {"before": False}, {"after": False})}
    prints |= {policy({**DAY, "to": "2027-01-13"}).fingerprint, policy({**DAY, "zone": "UTC"}).fingerprint}
    assert len(prints) == 5


@pytest.mark.parametrize(("privacy", "border"), [("concentrated", Fraction(7071, 10000)), ("pure", Fraction(1, 2))])
def test_two_years_together_tell_of_a_row_that_leaves_one_no_more_than_a_step(privacy, border):
    made = policy(privacy=privacy)
    inside = made.metric.distance(1, 2)
    over = made.metric.distance(14, 15)
    assert over == pytest.approx(float(border) * inside, rel=1e-12)
    both = 2 * over if privacy == "pure" else np.sqrt(2) * over
    assert both <= inside


@pytest.mark.parametrize(
    ("time", "rules", "more", "told"),
    [
        ({**DAY, "to": "2026-12-30"}, (), {}, "DX190: attribute 'loaded': time runs forwards"),
        ({**DAY, "every": "week", "to": "2027-01-13"}, (), {}, "write from: 2027-01-01, to: 2027-01-14"),
        ({**DAY, "every": "month", "from": "2027-01-02"}, (), {}, "write from: 2027-01-01, to: 2027-01-31"),
        ({**DAY, "every": "hour"}, (), {}, "DX108: 'every'"),
        ({**DAY, "column": "ward"}, (), {}, "DX190: 'ward' is an attribute already"),
        ({**DAY, "before": "yes"}, (), {}, "DX108: 'before': what lies outside the window is kept"),
        ({**DAY, "zone": "Berlin"}, (), {}, "DX163"),
        ({**DAY, "since": 1}, (), {}, "DX105: the key 'since' is not known here"),
        (DAY, ({"change": "loaded", "per": "1 km", "epsilon": 1},), {}, "holds periods of a day, found '1 km'"),
        ({**DAY, "every": "week"}, ({**MOVED, "per": "3 days"},), {}, "tells one week from the next, found '3 days'"),
        (DAY, (), {"people": {"column": "id", "count": "once"}}, "write 'in: period' beside it"),
        (DAY, (), {"people": {"column": "id", "count": "rows", "at_most": 3}}, "DX191: 'at_most' over a whole life"),
    ],
)
def test_what_does_not_go_with_time_is_refused_by_name(time, rules, more, told):
    with pytest.raises(dx.errors.PolicyError) as caught:
        policy(time, rules, **more)
    assert told in str(caught.value)


def test_time_needs_a_rule_about_presence():
    with pytest.raises(dx.errors.PolicyError, match="without a rule about presence the number of rows of a period"):
        Policy.from_dict(
            {
                "policy": "p",
                "universe": {"attributes": {"a": ["b", "c"]}},
                "time": DAY,
                "rules": [{"change": ["a", "loaded"], "epsilon": 1}],
            }
        )


def test_a_time_that_makes_no_sense_is_one_mistake():
    """Rules about its column are not complained about."""
    with pytest.raises(dx.errors.PolicyError) as caught:
        policy({**DAY, "every": "fortnight"})
    assert [one.code for one in caught.value.diagnostics] == ["DX108"]


@pytest.mark.parametrize("privacy", ["concentrated", "pure"])
def test_an_audit_by_shortest_paths_finds_the_same_distances(privacy):
    made = policy(privacy=privacy)
    found = audit_policy(json.loads(json.dumps(claims_of(made.compile(), "policy"))), made)
    assert "re-derived" in found.lines[1]


def test_check_says_a_period_a_week_and_a_life():
    review = policy(rules=()).review()
    spans = {one.periods: one.distance for one in review.time.spans}
    assert {*spans} == {1, 7, 14}
    # Presence 1; two records of a day differ by half as much.
    for periods, distance in spans.items():
        assert periods <= distance <= periods * (1 + Fraction(1, 2**30))
    said = "\n".join(review.lines())
    assert "whatever one row of one day says, and whether it is there" in said
    assert "the same of one row in each of any 7 days in a row" in said
    assert "the same of a life, one row in each of all 14 days" in said
    assert review.as_dict()["time"]["spans"][1]["periods"] == 7
    assert "two years' plans" not in said
    assert "two years' plans" in "\n".join(policy().review().lines())


NO_END = "two plans tell as much each"
SHARED = "both together tell no more than these rules say"
LEFT_OUT = "is there or not, in this window's plan and in the next"


@pytest.mark.parametrize(
    ("moved", "time", "said"),
    [
        (MOVED, {}, {SHARED}),
        ({"change": "loaded", "epsilon": 0.2}, {}, {NO_END}),
        ({"change": "loaded", "within": "2 days", "epsilon": 0.2}, {}, {NO_END}),
        ({"change": "loaded", "within": "2 days", "beyond": "linear", "epsilon": 0.2}, {}, {NO_END}),
        (
            {"change": ["ward", "loaded"], "together": True, "measure": "max", "per": "1 step", "epsilon": 1},
            {},
            {NO_END},
        ),
        (MOVED, {"before": False}, {LEFT_OUT}),
        (MOVED, {"before": False, "after": False}, {LEFT_OUT}),
    ],
)
def test_two_plans_share_no_more_of_a_move_over_an_end_than_is_said(moved, time, said):
    """Only steps of ``per`` rules are taken at less at an end: any other rule counts there in full, in both plans."""
    ranks = {"range": [0, 1], "step": 1} if "measure" in moved else ["a", "b"]
    made = policy({**DAY, **time}, (moved,), privacy="pure", universe={"attributes": {"ward": ranks}})
    lines = "\n".join(made.review().lines())
    assert {one for one in (SHARED, NO_END, LEFT_OUT) if one in lines} == said
    if said == {SHARED} or (said == {NO_END} and "measure" not in moved):
        over, inside = made.metric.distance(14, 15), made.metric.distance(1, 2)
        assert (2 * over <= inside * (1 + 1e-12)) == (said == {SHARED})


def test_nothing_is_said_to_tell_less_than_presence():
    """A rule about all pairs says nothing of absence, and an attribute without a rule leaves nothing but it."""
    made = Policy.from_dict(
        {
            "policy": "p",
            "universe": {"attributes": {"a": ["b", "c"]}},
            "time": DAY,
            "rules": [{"presence": True, "epsilon": 1}, {"between": "everything", "epsilon": 0.2}],
        }
    )
    assert float(made.metric.distance(3, made.universe.absent)) == 1
    assert made.review().time.spans[0].distance >= 1


@pytest.mark.parametrize(
    "days",
    [
        {"from": "9999-12-01", "to": "9999-12-31"},
        {"from": "2027-01-01", "to": "9999-12-31", "every": "year", "after": False},
        {"from": "0001-01-01", "to": "0001-01-14"},
    ],
)
def test_a_window_leaves_a_day_of_the_calendar_at_both_ends(days):
    with pytest.raises(dx.errors.PolicyError, match=r"DX190: .*days before and after it"):
        policy({**DAY, **days}, rules=())


def test_a_moment_that_no_calendar_has_there_has_no_period():
    time = policy({**DAY, "zone": "Pacific/Kiritimati"}).time
    assert time.period_of(datetime.max.replace(tzinfo=UTC)) is None


def test_two_records_of_one_day_may_be_farther_than_presence():
    wide = policy(rules=({"change": "loaded", "per": "1 step", "epsilon": 0.1},), privacy="pure")
    assert float(wide.review().time.spans[0].distance) == pytest.approx(1)
    far = Policy.from_dict(
        {
            "policy": "p",
            "universe": {"attributes": {"a": ["b", "c"]}},
            "time": DAY,
            "rules": [{"presence": True, "epsilon": 1}, {"change": "a", "epsilon": 1.5}],
        }
    )
    assert float(far.review().time.spans[0].distance) == pytest.approx(1.5)
    metric = far.metric
    codes = np.arange(2) * 16 + 3
    assert float(metric.distance(codes[0], codes[1])) <= float(far.review().time.spans[0].distance)


def test_conditions_on_periods_are_true_of_whole_ones_or_refused():
    made = policy({**DAY, "every": "week"}, rules=())
    for told, said in {
        "loaded < '2030-01-01'": "is no value",  # days after the window are one value
        "loaded >= '2027-01-03'": "is no value",
        "weekday(loaded) == 'Monday'": "has periods",
    }.items():
        with pytest.raises(dx.errors.QueryError, match=said):
            dx.queries_from_dict({"queries": [{"count": told}]}, made)
    asked = dx.queries_from_dict({"queries": [{"count": "loaded >= '2027-01-08' and loaded < '2027-01-15'"}]}, made)
    days = [date(2027, 1, 1) + timedelta(n) for n in range(-2, 20)]
    codes = made.universe.attribute("loaded").encode(days)
    inside = [date(2027, 1, 8) <= day < date(2027, 1, 15) for day in days]
    weights = asked.tables.matrix()[0, :4]
    assert [bool(weights[code]) for code in codes] == inside


def windows(*rules, **more):
    two = {"attributes": {"ward": ["a", "b"], "kind": ["x", "y", "z"]}}
    return policy(rules=[{"change": "kind", "epsilon": 0.5}, MOVED, *rules], universe=two, **more)


@pytest.mark.parametrize("privacy", ["concentrated", "pure"])
def test_any_bounds_every_change_of_so_many_days_in_a_row(privacy):
    """The bounded metric on streams by its definition, enumerated: the least over all covers by windows."""
    short = {**DAY, "to": "2027-01-03"}
    made = windows({"any": "2 steps", "epsilon": 1}, {"any": "life", "epsilon": "1.8"}, privacy=privacy, time=short)
    universe, absent, days = made.universe, made.universe.absent, 5  # with what is before and after
    of_day = [
        [absent, *(universe.index({"ward": w, "kind": k, "loaded": label}) for w in "ab" for k in "xyz")]
        for label in universe.attribute("loaded").labels
    ]
    metric = made.compile().metric
    far = [float(metric.distance(np.array(codes)[:, None], np.array(codes)[None]).max()) for codes in of_day]
    windows_of = [({k, k + 1}, 1.0) for k in range(days - 1)] + [({*range(days)}, 1.8)]
    for changed in itertools.chain.from_iterable(itertools.combinations(range(days), n) for n in range(1, days + 1)):
        covers = itertools.chain.from_iterable(itertools.combinations(windows_of, n) for n in range(4))
        stated = min(
            sum(cost for _, cost in cover) + len({*changed}.difference(*(own for own, _ in cover))) for cover in covers
        )
        assert sum(far[day] for day in changed) <= stated * (1 + 1e-12)
    assert max(far) == pytest.approx(1.8 / days, rel=1e-12)


def test_any_is_told_with_its_odds_everywhere():
    made = windows({"any": "3 days", "epsilon": "1.5"})
    review = made.review()
    [rule] = [one for one in review.rules if "any" in one.words]
    assert rule.words == "any 3 days: epsilon 1.5"
    assert "whatever somebody does within any 3 days in a row, one record a day at most" in rule.sentence
    spans = {one.periods: one.distance for one in review.time.spans}
    assert {*spans} == {1, 3, 7, 14}
    apart = [float(spans[days]) for days in (1, 3, 7, 14)]
    assert apart == pytest.approx([1, 1.5, 4, 7.5])  # two windows and a day, or one more window
    assert not any("never binds" in one for one in review.warnings)
    assert parse_policy(made.to_yaml()).fingerprint == made.fingerprint


def test_a_life_has_one_record_of_all_days_before_the_window_and_says_so():
    """Answers may count what was before, of which somebody may have years: more records are more than was stated."""
    made = windows({"any": "life", "epsilon": "1.8"})
    one, ends = float(made.compile().distance(0, made.universe.absent)), len(made.time.ids) + 2
    assert one * ends == pytest.approx(1.8)
    assert float(made.metric.distance(0, made.universe.absent)) == 1.0
    assert made.compile().over_periods.spans == ((ends, Fraction(9, 5)),)
    text = "\n".join(made.review().lines())
    of_all = "one record a day, one of all days before and one of all days after the window,"
    assert f"whatever somebody does in a life, {of_all} at most, is revealed" in text
    cut = windows({"any": "life", "epsilon": "1.8"}, time={**DAY, "before": False, "after": False})
    assert "in a life, one record a day at most, is revealed" in "\n".join(cut.review().lines())


@pytest.mark.long
def test_any_is_told_on_a_screen_and_in_paths():
    made = windows({"any": "3 days", "epsilon": "0.75"})
    assert "anything within any 3 days in a row" in str(made)
    path = made.explain({"ward": "a", "kind": "x"}, {"ward": "b", "kind": "y"})
    assert path.distance == Fraction(3, 4)
    assert path.hops[0].rule == "any 3 days: epsilon 0.75"


def test_a_wider_rule_that_never_binds_changes_nothing():
    alone = windows()
    wide = windows({"any": "7 days", "epsilon": 14})
    codes = np.arange(alone.metric.size)
    assert np.array_equal(alone.metric.distance(codes[:, None], codes), wide.metric.distance(codes[:, None], codes))
    assert any("any 7 days: epsilon 14) never binds" in one for one in wide.review().warnings)


def test_what_may_be_told_at_once_is_kept_for_ever():
    ages = {"at once": "0.5", "7 days": "0.7", "ever": 1}
    made = policy(rules=({"presence": True, "published": ages},))
    assert float(made.metric.distance(3, made.universe.absent)) == 0.5
    assert "presence: epsilon 0.5 at once, 0.7 within 7 days, 1 ever" in str(made.review())
    assert "what may be revealed at once is kept whatever a row's age" in "\n".join(made.review().lines())
    assert parse_policy(made.to_yaml()).fingerprint == made.fingerprint


@pytest.mark.parametrize(
    "rule",
    [
        {"presence": "maybe", "epsilon": 1},
        {"presense": True, "epsilon": 1},
        {"any": "3 dayz", "epsilon": 1},
        "presence",
    ],
)
def test_a_rule_about_presence_that_is_written_wrongly_is_not_said_to_lack(rule):
    with pytest.raises(PolicyError) as found:
        dx.Policy.from_dict(
            {
                "policy": "days",
                "universe": {"attributes": {"ward": ["north", "south"]}},
                "time": {"column": "day", "from": "2024-01-01", "to": "2024-01-28", "every": "day"},
                "rules": [rule, {"change": "ward", "epsilon": 1}],
            }
        )
    assert "DX191" not in str(found.value)


def test_a_promise_of_several_days_is_no_promise_of_a_part_of_it_each_day():
    """Noise for the former may tell more of a day, so the two keep accounts of their own; pure privacy knows no such
    noise, and its fingerprints are those of the parts."""
    parts = windows({"presence": True, "epsilon": "0.5"}, {"change": ["ward", "kind"], "epsilon": "0.5"})
    whole = windows({"any": "3 days", "epsilon": "1.5"})
    assert parts.fingerprint != whole.fingerprint
    assert parts.meaning != whole.meaning
    assert parts.compile().over_periods is None
    longer = windows({"any": "4 days", "epsilon": "1.5"})
    assert len({one.meaning for one in (whole, longer)}) == len({one.fingerprint for one in (whole, longer)}) == 2
    pure = windows({"any": "3 days", "epsilon": "1.5"}, privacy="pure")
    assert pure.compile().over_periods is None
    assert float(pure.metric.distance(0, pure.universe.absent)) == 0.5
