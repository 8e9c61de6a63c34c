from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from reference.project import POLICIES

from dxgeom.errors import PolicyError
from dxgeom.metrics.combinations import CapMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.points import PointsMetric
from dxgeom.policy.policy import Policy, load_policy, parse_policy

HEAD = "policy: p\nuniverse:\n  attributes:\n"
TOWNS = "id,lat,lon,height\nparis,48.8566,2.3522,35\nlondon,51.5074,-0.1278,11\nparis2,48.8566,2.3522,36\n"


def policy_of(attributes: str, rules: str, tail: str = "", folder: Path | None = None) -> Policy:
    return parse_policy(f"{HEAD}    {attributes}\nrules:\n{rules}\n{tail}", folder=folder)


def towns(tmp_path: Path, rules: str, tail: str = "") -> Policy:
    (tmp_path / "towns.csv").write_text(TOWNS)
    return policy_of("town: {points: towns.csv, key: id, latitude: lat, longitude: lon}", rules, tail, tmp_path)


AGE = "age: {range: [0, 100], step: 5}"
BINS = "age: {bins: [0, 10, 20, 60]}"
ILLS = "ill: [HIV, flu, cold]"


@pytest.mark.parametrize(
    ("attribute", "rules", "form"),
    [
        (ILLS, "- {change: ill, epsilon: 1}", DiscreteMetric),
        (ILLS, "- {change: ill, epsilon: 1}\n- {change: ill, epsilon: 2}", DiscreteMetric),
        (ILLS, "- {change: ill, values: {HIV: 0.1}}", ValueSensitivityMetric),
        (ILLS, "- {change: ill, values: {HIV: 0.1}}\n- {change: ill, epsilon: 2}", ValueSensitivityMetric),
        (ILLS, "- {between: everything, epsilon: 2}", DiscreteMetric),
        (AGE, "- {change: age, epsilon: 1, per: 10}", LineMetric),
        (AGE, "- {change: age, epsilon: 1, per: 10}\n- {change: age, epsilon: 1, per: 1 step}", LineMetric),
        (AGE, "- {change: age, epsilon: 1, per: 10}\n- {change: age, epsilon: 3}", CapMetric),
        (AGE, "- {change: age, epsilon: 1, within: 5}", GraphMetric),
        (AGE, "- {change: age, epsilon: 1, within: 5}\n- {change: age, epsilon: 1, per: 10}", LineMetric),
        (AGE, "- {change: age, epsilon: 1, within: 10}\n- {change: age, epsilon: 0.9, per: 5}", GraphMetric),
        (AGE, "- {change: age, epsilon: 1, within: 5, beyond: linear}", PointsMetric),
        (BINS, "- {change: age, epsilon: 1, per: 2 steps}", LineMetric),
    ],
)
def test_rules_take_the_most_structured_exact_form(attribute, rules, form):
    assert type(policy_of(attribute, rules).compile().metric) is form


def test_value_sensitivities_close_to_min_and_twice_the_smallest():
    metric = policy_of(ILLS, "- change: ill\n  values: {HIV: 0.1, flu: 1}\n  otherwise: 1").compile()
    assert metric.distance([0, 0, 1], [1, 2, 2]) == pytest.approx([0.1, 0.1, 0.2], rel=1e-15)
    two = policy_of("n: [Yes, No]", "- change: n\n  values: {Yes: 0.1}\n  otherwise: 1").compile()
    assert two.distance(0, 1) == pytest.approx(0.1, rel=1e-15)


def test_values_without_otherwise_leave_the_others_to_the_detour_through_them():
    metric = policy_of(ILLS, "- change: ill\n  values: {HIV: 0.1}").compile()
    assert metric.distance([0, 1], [1, 2]) == pytest.approx([0.1, 0.2], rel=1e-15)


def test_values_of_a_range_may_be_written_as_any_equal_decimal():
    policy = policy_of(AGE, "- change: age\n  values: {65.0: 0.1, 7e1: 0.2}\n  otherwise: 1")
    assert policy.compile().distance(13, 0) == pytest.approx(0.1)
    with pytest.raises(PolicyError, match=r"'65' and '65\.0' are the same value"):
        policy_of(AGE, "- change: age\n  values: {65.0: 0.1, 65: 0.2}\n  otherwise: 1")


def test_a_threshold_gives_epsilon_times_hops():
    metric = policy_of(AGE, "- {change: age, epsilon: 1, within: 10}").compile()
    assert metric.distance(0, [1, 2, 3, 4, 5]) == pytest.approx([1, 1, 2, 2, 3])


def test_a_smooth_threshold_is_its_own_closure():
    metric = policy_of(AGE, "- {change: age, epsilon: 1, within: 10, beyond: linear}").compile()
    assert metric.distance(0, [1, 2, 3, 4]) == pytest.approx([1, 1, 1.5, 2])


def test_the_border_of_within_is_included_exactly():
    decimals = "a: {range: [0, 1], step: 0.1}"
    assert policy_of(decimals, "- {change: a, epsilon: 1, within: 0.3}").compile().distance(0, 3) == pytest.approx(1)
    edge = policy_of(decimals, "- {change: a, epsilon: 1, within: 0.29999999999999999999}").compile()
    assert edge.distance(0, 3) == pytest.approx(2)


def test_great_circle_distances_are_kilometres_and_two_places_may_share_a_spot(tmp_path):
    policy = towns(tmp_path, "- {change: town, epsilon: 1, per: 100 km}")
    distance = policy.compile().distance([0, 0], [1, 2])
    assert distance[0] == pytest.approx(3.4356, rel=1e-3)
    assert distance[1] == 0
    assert any("At distance 0" in line and "paris2" in line for line in policy.review().lines())


def test_metres_and_kilometres_are_the_same_length(tmp_path):
    one = towns(tmp_path, "- {change: town, epsilon: 1, per: 0.5 km}")
    other = towns(tmp_path, "- {change: town, epsilon: 1, per: 500 m}")
    assert one.fingerprint == other.fingerprint


def test_plane_points_count_in_their_own_unit(tmp_path):
    (tmp_path / "grid.csv").write_text("id,x,y\na,0,0\nb,3000,4000\n")
    attribute = "cell: {points: grid.csv, key: id, x: x, y: y, unit: m}"
    metric = policy_of(attribute, "- {change: cell, epsilon: 1, per: 1 km}", folder=tmp_path).compile()
    assert metric.distance(0, 1) == pytest.approx(5)
    assert Fraction(float(metric.distance(0, 1))) <= 5


def test_between_everything_caps_the_sum_and_makes_a_rule_for_each_attribute_unnecessary():
    text = (
        HEAD
        + "    a: [u, v]\n    b: [s, t]\nrules:\n  - {change: a, epsilon: 1}\n  - {between: everything, epsilon: 1.5}\n"
    )
    metric = parse_policy(text).compile()
    assert isinstance(metric.metric, CapMetric)
    assert isinstance(metric.metric.inner, SumMetric)
    assert metric.distance(0, [1, 2, 3]) == pytest.approx([1.5, 1, 1.5])


def test_unconnected_values_are_an_error_unless_allowed_and_then_still_said():
    rules = "- {change: age, epsilon: 1, within: 2}"
    with pytest.raises(PolicyError, match="DX151"):
        policy_of(AGE, rules)
    allowed = policy_of(AGE, rules, "unconnected: allow")
    assert math.isinf(allowed.compile().distance(0, 1))
    assert any("Unprotected" in line for line in allowed.review().lines())
    assert allowed.review().as_dict()["attributes"][0]["diameter"] == "inf"


def test_no_rules_at_all_is_an_error_naming_every_attribute():
    with pytest.raises(PolicyError) as caught:
        parse_policy(HEAD + "    a: [u, v]\n    b: [s, t]\n    only: [one]\nrules: []\n")
    assert [mistake.code for mistake in caught.value.diagnostics] == ["DX150", "DX150"]


def test_a_broken_attribute_does_not_produce_follow_up_errors():
    with pytest.raises(PolicyError) as caught:
        policy_of(
            "age: {bins: [0, x, 20]}\n    ok: [u, v]",
            "- {change: age, epsilon: 1, per: 3 km}\n- {change: [age, ok], epsilon: 1}\n"
            "- {change: age, values: {3: 1}}",
        )
    assert [mistake.code for mistake in caught.value.diagnostics] == ["DX109"]


MEANING = "- {change: [n, m], epsilon: 0.10}"


def test_layout_comments_names_and_order_do_not_change_the_fingerprint():
    one = parse_policy(HEAD + "    n: [Yes, No]\n    m: [u, v]\nrules:\n  - change: [n, m]\n    epsilon: 0.1\n")
    other = parse_policy(
        "# a comment\nbudget: 1.0\npolicy: another name\nrules:\n"
        "- {epsilon: 1e-1, change: m}\n- {epsilon: 0.1, change: n}\n"
        "about: text\nuniverse: {attributes: {n: ['Yes', No], m: [u, v]}}\n"
    )
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("No", "Nope"),
        ("n: [Y", "k: [Y"),
        ("0.1", "0.2"),
        ("[u, v]", "[v, u]"),
        ("budget: 1", "budget: 2"),
        ("[n, m]", "[m]"),
    ],
)
def test_any_change_of_meaning_changes_the_fingerprint(old, new):
    text = (
        HEAD + "    n: [Yes, No]\n    m: [u, v]\nrules:\n  - change: [n, m]\n    epsilon: 0.1\n"
        "budget: 1\nunconnected: allow\n"
    )
    changed = text.replace(old, new).replace("change: [n, m]", "change: [k, m]" if old == "n: [Y" else "change: [n, m]")
    assert changed != text
    assert parse_policy(text).fingerprint != parse_policy(changed).fingerprint


def test_coordinates_are_part_of_the_meaning_and_further_columns_are_not(tmp_path):
    rules = "- {change: town, epsilon: 1, per: 1 km}"
    one = towns(tmp_path, rules).fingerprint
    attribute = "town: {points: other.csv, key: id, latitude: lat, longitude: lon}"
    (tmp_path / "other.csv").write_text(TOWNS.replace(",35\n", ",99\n"))
    assert policy_of(attribute, rules, folder=tmp_path).fingerprint == one
    (tmp_path / "other.csv").write_text(TOWNS.replace("48.8566", "48.8567"))
    assert policy_of(attribute, rules, folder=tmp_path).fingerprint != one


def test_a_compiled_policy_carries_its_name_fingerprint_and_budget():
    policy = policy_of(ILLS, "- {change: ill, epsilon: 1}", "budget: 2.5")
    verified = policy.compile()
    assert (verified.title, verified.fingerprint, verified.budget) == ("p", policy.fingerprint, Fraction(5, 2))
    assert verified.certificate.form == "discrete"


def test_further_columns_are_numbers_only_if_every_cell_is_one(tmp_path):
    (tmp_path / "towns.csv").write_text("id,x,y,code,height\na,0,0,010,1.50\nb,1,1,none,2\n")
    attribute = "t: {points: towns.csv, key: id, x: x, y: y, unit: km}"
    policy = policy_of(attribute, "- {change: t, epsilon: 1, per: 1 km}", folder=tmp_path)
    columns = {column.name: column for column in policy.universe.attributes[0].columns}
    assert columns["code"].texts == ("010", "none")
    assert columns["height"].numbers == (Fraction(3, 2), Fraction(2))


def test_a_large_policy_of_structured_rules_compiles_in_no_time():
    policy = parse_policy(
        HEAD + "    a: {range: [1, 100000], step: 1}\n    b: {range: [1, 500], step: 1}\n"
        "rules:\n  - {change: [a, b], epsilon: 1, per: 10}\n"
    )
    assert policy.universe.size == 50_000_000
    assert policy.compile().distance(0, 49_999_999) == pytest.approx(9999.9 + 49.9)
    assert policy.review().not_examined == ("a",)


@pytest.mark.parametrize("name", ["clinic", "us-cities", "adult"])
def test_the_example_policies_compile_and_review(name):
    policy = load_policy(POLICIES / name / "policy.yaml")
    assert policy.name == name
    assert policy.universe.size <= 300_000
    lines = policy.review().lines()
    assert any("one person's record is replaced by another" in line for line in lines)


def test_the_clinic_is_example_1_of_the_paper():
    metric = load_policy(POLICIES / "clinic" / "policy.yaml").compile()
    # Records are ordered MYA, MYB, MNA, …; d(1,2) = ε₁, d(1,3) = ε₀, d(1,8) = ε₀ + 2ε₁ with ε₀ = 0.1, ε₁ = 1.
    assert np.allclose(metric.distance(0, [0, 1, 2, 7]), [0, 1, 0.1, 2.1])


def test_lengths_in_steps_and_in_numbers_do_not_undercut_each_other():
    bins = "b: {bins: [0, 1, 3, 4, 9]}"
    rules = "- {change: b, epsilon: 1, within: 1 step}\n- {change: b, epsilon: 1, within: 1.5}"
    assert policy_of(bins, rules).compile().distance(0, [1, 2, 3]) == pytest.approx([1, 2, 3])
