"""Random tables of people on every engine, counted row by row in Python: histograms, and whole tables of some.

What is released of people reads one of these: boxes and tables the second; quantiles, MWEM, selections the first.
``DXGEOM_TABLES`` says how many tables (make soak).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from reference.people_by_hand import COUNTING, IN_SHARES, as_table, codes_of, counted, policy_of, random_rows

import dxgeom as dx
from dxgeom.engines.counted_tables import table_counts
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.metrics.components import components_of

TABLES = int(os.environ.get("DXGEOM_TABLES", "2"))


@pytest.mark.parametrize("presence", [False, True], ids=["all are there", "some may be absent"])
@pytest.mark.parametrize("count", COUNTING)
def test_tables_of_people_are_what_counting_by_hand_gives(
    keep: Callable[[pa.Table], Any], count: str, presence: bool
) -> None:
    policy = policy_of(count, presence)
    shape = policy.universe.shape[:3]
    components = components_of(policy.compile().metric)
    few = [["w"], ["n", "d"], ["w", "n", "d"]]
    queries = dx.universe.MarginalQueries.of(policy.universe, few)
    for seed in range(TABLES):
        rows = random_rows(np.random.default_rng([seed, len(count), presence]), count)
        if not any(map(codes_of, rows)):
            continue
        cells, total, dropped = counted(rows, count, presence)
        kept = keep(as_table(rows))
        wanted = np.array([cells[codes] for codes in itertools.product(*map(range, shape))]).reshape(shape)
        found = histogram_of_table(kept, policy.universe, outside="drop", component_of=components.of)
        assert np.array_equal(found.counts[: wanted.size].reshape(shape), wanted), seed
        keys = components.keys(3) if count in IN_SHARES else None
        tables = table_counts(kept, queries, outside="drop", component_keys=keys)
        for one, table in zip(few, tables.cells, strict=True):
            away = tuple(axis for axis, name in enumerate(("w", "n", "d")) if name not in one)
            assert np.array_equal(table, wanted.sum(axis=away).ravel()), (seed, one)
        if not presence:
            assert (found.total, found.dropped) == (total, dropped) == (tables.total, tables.dropped)
