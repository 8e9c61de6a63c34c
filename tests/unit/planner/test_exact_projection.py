from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.planner.estimates.exact_projection import (
    NoSuchPointError,
    independent_equations,
    left_dependencies,
    nearest_point,
)


def fractions(values, scale=1):
    return [Fraction(int(value), scale) for value in values]


def problem(seed):
    """A point, variances, equations that some non-negative integer point satisfies, and the bounded coordinates."""
    generator = np.random.default_rng(seed)
    size, count = int(generator.integers(1, 6)), int(generator.integers(0, 4))
    rows = generator.integers(-2, 3, (count, size))
    inside = np.maximum(generator.integers(-3, 5, size), 0)
    point = fractions(generator.integers(-20, 20, size), 4)
    variances = fractions(generator.integers(1, 9, size))
    bounded = [k for k in range(size) if generator.random() < 0.8]
    return point, variances, [fractions(row) for row in rows], fractions(rows @ inside), bounded


def distance(one, other, variances):
    return sum((a - b) ** 2 / v for a, b, v in zip(one, other, variances, strict=True))


def best_of_all_faces(point, variances, rows, right, bounded):
    """The slow twin: every choice of coordinates held at 0, the best that is feasible."""
    size, found = len(point), []
    for held in chain.from_iterable(combinations(bounded, count) for count in range(len(bounded) + 1)):
        unit_rows = [[Fraction(int(j == k)) for j in range(size)] for k in held]
        try:
            equations = independent_equations(rows + unit_rows, right + [Fraction(0)] * len(held), size)
        except NoSuchPointError:
            continue
        candidate = nearest_point(point, variances, equations, [])
        if all(candidate[k] >= 0 for k in bounded):
            found.append((distance(candidate, point, variances), candidate))
    return min(found)


@settings(max_examples=80)
@given(st.integers(0, 10**6))
def test_the_nearest_point_is_the_best_of_all_faces(seed):
    point, variances, rows, right, bounded = problem(seed)
    nearest = nearest_point(point, variances, independent_equations(rows, right, len(point)), bounded)
    assert nearest == best_of_all_faces(point, variances, rows, right, bounded)[1]
    for row, side in zip(rows, right, strict=True):
        assert sum(entry * value for entry, value in zip(row, nearest, strict=True)) == side


def test_contradictions_are_told():
    one = [[Fraction(1), Fraction(1)]]
    with pytest.raises(NoSuchPointError):
        independent_equations(one * 2, fractions([1, 2]), 2)
    with pytest.raises(NoSuchPointError):
        nearest_point(fractions([0, 0]), fractions([1, 1]), independent_equations(one, fractions([-1]), 2), [0, 1])


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1, 10**15]))
def test_left_dependencies_span_the_null_space(seed, size):
    generator = np.random.default_rng(seed)
    free = generator.integers(-3, 4, (int(generator.integers(1, 4)), int(generator.integers(1, 6)))) * size
    matrix = generator.integers(-2, 3, (int(generator.integers(1, 6)), len(free))) @ free
    found = left_dependencies(matrix)
    for shares in found:
        assert not np.any(np.array(shares, dtype=object) @ matrix.astype(object))
    assert len(found) == len(matrix) - np.linalg.matrix_rank(matrix / size)
    assert not found or np.linalg.matrix_rank(np.array(found, dtype=float)) == len(found)
