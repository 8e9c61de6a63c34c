"""Rules about several attributes at once: groups, partitions, largest changes."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from reference.random_policies import all_distances, compiled, joint, same

from dxgeom.errors import PolicyError
from dxgeom.metrics.combinations import CapMetric, GroupedMetric, MaxMetric, ReorderedMetric, SumMetric
from dxgeom.metrics.differences import generating_differences
from dxgeom.metrics.families import DiscreteMetric, PartitionMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.policy.policy import Policy, parse_policy

WORDS = "sex: [F, M], ill: [HIV, flu, cold], town: [a, b, c, d]"
SERIES = "t1: {range: [0, 4], step: 1}, t2: {range: [10, 12], step: 0.5}, t3: {range: [0, 3], step: 1}"
TWO = "{change: [t1, t3], together: true, measure: max, epsilon: 0.5, per: 1}"
CITIES = "id,x,y,state\n" + "".join(f"c{k},{k * k},0,s{k % 3}\n" for k in range(9))


def policy_of(attributes, *rules, folder=None, tail="unconnected: allow"):
    lines = "".join(f"- {rule}\n" for rule in rules)
    text = f"policy: p\nuniverse: {{attributes: {{{attributes}}}}}\nrules:\n{lines}{tail}\n"
    return parse_policy(text, folder=folder)


def table(policy):
    every = np.arange(policy.universe.size)
    return policy.compile().distance(every[:, None], every[None, :])


def codes(policy):
    return np.array(list(itertools.product(*(range(size) for size in policy.universe.shape))))


def test_a_partition_of_the_records_is_epsilon_inside_a_block_and_infinite_across():
    """Blowfish partition."""
    policy = policy_of(WORDS, "{secrets: {partition: town}, epsilon: 1}")
    town = codes(policy)[:, 2]
    expected = np.where(town[:, None] == town[None, :], 1.0, np.inf)
    np.fill_diagonal(expected, 0.0)
    assert np.array_equal(table(policy), expected)
    assert isinstance(policy.metric, GroupedMetric)


def test_a_partition_by_several_attributes_keeps_every_combination_apart():
    found = table(policy_of(WORDS, "{secrets: {partition: [town, sex]}, epsilon: 1}"))
    assert sorted(set(found.ravel())) == [0.0, 1.0, np.inf]
    assert np.isfinite(found).sum() == 8 * 9


def test_a_partition_of_places_joins_those_of_one_state(tmp_path):
    (tmp_path / "cities.csv").write_text(CITIES)
    cities = "city: {points: cities.csv, key: id, x: x, y: y, unit: km}"
    rule = "{change: city, secrets: {partition: state}, epsilon: 1}"
    policy = policy_of(cities, rule, folder=tmp_path)
    assert isinstance(policy.metric, PartitionMetric)
    state = np.arange(9) % 3
    assert np.array_equal(np.isfinite(table(policy)), state[:, None] == state[None, :])
    (apart,) = policy.unprotected
    assert [size for size, _ in apart.components] == [3, 3, 3]
    joined = table(policy_of(cities, rule, "{change: city, epsilon: 0.5, within: 1 km}", folder=tmp_path))
    assert joined[0, [1, 4]] == pytest.approx([0.5, 1.5], rel=1e-12)
    coarser = policy_of(cities, rule, "{change: city, epsilon: 1}", folder=tmp_path)
    assert isinstance(coarser.metric, DiscreteMetric)


def test_a_time_series_is_as_far_apart_as_its_largest_change():
    policy = policy_of(
        SERIES, "{change: [t1, t2, t3], together: true, measure: max, epsilon: 0.5, per: 1 step}", tail=""
    )
    found = codes(policy)
    expected = 0.5 * np.abs(found[:, None] - found[None, :]).max(axis=2)
    assert isinstance(policy.metric, MaxMetric)
    assert policy.metric.step == Fraction(1, 2)
    assert np.allclose(table(policy), expected, rtol=1e-12, atol=0)
    uneven = policy_of(SERIES, "{change: [t1, t2, t3], together: true, measure: max, epsilon: 0.5, per: 1}", tail="")
    apart = np.abs(found[:, None] - found[None, :]) * np.array([1, 0.5, 1])
    assert uneven.metric.step is None
    assert np.allclose(table(uneven), 0.5 * apart.max(axis=2), rtol=1e-12, atol=0)


def test_a_group_bounds_all_that_changes_in_it_and_adds_to_the_rest():
    policy = policy_of(
        WORDS, "{change: [sex, ill, town], epsilon: 1}", "{change: [sex, town], together: true, epsilon: 1.5}", tail=""
    )
    sex, ill, town = np.moveaxis(codes(policy)[:, None] != codes(policy)[None, :], 2, 0)
    assert np.allclose(table(policy), ill + np.minimum(sex * 1.0 + town, 1.5))


def test_groups_that_cross_may_both_be_used():
    policy = policy_of(
        WORDS, "{change: [sex, ill], together: true, epsilon: 1}", "{change: [ill, town], together: true, epsilon: 2}"
    )
    assert policy.unprotected == ()
    assert policy.compile().distance(0, policy.universe.size - 1) == 3


def test_what_is_said_of_all_attributes_together_is_said_of_everything():
    every = policy_of(WORDS, "{change: [town, sex, ill], together: true, epsilon: 1}")
    plain = policy_of(WORDS, "{between: everything, epsilon: 1}")
    assert every.fingerprint == plain.fingerprint
    assert isinstance(every.metric, DiscreteMetric)
    of_two = policy_of("a: [u, v, w], b: [x, y]", "{secrets: {partition: b}, epsilon: 1}")
    assert of_two.fingerprint == policy_of("a: [u, v, w], b: [x, y]", "{change: a, epsilon: 1}").fingerprint


def test_the_order_of_attributes_in_a_rule_does_not_change_the_fingerprint_but_what_it_says_does():
    one, other, third = (
        policy_of(WORDS, f"{{change: [{names}], together: true, epsilon: 1}}").fingerprint
        for names in ("sex, ill", "ill, sex", "ill, town")
    )
    assert one == other != third
    rules = ("{change: [t1, t3], together: true, epsilon: 1}", TWO, TWO.replace("0.5", "0.6"))
    assert len({policy_of(SERIES, rule).fingerprint for rule in rules}) == 3


@pytest.mark.parametrize(
    ("rules", "families"),
    [
        (["{change: [t1, t2], together: true, epsilon: 1}"], [GroupedMetric, GraphMetric, GraphMetric, GraphMetric]),
        ([TWO], [ReorderedMetric, SumMetric, MaxMetric, GraphMetric]),
        ([TWO, "{change: [t3, t1], together: true, epsilon: 1}"], [ReorderedMetric, SumMetric, CapMetric, GraphMetric]),
        ([TWO, "{change: t1, epsilon: 0.1, per: 1}"], [ReorderedMetric, SumMetric, GraphMetric, GraphMetric]),
        ([TWO, "{change: t1, epsilon: 9, per: 1}"], [ReorderedMetric, SumMetric, MaxMetric, GraphMetric]),
        ([TWO, "{change: [t1, t2], together: true, epsilon: 1}"], [GraphMetric]),
        ([TWO, "{between: everything, epsilon: 1}"], [CapMetric, ReorderedMetric, SumMetric, MaxMetric, GraphMetric]),
    ],
)
def test_the_form_is_the_most_structured_that_is_exact(rules, families):
    def walked(metric):
        found = [type(metric)]
        inner = getattr(metric, "inner", None)
        below = [inner] if isinstance(metric, ReorderedMetric) or (families[0] is CapMetric and inner) else []
        parts = metric.parts if isinstance(metric, SumMetric | GroupedMetric) else ()
        return found + [name for one in (*below, *parts) for name in walked(one)]

    assert walked(policy_of(SERIES, *rules).metric) == families


def test_what_is_too_large_is_refused_and_names_its_attributes():
    large = "t1: {range: [0, 99], step: 1}, t2: {range: [0, 99], step: 1}, w: [a, b]"
    series = "{change: [t1, t2], together: true, measure: max, epsilon: 1, per: 1}"
    assert policy_of(large, series).metric.size == 20_000
    for rule in ("{change: t1, epsilon: 0.5}", "{change: [t2, w], together: true, epsilon: 1}"):
        with pytest.raises(PolicyError, match=r"'t1', 't2'.* are tied by rules of different kinds.*at most 3,000"):
            policy_of(large, series, rule)


def test_more_groups_than_can_be_tried_are_refused_unless_others_undercut_them():
    attributes = ", ".join(f"a{k}: [x, y]" for k in range(14))
    groups = [f"{{change: [a{k}, a{k + 1}], together: true, epsilon: 1}}" for k in range(13)]
    with pytest.raises(PolicyError, match=r"DX138: 13 constants .* at most 12"):
        policy_of(attributes, *groups)
    undercut = "{change: [a0, a1, a2, a3], together: true, epsilon: 1}"
    assert len(policy_of(attributes, *groups, undercut).metric.groups) == 11


@pytest.mark.parametrize(
    ("rules", "redundant"),
    [
        (["{change: [sex, ill], together: true, epsilon: 1}", "{between: everything, epsilon: 1}"], [True, False]),
        (["{change: [sex, ill], together: true, epsilon: 2}", "{change: [sex, ill], epsilon: 0.9}"], [True, False]),
        (["{change: [sex, ill], together: true, epsilon: 2}", "{change: [sex, ill], epsilon: 1}"], [False, False]),
        (
            ["{change: [sex, ill], together: true, epsilon: 2}", "{secrets: {partition: town}, epsilon: 1.5}"],
            [True, False],
        ),
        (["{change: [sex, ill], together: true, epsilon: 1}", "{change: ill, epsilon: 2}"], [False, True]),
    ],
)
def test_rules_about_several_attributes_that_never_bind_are_found(rules, redundant):
    assert [rule.redundant for rule in policy_of(WORDS, *rules).review().rules] == redundant
    needed = [rule for rule, spare in zip(rules, redundant, strict=True) if not spare]
    assert np.array_equal(table(policy_of(WORDS, *rules)), table(policy_of(WORDS, *needed)))


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(joint())
def test_the_metric_is_the_same_without_a_rule_that_never_binds(random_policy):
    attributes, rules = random_policy
    rules = [rule for rule in rules if not rule.column and not rule.edges]
    whole = compiled(attributes, rules, None)
    reviewed = whole.review().rules  # what attributes state about missing values comes before the rules
    for number, rule in enumerate(reviewed[len(reviewed) - len(rules) :]):
        if rule.redundant or rule.idle:
            rest = compiled(attributes, rules[:number] + rules[number + 1 :], None)
            assert same(all_distances(rest), all_distances(whole))


def test_a_largest_change_that_another_undercuts_never_binds():
    wider = "{change: [t1, t2, t3], together: true, measure: max, epsilon: 0.5, per: 1}"
    assert [rule.redundant for rule in policy_of(SERIES, TWO, wider).review().rules] == [True, False]


def test_a_rule_about_attributes_of_one_value_selects_no_pair():
    review = policy_of("a: [x], b: [y], c: [u, v]", "{change: [a, b], together: true, epsilon: 1}").review()
    assert review.rules[0].idle


def test_sentences_say_what_is_together(tmp_path):
    (tmp_path / "cities.csv").write_text(CITIES)
    cities = "city: {points: cities.csv, key: id, x: x, y: y, unit: km}, "
    found = policy_of(
        cities + SERIES,
        "{change: [city, t1, t2], together: true, epsilon: 1}",
        TWO,
        "{secrets: {partition: [t1, t2]}, epsilon: 1}",
        "{change: city, secrets: {partition: state}, epsilon: 1}",
        folder=tmp_path,
    ).review()
    assert [(rule.words, rule.sentence.split(", are told")[0]) for rule in found.rules] == [
        ("change city, t1, t2 together: epsilon 1", "two records that differ only in city, t1 and t2, together"),
        (
            "change t1, t3 together: epsilon 0.5 per 1 of the largest change",
            "two records that differ only in t1 and t3, together, in none of them by more than 1",
        ),
        ("agree in t1, t2: epsilon 1", "two records that agree in t1 and t2, whatever else differs"),
        ("change city inside each state: epsilon 1", "two records that differ only in city, inside one state"),
    ]
    assert found.rules[1].sentence.endswith("at most 1.65 to 1; by twice that, at most 2.72 to 1")


def test_forms_say_what_ties_attributes():
    *_, records = policy_of(SERIES, TWO, "{change: [t2, t3, t1], together: true, epsilon: 9}").forms()
    assert (records.form, records.rules) == ("sum, capped", (4, 5))
    assert "t1 and t3 are tied to each other: the largest change counts" in records.why
    *_, records = policy_of(SERIES, TWO, "{change: [t2, t3], together: true, epsilon: 9}").forms()
    assert records.why == "t1, t2 and t3 are tied to each other: shortest paths over all their combinations"
    *_, records = policy_of(WORDS, *(f"{{change: [sex, ill], together: true, epsilon: {e}}}" for e in (1, 2))).forms()
    assert (records.form, records.rules, records.idle) == ("grouped", (4,), (5,))


def test_python_policies_may_say_together_too():
    data = {
        "policy": "p",
        "universe": {"attributes": {"a": ["u", "v"], "b": ["x", "y"], "c": {"range": [0, 4], "step": 1}}},
        "rules": [
            {"change": ["a", "b"], "together": True, "epsilon": 1},
            {"secrets": {"partition": "a"}, "epsilon": 2},
        ],
    }
    policy = Policy.from_dict(data)
    assert parse_policy(policy.to_yaml()).fingerprint == policy.fingerprint
    assert [rule.joint.names for rule in policy.rules] == [("a", "b"), ("b", "c")]


def test_a_million_records_need_one_pass_per_attribute_and_group():
    policy = policy_of(
        "a: {range: [0, 99], step: 1}, b: [x, y, z, u, v], c: {range: [0, 99], step: 1}, d: {range: [0, 19], step: 1}",
        "{change: [a, d], together: true, measure: max, epsilon: 1, per: 10}",
        "{change: [b, c], together: true, epsilon: 2}",
        "{change: c, epsilon: 1, per: 50}",
        "{change: b, epsilon: 1.5}",
        tail="",
    )
    metric = policy.compile().metric
    assert metric.size == 1_000_000
    grid = np.indices(policy.universe.shape)
    values = (grid[0] // 3 + 7 * grid[1] + (grid[2] > 50) * 40 + grid[3]).ravel()
    assert lipschitz(metric, values) == pytest.approx(max(2 / 0.1, 28 / 1.5, 40 / 0.02, 68 / 2), rel=1e-12)
    rows, bounds = generating_differences(
        metric, np.stack([grid[0] < 50, grid[2] < 30]).reshape(2, -1).astype(np.int64)
    )
    found = {tuple(row): bound for row, bound in zip(rows.tolist(), bounds.tolist(), strict=True)}
    assert found == {(1, 0): pytest.approx(0.1), (0, 1): pytest.approx(0.02)}
