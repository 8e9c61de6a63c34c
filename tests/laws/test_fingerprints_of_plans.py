"""Plans whose answers have another law or are about something else have other fingerprints.

Every field of the queries language, every field of linear queries and every option of a plan is changed once; which
there are is derived, and what carries no meaning is named with the reason.
"""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

import dxgeom as dx
from dxgeom.geometry.round_bodies import Box
from dxgeom.numeric.qhull import HullLimits
from dxgeom.planner.wish import Search, Wish
from dxgeom.queries.queries_file import queries_from_dict
from dxgeom.queries.syntax import QUERY_KINDS, QueriesSyntax
from dxgeom.queries.tasks.grammar import task_kinds
from dxgeom.universe.numbers.ratio_query import AskedRatio, AskedVariance
from dxgeom.universe.numbers.value_rounding import ValueRounding
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.groups import AnswerOrigin

POLICY = dx.parse_policy("""
policy: p
universe: {attributes: {a: {range: [0, 2], step: 1}, n: {range: [1, 2], step: 1, whole: true}, b: [x, y]}}
rules: [{change: a, epsilon: 1, per: 1}, {change: n, epsilon: 0.5}, {change: b, epsilon: 0.7}]
""")
OVER_TIME = dx.parse_policy("""
policy: p
universe: {attributes: {b: [x, y], c: [s, t]}}
time: {column: day, from: 2027-01-01, to: 2027-03-31, every: month}
rules: [{change: [b, c], epsilon: 1}, {presence: true, epsilon: 1}]
""")
ALONG_TIME: list[tuple[str, dict[str, Any], Any]] = [
    ("EverySyntax.every", {"every": "month"}, "quarter"),
    ("EverySyntax.where", {"every": "month"}, "b == 'x'"),
    ("EverySyntax.by", {"every": "month"}, "b"),
    ("TotalSyntax.total", {"total": "so far"}, "since ever"),
    ("TotalSyntax.where", {"total": "so far"}, "b == 'x'"),
    ("TotalSyntax.by", {"total": "so far"}, "b"),
    ("WindowSyntax.window", {"window": "2 steps"}, "3 steps"),
    ("WindowSyntax.where", {"window": "2 steps"}, "b == 'x'"),
    ("WindowSyntax.by", {"window": "2 steps"}, "b"),
    ("AgainstSyntax.against", {"against": "1 step"}, "2 steps"),
    ("AgainstSyntax.where", {"against": "1 step"}, "b == 'x'"),
    ("AgainstSyntax.by", {"against": "1 step"}, "b"),
]
QUANTILES: list[tuple[str, dict[str, Any], Any]] = [
    ("MedianSyntax.median", {"median": "a", "name": "q"}, "n"),
    ("MedianSyntax.where", {"median": "a", "name": "q"}, "b == 'x'"),
    ("MedianSyntax.by", {"median": "a", "name": "q"}, "b"),
    ("QuantilesSyntax.quantiles", {"quantiles": "a", "at": ["1/4"], "name": "q"}, "n"),
    ("QuantilesSyntax.at", {"quantiles": "a", "at": ["1/4"], "name": "q"}, ["3/4"]),
    ("QuantilesSyntax.where", {"quantiles": "a", "at": ["1/4"], "name": "q"}, "b == 'x'"),
    ("QuantilesSyntax.by", {"quantiles": "a", "at": ["1/4"], "name": "q"}, "b"),
    ("NamedSyntax.name", {"median": "a"}, "other"),
]
SHOWN = {"NamedSyntax.label"}
"""What readers see an answer called, which is no part of what it means."""
FILES = {"one.csv": "w\n" + "1\n" * 12, "two.csv": "w\n" + "1\n" * 11 + "2\n"}

MEANT: list[tuple[str, dict[str, Any], Any]] = [
    ("NamedSyntax.name", {"count": "b == 'x'"}, "other"),
    ("QuerySyntax.importance", {"count": "b == 'x'"}, 2),
    ("QuerySyntax.unit", {"count": "b == 'x'"}, "beds"),
    ("QuerySyntax.error", {"count": "b == 'x'"}, 5),
    ("CountSyntax.count", {"count": "b == 'x'", "name": "q"}, "b == 'y'"),
    ("SumSyntax.sum", {"sum": "a", "name": "q"}, "n"),
    ("CountSyntax.weight", {"count": "b == 'x'", "name": "q"}, "n"),
    ("SumSyntax.within", {"sum": "a", "name": "q"}, [0, 1]),
    ("MeanSyntax.within", {"mean": "a", "name": "q"}, [0, 1]),
    ("SumSyntax.weight", {"sum": "a", "name": "q"}, "n"),
    ("MeanSyntax.weight", {"mean": "a", "name": "q"}, "n"),
    ("CountSyntax.by", {"count": "b == 'x'", "name": "q"}, "n"),
    ("SumSyntax.by", {"sum": "a", "name": "q"}, "b"),
    ("SumSyntax.where", {"sum": "a", "name": "q"}, "b == 'x'"),
    ("MeanSyntax.mean", {"mean": "a", "name": "q"}, "n"),
    ("MeanSyntax.where", {"mean": "a", "name": "q"}, "b == 'x'"),
    ("MeanSyntax.by", {"mean": "a", "name": "q"}, "b"),
    ("VarianceSyntax.variance", {"variance": "a", "name": "q"}, "n"),
    ("VarianceSyntax.where", {"variance": "a", "name": "q"}, "b == 'x'"),
    ("VarianceSyntax.by", {"variance": "a", "name": "q"}, "b"),
    ("VarianceSyntax.weight", {"variance": "a", "name": "q"}, "n"),
    ("ShareSyntax.by", {"share": "b == 'x'", "name": "q"}, "n"),
    ("ShareSyntax.share", {"share": "b == 'x'", "name": "q"}, "b == 'y'"),
    ("ShareSyntax.where", {"share": "b == 'x'", "name": "q"}, "a > 1"),
    ("MarginalSyntax.marginal", {"marginal": "b"}, "a"),
    ("MarginalSyntax.where", {"marginal": "b"}, "a > 1"),
    ("MarginalsSyntax.marginals", {"marginals": ["a", "b"]}, ["b", "a"]),
    ("MarginalsSyntax.where", {"marginals": ["a"]}, "b == 'x'"),
    ("PrefixesSyntax.prefixes", {"prefixes": "a"}, "n"),
    ("PrefixesSyntax.where", {"prefixes": "a"}, "b == 'x'"),
    ("PrefixesSyntax.at", {"prefixes": "a"}, [1]),
    ("RangesSyntax.ranges", {"ranges": "a"}, "n"),
    ("RangesSyntax.where", {"ranges": "a"}, "b == 'x'"),
    ("RangesSyntax.at", {"ranges": "a"}, [1]),
    ("MatrixSyntax.matrix", {"matrix": "one.csv"}, "two.csv"),
]


def asked(query: dict[str, Any], folder: Any, records: int = 10) -> LinearQueries:
    """The query beside one of another unit, by itself only to be weighed with."""
    data = {"records": records, "queries": [query, {"sum": "a", "name": "total"}]}
    return queries_from_dict(data, POLICY, folder=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("matrices")
    for name, content in FILES.items():
        (home / name).write_text(content)
    return home


def owner(model: type[BaseModel], field: str) -> str:
    return f"{[base for base in model.__mro__ if field in getattr(base, 'model_fields', ())][-1].__name__}.{field}"


def test_every_field_of_the_queries_language_is_changed_once():
    derived = {owner(kind.syntax, field) for kind in QUERY_KINDS for field in kind.syntax.model_fields}
    assert {named for named, *_ in (*MEANT, *QUANTILES, *ALONG_TIME)} == derived - SHOWN
    # A list of these, the number that a mean is divided by, and the body of linear queries: see the next tests.
    assert set(QueriesSyntax.model_fields) == {"records", "queries", "tasks", "body"}


TASK_BODIES = [(kind.word, set(kind.body.model_fields)) for kind in task_kinds() if kind.body is not None]
COUNT = [{"count": "b == 'x'"}]
CELLS = [{"marginal": "b"}]
TASKED: list[tuple[str, dict[str, Any], Any]] = [
    ("TaskSyntax.name", {"select": {"best": "b"}}, "other"),
    ("QueriesTaskSyntax.queries", {"queries": COUNT}, [{"count": "b == 'y'"}]),
    ("SelectTaskSyntax.select", {"select": {"best": "b"}}, {"best": "a"}),
    ("SelectBody.best", {"select": {"best": "b"}}, "a"),
    ("SelectBody.by", {"select": {"best": "b"}}, {"sum": "a"}),
    ("SelectBody.where", {"select": {"best": "b"}}, "a > 1"),
    ("SelectBody.top", {"select": {"best": "b"}}, 2),
    ("SelectBody.law", {"select": {"best": "b"}}, "exponential"),
    ("DistinctTaskSyntax.distinct", {"distinct": "b"}, {"of": "b", "where": "a > 1"}),
    ("KeysTaskSyntax.keys", {"keys": "b", "at_least": 3}, ["a", "b"]),
    ("KeysTaskSyntax.at_least", {"keys": "b", "at_least": 3}, 4),
    ("KeysTaskSyntax.spurious", {"keys": "b", "spurious": "1"}, "0.5"),
    ("KeysTaskSyntax.rollup", {"keys": ["a", "b"], "at_least": 3, "rollup": {"b": "0.1"}}, {"b": "0.2"}),
    ("SynthesizeTaskSyntax.synthesize", {"synthesize": {"workload": COUNT}}, {"workload": [{"marginal": "b"}]}),
    ("SynthesizeBody.workload", {"synthesize": {"workload": COUNT}}, [{"marginal": "b"}]),
    ("SynthesizeBody.rounds", {"synthesize": {"workload": COUNT}}, 1),
    ("SynthesizeBody.rows", {"synthesize": {"workload": COUNT}}, 5),
    ("SynthesizeBody.estimate", {"synthesize": {"workload": COUNT}}, "mbi"),
    ("SynthesizeBody.steepness", {"synthesize": {"workload": COUNT}}, "1/2"),
    ("AdaptiveTaskSyntax.adaptive", {"adaptive": {"workload": CELLS}}, {"workload": [{"marginal": "a"}]}),
    ("AdaptiveBody.workload", {"adaptive": {"workload": CELLS}}, [{"marginal": "a"}]),
    ("AdaptiveBody.bars", {"adaptive": {"workload": CELLS}}, 0),
    ("AdaptiveBody.rounds", {"adaptive": {"workload": CELLS}}, 3),
    ("AdaptiveBody.rows", {"adaptive": {"workload": CELLS}}, 5),
    ("AdaptiveBody.cells", {"adaptive": {"workload": CELLS}}, 1000),
    (
        "SmallDatabaseTaskSyntax.small_database",
        {"small_database": {"workload": COUNT, "rows": 2}},
        {"workload": COUNT, "rows": 3},
    ),
    ("SmallDatabaseBody.workload", {"small_database": {"workload": COUNT, "rows": 2}}, [{"marginal": "b"}]),
    ("SmallDatabaseBody.rows", {"small_database": {"workload": COUNT, "rows": 2}}, 3),
    ("SmallDatabaseBody.law", {"small_database": {"workload": COUNT, "rows": 2}}, "exponential"),
    ("FitTaskSyntax.fit", {"fit": {"linear": "a"}}, {"linear": "n"}),
    ("FitBody.linear", {"fit": {"linear": "a", "by": "b"}}, "n"),
    ("FitBody.logistic", {"fit": {"logistic": "b", "by": "a"}}, "n"),
    ("FitBody.by", {"fit": {"linear": "a", "by": "b"}}, "n"),
    ("FitBody.ridge", {"fit": {"linear": "a", "by": "b"}}, 2),
    ("StatisticsTaskSyntax.statistics", {"statistics": {"moments": "a"}}, {"moments": "n"}),
    ("StatisticsBody.moments", {"statistics": {"moments": "a"}}, "n"),
    ("StatisticsBody.degree", {"statistics": {"moments": "a"}}, 3),
    ("StatisticsBody.products", {"statistics": {"moments": "a"}}, [["a", "n"]]),
    ("StatisticsBody.where", {"statistics": {"moments": "a"}}, "b == 'x'"),
]
TOLD_OTHERWISE = {
    "TaskSyntax.share": "changed beside another task's, in the next test",
    "KeysTaskSyntax.delta": "of a policy with values that nobody listed, in tests/unit/mechanisms/linear",
    "SeriesTaskSyntax.series": "all attributes of the policy in their order, or it is refused",
}


def test_every_field_of_the_language_of_tasks_is_changed_once():
    models = [model for kind in task_kinds() for model in (kind.syntax, kind.body) if model is not None]
    derived = {owner(model, field) for model in models for field in model.model_fields}
    assert {named for named, *_ in TASKED} | TOLD_OTHERWISE.keys() == derived


@pytest.mark.parametrize(("named", "task", "value"), TASKED, ids=[named for named, *_ in TASKED])
def test_each_field_of_a_task_changes_the_fingerprint(named, task, value):
    field, (word, *_) = named.partition(".")[2], task
    below = isinstance(task[word], dict) and field in dict(TASK_BODIES).get(word, ())
    changed = {word: {**task[word], field: value}} if below else {**task, field: value}
    found = [queries_from_dict({"tasks": [one]}, POLICY).fingerprint for one in (task, changed)]
    assert found[0] != found[1]


def test_the_shares_and_the_order_of_tasks_change_the_fingerprint():
    two = [{"select": {"best": "b"}, "name": "p", "share": "1/2"}, {"queries": COUNT, "name": "q", "share": "1/2"}]
    other = [two[0] | {"share": "1/3"}, two[1] | {"share": "2/3"}]
    assert len({queries_from_dict({"tasks": one}, POLICY).fingerprint for one in (two, two[::-1], other)}) == 3


@pytest.mark.parametrize(("named", "query", "value"), MEANT, ids=[named for named, *_ in MEANT])
def test_each_field_of_a_query_changes_the_fingerprint(folder, named, query, value):
    field = named.partition(".")[2]
    assert asked({**query, field: value}, folder).fingerprint != asked(query, folder).fingerprint


@pytest.mark.parametrize(("named", "query", "value"), ALONG_TIME, ids=[named for named, *_ in ALONG_TIME])
def test_each_field_of_a_query_along_time_changes_the_fingerprint(named, query, value):
    changed = {**query, named.partition(".")[2]: value}
    found = [queries_from_dict({"queries": [one]}, OVER_TIME).fingerprint for one in (query, changed)]
    assert found[0] != found[1]


@pytest.mark.parametrize("query", [{"count": "b == 'x'"}, {"median": "a"}, {"sum": "a"}])
def test_what_readers_see_an_answer_called_is_no_part_of_its_fingerprint(query):
    plain, called = (queries_from_dict({"queries": [{**query, **more}]}, POLICY) for more in ({}, {"label": "Some"}))
    assert plain.fingerprint == called.fingerprint


@pytest.mark.parametrize(("named", "query", "value"), QUANTILES, ids=[named for named, *_ in QUANTILES])
def test_each_field_of_a_query_for_quantiles_changes_the_fingerprint(named, query, value):
    changed = {**query, named.partition(".")[2]: value}
    found = [queries_from_dict({"queries": [one]}, POLICY).fingerprint for one in (query, changed)]
    assert found[0] != found[1]


def test_the_number_that_means_are_divided_by_and_the_order_of_queries_change_the_fingerprint(folder):
    mean = {"mean": "a", "name": "q"}
    assert asked(mean, folder, 10).fingerprint != asked(mean, folder, 20).fingerprint
    count = {"count": True, "name": "c"}
    ordered = [
        queries_from_dict({"queries": each}, POLICY)
        for each in ([count, {"marginal": "b"}], [{"marginal": "b"}, count])
    ]
    assert ordered[0].fingerprint != ordered[1].fingerprint


QUERIES = LinearQueries.from_matrix(["p", "q"], np.arange(24).reshape(2, 12), POLICY.universe)
CHANGED: dict[str, Any] = {
    "names": ("p", "r"),
    "weights": np.arange(24).reshape(2, 12)[::-1],
    "units": (Fraction(1), Fraction(1, 2)),
    "universe": Universe(POLICY.universe.attributes[::-1]),
    "importance": (Fraction(1), Fraction(2)),
    "measures": ("beds", "records"),
    "errors": (Fraction(1), None),
    "rounding": (ValueRounding(Fraction(1)), ValueRounding()),
    "ratios": (AskedRatio("p over q", 0, 1),),
    "variances": (AskedVariance("p spread", 0, 1, 1, (Fraction(0), Fraction(2))),),
    "body": ((Fraction(2), Fraction(0)), (Fraction(0), Fraction(1))),
}


UNCHANGED = {
    "records": (10, "only compared with the data: means have it in their units, changed queries in their law"),
    "source": ("queries: …", "the text that says what the other fields hold"),
    "origins": ((AnswerOrigin("p", (("b", "x"),)), AnswerOrigin("q")), "what the names say, taken apart"),
}


def test_no_field_of_linear_queries_is_forgotten():
    assert CHANGED.keys() | UNCHANGED.keys() == {one.name for one in fields(LinearQueries)}
    for name, (value, _) in UNCHANGED.items():
        assert replace(QUERIES, **{name: value}).fingerprint == QUERIES.fingerprint


@pytest.mark.parametrize("name", CHANGED)
def test_each_field_of_linear_queries_changes_what_a_release_is_remembered_by(name):
    """The account's fingerprint counts where the records are meant, the plan's where the answers are."""
    matrix = dx.verify_metric(np.ones((12, 12)) - np.eye(12))
    found = {
        (plan.metric.fingerprint, plan.fingerprint)
        for plan in (dx.plan(matrix, each) for each in (QUERIES, replace(QUERIES, **{name: CHANGED[name]})))
    }
    assert len(found) == 2


FOUR = dx.LinearQueries.from_matrix(
    list("abcd"), [[1, 2, 3, 4, 0, 1], [0, 1, 0, 5, 2, 7], [9, 2, 0, 0, 1, 3], [1, 1, 5, 2, 6, 0]]
)
FLAT = dx.LinearQueries.prefixes(POLICY.universe, "a")
OPTIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "objective": ({}, "max"),
    "importance": ({}, [1, 2, 3]),
    "errors": ({}, [5, 6, 7]),
    "mechanism": ({"mechanism": "laplace"}, "box"),
    "records": ({"mechanism": "changed-queries", "records": 10}, 1000),
    "search": (
        {"mechanism": "body", "search": dx.Search(body=Box(np.array([1.0, 1, 1])))},
        dx.Search(body=Box(np.array([1.0, 2, 1]))),
    ),
}
NO_LAW = {
    "progress": "told of the work, and no part of it",
    "thorough": "which candidates are looked at; which one is taken, the mechanism says",
    "spend": "at which the forms of quantiles are compared; noise on linear answers is chosen for every spend",
}


def test_no_option_of_a_plan_is_forgotten():
    told = set(inspect.signature(dx.plan).parameters) - {"metric", "queries"}
    assert OPTIONS.keys() | NO_LAW.keys() == told
    assert {one.name for one in fields(Wish)} == told
    assert {one.name for one in fields(Search)} == {"published", "hull_limits", "coarse_facets", "body", "work"}


def test_the_facets_of_a_coarse_hull_change_the_fingerprint():
    coarse = dx.verify_metric(np.ones((6, 6)) - np.eye(6))
    few, more = (
        dx.plan(coarse, FOUR, mechanism="coarse-hull", search=search) for search in (Search(coarse_facets=16), None)
    )
    assert few.fingerprint != more.fingerprint


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_that_changes_the_law_changes_the_fingerprint(name):
    base, value = OPTIONS[name]
    one, other = (dx.plan(POLICY.compile(), FLAT, **options) for options in (base, {**base, name: value}))
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("search", Search(published=True)),  # More candidates to be compared with.
        ("search", Search(hull_limits=HullLimits(seconds=50))),  # When the exact hull, the same one, is given up.
        ("search", Search(work=1e6)),  # Which searches are made, where such a one is not dear.
        ("progress", len),
        ("spend", "1/2"),
    ],
)
def test_an_option_that_changes_no_law_changes_no_fingerprint(name, value):
    assert name in NO_LAW or name == "search"
    assert dx.plan(POLICY.compile(), FLAT, **{name: value}).fingerprint == dx.plan(POLICY.compile(), FLAT).fingerprint


def test_weights_are_digested_alike_on_every_machine():
    """In 64 bits, the lowest byte first, whatever the machine's own order and the arrays' own widths."""
    tables = QUERIES.tables
    (table,) = tables.tables
    foreign = replace(
        table, dense=table.weights.astype(">i8"), classes=tuple(one.astype(">i4") for one in table.classes)
    )
    assert replace(tables, tables=(foreign,)).digest == tables.digest
    assert tables.digest.startswith("815693aee60b")
