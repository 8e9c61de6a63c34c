from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import QueryError
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.queries.queries_file import parse_queries
from dxgeom.universe.weight_table import WeightTable

WARDS = """policy: wards
universe:
  attributes:
    ward: [A, B, C]
    sex: {values: [F, M], missing: {epsilon: 1}}
    salary: {range: [0, 4], step: 1, whole: true}
    age: {bins: [0, 18, 65, 100]}
rules:
  - {change: [ward, sex, salary, age], epsilon: 1}
"""
LISTED = """policy: posts
universe:
  table: posts.csv
  attributes:
    grade: {range: [1, 3], step: 1, whole: true}
rules:
  - {change: [post, grade, shift], epsilon: 1}
"""
POSTS = "post,grade,shift\nclerk,1,day\nclerk,2,day\nmanager,3,day\nclerk,1,night\nmanager,2,day\n"
MOBILE = """policy: moves
universe:
  attributes:
    home: {points: cities.csv, key: name, x: x, y: y, unit: km}
    work: {points: cities.csv, key: name, x: x, y: y, unit: km}
rules:
  - {change: [home, work], epsilon: 1, per: 1 km}
"""


@pytest.fixture(scope="module")
def wards() -> Policy:
    return parse_policy(WARDS)


@pytest.fixture
def posts(tmp_path) -> Policy:
    (tmp_path / "posts.csv").write_text(POSTS)
    return parse_policy(LISTED, folder=tmp_path)


def answers(policy: Policy, text: str, counts) -> dict[str, Fraction]:
    queries = parse_queries(f"queries:\n  - {text}\n", policy)
    return dict(zip(queries.names, queries.answers(np.asarray(counts, dtype=np.int64)), strict=True))


def records(policy: Policy, counts):
    for index, count in enumerate(counts):
        yield policy.universe.record(index), count


CONDITIONS = {
    "true": lambda r: True,
    "age >= 18 and ward != 'B'": lambda r: r["age"] != "[0, 18)" and r["ward"] != "B",
    "sex == 'F'": lambda r: r["sex"] == "F",
    "salary >= 2 or ward == 'A'": lambda r: int(r["salary"]) >= 2 or r["ward"] == "A",
}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["ward", "sex", "salary", "age"]), min_size=1, max_size=3, unique=True),
    st.sampled_from(sorted(CONDITIONS)),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_answers_by_group_are_what_a_loop_over_the_records_finds(by, condition, summed, seed):
    policy = parse_policy(WARDS)
    counts = np.random.default_rng(seed).integers(0, 9, policy.universe.size)
    value, where = ("sum: salary", f'where: "{condition}"') if summed else (f'count: "{condition}"', "name: asked")
    found = answers(policy, f"{{{value}, {where}, by: [{', '.join(by)}]}}", counts)
    base = f"sum of salary where {condition}" if summed else "asked"
    expected: dict[str, int] = {}
    for record, count in records(policy, counts):
        if CONDITIONS[condition](record):
            name = f"{base}, {', '.join(f'{column}={record[column]}' for column in by)}"
            expected[name] = expected.get(name, 0) + int(count) * (int(record["salary"]) if summed else 1)
    assert found == expected
    assert list(found) == [name for name in in_order(policy, base, by) if name in expected]


def in_order(policy, base, by):
    labels = [policy.universe.attributes[policy.universe.names.index(column)].labels for column in by]
    for values in itertools.product(*labels):
        yield f"{base}, {', '.join(f'{c}={v}' for c, v in zip(by, values, strict=True))}"


def test_a_count_of_all_by_group_has_a_plain_name_and_is_a_marginal(wards):
    queries = parse_queries("queries:\n  - {count: true, by: [sex, ward]}\n", wards)
    marginal = parse_queries("queries:\n  - marginal: [sex, ward]\n", wards)
    assert queries.names == tuple(f"count, {name}" for name in marginal.names)
    assert np.array_equal(queries.numerators, marginal.numerators)
    assert queries.origins[3].query == "count"
    assert queries.origins[3].group == (("sex", "M"), ("ward", "A"))
    assert marginal.origins[3].query == "marginal of sex, ward"
    assert marginal.origins[3].group == queries.origins[3].group


def test_groups_that_no_record_type_is_in_are_left_out(posts):
    counts = [5, 7, 11, 13, 17]
    found = answers(posts, "{name: grades, sum: grade, by: [post, shift]}", counts)
    assert found == {
        "grades, post=clerk, shift=day": 19,
        "grades, post=clerk, shift=night": 13,
        "grades, post=manager, shift=day": 67,
    }
    assert answers(posts, "{count: grade < 2, by: post}", counts) == {"grade < 2, post=clerk": 18}


def test_one_column_needs_no_list_and_units_importance_and_errors_are_everybodys(wards):
    text = "queries:\n  - {name: pay, sum: salary, by: ward, unit: euros, importance: 2, error: 50}\n  - count: true\n"
    queries = parse_queries(text, wards)
    assert queries.names == ("pay, ward=A", "pay, ward=B", "pay, ward=C", "true")
    assert queries.measures == ("euros",) * 3 + ("records",)
    assert queries.importance == (2, 2, 2, 1)
    assert queries.errors == (50, 50, 50, None)
    without = parse_queries("queries:\n  - {sum: salary, by: [ward]}\n", wards)
    assert without.names[0] == "sum of salary, ward=A"
    assert without.measures == ("salary",) * 3


def test_columns_of_the_same_name_are_told_apart(tmp_path):
    (tmp_path / "cities.csv").write_text("name,x,y,land\na,0,0,DE\nb,1,0,CH\n")
    policy = parse_policy(MOBILE, folder=tmp_path)
    found = answers(policy, "{count: true, by: [home.land, work.land]}", [1, 2, 3, 4])
    assert found["count, home.land=DE, work.land=CH"] == 2
    assert found["count, home.land=CH, work.land=DE"] == 3


def wide(attributes: int, largest: int) -> Policy:
    names = [f"a{k}" for k in range(attributes)]
    ranges = "".join(f"    {name}: {{range: [0, {largest}], step: 1}}\n" for name in names)
    rule = f"  - {{change: [{', '.join(names)}], epsilon: 1}}\n"
    return parse_policy(f"policy: p\nuniverse:\n  attributes:\n{ranges}rules:\n{rule}")


def test_groups_keep_to_the_attributes_they_are_about():
    many = "".join(f"    a{k}: {{range: [0, 99], step: 1}}\n" for k in range(4))
    policy = parse_policy(
        f"policy: p\nuniverse:\n  attributes:\n{many}rules:\n  - {{change: [a0, a1, a2, a3], epsilon: 1}}\n"
    )
    queries = parse_queries("queries:\n  - {sum: a1, by: a2}\n", policy)
    (table,) = queries.tables.tables
    assert isinstance(table, WeightTable)
    assert table.axes == (1, 2)
    assert table.weights.shape == (100, 100, 100)
    assert queries.size == 10**8


ROUNDED = """policy: rounded
universe:
  attributes:
    ward: [A, B]
    sex: [F, M]
    age: {bins: [0, 10, 50, 100]}
rules:
  - {presence: true, epsilon: 1}
  - {change: [ward, sex, age], epsilon: 1}
"""


def test_rounding_is_told_for_each_group_and_by_the_answer_that_counts_it():
    policy = parse_policy(ROUNDED)
    queries = parse_queries(
        "queries:\n  - {sum: age, by: [ward, sex]}\n  - {count: true, by: [sex, ward]}\n"
        "  - {sum: age, by: age, where: ward == 'A'}\n  - {count: ward == 'A', by: age}\n  - count: true\n"
        "  - {name: B, sum: age, where: ward == 'B', by: sex}\n",
        policy,
    )
    told = dict(zip(queries.names, queries.rounding, strict=True))
    for ward, sex in itertools.product("AB", "FM"):
        rounding = told[f"sum of age, ward={ward}, sex={sex}"]
        assert rounding.per_record == 25
        assert queries.names[rounding.counted_by] == f"count, sex={sex}, ward={ward}"
    for age, most in (("[0, 10)", 5), ("[10, 50)", 20), ("[50, 100]", 25)):
        rounding = told[f"sum of age where ward == 'A', age={age}"]
        assert rounding.per_record == most
        assert queries.names[rounding.counted_by] == f"ward == 'A', age={age}"
    assert queries.names[told["B, sex=F"].counted_by] == "count, sex=F, ward=B"


def ratios(policy: Policy, text: str, counts) -> dict[str, Fraction]:
    queries = parse_queries(text, policy)
    totals = queries.answers(np.asarray(counts, dtype=np.int64))
    return {one.name: totals[one.numerator] / totals[one.denominator] for one in queries.ratios}


def test_a_mean_and_a_share_by_group_are_ratios_of_each_group(wards):
    counts = np.random.default_rng(3).integers(1, 9, wards.universe.size).reshape(wards.universe.shape)
    queries = ("{name: pay, mean: salary, by: [ward, sex]}", "{share: salary >= 2, where: age < 65, by: ward}")
    found = ratios(wards, "queries:\n" + "".join(f"  - {one}\n" for one in queries), counts.ravel())
    assert len(found) == 3 * 3 + 3
    for (w, ward), (s, sex) in itertools.product(enumerate("ABC"), enumerate(("F", "M", "missing"))):
        own = counts[w, s].sum(axis=1)
        assert found[f"pay, ward={ward}, sex={sex}"] == Fraction(int(own @ np.arange(5)), int(own.sum()))
    for place, ward in enumerate("ABC"):
        young = counts[place, :, :, :2].sum(axis=(0, 2))
        share = Fraction(int(young[2:].sum()), int(young.sum()))
        assert found[f"share of salary >= 2 where age < 65, ward={ward}"] == share


def test_a_mean_by_group_is_made_of_the_sums_and_counts_that_are_asked_for_anyway(wards):
    three = "  - {mean: salary, by: ward}\n  - {sum: salary, by: ward}\n  - {count: true, by: ward}\n"
    queries = parse_queries(f"queries:\n{three}", wards)
    assert queries.count == 6
    assert [(one.numerator, one.denominator) for one in queries.ratios] == [(0, 3), (1, 4), (2, 5)]
    assert [one.origin.query for one in queries.ratios] == ["mean salary"] * 3
    assert [one.origin.group for one in queries.ratios] == [(("ward", ward),) for ward in "ABC"]
    assert [one.within for one in queries.ratios] == [(0, 4)] * 3


def test_a_mean_of_what_may_be_missing_by_group_is_over_the_records_that_have_it():
    ages = "age: {range: [0, 4], step: 1, whole: true, missing: {epsilon: 1}}"
    head = f"policy: p\nuniverse:\n  attributes:\n    ward: [A, B]\n    {ages}\n"
    policy = parse_policy(f"{head}rules:\n  - {{change: [ward, age], epsilon: 1}}\n")
    counts = [1, 2, 3, 4, 5, 100, 5, 4, 3, 2, 1, 200]
    found = ratios(policy, "queries:\n  - {mean: age, by: ward}\n", counts)
    assert found == {"mean age, ward=A": Fraction(40, 15), "mean age, ward=B": Fraction(20, 15)}
    queries = parse_queries("queries:\n  - {sum: age, by: age}\n", policy)
    assert queries.names[-1] == "sum of age, age=4"
    with pytest.raises(QueryError, match="DX202: no group has a record that this is about"):
        parse_queries("queries:\n  - {sum: age, where: age is missing, by: ward}\n", policy)


WRONG = [
    ("{count: true, by: wrad}", "3:23: DX201: there is no column 'wrad'"),
    ("{count: true, by: [ward, wrad]}", "3:30: DX201: there is no column 'wrad'"),
    ("{count: true, by: []}", "3:23: DX108: 'by' names one or more columns"),
    ("{count: true, by: }", "3:19: DX107: 'by' has no value"),
    ("{count: true, by: {ward: A}}", "3:23: DX108: a column's name is expected here"),
    ("{count: true, by: [[ward]]}", "3:24: DX108: a column's name is expected here"),
    ("{sum: salary, by: [ward, sex, ward]}", "3:35: DX201: 'by' names the same column twice"),
    ("{mean: salary, by: wrad}", "3:24: DX201: there is no column 'wrad'"),
    ("{mean: salary, by: ward, error: 5}", "3:30: DX200: 'error' is asked of answers that noise is chosen for"),
    (
        "{marginal: ward, by: sex}",
        "3:22: DX200: 'by' goes with count, sum, mean, variance, share, every, total, window, against, median and "
        "quantiles, not with marginal",
    ),
    (
        "{prefixes: age, by: sex}",
        "3:21: DX200: 'by' goes with count, sum, mean, variance, share, every, total, window, against, median and "
        "quantiles, not with prefixes",
    ),
    ("{count: sex is missing, by: ward, importance: 0}", "3:51: DX209: an importance is a positive number"),
]


@pytest.mark.parametrize(("query", "message"), WRONG, ids=[wrong[0] for wrong in WRONG])
def test_wrong_groups_are_errors_at_their_place(wards, query, message):
    with pytest.raises(QueryError) as caught:
        parse_queries(f"records: 5\nqueries:\n  - {query}\n", wards)
    assert message in str(caught.value)
    assert len(caught.value.diagnostics) == 1


def test_two_columns_of_one_attribute_are_no_groups(tmp_path):
    (tmp_path / "cities.csv").write_text("name,x,y,land\na,0,0,DE\nb,1,0,CH\n")
    policy = parse_policy(MOBILE, folder=tmp_path)
    with pytest.raises(QueryError, match=r"DX201: 'land' is of the same attribute as 'work'"):
        parse_queries("queries:\n  - {count: true, by: [work, work.land]}\n", policy)


def test_too_many_groups_are_refused_before_they_are_made():
    wide = "".join(f"    a{k}: {{range: [0, 399], step: 1}}\n" for k in range(3))
    policy = parse_policy(
        f"policy: p\nuniverse:\n  attributes:\n{wide}rules:\n  - {{change: [a0, a1, a2], epsilon: 1}}\n"
    )
    for query, groups in (("count: true, by: [a0, a1, a2]", "64,000,000"), ("sum: a1, by: a2", "400")):
        with pytest.raises(QueryError, match=f"DX207: {groups} groups make [0-9,]+ weights; at most") as caught:
            parse_queries(f"queries:\n  - {{{query}}}\n", policy)
        assert "group by fewer columns, or by coarser ones" in str(caught.value)


ABOUT = [
    "marginal: [sex, ward]",
    "marginal: [salary, age], where: \"sex == 'M' and ward != 'B'\"",
    "name: both, marginal: [sex, ward], where: salary > 1",
    "marginals: [[sex], [ward, age]]",
    "name: 'several, of all', marginals: [[sex], [ward, age]]",
    "prefixes: salary, where: sex == 'M'",
    "name: below, prefixes: salary, at: [1, 3]",
    "ranges: age",
    "ranges: salary, at: [2]",
    "count: salary > 2, by: [ward, age]",
    "name: 'pay: all', sum: salary, where: sex == 'M', by: ward",
    "mean: salary, by: sex",
    "name: pay, mean: salary, where: ward == 'A', by: [sex, age]",
    "share: salary > 2, by: ward",
]


@pytest.mark.parametrize("text", ABOUT)
def test_an_answers_name_says_what_it_is_about_and_nothing_else(text, wards):
    queries = parse_queries(f"queries:\n  - {{{text}}}\n  - {{count: true}}\n", wards, 10)
    named = list(zip(queries.names, queries.each_origin, strict=True))
    named += [(ratio.name, ratio.origin) for ratio in queries.ratios]
    for name, origin in named:
        assert origin.explains(name)
        for _, other in named:
            if origin.group and other.group != origin.group:
                assert not other.explains(name)
        assert not replace(origin, query=f"{origin.query}x").explains(name)
        assert not replace(origin, query="sum of income").explains(name)
        for place, (column, value) in enumerate(origin.group):
            for changed in ((column, value[:-1]), (column, f"{value}0"), (f"x{column}", value), ("", value)):
                group = (*origin.group[:place], changed, *origin.group[place + 1 :])
                assert not replace(origin, group=group).explains(name)
