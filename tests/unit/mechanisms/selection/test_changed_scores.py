"""Scores changed for a public number of records: odds and bounds by enumeration, the best by a linear programme."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from reference.selection_law import CHANCES, DIGITS
from scipy.optimize import linprog

import dxgeom as dx
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.mechanisms.selection import selections as selections_file
from dxgeom.mechanisms.selection.selections import selection
from dxgeom.metrics.verification import verify_metric
from dxgeom.universe.queries import LinearQueries

APART = [[Fraction(one) for one in row] for row in (("0", "1/50", "1"), ("1/50", "0", "1"), ("1", "1", "0"))]
"""Two possible records that are hard to tell apart, and one that is not."""
NEAR = verify_metric(APART)
TWO = np.array([[4, 3, 0], [0, 0, 4]])
THREE = np.array([[4, 3, 0], [3, 4, 0], [0, 0, 4]])
SPREAD = [[4, 3, 0], [7, 7, 5], [0, 2, 4]]


def candidates(matrix):
    return LinearQueries.from_matrix([f"c{k}" for k in range(len(matrix))], np.array(matrix))


def histograms(records):
    for types in itertools.combinations_with_replacement(range(3), records):
        yield np.bincount(types, minlength=3)


def chances(mechanism, counts, spend):
    scores = [int(score) for score in mechanism.numerators @ counts]
    return CHANCES[mechanism.name](scores, spend / Fraction(mechanism.range_sensitivity))


def least_bound(rows, distances, records, nats):
    """min nats·S + n·δ over all scores q', with (Δ'_r − Δ'_s) ≤ S·d and (q − q')_r − (q − q')_s ≤ δ for each record."""
    count, size = rows.shape
    limits, sides = [], []
    for (r, s), i in itertools.product(itertools.permutations(range(count), 2), range(size)):
        row = np.zeros(count * size + 2)
        row[[s * size + i, r * size + i, -1]] = 1, -1, -1
        limits.append(row)
        sides.append(rows[s, i] - rows[r, i])
        for j in set(range(size)) - {i}:
            row = np.zeros(count * size + 2)
            row[[r * size + i, r * size + j, s * size + i, s * size + j, -2]] = 1, -1, -1, 1, -distances[i][j]
            limits.append(row)
            sides.append(0.0)
    cost = np.zeros(count * size + 2)
    cost[-2:] = nats, records
    bounds = [(None, None)] * (count * size) + [(0, None)] * 2
    return float(linprog(cost, A_ub=np.array(limits), b_ub=np.array(sides), bounds=bounds).fun)


@pytest.mark.parametrize("rows", [TWO, THREE, SPREAD], ids=["two", "three", "spread"])
@pytest.mark.parametrize(("records", "spend"), [(20, 1), (60, Fraction(1, 3)), (300, 1), (5000, 1)])
def test_the_bound_is_the_least_that_any_scores_have_and_never_above_that_of_the_asked(rows, records, spend):
    asked, made = selection(NEAR, candidates(rows)), selection(NEAR, candidates(rows), records=records, spend=spend)
    exact = Fraction(spend)
    least = least_bound(
        np.array(rows), [[float(one) for one in row] for row in APART], records, math.log(len(rows) * 20) / float(exact)
    )
    assert made.shortfall(0.95, exact) <= asked.shortfall(0.95, exact)
    assert made.shortfall(0.95, exact) >= least * (1 - 1e-7)
    if len(rows) == 2:
        assert made.shortfall(0.95, exact) <= least * (1 + 1e-5)
    assert (made.change is None) == (made.fingerprint == asked.fingerprint)


@pytest.mark.parametrize("law", sorted(CHANCES))
@pytest.mark.parametrize("rows", [TWO, THREE, SPREAD], ids=["two", "three", "spread"])
def test_odds_and_bounds_hold_for_all_data_by_the_exact_chances(law, rows, monkeypatch):
    """A change for so few records is made whatever it gains."""
    monkeypatch.setattr(selections_file, "_lost_without_data", lambda asked: math.inf)
    made, spend = selection(NEAR, candidates(rows), law, records=4), Fraction(2)
    assert made.change is not None
    for counts in histograms(4):
        here = chances(made, counts, spend)
        true = np.array(rows) @ counts
        lost = [float(true.max() - one) for one in true]
        assert sum(float(p) * off for p, off in zip(here, lost, strict=True)) <= made.expected_shortfall(spend)
        for level in (0.3, 0.6, 0.95):
            missed = sum(p for p, off in zip(here, lost, strict=True) if off > made.shortfall(level, spend))
            assert missed <= (1 - level) * (1 + 1e-9)
        for i, j in itertools.product(np.flatnonzero(counts), range(3)):
            there = chances(made, counts - np.eye(3, dtype=int)[i] + np.eye(3, dtype=int)[j], spend)
            with mpmath.workdps(DIGITS):
                nats = spend * APART[i][j]
                most = mpmath.exp(mpmath.mpf(nats.numerator) / nats.denominator) * (1 + mpmath.mpf(10) ** -25)
                assert all(one <= most * other for one, other in zip(here, there, strict=True))


def test_the_stated_shift_is_what_leads_are_off_by():
    change = (made := selection(NEAR, candidates(THREE), records=60)).change
    off = THREE - made.candidates.matrix
    assert change.shift == Fraction(float(np.ptp(off, axis=0).max()))
    assert change.bias == 60 * change.shift
    assert made.range_sensitivity * float(made.unit) < selection(NEAR, candidates(THREE)).range_sensitivity / 10


def test_a_release_goes_by_the_changed_scores_for_the_records_that_they_were_changed_for():
    made = selection(NEAR, candidates(TWO), records=60)
    counts = np.array([1, 0, 59])
    release = dx.release(made, counts, ledger=":memory:", spend=1, insecure_test_seed=1)
    assert release.answer == 1
    with pytest.raises(DataError, match="changed for 60 records, these are 61"):
        dx.release(made, counts + np.array([1, 0, 0]), ledger=":memory:", spend=1)


def test_scores_stay_where_a_change_saves_nothing_or_no_more_than_reading_no_data():
    plain = selection(NEAR, candidates(TWO))
    for records in (1, 5000):
        assert selection(NEAR, candidates(TWO), records=records).fingerprint == plain.fingerprint
    wide = selection(NEAR, candidates(TWO * 2**24), records=60)
    assert wide.change is None
    with pytest.raises(UnsupportedCombination, match="positive number"):
        selection(NEAR, candidates(TWO), records=0)


def test_scores_that_move_together_between_records_that_cannot_be_told_apart_are_changed_by_their_leads(monkeypatch):
    monkeypatch.setattr(selections_file, "_lost_without_data", lambda asked: math.inf)
    metric = verify_metric([[0, 0, 0.25], [0, 0, 0.25], [0.25, 0.25, 0]])
    made = selection(metric, candidates([[5, 9, 0], [1, 5, 7]]), records=3)
    assert made.change is not None
    assert np.ptp(np.diff(made.numerators[:, :2], axis=0)) == 0
