"""Queries files over universes too large for a histogram: whole tables of counts, and every mistake at its place."""

from __future__ import annotations

import itertools

import pytest

import dxgeom as dx

MarginalQueries = dx.universe.MarginalQueries
WIDE = dx.Policy.from_dict(
    {
        "policy": "wide",
        "universe": {
            "attributes": {
                **{f"a{i}": {"values": ["x", "y", "z"][: 2 + i % 2]} for i in range(40)},
                "age": {"range": [0, 99], "step": 10},
            }
        },
        "rules": [*({"change": f"a{i}", "epsilon": 1} for i in range(40)), {"change": "age", "epsilon": 1}],
    }
)


def asked(*entries, **more):
    return dx.queries_from_dict({**more, "queries": [*entries]}, WIDE)


def test_words_ask_for_the_tables_that_python_asks_for():
    found = asked({"marginals": {"ways": 2}}, {"count": True})
    groups = [list(one) for one in itertools.combinations(WIDE.universe.names, 2)]
    assert found.fingerprint == MarginalQueries.of(WIDE.universe, [*groups, []]).fingerprint
    some = asked({"marginal": ["a3", "a1"], "importance": 2}, {"marginals": [["a0"], ["age", "a2"]]}, records=30)
    wanted = MarginalQueries.of(WIDE.universe, [["a1", "a3"], ["a0"], ["a2", "age"]], importance=[2, 1, 1])
    assert (some.fingerprint, some.records) == (wanted.fingerprint, 30)
    errors = asked({"marginal": "a0", "error": "0.5"}, {"marginal": "a1"})
    assert errors.errors == (dx.universe.MarginalQueries.of(WIDE.universe, [["a0"]], errors=[1]).errors[0] / 2, None)


OTHERS = [
    {"count": "a0 == 'x' or age > 50"},
    {"sum": "age"},
    {"marginal": "a0", "where": "age < 10 or age > 50"},
    {"marginal": "a0", "name": "mine"},
    {"marginal": "a0", "unit": "people"},
]


@pytest.mark.parametrize("entry", OTHERS)
def test_what_is_no_whole_table_is_asked_of_the_tables_that_it_looks_at(entry):
    found = asked(entry, {"marginal": ["a1", "a2"]})
    assert isinstance(found, dx.LinearQueries)
    assert {len(one.axes) for one in found.tables.tables} <= {1, 2}


MISTAKES = [
    ({"median": "age"}, "DX221"),
    ({"prefixes": "a0"}, "DX201"),
    ({"sum": "a0"}, "DX201"),
    ({"marginal": ["a0", "a0"]}, "DX201"),
    ({"marginal": "nobody"}, "DX201"),
    ({"marginals": [["a0", "a1"], ["a1", "a0"]]}, "DX203"),
    ({"marginals": {"ways": 9}}, "DX207"),
    ({"marginals": {"ways": 99}}, "DX210"),
    ({"marginal": "a0", "importance": 0}, "DX209"),
    ({"marginal": "a0", "colour": "red"}, "DX105"),
]


@pytest.mark.parametrize(("entry", "code"), MISTAKES)
def test_what_is_no_whole_table_is_refused_at_its_place(entry, code):
    with pytest.raises(dx.QueryError) as caught:
        asked(entry)
    assert code in {one.code for one in caught.value.diagnostics}
    assert all(one.path.startswith("queries[0]") for one in caught.value.diagnostics)


def test_tables_of_too_many_cells_are_whole_tables_where_a_histogram_would_do():
    policy = dx.Policy.from_dict(
        {
            "policy": "long",
            "universe": {"attributes": {name: {"range": [0, 9999], "step": 1} for name in "ab"}},
            "rules": [{"change": name, "epsilon": 1} for name in "ab"],
        }
    )
    found = dx.queries_from_dict({"queries": [{"marginal": ["a", "b"]}]}, policy)
    assert isinstance(found, MarginalQueries)
    assert found.count == 10**8
    with pytest.raises(dx.QueryError, match="DX207"):
        dx.queries_from_dict({"queries": [{"marginal": ["a", "b"], "where": "a > 3"}]}, policy)
    line = {"attributes": {"a": {"range": [0, 99_999], "step": 1}}}
    policy = dx.Policy.from_dict({"policy": "line", "universe": line, "rules": [{"change": "a", "epsilon": 1}]})
    prefixes = dx.queries_from_dict({"queries": [{"prefixes": "a"}, {"count": "a < 30"}]}, policy)
    assert isinstance(prefixes, dx.universe.BoxQueries)
    assert prefixes.count == 100_001
