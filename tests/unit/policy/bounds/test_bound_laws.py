"""Every kind of bound, on every axis: one meaning in exact numbers, in rounded ones, and as a metric."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.policy.axes import CircleAxis, LineAxis, PathAxis, PlacesAxis
from dxgeom.policy.bounds.bound import Bound, Constant
from dxgeom.policy.bounds.distance_bounds import Edges, Partition, PerDistance, Threshold
from dxgeom.policy.bounds.joint_bounds import JointConstant, LargestChange
from dxgeom.policy.bounds.value_bounds import ByIndividual, ByValue, reduced

pytestmark = pytest.mark.long

SIZE = 6
POSITIONS = tuple(Fraction(k * k + 1, 7) for k in range(SIZE))
PLACES = np.array([[48.8, 2.3], [48.8, 2.4], [52.5, 13.4], [-48.8, -177.6], [0.0, 180.0], [0.0, -180.0]])
ROADS = (np.array([0, 0, 1, 2, 4]), np.array([1, 2, 3, 3, 5]), np.array([3, 1, 2, 7, 1]))
AXES = [
    LineAxis("numbers", POSITIONS),
    LineAxis("steps", tuple(map(Fraction, range(SIZE)))),
    LineAxis("numbers", tuple(Fraction(10**20 * k + 1, 3) for k in range(SIZE))),
    CircleAxis("numbers around", POSITIONS, Fraction(4)),
    CircleAxis("steps around", tuple(map(Fraction, range(SIZE))), Fraction(SIZE)),
    CircleAxis("numbers around", tuple(Fraction(10**20 * k + 1, 3) for k in range(SIZE)), Fraction(10**21)),
    PlacesAxis("great circle", PLACES),
    PlacesAxis("plane", PLACES),
    PathAxis("hops", SIZE, ROADS[0], ROADS[1], np.ones(5, dtype=np.int64)),
    PathAxis("paths", SIZE, *ROADS, Fraction(1, 3)),
]
epsilons = st.fractions(Fraction(1, 1000), 5, max_denominator=1000)
reaches = st.fractions(Fraction(1, 10), 2000, max_denominator=60)
axes = st.sampled_from(AXES)
some = st.lists(epsilons | st.none(), min_size=SIZE, max_size=SIZE).filter(any).map(tuple)
pairs = st.lists(st.sampled_from([(a, b) for a in range(SIZE) for b in range(a + 1, SIZE)]), min_size=1, unique=True)
bounds = st.one_of(
    epsilons.map(Constant),
    st.builds(PerDistance, axes, epsilons, st.just(Fraction(0)) | epsilons),
    st.builds(Threshold, axes, epsilons, reaches),
    some.map(ByValue),
    some.map(ByIndividual),
    pairs.flatmap(lambda some: st.tuples(*[epsilons] * len(some)).map(lambda each: Edges(tuple(sorted(some)), each))),
    st.builds(Partition, st.sampled_from([(0, 1, 0, 2, 1, 0), (0,) * SIZE]), epsilons),
)
FIRST, SECOND = (codes.ravel() for codes in np.indices((SIZE, SIZE)))
APART = FIRST != SECOND


def exactly(bound: Bound) -> np.ndarray:
    found = np.empty(FIRST.size, dtype=object)
    found[:] = [bound.between(int(a), int(b)) if a != b else 0 for a, b in zip(FIRST, SECOND, strict=True)]
    return found


@given(bounds)
@settings(deadline=None, max_examples=300)
def test_many_pairs_are_bounded_as_one_is_and_rounded_down(bound):
    exact, rounded = exactly(bound)[APART], bound.of_pairs(FIRST[APART], SECOND[APART])
    assert all(Fraction(float(low)) <= high for low, high in zip(rounded, exact, strict=True) if math.isfinite(high))
    assert np.array_equal(np.isinf(rounded), [high == math.inf for high in exact])
    known = np.isfinite(rounded)
    assert np.allclose(rounded[known], exact[known].astype(float), rtol=1e-9, atol=1e-9 * max(exact[known], default=0))
    assert np.array_equal(bound.matrix(SIZE).ravel()[APART], rounded)


@given(bounds.filter(lambda bound: bound.exact), st.integers(1, 9))
@settings(deadline=None, max_examples=300)
def test_in_units_the_bounds_are_exact(bound, times):
    unit = bound.denominator * times
    rows = bound.rows(SIZE, unit)
    told = np.concatenate([rows(code) for code in range(SIZE)])[APART]
    assert [one * unit for one in exactly(bound)[APART]] == told.tolist()


@given(bounds)
@settings(deadline=None, max_examples=200)
def test_the_metric_is_nowhere_above_and_the_bound_itself_where_it_is_closed(bound):
    distance = bound.metric(SIZE).distance(FIRST, SECOND)[APART]
    stated = bound.of_pairs(FIRST[APART], SECOND[APART])
    assert np.all(distance <= stated * (1 + 1e-15))
    if bound.closed:
        known = np.isfinite(stated)
        assert np.allclose(distance[known], stated[known], rtol=1e-9, atol=1e-9 * stated[known].max(initial=0))
        assert np.all(np.isinf(distance[~known]))


@given(bounds)
@settings(deadline=None, max_examples=200)
def test_extremes_and_few_pairs_and_the_example_are_of_what_is_stated(bound):
    exact = exactly(bound)[APART]
    least, most = bound.extremes
    assert all(float(least) <= float(one) * (1 + 1e-12) for one in exact)
    assert all(one <= most for one in exact if one != math.inf)
    few = bound.few_pairs()
    if few is not None:
        near = set(zip(few[0].tolist(), few[1].tolist(), strict=True))
        known = {(a, b) for a in range(SIZE) for b in range(a + 1, SIZE) if bound.between(a, b) != math.inf}
        assert known == near
    start, end = bound.example()
    assert end is None or bound.between(start, end) != math.inf


@given(bounds, bounds)
@settings(deadline=None, max_examples=500)
def test_nowhere_above_is_told_of_bounds_only_where_it_is_so(one, other):
    if one.nowhere_above(other):
        assert all(mine <= theirs for mine, theirs in zip(exactly(one)[APART], exactly(other)[APART], strict=True))


@given(st.lists(bounds, max_size=4))
@settings(deadline=None, max_examples=200)
def test_fewer_bounds_have_the_same_closure(stated):
    kept, ceiling = reduced(stated)

    def closure(some: list[Bound]) -> np.ndarray:
        distance = np.minimum.reduce([np.full((SIZE, SIZE), np.inf), *(bound.matrix(SIZE) for bound in some)])
        np.fill_diagonal(distance, 0)
        for k in range(SIZE):
            distance = np.minimum(distance, distance[:, k : k + 1] + distance[k : k + 1, :])
        return distance

    after = closure(list(kept))
    after = after if ceiling is None else np.minimum(after, closure([Constant(ceiling)]))
    assert np.allclose(closure(stated), after, rtol=1e-9)


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_axes_tell_one_distance_in_every_way(axis):
    grain = axis.grain or 1
    apart = axis.apart(FIRST, SECOND)
    each = [axis.between(int(a), int(b)) for a, b in zip(FIRST, SECOND, strict=True)]
    assert [one if one == math.inf else one * grain for one in apart.tolist()] == [
        math.inf if one == math.inf else one for one in each
    ] or np.allclose(apart.astype(float) * float(grain), np.array(each, dtype=float))
    for reach in (Fraction(1, 2), Fraction(1), Fraction(5, 3), Fraction(10), Fraction(10**30)):
        near = axis.within(reach)(FIRST, SECOND)
        assert near.tolist() == [axis.is_within(int(a), int(b), reach) for a, b in zip(FIRST, SECOND, strict=True)]
        listed = set(zip(*(codes.tolist() for codes in axis.pairs(reach)), strict=True))
        assert listed == {(a, b) for a, b, n in zip(FIRST.tolist(), SECOND.tolist(), near, strict=True) if n and a < b}
        row = axis.within(reach)(np.full(SIZE, 2), np.arange(SIZE))
        assert row.tolist() == near.reshape(SIZE, SIZE)[2].tolist()


def test_bounds_of_several_attributes_are_those_of_each_alone():
    wide, steps = AXES[0], AXES[5]
    largest = LargestChange(("a", "b"), (PerDistance(wide, Fraction(1, 2), Fraction(0)),) * 2)
    moves = {"a": (0, 3), "b": (1, 2)}
    assert largest.between(moves) == max(
        bound.between(*moves[name]) for name, bound in zip("ab", largest.each, strict=True)
    )
    unit = largest.denominator
    assert largest.table(unit)([0, 1], [SIZE, SIZE])[3, 2] == largest.between(moves) * unit
    assert JointConstant(("a", "b"), Fraction(2)).table(2)([0, 1], [SIZE, SIZE]).tolist() == [[4] * SIZE] * SIZE
    longer = LargestChange(("a", "b", "c"), (PerDistance(wide, Fraction(1, 4), Fraction(0)),) * 3)
    assert largest.is_undercut([largest, longer], None)
    assert not longer.is_undercut([largest, longer], None)
    assert JointConstant(("a", "b"), Fraction(2)).is_undercut([], Fraction(1))
    assert hash(steps) == hash(AXES[5])
    assert steps != AXES[6]
