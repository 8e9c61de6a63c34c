"""Statistics of numbers in an interval whose distances are a rate times how far apart they are."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of

pytestmark = pytest.mark.long


def statistics_of(low, cells, step, per, ages):
    """Metric and sums of pay (with a rate of 1/per) and age (.3/5 each), up to the second moments."""
    policy = dx.Policy.from_dict(
        {
            "policy": "pay",
            "universe": {
                "attributes": {
                    "pay": {"range": [float(low), float(low + cells * step)], "step": float(step)},
                    "age": {"range": [20, 20 + ages], "step": 1, "whole": True},
                }
            },
            "rules": [
                {"change": "pay", "epsilon": 1, "per": str(per)},
                {"change": "age", "epsilon": "0.3", "per": 5},
            ],
        }
    )
    asked = dx.queries_from_dict({"tasks": [{"statistics": {"moments": ["pay", "age"], "degree": 2}}]}, policy)
    return policy.compile(), asked.parts[0].question.sums


def by_every_pair(sums, low, cells, step, per, ages):
    """The most that each sum changes for a nat, over all pairs of records, exactly."""
    weights = [
        [Fraction(int(n)) * Fraction(unit) for n in row] for row, unit in zip(sums.numerators, sums.units, strict=True)
    ]
    records = list(product([low + step * k for k in range(cells + 1)], range(20, 21 + ages)))
    apart = {
        (i, j): abs(records[i][0] - records[j][0]) / per + abs(records[i][1] - records[j][1]) * Fraction(3, 50)
        for i, j in combinations(range(len(records)), 2)
    }
    return [max(abs(row[i] - row[j]) / one for (i, j), one in apart.items()) for row in weights]


@settings(max_examples=8, deadline=None)
@given(
    st.integers(-4, 4),
    st.integers(2, 5),
    st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(5, 2)]),
    st.sampled_from([Fraction(20), Fraction(3)]),
    st.integers(1, 3),
)
def test_what_a_nat_changes_is_that_of_all_pairs(low, cells, step, per, ages):
    metric, sums = statistics_of(low, cells, step, per, ages)
    found = sensitivity_of(metric, sums)
    constants = found.of_each_query * found.queries.float_steps
    exact = by_every_pair(sums, low, cells, step, per, ages)
    for one, other in zip(constants.tolist(), exact, strict=True):
        assert float(other) * (1 - 1e-12) <= one <= float(other) * (1 + 1e-9)


def test_a_sum_changes_by_one_over_the_rate_and_a_square_by_its_slope():
    """T′/rate at its largest: of the sum 1/rate, of squares 2·max|x|/rate at most, whatever the step."""
    for step in (Fraction(2), Fraction(1, 4)):
        metric, sums = statistics_of(0, int(20 / step), step, Fraction(20), 2)
        found = sensitivity_of(metric, sums)
        constants = dict(zip(sums.names, (found.of_each_query * found.queries.float_steps).tolist(), strict=True))
        assert constants["sum of pay"] == pytest.approx(20, rel=1e-9)
        squares = next(number for name, number in constants.items() if name.count("pay") == 2 or "²" in name)
        assert 2 * 20 * 20 * (1 - 2 * float(step) / 20) <= squares <= 2 * 20 * 20 * (1 + float(step) / 20)


def test_noise_of_a_plan_hides_every_pair():
    metric, sums = statistics_of(0, 6, Fraction(1, 2), Fraction(20), 2)
    mechanism = dx.plan(metric, sums, mechanism="laplace").mechanism
    matrix = np.array(sums.matrix, dtype=float)
    scales = np.sqrt(mechanism.variances() / 2)
    first, second = np.triu_indices(metric.size, 1)
    spent = (np.abs(matrix[:, first] - matrix[:, second]) / scales[:, None]).sum(axis=0)
    assert np.all(spent <= metric.distance(first, second) * (1 + 1e-9))
