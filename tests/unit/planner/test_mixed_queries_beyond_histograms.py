"""Tables, prefixes, sums and conditions in one file are one plan, whatever the size of the universe."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dxgeom as dx
from dxgeom.errors import DataError, TooLarge
from dxgeom.universe.weight_tables import WeightTables

ASKED = [
    {"marginal": ["a0", "a1"]},
    {"prefixes": "a1"},
    {"sum": "a1"},
    {"count": "a0 in [1, 3] or a2 >= 4"},
    {"mean": "a2", "by": "a0"},
    {"count": True},
]


def policy(number, *, presence=False):
    names = [f"a{place}" for place in range(number)]
    attributes = {name: {"range": [0, 5], "step": 1} for name in names}
    rules = [*({"change": name, "epsilon": 1} for name in names)]
    rules += [{"presence": True, "epsilon": 1}] if presence else []
    stated = {"policy": "p", "universe": {"attributes": attributes}, "rules": rules, "budget": 10**9}
    return dx.Policy.from_dict(stated)


def rows(number):
    generator = np.random.default_rng(0)
    return pd.DataFrame({f"a{place}": generator.choice([0, 1, 3, 4], 300) for place in range(number)})


@pytest.mark.parametrize("presence", [False, True])
def test_answers_are_those_of_a_universe_that_is_counted_whole(presence, tmp_path):
    asked = [one for one in ASKED if not presence or "mean" not in one]
    stated = {"queries": asked} if presence else {"records": 300, "queries": asked}
    released, made = [], []
    for number in (3, 40):
        own = policy(number, presence=presence)
        queries = dx.queries_from_dict(stated, own)
        plan = dx.plan(own.compile(), queries, mechanism="laplace")
        made.append((own, queries, plan))
        released.append(plan.release(rows(40)[[*own.universe.names]], ledger=":memory:", spend=10**6))
    small, large = (queries for _, queries, _ in made)
    assert (small.names, small.units, small.origins) == (large.names, large.units, large.origins)
    assert WeightTables(small.tables.shape, large.tables.tables, presence).digest == small.tables.digest
    assert np.allclose(*([float(one) for one in found.values] for found in released), atol=0.01)
    own, _, plan = made[1]
    assert plan.rehearse(records=300, spend=1).spent == 1
    dx.save_plan(plan, tmp_path / "plan.json", policy=own)
    again = dx.load_plan(tmp_path / "plan.json")
    assert again.fingerprint == plan.fingerprint
    again.release(rows(40), ledger=":memory:", spend=1)


def test_what_needs_a_count_of_every_record_type_says_so():
    own = policy(40)
    queries = dx.queries_from_dict({"queries": [{"sum": "a1"}]}, own)
    assert queries.count == 1
    plan = dx.plan(own.compile(), queries, mechanism="laplace")
    with pytest.raises(DataError, match="from rows"):
        plan.release(np.ones(9, dtype=np.int64), ledger=":memory:", spend=1)
    with pytest.raises(TooLarge, match="at most"):
        _ = queries.numerators
    with pytest.raises(TooLarge, match="a count of every possible record"):
        dx.plan(own.compile(), queries, mechanism="mwem", records=10)
    short = dx.queries_from_dict({"queries": [{"marginal": ["a0", "a1"]}]}, policy(3))
    wide = dx.LinearQueries.marginals(own.universe, [["a0", "a1"]])
    assert wide.names == short.names


@pytest.mark.parametrize("presence", [False, True])
def test_plans_of_queries_made_in_python_are_written_and_read(presence, tmp_path):
    own = policy(40, presence=presence)
    queries = dx.LinearQueries.stack(
        [
            dx.LinearQueries.kronecker(
                ["a sum", "another"], own.universe, {"a3": [[0, 1, 2, 3, 4, 5], [1, 0, 0, 0, 0, 7]]}
            ),
            dx.LinearQueries.marginals(own.universe, [["a0", "a1"]]),
        ]
    )
    plan = dx.plan(own.compile(), queries, mechanism="laplace")
    again = dx.save_plan(plan, tmp_path / "plan.json", policy=own)
    assert again.fingerprint == plan.fingerprint == dx.load_plan(tmp_path / "plan.json").fingerprint
    assert again.queries.tables.absent == presence and not any(
        one.counted is None for one in again.queries.tables.tables[1:]
    )
    data, seed = rows(40), {"ledger": ":memory:", "spend": 1, "insecure_test_seed": 3}
    assert again.release(data, **seed).exact_values == plan.release(data, **seed).exact_values


def test_of_a_wrong_file_only_what_is_wrong_is_told():
    asked = [*ASKED, {"count": "a0 = 1"}, {"sum": "a99"}, {"table": ["a0", "a1"]}]
    with pytest.raises(dx.QueryError) as caught:
        dx.queries_from_dict({"records": 300, "queries": asked}, policy(40))
    assert [one.code for one in caught.value.diagnostics] == ["DX202", "DX201", "DX200"]
