"""The steepest quotient over a star of weights is the largest over all pairs, and never below it."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dxgeom.metrics.lipschitz_maps import steepest_star_quotient


def exactly(grid: np.ndarray, weights: np.ndarray) -> Fraction:
    outer, size, inner = grid.shape
    number = Fraction if grid.dtype.kind == "f" else int
    return max(
        Fraction(abs(number(grid[o, a, i].item()) - number(grid[o, b, i].item())))
        / (Fraction(weights[a]) + Fraction(weights[b]))
        for o, i in itertools.product(range(outer), range(inner))
        for a, b in itertools.combinations(range(size), 2)
    )


weights = st.floats(1e-9, 1e9) | st.sampled_from([0.1, 0.5, 1.0, 1e-12, 1e12])


@st.composite
def stars(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    outer, size, inner = draw(st.integers(1, 3)), draw(st.integers(2, 7)), draw(st.integers(1, 3))
    numbers = draw(
        st.sampled_from([st.integers(-2, 2), st.integers(-(2**52) + 1, 2**52 - 1), st.floats(-1e6, 1e6, width=32)])
    )
    cells = draw(st.lists(numbers, min_size=outer * size * inner, max_size=outer * size * inner))
    kind = np.float64 if any(isinstance(cell, float) for cell in cells) else np.int64
    return np.array(cells, dtype=kind).reshape(outer, size, inner), np.array(
        draw(st.lists(weights, min_size=size, max_size=size))
    )


@settings(max_examples=150)
@given(stars())
@example((np.array([[[0, 4, 0], [0, 5, -1]]]), np.array([34960.0, 1e-9])))
def test_it_is_the_largest_quotient_of_all_pairs_and_never_below_it(star):
    grid, own = star
    found, exact = steepest_star_quotient(grid, own), exactly(grid, own)
    assert Fraction(found) >= exact
    if grid.dtype.kind != "f":
        beyond = Fraction(int(np.ptp(grid))) / Fraction(own.min()) / 2**95
        assert Fraction(found) <= exact * (1 + Fraction(1, 2**51)) + beyond
    else:
        assert found <= float(exact) * (1 + 1e-12) + 1e-9 * float(np.abs(grid).max() / own.min() * 2.0**-53)


def test_nothing_to_hide_costs_nothing():
    assert steepest_star_quotient(np.full((1, 5, 1), 7), np.ones(5)) == 0.0
    assert steepest_star_quotient(np.full((1, 5, 1), 0.1), np.ones(5)) == 0.0


def test_a_tiny_weight_far_up_a_long_range_is_not_lost_to_cancellation():
    grid = np.array([0, 2**52 - 2, 2**52 - 1], dtype=np.int64).reshape(1, 3, 1)
    own = np.array([1e9, 1e-9, 1e-9])
    assert steepest_star_quotient(grid, own) == pytest.approx(5e8, rel=1e-12)


@pytest.mark.parametrize(("height", "weight"), [(1e-288, 1e302), (3e-309, 1e149), (7e-310, 3.0), (5e-324, 1.0)])
def test_quotients_too_small_for_all_digits_are_rounded_up_too(height, weight):
    grid, own = np.array([0.0, height]).reshape(1, 2, 1), np.full(2, weight)
    found = steepest_star_quotient(grid, own)
    assert found > 0
    assert Fraction(found) >= exactly(grid, own)


def test_many_values_take_a_few_passes():
    """A hundred thousand values are five billion pairs; this would not end before tomorrow one by one."""
    generator = np.random.default_rng(7)
    grid = generator.integers(0, 10**6, (1, 100_000, 1))
    own = generator.random(100_000) + 0.01
    found = steepest_star_quotient(grid, own)
    some = generator.integers(0, 100_000, (2, 10**6))
    apart = np.abs(grid[0, some[0], 0] - grid[0, some[1], 0])
    assert found >= np.max(apart / (own[some[0]] + own[some[1]]))
