"""Tables of ranges: what they ask held against lists, their bound in closed form, and how little they err."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.parts.box_bound import boxes_bound
from dxgeom.mechanisms.parts.box_bound_at_once import of_whole_products

BoxQueries = dx.universe.BoxQueries


def intervals(size, along):
    return [(low, high) for low in range(size) for high in range(low + 1, size + 1 if along else low + 2)]


@pytest.mark.parametrize(("sizes", "ways", "along"), [((4, 2, 3), 2, (0, 2)), ((3, 2, 3), 3, (2,)), ((3, 4), 1, ())])
def test_every_combination_is_asked_for_once(sizes, ways, along):
    universe = policy_of_ranges(sizes, alone=True, presence=True).universe
    found = BoxQueries.ranges_by_cells(universe, [f"a{one}" for one in along], ways=ways)
    asked = [
        {f"a{place}": ends for place, ends in zip(group, each, strict=True)}
        for group in itertools.combinations(range(len(sizes)), ways)
        for each in itertools.product(*(intervals(sizes[place], place in along) for place in group))
    ]
    assert found.fingerprint == BoxQueries.of(universe, asked).fingerprint


def test_what_is_no_table_is_refused():
    universe = policy_of_ranges((1500, 3), alone=True, presence=True).universe
    with pytest.raises(UnsupportedCombination, match="b"):
        BoxQueries.ranges_by_cells(universe, ["b"], ways=1)
    with pytest.raises(UnsupportedCombination, match="different attributes"):
        BoxQueries.ranges_by_cells(universe, ["a0"], [["a1", "a1"]])
    with pytest.raises(TooLarge, match="at most 1,000,000 boxes are asked for at once, found 3,377,250"):
        BoxQueries.ranges_by_cells(universe, ["a0"], ways=2)


@pytest.mark.long
@pytest.mark.parametrize(("sizes", "along"), [((5, 4), ["a0"]), ((4, 5), ["a0", "a1"])])
def test_the_closed_form_is_that_of_matrices_and_below_the_best_noise(sizes, along):
    """Σ H_ii², H the root of WᵀW, over ranges that end below the last value; of a solved case no more than its best."""
    own = policy_of_ranges(sizes, alone=True, presence=True)
    queries = BoxQueries.ranges_by_cells(own.universe, along, ways=2)
    metric, costs = own.compile(), np.ones(queries.count)
    bound, among = of_whole_products(metric, queries.merged, costs)
    kept = [size - (f"a{place}" in along) for place, size in enumerate(sizes)]
    rows = [
        np.kron(*(((e[k][0] <= np.arange(n)) & (np.arange(n) < e[k][1])).astype(float) for k, n in enumerate(kept)))
        for e in itertools.product(*(intervals(n, f"a{place}" in along) for place, n in enumerate(kept)))
    ]
    _, lengths, turned = np.linalg.svd(np.array(rows), full_matrices=False)
    assert len(among) == len(rows)
    assert np.isclose(bound, (np.einsum("kj,k,kj->j", turned, lengths, turned) ** 2).sum() / 4, rtol=1e-8)
    best = dx.plan(metric, queries.listed, mechanism="gaussian").mechanism.variances()
    assert bound <= best[among].sum() * (1 + 1e-9)
    left_out = np.setdiff1d(np.arange(queries.count), among[1:])
    fewer = BoxQueries(own.universe, queries.columns, queries.lower[left_out], queries.upper[left_out])
    assert of_whole_products(metric, fewer, costs)[0] == 0


@pytest.mark.long
def test_two_way_range_tables_err_less_than_asked():
    """Of 669,002 queries; HDMM's products err 1.378e9 in all, its marginals 6.83e8."""
    own = policy_of_ranges((75, 16, 5, 2, 20), "pure", alone=True, presence=True)
    queries = BoxQueries.ranges_by_cells(own.universe, ["a0", "a4"], ways=2)
    assert queries.count == 669_002
    metric = own.compile()
    plan = dx.plan(metric, queries)
    assert plan.loss * 4 <= 6.8e8  # at presence 2
    assert 2.1e7 <= boxes_bound(metric, queries, np.ones(queries.count)) * 4 <= plan.loss * 4
