from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.errors import DxgeomError
from dxgeom.noise.layered_line import IntervalUnion, union_of

intervals = st.lists(
    st.tuples(st.integers(-12, 12), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    min_size=1,
    max_size=4,
)


def cells(union):
    """The unit cells [k, k + 1] inside a union with integer ends."""
    return {k for low, high in union.parts for k in range(int(low), int(high))}


@given(intervals)
def test_length_and_moment_are_those_of_its_cells(parts):
    union = union_of(parts)
    assert union.length == len(cells(union)) == len({k for low, high in parts for k in range(low, high)})
    assert union.absolute_moment == sum(abs(Fraction(2 * k + 1, 2)) for k in cells(union))
    assert union.reach == max(abs(end) for part in parts for end in part)


@given(intervals, intervals)
def test_a_sum_holds_what_sums_of_ends_and_middles_reach(one, other):
    total = union_of(one) + union_of(other)
    for low, high in one:
        for left, right in other:
            assert any(a <= low + left and high + right <= b for a, b in total.parts)
    assert total.length <= sum(high - low + right - left for low, high in one for left, right in other)


def test_intervals_that_overlap_are_refused_unless_merged():
    with pytest.raises(DxgeomError):
        IntervalUnion(((Fraction(0), Fraction(2)), (Fraction(1), Fraction(3))))
    assert union_of([(1, 3), (0, 2), (3, 4)]).parts == ((0, 4),)
