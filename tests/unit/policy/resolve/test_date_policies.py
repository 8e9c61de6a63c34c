from __future__ import annotations

from dxgeom.policy.policy import parse_policy

DATES = """
policy: admissions
universe:
  attributes:
    admitted: {dates: [2024-01-01, 2024-12-30], step: STEP}
rules:
  - change: admitted
    epsilon: 0.5
    LENGTH
"""


def policy(length: str, step: int = 7):
    return parse_policy(DATES.replace("LENGTH", length).replace("STEP", str(step)))


def test_days_grow_along_the_line():
    found = policy("per: 7 days")
    metric = found.compile()
    assert found.review().attributes[0].form == "line"
    assert abs(float(metric.distance(0, 10)) - 5) < 1e-12
    assert found.fingerprint == policy("per: 1 step").fingerprint


def test_a_rule_about_days_is_said_in_days():
    assert "by 7 days, are told apart" in policy("per: 7 days").review().rules[0].sentence
    assert "by at most 1 day, are" in policy("within: 1 day", step=1).review().rules[0].sentence
    assert policy("within: 30 days").rules[0].words == "change admitted: epsilon 0.5 within 30 days"


def test_near_days_are_bound_over_the_border_included():
    metric = policy("within: 14 days").compile()
    assert [round(float(metric.distance(0, k)), 9) for k in (1, 2, 3, 4, 5)] == [0.5, 0.5, 1, 1, 1.5]


def test_the_step_and_the_last_day_are_part_of_the_meaning():
    one, other = (
        policy("per: 7 days"),
        parse_policy(DATES.replace("LENGTH", "per: 7 days").replace("STEP", "7").replace("12-30", "12-31")),
    )
    assert one.universe.size == other.universe.size
    assert one.fingerprint != other.fingerprint
