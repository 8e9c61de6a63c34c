"""Each person's shares add up, whatever the order of rows, and a component's depend on components' fractions only."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.universe.people.people import SHARES, People, ShareCounter, shares_of_groups

TYPES = 6
COMPONENT = np.array([0, 1, 0, 1, 0, 2])
people = st.lists(st.lists(st.integers(0, TYPES - 1), min_size=1, max_size=40), min_size=1, max_size=6)


def together(records: np.ndarray) -> np.ndarray:
    return np.zeros(records.shape, dtype=np.int64)


def counted(rows_of_people, component_of=lambda records: COMPONENT[records], shares=SHARES) -> np.ndarray:
    counter = ShareCounter(TYPES, component_of, shares)
    for number, rows in enumerate(rows_of_people):
        records, counts = np.unique(rows, return_counts=True)
        counter.add(np.full(records.size, number), records, counts)
    assert counter.records == len(rows_of_people)
    return counter.histogram(None)


def row_by_row(rows: list[int], shares: int) -> np.ndarray:
    """The definition: the k-th of n rows, by component and index, gets ⌊(k+1)L/n⌋ − ⌊kL/n⌋."""
    spread = np.zeros(TYPES, dtype=np.int64)
    for k, record in enumerate(sorted(rows, key=lambda one: (COMPONENT[one], one))):
        spread[record] += (k + 1) * shares // len(rows) - k * shares // len(rows)
    return spread


@given(people, st.sampled_from([SHARES, 7, 1000]))
def test_groups_get_what_their_rows_get_one_by_one(rows_of_people, shares):
    expected = sum(row_by_row(rows, shares) for rows in rows_of_people)
    assert np.array_equal(counted(rows_of_people, shares=shares), expected)
    assert expected.sum() == shares * len(rows_of_people)


@given(people, st.randoms())
def test_the_order_of_rows_and_of_people_never_matters(rows_of_people, random):
    shuffled = [random.sample(rows, len(rows)) for rows in rows_of_people]
    random.shuffle(shuffled)
    assert np.array_equal(counted(shuffled), counted(rows_of_people))
    person = np.concatenate([np.full(len(rows), number) for number, rows in enumerate(rows_of_people)])
    record, order = np.concatenate(rows_of_people), random.sample(range(len(person)), len(person))
    counter = ShareCounter(TYPES, lambda records: COMPONENT[records])
    counter.add(person[order], record[order], np.ones(len(person), dtype=np.int64))
    assert np.array_equal(counter.histogram(None), counted(rows_of_people))


@given(st.lists(st.integers(0, TYPES - 1), min_size=1, max_size=60), st.data())
def test_a_component_gets_what_follows_from_the_fractions_of_components(rows, data):
    """Rows that move inside their component, and rows that all double, change no component's total."""
    moved = [data.draw(st.sampled_from(np.flatnonzero(COMPONENT[one] == COMPONENT).tolist())) for one in rows]

    def totals(rows):
        return [int(counted([rows])[component == COMPONENT].sum()) for component in range(3)]

    assert totals(moved) == totals(rows) == totals(rows * 2)


@given(st.lists(st.integers(0, TYPES - 1), min_size=1, max_size=16))
def test_up_to_16_rows_are_spread_exactly(rows):
    spread = counted([rows])
    assert [Fraction(int(share), SHARES) for share in spread] == [
        Fraction(rows.count(k), len(rows)) for k in range(TYPES)
    ]


@given(st.lists(st.integers(0, TYPES - 1), min_size=1, max_size=3000))
def test_many_rows_are_rounded_by_less_than_stated(rows):
    kinds = len(set(rows))
    off = sum(
        abs(Fraction(int(share), 1000) - Fraction(rows.count(k), len(rows)))
        for k, share in enumerate(counted([rows], together, 1000))
    )
    assert off / 2 < Fraction(min(len(rows), kinds), 2 * 1000) or off == 0


def test_more_rows_than_64_bits_carry_are_spread_exactly():
    rows = np.array([2**60, 3, 2**59], dtype=np.int64)
    total = int(rows.sum())
    ends = [int(end) * SHARES // total for end in np.cumsum(rows)]
    assert shares_of_groups(np.zeros(3, dtype=np.int64), rows).tolist() == np.diff(ends, prepend=0).tolist()


def test_who_is_absent_is_counted_with_nothing():
    counter = ShareCounter(3, together)
    counter.add(np.array([0, 0, 1]), np.array([0, 2, 2]), np.array([1, 1, 5]))
    assert counter.histogram(2).tolist() == [SHARES // 2, 0, 0]
    assert counter.records == 2


def test_more_people_than_int64_carries_are_refused():
    counter = ShareCounter(1, together, 2**62)
    counter.add(np.array([0]), np.array([0]), np.array([1]))
    with pytest.raises(DataError, match="at most 1 people"):
        counter.add(np.array([0]), np.array([0]), np.array([1]))


@pytest.mark.parametrize(
    "stated",
    [
        ("user", "twice"),
        ("user", "rows"),
        ("user", "rows", 0, "time"),
        ("user", "rows", 2, "user"),
        ("user", "once", 2),
    ],
)
def test_people_who_do_not_go_together_are_refused(stated):
    with pytest.raises(UnsupportedCombination, match="people count once, or by rows"):
        People(*stated)
