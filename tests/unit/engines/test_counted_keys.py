"""Counts of keys are those of whole tables over the same columns, however people count, without the empty cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from services.tables import PostgresTables, as_parquet, as_sqlite

import dxgeom as dx
from dxgeom.engines import counted_tables
from dxgeom.engines.counted_tables import key_counts, table_counts
from dxgeom.errors import DataError
from dxgeom.metrics.components import components_of
from dxgeom.numeric.randomness import InsecureSeededRandomness

ATTRIBUTES = {"a": ["p", "q", "r"], "n": {"range": [0, 4], "step": 1}, "b": ["x", "y"]}
RULES = [{"change": "a", "epsilon": 1}, {"change": "n", "epsilon": 1, "per": 1}, {"change": "b", "epsilon": 2}]
PEOPLE = {
    "rows": None,
    "once": {"column": "who", "count": "once"},
    "spread rows": {"column": "who", "count": "rows", "at_most": 2},
    "first rows": {"column": "who", "count": "rows", "at_most": 2, "order": "at"},
}


def policy_of(people, *, presence=False):
    rules = [*RULES, *([{"presence": True, "epsilon": 3}] if presence else [])]
    said = {"policy": "keys", "universe": {"attributes": ATTRIBUTES}, "rules": rules}
    return dx.Policy.from_dict({**said, **({} if people is None else {"people": people})})


def rows_of(seed, count=60, outside=0):
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "a": [*draw.choice(["p", "q", "r"], count, p=[0.7, 0.2, 0.1]).tolist(), *["s"] * outside],
            "n": draw.integers(0, 5, count + outside),
            "b": draw.choice(["x", "y"], count + outside).tolist(),
            "who": draw.integers(0, 20, count + outside),
            "at": np.arange(count + outside),
        }
    )


def both(policy, table, **how):
    """The keys of a and n, and the same counts as a whole table."""
    metric = policy.compile()
    queries = dx.universe.MarginalQueries.of(metric.universe, [["a", "n"]])
    keyed = components_of(metric.metric).keys(3)
    found = key_counts(table, queries.columns, component_keys=keyed, **how)
    return found, table_counts(table, queries, component_keys=keyed, **how)


@pytest.mark.long
@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("people", PEOPLE.values(), ids=PEOPLE)
def test_they_are_those_of_whole_tables(people, presence):
    for seed in range(2):
        found, whole = both(policy_of(people, presence=presence), rows_of(seed, outside=2), outside="drop")
        (cells,) = whole.cells
        assert found.keys.tolist() == np.flatnonzero(cells).tolist()
        assert found.counts.tolist() == cells[cells > 0].tolist()
        assert (found.total, found.dropped) == (whole.total, whole.dropped)


def test_rows_that_stand_for_several_records_and_for_none():
    table = rows_of(3).append_column("times", pa.array([0, 5, *[2] * 58]))
    found, whole = both(policy_of(None), table, count_column="times")
    assert found.counts.tolist() == whole.cells[0][whole.cells[0] > 0].tolist()
    assert found.total == 121


def test_rows_are_put_together_in_between(monkeypatch):
    monkeypatch.setattr(counted_tables, "_WAITING", 1)
    monkeypatch.setattr("dxgeom.engines.people.ROWS_AT_ONCE", 7)
    found, whole = both(policy_of(None), rows_of(4))
    assert found.counts.tolist() == whole.cells[0][whole.cells[0] > 0].tolist()


@pytest.mark.long
def test_what_is_no_table_or_outside_is_refused():
    policy = policy_of(None)
    with pytest.raises(DataError, match="outside"):
        both(policy, rows_of(1, outside=1))
    with pytest.raises(DataError, match="keys are read from rows"):
        both(policy, np.arange(30))
    frame = rows_of(5).to_pydict()
    tasks = dx.queries_from_dict({"tasks": [{"keys": ["a", "n"], "at_least": 2}]}, policy)
    plan = dx.plan(policy.compile(), tasks)
    with pytest.raises(DataError):
        plan.release(np.arange(30), ledger=":memory:", spend="1/2")
    # A table whose columns are called as what is read of keys is a table.
    named = {**frame, "keys": [1] * 60, "counts": [1] * 60, "total": [1] * 60}
    assert plan.release(named, ledger=":memory:", spend="1/2").records == 60


@pytest.fixture(
    params=[
        pytest.param("SQLite", marks=pytest.mark.long),
        pytest.param("PostgreSQL", marks=pytest.mark.service("postgres")),
    ]
)
def keep(request, tmp_path):
    """How one of the engines that have tables elsewhere keeps one."""
    if request.param == "SQLite":
        return lambda table: as_sqlite(table, tmp_path)
    tables = PostgresTables(request.getfixturevalue("postgres"))
    return lambda table: tables.keep(table, tmp_path)


@pytest.mark.parametrize("people", PEOPLE.values(), ids=PEOPLE)
def test_a_table_elsewhere_has_the_same_keys_and_the_same_answers_from_the_same_bits(keep, people, tmp_path):
    policy, rows = policy_of(people, presence=True), rows_of(6, outside=2)
    columns = dx.universe.MarginalQueries.of(policy.compile().universe, [["a", "n"]]).columns
    keyed = components_of(policy.compile().metric).keys(3)
    here, there = (
        key_counts(table, columns, component_keys=keyed, outside="drop")
        for table in (as_parquet(rows, tmp_path), keep(rows))
    )
    assert here.keys.tolist() == there.keys.tolist()
    assert here.counts.tolist() == there.counts.tolist()
    assert (here.total, here.dropped) == (there.total, there.dropped)
    tasks = dx.queries_from_dict({"tasks": [{"keys": ["a", "n"], "at_least": 2}]}, policy)
    (part,) = dx.plan(policy.compile(), tasks).parts
    one, other = (part.mechanism.draw(own, Fraction(1, 2), InsecureSeededRandomness(5)) for own in (here, there))
    assert one.as_dict() == other.as_dict()


@pytest.mark.long
def test_a_table_of_sqlite_is_named_by_its_address(tmp_path):
    rows = rows_of(7)
    as_sqlite(rows, tmp_path)
    (base,) = tmp_path.glob("*.db")
    policy = policy_of(None)
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"tasks": [{"keys": ["a", "n"], "at_least": 2}]}, policy))
    release = plan.release(f"sqlite:///{base}#{base.stem}", ledger=":memory:", spend="1/2")
    assert release.records == 60
