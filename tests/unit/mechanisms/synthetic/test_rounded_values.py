"""Bounds of synthetic tables and small databases are about the raw numbers that values stand for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.numeric.randomness import InsecureSeededRandomness

POLICY = dx.parse_policy("""
policy: ages
universe: {attributes: {sex: [F, M], age: {range: [0, 100], step: 20}}}
rules: [{change: [sex, age], epsilon: 1}]
""")
RECORDS = 1000
QUERIES = dx.parse_queries(
    "records: 1000\nqueries: [{mean: age}, {sum: age, where: sex == 'F'}, {count: sex == 'F'}]", POLICY
)
MOST = np.array([10.0, 10.0 * RECORDS, 0.0])
"""Of each answer: the middle of 20 numbers is at most 10 from any of them."""
COUNTS = np.zeros(POLICY.universe.size, dtype=np.int64)
COUNTS[POLICY.universe.index({"sex": "F", "age": "20"})] = RECORDS
TRUTHS = [np.array([age, age * RECORDS, RECORDS], dtype=float) for age in (20.0, 39.999)]
"""Of tables whose people are all as young, or all as old, as their value allows."""


@pytest.mark.parametrize("rounds", [0, 2])
def test_bounds_of_a_synthetic_table_hold_for_the_raw_numbers(rounds):
    answer = dx.mechanisms.synthetic.mwem(POLICY.compile(), QUERIES, rounds=rounds).draw(
        COUNTS, Fraction(10**6), InsecureSeededRandomness(3)
    )
    assert np.all(answer.rounding >= MOST) and np.allclose(answer.rounding, MOST)
    for truth in TRUTHS:
        assert np.all(np.abs(answer.answers - truth) <= answer.error_bounds(1 - 1e-9))
        assert np.abs(answer.answers[:2] - truth[:2]).max() > 5  # which noise alone would never explain
    assert answer.largest_error() >= MOST.max()


def test_the_bound_of_a_small_database_holds_for_the_raw_numbers():
    metric = POLICY.compile()
    rounded = dx.mechanisms.selection.small_database(metric, QUERIES, 0.7)
    spend = Fraction(10**6)
    assert rounded.error_bound(RECORDS, spend=spend) >= MOST.max()
    answer = rounded.draw(COUNTS, spend, InsecureSeededRandomness(4))
    for truth in TRUTHS:
        assert np.abs(answer.answers - truth).max() <= rounded.error_bound(RECORDS, 1 - 1e-9, spend)


def test_rounding_lifts_the_bound_of_a_small_database_by_what_it_can_do():
    rounded, records = dx.mechanisms.selection.small_database(POLICY.compile(), QUERIES, 0.7), RECORDS
    reached = float(rounded.unit) * np.ptp(rounded.numerators, axis=1).max() * np.sqrt(np.log(6) / (2 * rounded.size))
    assert rounded.error_bound(records, spend=Fraction(10**12)) == pytest.approx(records * reached + MOST.max())
