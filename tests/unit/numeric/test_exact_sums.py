"""Weighted sums are exact however large, by 64 bits, by limbs, or by Python's integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.numeric.arrays import integer_totals


@given(st.data())
def test_totals_are_those_of_python(data):
    weight, count = data.draw(st.integers(1, 2**52)), data.draw(st.integers(1, 2**57))
    size = data.draw(st.integers(1, 30))
    counts = data.draw(st.lists(st.integers(0, count), min_size=size, max_size=size))
    rows = data.draw(
        st.lists(st.lists(st.integers(-weight, weight), min_size=size, max_size=size), min_size=1, max_size=3)
    )
    exact = [sum(one * other for one, other in zip(row, counts, strict=True)) for row in rows]
    assert integer_totals(np.array(rows), np.array(counts)) == exact
