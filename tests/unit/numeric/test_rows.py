from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.numeric.rows import distinct_rows, least_by_row

small_rows = st.integers(0, 3).flatmap(
    lambda width: st.lists(st.lists(st.integers(-2, 2), min_size=width, max_size=width), min_size=1, max_size=20)
)


@given(small_rows)
def test_distinct_rows_are_a_set_that_points_back(rows):
    table = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
    distinct, which = distinct_rows(table)
    assert {tuple(row) for row in distinct.tolist()} == {tuple(row) for row in rows}
    assert len(distinct) == len({tuple(row) for row in rows})
    assert np.array_equal(distinct[which], table)


@given(small_rows, st.randoms(use_true_random=False))
def test_each_distinct_row_keeps_its_smallest_bound(rows, random):
    bounds = [random.choice([0.5, 1.0, 2.0]) for _ in rows]
    least = {}
    for row, bound in zip(map(tuple, rows), bounds, strict=True):
        least[row] = min(bound, least.get(row, np.inf))
    table, kept = least_by_row(np.array(rows, dtype=np.int64).reshape(len(rows), -1), np.array(bounds))
    assert {tuple(row): bound for row, bound in zip(table.tolist(), kept.tolist(), strict=True)} == least
