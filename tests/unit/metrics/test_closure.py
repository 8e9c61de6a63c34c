from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import NotAMetric


def closed_by_hand(matrix):
    size = len(matrix)
    closed = [[min(matrix[i][j], matrix[j][i]) if i != j else 0 for j in range(size)] for i in range(size)]
    for k, i, j in itertools.product(range(size), repeat=3):
        closed[i][j] = min(closed[i][j], closed[i][k] + closed[k][j])
    return closed


squares = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 30), min_size=n, max_size=n), min_size=n, max_size=n)
)


@settings(deadline=None)
@given(squares)
def test_the_repair_of_integers_is_the_shortest_path_closure(rows):
    repair = dx.repair_metric(rows)
    assert repair.entries.dtype == np.int64
    assert repair.entries.tolist() == closed_by_hand(rows)
    assert repair.fell == np.count_nonzero(repair.entries < np.array(rows))
    dx.verify_metric(repair.entries)


@settings(deadline=None)
@given(squares, st.integers(1, 97))
def test_the_repair_of_rationals_is_exact(rows, denominator):
    exact = [[Fraction(entry, denominator) for entry in row] for row in rows]
    repaired = dx.repair_metric(np.array(exact, dtype=object)).entries
    assert repaired.tolist() == closed_by_hand(exact)


def test_a_repaired_float_matrix_holds_and_is_nowhere_above_the_input():
    matrix = np.random.default_rng(5).random((150, 150)) ** 3
    repair = dx.repair_metric(matrix)
    assert np.all(repair.entries <= matrix)
    assert dx.verify_metric(repair.entries).certificate.verdict == "holds"
    reference = np.array(closed_by_hand([[Fraction(entry) for entry in row] for row in matrix[:25, :25].tolist()]))
    assert dx.repair_metric(matrix[:25, :25]).entries == pytest.approx(reference.astype(float), rel=1e-14)


def test_the_largest_fall_is_shown_with_its_place():
    repair = dx.repair_metric([[0, 3, 1], [3, 0, 1], [1, 1, 0]])
    assert (repair.fell, repair.where, repair.before, repair.after) == (2, (0, 1), 3, 2)
    assert dx.repair_metric([[0, 1], [1, 0]]).where is None


def test_infinite_entries_fall_to_a_path_or_stay():
    inf = np.inf
    repair = dx.repair_metric([[0, 1, inf, inf], [1, 0, 2, inf], [inf, 2, 0, inf], [inf, inf, inf, 0]])
    assert repair.entries[0].tolist() == [0, 1, 3, inf]
    assert (repair.where, repair.before, repair.after) == ((0, 2), inf, 3)


@pytest.mark.parametrize("entry", [-1.0, np.nan])
def test_no_metric_lies_below_negative_or_undefined_entries(entry):
    with pytest.raises(NotAMetric, match="no metric lies below") as caught:
        dx.repair_metric([[0, entry], [1, 0]])
    assert caught.value.witness == (0, 1)


def test_every_broken_axiom_is_counted():
    matrix = np.array([[1.0, 2.0, np.nan], [3.0, 0.0, -1.0], [np.nan, -1.0, 0.0]])
    with pytest.raises(NotAMetric) as caught:
        dx.verify_metric(matrix)
    assert dict(caught.value.broken) == {
        "no distance is NaN": 2,
        "no distance is negative": 2,
        "the distance of a record from itself is 0": 1,
        "distances are symmetric": 2,
    }
    with pytest.raises(NotAMetric) as caught:
        dx.verify_metric([[0, 9, 1], [9, 0, 1], [1, 1, 0]])
    assert caught.value.broken == (("no detour is shorter", 1),)


def test_checking_can_stop_at_the_first_violation():
    matrix = np.ones((300, 300)) - np.eye(300)
    matrix[3, 5] = matrix[5, 3] = 2.5
    matrix[250, 251] = matrix[251, 250] = 50
    looked: list[int] = []
    with pytest.raises(NotAMetric, match="no more were looked at") as caught:
        dx.verify_metric(matrix, first=True, progress=lambda done, _: looked.append(done))
    assert set(caught.value.witness) >= {3, 5}
    assert looked == [64]
    with pytest.raises(NotAMetric, match="2 of 44,850 pairs") as caught:
        dx.verify_metric(matrix)
    assert set(caught.value.witness) >= {250, 251}


def test_an_interrupted_check_stops():
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dx.verify_metric(np.zeros((10, 10)), progress=interrupt)


def test_one_part_in_a_billion_is_found_among_many():
    points = np.random.default_rng(0).random((400, 3))
    matrix = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
    middle = int(np.argmin(matrix[7] + matrix[300] + np.where(np.isin(np.arange(400), [7, 300]), 9, 0)))
    matrix[7, 300] = matrix[300, 7] = (matrix[7, middle] + matrix[middle, 300]) * (1 + 1e-9)
    with pytest.raises(NotAMetric) as caught:
        dx.verify_metric(matrix)
    assert set(caught.value.witness) == {7, middle, 300}
    assert dx.repair_metric(matrix).where == (7, 300)
