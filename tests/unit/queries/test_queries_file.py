from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from reference.project import POLICIES

from dxgeom.errors import QueryError
from dxgeom.policy.policy import Policy, load_policy, parse_policy
from dxgeom.queries.queries_file import load_queries, parse_queries, queries_from_dict
from dxgeom.queries.syntax import QUERY_KINDS
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.box_queries import BoxQueries

CLINIC = """policy: clinic
universe:
  attributes:
    sex: [M, F]
    native: [Yes, No]
    age: {bins: [0, 18, 65, 100]}
    dose: {range: [0, 1], step: 0.25}
rules:
  - {change: [sex, native, age, dose], epsilon: 1}
"""


@pytest.fixture(scope="module")
def clinic() -> Policy:
    return parse_policy(CLINIC)


def coefficients(queries) -> list[list[Fraction]]:
    return [[int(n) * unit for n in row] for row, unit in zip(queries.numerators, queries.units, strict=True)]


def by_record(policy: Policy, weight) -> list[Fraction]:
    return [Fraction(weight(policy.universe.record(index))) for index in range(policy.universe.size)]


def middle_of_step(dose):
    """Raw numbers are rounded down to steps of a quarter; the last step is one number."""
    return Fraction(dose) + (Fraction(1, 8) if dose != "1" else 0)


MIDPOINT = {"[0, 18)": Fraction(9), "[18, 65)": Fraction(83, 2), "[65, 100]": Fraction(165, 2)}


def test_a_count_weighs_the_records_that_satisfy_its_condition(clinic):
    queries = parse_queries("queries:\n  - count: native == 'Yes' and age >= 65\n", clinic)
    assert queries.names == ("native == 'Yes' and age >= 65",)
    expected = by_record(clinic, lambda r: r["native"] == "Yes" and r["age"] == "[65, 100]")
    assert coefficients(queries) == [expected]
    assert queries.universe == clinic.universe


def test_sums_and_means_are_exact(clinic):
    text = "records: 7\nqueries:\n  - sum: dose\n    where: sex == 'F'\n  - mean: age\n  - {name: all, sum: age}\n"
    queries = parse_queries(text, clinic)
    assert queries.names == ("sum of dose where sex == 'F'", "mean age", "all")
    assert queries.records == 7
    assert coefficients(queries) == [
        by_record(clinic, lambda r: middle_of_step(r["dose"]) * (r["sex"] == "F")),
        by_record(clinic, lambda r: MIDPOINT[r["age"]] / 7),
        by_record(clinic, lambda r: MIDPOINT[r["age"]]),
    ]


def test_a_marginal_is_one_count_per_combination(clinic):
    queries = parse_queries("queries:\n  - marginal: [native, sex]\n    where: age < 18\n", clinic)
    assert queries.names[0] == "native=Yes, sex=M where age < 18"
    assert len(queries.names) == 4
    young = by_record(clinic, lambda r: r["age"] == "[0, 18)")
    assert [sum(column) for column in zip(*coefficients(queries), strict=True)] == young
    assert coefficients(queries)[1] == by_record(
        clinic, lambda r: (r["native"], r["sex"], r["age"]) == ("Yes", "F", "[0, 18)")
    )


def test_a_marginal_over_a_column_of_places_groups_them(tmp_path):
    policy = load_policy(POLICIES / "us-cities" / "policy.yaml")
    queries = parse_queries("queries:\n  - marginal: state\n", policy)
    assert "state=CA" in queries.names
    assert queries.numerators.sum() == 976
    assert queries.numerators[queries.names.index("state=CA")].sum() == 205


def test_a_matrix_is_taken_exactly(tmp_path):
    policy = parse_policy("policy: p\nuniverse: {attributes: {a: [u, v]}}\nrules: [{change: a, epsilon: 1}]\n")
    (tmp_path / "m.csv").write_text("one,two\n0.1,1e3\n-0.25,0\n")
    queries = parse_queries("queries:\n  - matrix: m.csv\n", policy, folder=tmp_path)
    assert queries.names == ("one", "two")
    assert coefficients(queries) == [[Fraction(1, 10), Fraction(-1, 4)], [Fraction(1000), Fraction(0)]]


def test_the_number_of_records_may_come_from_the_caller_but_not_differ(clinic):
    assert parse_queries("queries: [{mean: age}]\n", clinic, 5).records == 5
    assert parse_queries("records: 5\nqueries: [{mean: age}]\n", clinic, 5).records == 5
    with pytest.raises(QueryError, match=r"DX205: the file says 5 records, the caller says 6"):
        parse_queries("records: 5\nqueries: [{mean: age}]\n", clinic, 6)
    for wrong in (0, -3):
        with pytest.raises(QueryError, match="DX205"):
            parse_queries("queries: [{mean: age}]\n", clinic, wrong)


WRONG = [
    ("count: sex == 'X'", "3:19: DX202: 'sex' has no value 'X'"),
    ("count: \"sex == 'X'\"", "3:20: DX202"),
    ("count: >\n      sex == 'M'\n      and nativ == 'Yes'", "5:11: DX202: there is no column 'nativ'"),
    ("count: 'sex == ''X'''", "3:20: DX202"),
    ("count: age >= 20", "3:19: DX202: 'age' >= 20 cuts through the bin [18, 65)"),
    ("count: dose >= 0.3", "3:20: DX202: 0.3 is no value of 'dose'"),
    ("count: age < 0", "3:12: DX202: no possible record satisfies this condition"),
    ("sum: sex", "3:10: DX201: 'sex' holds words"),
    ("sum: dosage", "3:10: DX201: there is no column 'dosage'"),
    ("mean: age", "3:5: DX204: a mean needs the number of records"),
    ("mean: age\n    where: sex == 'X'", "4:19: DX202: 'sex' has no value 'X'"),
    ("share: sex == 'X'", "3:19: DX202: 'sex' has no value 'X'"),
    ("marginal: [sex, age, sex]", "3:15: DX201: a marginal takes one column of each attribute"),
    ("marginal: [sex, aeg]", "3:21: DX201: there is no column 'aeg'"),
    (
        "count: true\n    where: sex == 'M'",
        "4:5: DX200: 'where' goes with sum, mean, variance, share, marginal, marginals, prefixes, ranges, every, "
        "total, window, against, median and quantiles, not with count",
    ),
    ("count: true\n    sum: age", "3:5: DX200: a query asks for one of"),
    ("cuont: true", "did you mean 'count'?"),
    ("count: true\n    nmae: x", "4:5: DX105: the key 'nmae' is not known here"),
    ("count: [true]", "3:12: DX108"),
    ("count:", "3:5: DX107: 'count' has no value"),
    ("matrix: ../m.csv", "3:13: DX114"),
    ("count: true\n  - count: 'true'", "4:5: DX203: there are two queries called 'true'"),
    ("count: true\n  - {count: sex == 'M', name: 'true'}", "4:5: DX203"),
]


@pytest.mark.parametrize(("query", "message"), WRONG, ids=[wrong[0] for wrong in WRONG])
def test_a_wrong_query_is_an_error_at_its_place(clinic, query, message):
    with pytest.raises(QueryError, match=re.escape(message)) as caught:
        parse_queries(f"# a comment\nqueries:\n  - {query}\n", clinic)
    assert len(caught.value.diagnostics) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- count: true\n", "a queries file is a mapping"),
        ("query: []\n", "did you mean 'queries'?"),
        ("queries: []\n", "at least one query"),
        ("queries: [foo]\n", "a query is a mapping"),
        ("records: 1.5\nqueries: [{count: true}]\n", "DX205"),
        ("records: many\nqueries: [{count: true}]\n", "DX205"),
        ("records: 1e60\nqueries: [{count: true}]\n", "DX205"),
        ("queries: &a [*a]\n", "DX102"),
        ("", "the file is empty"),
    ],
)
def test_a_wrong_queries_file_is_an_error(clinic, text, message):
    with pytest.raises(QueryError, match=re.escape(message)):
        parse_queries(text, clinic)


def test_all_mistakes_of_a_queries_file_come_at_once(clinic):
    with pytest.raises(QueryError) as caught:
        parse_queries("queries:\n  - count: sx == 'M'\n  - sum: native\n  - mean: age\n  - tally: age\n", clinic)
    assert [(mistake.line, mistake.code) for mistake in caught.value.diagnostics] == [
        (2, "DX202"),
        (3, "DX201"),
        (4, "DX204"),
        (5, "DX200"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("one\n1\n", "1 rows below its header; the universe has 2 possible records"),
        ("one\n1\nnan\n", "line 3: one is 'nan'"),
        ("one,one\n1,1\n2,2\n", "distinct names"),
        ("one\n1e20\n1e-20\n", "DX208"),
    ],
)
def test_a_matrix_that_does_not_fit_is_an_error(tmp_path, content, message):
    policy = parse_policy("policy: p\nuniverse: {attributes: {a: [u, v]}}\nrules: [{change: a, epsilon: 1}]\n")
    (tmp_path / "m.csv").write_text(content)
    with pytest.raises(QueryError, match=message):
        parse_queries("queries: [{matrix: m.csv}]\n", policy, folder=tmp_path)


def test_a_workload_beyond_the_limit_is_refused_before_it_is_built():
    policy = parse_policy(
        "policy: p\nuniverse: {attributes: {a: {range: [1, 20000], step: 1}}}\n"
        "rules: [{change: a, epsilon: 1, per: 9}]\n"
    )
    with pytest.raises(QueryError, match=r"DX207: 20,000 groups make 8,000,000,000,000 weights"):
        parse_queries("queries: [{sum: a, by: a}]\n", policy)
    assert isinstance(parse_queries("queries: [{marginal: a}]\n", policy), BoxQueries)


def test_numbers_too_fine_to_keep_exactly_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("id,x,y,h\na,0,0,0.00000000000000000001\nb,1,1,12345678\n")
    policy = parse_policy(
        "policy: p\nuniverse: {attributes: {t: {points: t.csv, key: id, x: x, y: y, unit: km}}}\n"
        "rules: [{change: t, epsilon: 1, per: 1 km}]\n",
        folder=tmp_path,
    )
    with pytest.raises(QueryError, match="DX208"):
        parse_queries("queries: [{sum: h}]\n", policy)


def test_a_missing_queries_file_is_a_query_error(clinic, tmp_path):
    with pytest.raises(QueryError, match="DX100"):
        load_queries(tmp_path / "nowhere.yaml", clinic)


@pytest.mark.parametrize("name", ["clinic", "us-cities", "adult"])
def test_the_example_queries_fit_their_policies(name):
    policy = load_policy(POLICIES / name / "policy.yaml")
    queries = load_queries(POLICIES / name / "queries.yaml", policy)
    assert queries.numerators.shape == (len(queries.names), policy.universe.size)
    assert np.all(np.any(queries.numerators != queries.numerators[:, :1], axis=1))


def test_the_records_of_us_cities_are_its_population():
    policy = load_policy(POLICIES / "us-cities" / "policy.yaml")
    population = {column.name: column for column in policy.universe.attributes[0].columns}["population"]
    queries = load_queries(POLICIES / "us-cities" / "queries.yaml", policy)
    assert queries.records == sum(population.numbers)


def test_marginals_are_the_tables_of_each_group(clinic):
    queries = parse_queries("queries:\n  - marginals: [[native, sex], dose]\n    where: age < 18\n", clinic)
    one = parse_queries("queries:\n  - marginal: [native, sex]\n    where: age < 18\n", clinic)
    other = parse_queries("queries:\n  - marginal: dose\n    where: age < 18\n", clinic)
    assert queries.names == one.names + other.names
    assert coefficients(queries) == coefficients(one) + coefficients(other)


@pytest.mark.parametrize(
    ("written", "groups"),
    [
        ("{ways: 2, of: [sex, age, dose]}", [["sex", "age"], ["sex", "dose"], ["age", "dose"]]),
        ("{ways: 1}", [["sex"], ["native"], ["age"], ["dose"]]),
        ("{ways: 4}", [["sex", "native", "age", "dose"]]),
    ],
)
def test_marginals_of_so_many_ways_are_all_groups(clinic, written, groups):
    queries = parse_queries(f"queries: [{{marginals: {written}}}]\n", clinic)
    expected = LinearQueries.marginals(clinic.universe, groups)
    assert queries.names == expected.names
    assert np.array_equal(queries.numerators, expected.numerators)


def test_prefixes_and_ranges_are_of_ordered_columns_and_may_have_conditions(clinic):
    queries = parse_queries(
        "queries:\n  - prefixes: dose\n  - name: girls\n    ranges: age\n    where: sex == 'F'\n", clinic
    )
    assert queries.names[:2] == ("dose up to 0", "dose up to 0.25")
    assert queries.names[5:7] == (
        "girls: age from [0, 18) to [0, 18) where sex == 'F'",
        "girls: age from [0, 18) to [18, 65) where sex == 'F'",
    )
    assert coefficients(queries)[1] == by_record(clinic, lambda r: Fraction(r["dose"]) <= Fraction(1, 4))
    assert coefficients(queries)[6] == by_record(clinic, lambda r: r["age"] != "[65, 100]" and r["sex"] == "F")


def test_prefixes_go_along_a_further_column_from_its_lowest_value(tmp_path):
    (tmp_path / "t.csv").write_text("id,x,y,height\na,0,0,30\nb,1,1,-5\nc,2,2,30\nd,3,3,4\n")
    policy = parse_policy(
        "policy: p\nuniverse: {attributes: {t: {points: t.csv, key: id, x: x, y: y, unit: km}}}\n"
        "rules: [{change: t, epsilon: 1, per: 1 km}]\n",
        folder=tmp_path,
    )
    queries = parse_queries("queries: [{prefixes: height}]\n", policy)
    assert queries.names == ("height up to -5", "height up to 4", "height up to 30")
    assert queries.numerators.tolist() == [[0, 1, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1]]


def test_importance_is_stated_by_query_and_holds_for_all_its_answers(clinic):
    text = (
        "queries:\n  - {count: native == 'Yes', importance: 2.5}\n  - {marginal: sex, importance: 1/3}\n  - sum: dose\n"
    )
    with pytest.raises(QueryError, match="DX209"):
        parse_queries(text, clinic)
    queries = parse_queries(text.replace("1/3", "3"), clinic)
    assert queries.importance == (Fraction(5, 2), 3, 3, 1)
    assert parse_queries("queries: [{count: native == 'Yes', importance: 1}]", clinic).importance is None


def test_twenty_conditions_on_ten_million_record_types_stay_small():
    attributes = "".join(f"    a{k}: [{', '.join('bcdefghijk')}]\n" for k in range(7))
    policy = parse_policy(
        f"policy: p\nuniverse:\n  attributes:\n{attributes}"
        "rules: [{change: [a0, a1, a2, a3, a4, a5, a6], epsilon: 1}]\n"
    )
    queries = parse_queries(
        "queries:\n"
        + "".join(f"  - count: a{k % 7} == 'b' and a{(k + 3) % 7} in ['c', 'd']\n    name: q{k}\n" for k in range(20)),
        policy,
    )
    assert queries.size == 10**7
    assert sum(table.weights.size for table in queries.tables.tables) == 80


def test_bounds_put_values_together(clinic):
    asked = "queries:\n  - ranges: age\n    at: [18, 65]\n  - prefixes: dose\n    at: [0.25]\n    where: sex == 'F'\n"
    queries = parse_queries(asked, clinic)
    assert queries.names == (
        "age below 18",
        "age below 65",
        "age anywhere",
        "age from 18 to below 65",
        "age from 18 up",
        "age from 65 up",
        "dose below 0.25 where sex == 'F'",
    )
    found = coefficients(queries)
    assert found[1] == by_record(clinic, lambda r: r["age"] in ("[0, 18)", "[18, 65)"))
    assert found[2] == by_record(clinic, lambda r: 1)
    assert found[4] == by_record(clinic, lambda r: r["age"] != "[0, 18)")
    assert found[6] == by_record(clinic, lambda r: Fraction(r["dose"]) < Fraction(1, 4) and r["sex"] == "F")


def test_bounds_at_every_value_ask_for_the_same_ranges_as_none():
    policy = parse_policy(
        "policy: p\nuniverse: {attributes: {day: {dates: [2024-03-01, 2024-03-04], step: 1}}}\n"
        "rules: [{change: day, epsilon: 1}]\n"
    )
    asked = "queries: [{ranges: day, at: [2024-03-02, 2024-03-03, 2024-03-04]}]\n"
    assert np.array_equal(
        parse_queries(asked, policy).numerators, parse_queries("queries: [{ranges: day}]\n", policy).numerators
    )


def test_a_dictionary_says_what_a_file_says(clinic):
    text = (
        "records: 7\nqueries:\n  - {count: \"sex == 'F' and native == 'Yes'\", importance: 2.5}\n  - mean: age\n"
        "  - {marginals: {ways: 2, of: [sex, dose]}, where: age < 18}\n  - {prefixes: dose, at: [0.25], name: low}\n"
    )
    data = {
        "queries": [
            {"importance": 2.5, "count": "sex == 'F' and native == 'Yes'"},
            {"mean": "age"},
            {"marginals": {"ways": 2, "of": ("sex", "dose")}, "where": "age < 18"},
            {"prefixes": "dose", "at": [Fraction(1, 4)], "name": "low"},
        ],
        "records": 7,
    }
    assert queries_from_dict(data, clinic).fingerprint == parse_queries(text, clinic).fingerprint
    assert queries_from_dict({"queries": [{"count": True}]}, clinic, 5).records == 5


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        (
            {"queries": [{"count": "sx == 'M'"}, {"sum": "native"}]},
            ["queries[0].count: DX202", "queries[1].sum: DX201"],
        ),
        ({"queries": [{"count": ["a"]}]}, ["queries[0].count: DX108"]),
        ({"queries": [{"ranges": "age", "at": [18, 40]}]}, ["queries[0].at[1]: DX202"]),
        ({"queries": [{"count": object()}]}, ["queries[0].count: DX108: found a Python object"]),
        ({"queries": [{"count": "true", "importance": -1}]}, ["queries[0].importance: DX209"]),
        ({"query": []}, ["query: DX105", "top level: DX107"]),
        ([], ["top level: DX108"]),
    ],
)
def test_mistakes_in_a_dictionary_are_told_by_their_path(clinic, data, messages):
    with pytest.raises(QueryError) as caught:
        queries_from_dict(data, clinic, file="mine")
    for message in messages:
        assert f"mine: {message}" in str(caught.value)
    assert len(caught.value.diagnostics) == len(messages)


def test_a_marginal_of_no_columns_is_an_error_at_its_place(clinic):
    for query in ("marginal: []", "marginals: [[]]"):
        with pytest.raises(QueryError, match=r"DX108: a marginal is of one or more columns"):
            parse_queries(f"queries:\n  - {query}\n", clinic)


def test_every_kind_of_query_says_in_its_model_what_it_takes():
    for kind in QUERY_KINDS:
        fields = kind.syntax.model_fields
        assert kind.word in fields
        linear = set() if kind.word in ("median", "quantiles") else {"importance", "unit", "error"}
        assert {"name"} | linear < set(fields)
        assert all(field.description for field in fields.values())
        assert kind.syntax.model_json_schema()["required"] == [kind.word, *(["at"] if kind.word == "quantiles" else [])]
