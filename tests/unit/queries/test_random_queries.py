"""Queries drawn from all words of the language, right and wrong: mistakes are told, and nothing else goes wrong."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from reference.json_schema import is_valid

import dxgeom as dx
from dxgeom.queries.schema import queries_schema
from dxgeom.queries.syntax import KINDS, WORDS_OF_A_QUERY
from dxgeom.queries.tasks.grammar import task_kinds
from dxgeom.universe.quantile_queries import QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.tasks import Tasks

POLICY = dx.parse_policy("""
policy: p
unconnected: allow
universe:
  attributes:
    ward: [north, south, dock street]
    sex: {values: [F, M], missing: {epsilon: 1}}
    age: {range: [0, 4], step: 1, whole: true}
    pay: {bins: [0, 1, 5, 10], clamp: true, missing: {epsilon: 2}}
    day: {dates: [2026-01-01, 2026-01-15], step: 7}
rules:
  - {change: [sex, age, pay], epsilon: 1}
""")
SCHEMA = queries_schema()
COLUMNS = ("ward", "sex", "age", "pay", "day")
CONDITIONS = (
    "true",
    "age >= 2",
    "sex == 'F' and not (age < 1)",
    "sex is missing",
    "ward like '%th'",
    "ward not like 'dock_street'",
    "ward in ['north', 'south']",
    "weekday(day) == 'Thursday'",
    "month(day) in [1, 2]",
    "year(day) > 2026",
    "age + pay > 3",
    "pay < 3",
    "ward == 'west'",
    "age >=",
)
VALUES = st.one_of(
    st.sampled_from((*COLUMNS, *CONDITIONS, "1/2", "0.25", "", "nobody")),
    st.integers(-1, 5),
    st.booleans(),
    st.none(),
    st.lists(st.sampled_from((*COLUMNS, "1/4", "1", 2, 0.75)), max_size=3),
    st.fixed_dictionaries({"ways": st.integers(0, 3)}),
)
BY_KEY: dict[str, st.SearchStrategy[Any]] = {
    "where": st.sampled_from(CONDITIONS),
    "by": st.one_of(st.sampled_from(COLUMNS), st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=2)),
    "at": st.lists(st.sampled_from(("1/4", "1/2", 0, 1, 2, "2026-01-08")), min_size=1, max_size=3),
    "count": st.sampled_from(CONDITIONS),
    "share": st.sampled_from(CONDITIONS),
    "importance": st.sampled_from((1, "1/2", 2)),
    "name": st.sampled_from(("a", "b")),
    **dict.fromkeys(("sum", "mean", "median", "quantiles", "prefixes", "ranges"), st.sampled_from(COLUMNS)),
}


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """Mostly of one kind with keys that go with it; a third of the values are anything."""
    keys = [draw(st.sampled_from(KINDS)), *draw(st.lists(st.sampled_from(WORDS_OF_A_QUERY), max_size=2))]
    right = draw(st.integers(0, 2)) > 0
    return {key: draw(BY_KEY.get(key, VALUES) if right else VALUES) for key in keys}


@settings(max_examples=300, deadline=None)
@given(asked=st.lists(entries(), min_size=1, max_size=3), records=st.sampled_from((None, 12)))
def test_whatever_is_asked_is_read_or_told_to_be_wrong(asked, records):
    try:
        queries = dx.queries_from_dict({"queries": asked}, POLICY, records)
    except dx.QueryError as error:
        assert error.diagnostics
        assert all(one.code.startswith("DX") and one.message and one.path for one in error.diagnostics)
        return
    assert is_valid(json.loads(json.dumps({"queries": asked})), SCHEMA)
    assert isinstance(queries, (LinearQueries, QuantileQueries))
    assert len(set(queries.names)) == len(queries.names)
    if isinstance(queries, LinearQueries):
        assert len(queries.each_origin) == queries.count
        assert all(one.numerator < queries.count > one.denominator for one in queries.ratios)


TASK_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(("a", "b")),
    "share": st.sampled_from(("1/2", 1, "1/4", 0, "x")),
    "best": st.one_of(BY_KEY["by"], st.lists(entries(), max_size=2)),
    "by": st.one_of(st.just("count"), st.fixed_dictionaries({"sum": st.sampled_from(COLUMNS)})),
    "where": BY_KEY["where"],
    "law": st.sampled_from(("exponential", "permute-and-flip")),
    **dict.fromkeys(("queries", "workload"), st.lists(entries(), max_size=2)),
    "rounds": st.sampled_from((0, 3, "x")),
    "rows": st.sampled_from((1, "7", 0)),
    "estimate": st.sampled_from(("weights", "mbi")),
    "moments": st.one_of(st.sampled_from(("age", "pay")), st.just(["age", "pay"])),
    "degree": st.sampled_from((1, 2, 3, 9)),
    "products": st.lists(st.lists(st.sampled_from(("age", "pay")), min_size=1, max_size=3), min_size=1, max_size=2),
    "distinct": st.one_of(BY_KEY["by"], st.fixed_dictionaries({"of": BY_KEY["by"], "where": BY_KEY["where"]})),
    "keys": BY_KEY["by"],
    "spurious": st.sampled_from(("1", "0.5", 0, "x")),
    "at_least": st.sampled_from((1, "90", 0)),
    "series": st.one_of(st.just(list(COLUMNS)), st.sampled_from(COLUMNS)),
}
BESIDE = ("name", "share", "spurious", "at_least")
TASK_WORDS = [kind.word for kind in task_kinds()]
BODIES = {kind.word: list(kind.body.model_fields) for kind in task_kinds() if kind.body is not None}


@st.composite
def tasks(draw: st.DrawFn) -> dict[str, Any]:
    """Mostly of one kind, each key mostly with what belongs there."""
    words = [draw(st.sampled_from(TASK_WORDS)), *draw(st.lists(st.sampled_from(BESIDE), max_size=2))]

    def value(key: str) -> Any:
        right = draw(st.integers(0, 5)) > 0
        return draw(TASK_VALUES.get(key, VALUES) if right else VALUES)

    def below(word: str) -> Any:
        keys = BODIES.get(word)
        if keys is None or draw(st.integers(0, 9)) == 0:
            return value(word)
        return {key: value(key) for key in (keys[0], *draw(st.lists(st.sampled_from(keys), max_size=3)))}

    return {word: below(word) if word in TASK_WORDS else value(word) for word in words}


@settings(max_examples=300, deadline=None)
@given(asked=st.lists(tasks(), min_size=1, max_size=2), records=st.sampled_from((None, 12)))
def test_whatever_tasks_are_asked_are_read_or_told_to_be_wrong(asked, records):
    try:
        found = dx.queries_from_dict({"tasks": asked}, POLICY, records)
    except dx.QueryError as error:
        assert error.diagnostics
        assert all(one.code.startswith("DX") and one.message and one.path for one in error.diagnostics)
        return
    assert is_valid(json.loads(json.dumps({"tasks": asked})), SCHEMA)
    assert isinstance(found, Tasks)
    assert sum(found.shares) == 1


@settings(max_examples=60, deadline=None)
@given(asked=entries().filter(lambda one: {"median", "quantiles"} & {*one}), records=st.sampled_from((None, 12)))
def test_quantiles_that_are_read_are_planned_or_refused_by_name(asked, records):
    try:
        queries = dx.queries_from_dict({"queries": [asked]}, POLICY, records)
    except dx.QueryError:
        return
    try:
        plan = dx.plan(POLICY.compile(), queries)
    except dx.UnsupportedCombination as refused:
        assert str(refused).startswith(f"'{queries.names[0]}': ")
        return
    release = plan.rehearse(spend=1)
    assert {one.about.query for one in release.answer.released} <= {*queries.names}
