"""Looking at fewer pairs changes nothing: the same worst detour, the same count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.claimed_distances import KINDS, SIZE, disturbed, euclidean, integers, symmetric

import dxgeom as dx
from dxgeom.metrics.detours import half_precision_copy, half_precision_of, suspects, worst_detour


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), start=st.integers(0, SIZE - 1), rows=st.integers(1, 70))
def test_the_worst_detour_is_the_same_with_a_coarse_copy(kind, seed, start, rows):
    matrix = symmetric(KINDS[kind](seed))
    stop = min(start + rows, SIZE)
    coarse = half_precision_of(matrix, rows)
    assert worst_detour(matrix, start, stop, coarse) == worst_detour(matrix, start, stop)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["euclidean", "one part in 10^9 too long", "no metric at all"]))
def test_no_pair_that_a_detour_shortens_is_left_out(seed, kind):
    matrix = symmetric(KINDS[kind](seed))
    shortest = (matrix[:, :, None] + matrix[None, :, :]).min(axis=1)
    coarse = half_precision_copy(matrix)
    assert coarse is not None
    found, count = suspects(coarse, 0, SIZE)
    assert count == np.count_nonzero(found)
    assert np.all(found[np.tril(shortest < matrix, -1)])


def test_small_whole_numbers_are_decided_by_the_copy_alone():
    matrix = symmetric(integers(3, 90, 200))
    coarse = half_precision_of(matrix, 64)
    assert coarse is not None
    assert coarse.slack == 0
    shortest = (matrix[:, :, None] + matrix[None, :, :]).min(axis=1)
    assert np.array_equal(suspects(coarse, 0, SIZE)[0], np.tril(shortest < matrix, -1))


@pytest.mark.parametrize(
    "matrix", [euclidean(1, 20), np.zeros((SIZE, SIZE)), KINDS["a line"](4), np.where(np.eye(SIZE) > 0, 0, np.inf)]
)
def test_where_a_copy_would_not_help_there_is_none(matrix):
    assert half_precision_of(matrix, 64) is None


def test_one_part_in_a_billion_is_found_among_four_hundred_records():
    matrix = disturbed(9, 400, 1e-9, 1)
    with pytest.raises(dx.errors.NotAMetric) as caught:
        dx.verify_metric(matrix)
    i, k, j = caught.value.witness
    assert matrix[i, j] > matrix[i, k] + matrix[k, j]
    assert caught.value.broken[0][1] == 1
