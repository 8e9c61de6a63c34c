"""The largest sum found by elimination is the largest of all sums."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.metrics.changes import elimination_of, largest_sum


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), st.data())
def test_elimination_finds_the_largest_sum_and_where_it_is(sizes, data):
    scopes = [
        tuple(sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1), max_size=3))))
        for _ in range(data.draw(st.integers(1, 5)))
    ]
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    tables = [(scope, generator.integers(0, 50, (4, *(sizes[one] for one in scope))).astype(float)) for scope in scopes]
    order, cells = elimination_of(scopes, dict(enumerate(sizes)))
    assert set(order) == {one for scope in scopes for one in scope}
    assert 1 <= cells <= np.prod(sizes)
    found = largest_sum(tables, order)
    for case in range(4):

        def total(choice, case=case):
            return sum(entries[(case, *(choice[one] for one in scope))] for scope, entries in tables)

        assert found.values[case] == max(map(total, itertools.product(*map(range, sizes))))
        chosen = [found.choice[one][case] if one in found.choice else 0 for one in range(len(sizes))]
        assert found.values[case] == total(chosen)


def test_a_chain_of_tables_never_needs_a_large_one():
    order, cells = elimination_of([(k, k + 1) for k in range(9)], dict.fromkeys(range(10), 10))
    assert len(order) == 10
    assert cells == 100


def test_without_variables_the_sum_is_that_of_the_tables():
    found = largest_sum([((), np.array([1.0, 2.0])), ((), np.array([10.0, 20.0]))], ())
    assert found.values.tolist() == [11, 22]
    assert found.choice == {}
