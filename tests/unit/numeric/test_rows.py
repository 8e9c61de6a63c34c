from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.numeric.arrays import distinct_rows, least_by_row

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


@pytest.mark.parametrize("reach", [1, 5, 2**20, 2**40, 2**62])
@pytest.mark.parametrize("shape", [(1, 3), (40, 1), (300, 2), (200, 7)])
def test_distinct_rows_are_in_lexicographic_order_and_every_row_finds_its_own(reach, shape):
    generator = np.random.default_rng(shape[0])
    rows = generator.integers(-reach, reach, shape)
    rows = rows[generator.integers(0, len(rows), len(rows))]
    distinct, which = distinct_rows(rows)
    assert [tuple(row) for row in distinct.tolist()] == sorted({tuple(row) for row in rows.tolist()})
    assert np.array_equal(distinct[which], rows)


def test_no_rows_have_no_distinct_rows():
    distinct, which = distinct_rows(np.empty((0, 3), dtype=np.int64))
    assert distinct.shape == (0, 3)
    assert which.size == 0
