"""Where records may be absent, what uses their number is refused."""

from __future__ import annotations

import pytest

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.selection.selections import selection
from dxgeom.mechanisms.selection.small_databases import small_database
from dxgeom.mechanisms.synthetic.multiplicative_weights import mwem

POLICY = dx.Policy.from_dict(
    {
        "policy": "members",
        "universe": {"attributes": {"team": ["a", "b", "c"]}},
        "rules": [{"change": "team", "epsilon": 1}, {"presence": True, "epsilon": 1}],
    }
)
QUERIES = dx.LinearQueries.marginals(POLICY.universe, ways=1)


def test_selection_small_databases_and_multiplicative_weights_refuse_a_private_number_of_records():
    metric = POLICY.compile()
    for build in (
        lambda: selection(metric, QUERIES),
        lambda: small_database(metric, QUERIES, 0.5),
        lambda: mwem(metric, QUERIES),
        lambda: mwem(metric, dx.LinearQueries.marginals(POLICY.universe, [["team"]])),
    ):
        with pytest.raises(UnsupportedCombination, match=r"number of records|same"):
            build()


def test_queries_in_tables_give_the_absent_record_nothing():
    assert QUERIES.numerators.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    assert QUERIES.tables.absent and QUERIES.tables.shape == (3,)
    plan = dx.plan(POLICY.compile(), QUERIES)
    assert plan.predicted_mse > 0
