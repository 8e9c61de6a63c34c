"""Least cost under bounded odds, against the simplex method on problems small enough for it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.lab import optimal_tables as ratio_program
from dxgeom.lab.optimal_tables import least_cost_rows


def by_simplex(costs, first, second, bounds):
    size, answers = costs.shape
    rows = []
    for x, y, bound in zip(first, second, bounds, strict=True):
        for (a, b), r in itertools.product(((x, y), (y, x)), range(answers)):
            row = np.zeros((size, answers))
            row[a, r], row[b, r] = np.exp(-bound), -1
            rows.append(row.ravel())
    sums = np.kron(np.eye(size), np.ones(answers))
    return linprog(costs.ravel(), np.array(rows), np.zeros(len(rows)), sums, np.ones(size), method="highs").fun


def joined(seed):
    """A path through all secrets and some pairs more, random costs and bounds."""
    generator = np.random.default_rng(seed)
    size, answers = generator.integers(2, 9, 2)
    more = generator.integers(0, size, (2, 4))
    first = np.concatenate([np.arange(size - 1), more[0][more[0] != more[1]]])
    second = np.concatenate([np.arange(1, size), more[1][more[0] != more[1]]])
    return generator.random((size, answers)), first, second, generator.uniform(0.05, 6, len(first))


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_rows_keep_the_odds_and_the_bound_is_below_the_least_cost(seed):
    costs, first, second, bounds = joined(seed)
    found = least_cost_rows(costs, first, second, bounds, 1e-3)
    assert np.allclose(found.rows.sum(axis=1), 1, atol=1e-9)
    for one, other in ((first, second), (second, first)):
        assert np.all(found.rows[one] <= found.rows[other] * np.exp(bounds)[:, None] * (1 + 1e-9))
    least = by_simplex(costs, first, second, bounds)
    assert found.least <= least + 1e-9
    assert least - 1e-9 <= np.sum(costs * found.rows) <= least * (1 + 1.01e-3)


def test_a_gap_that_float64_does_not_resolve_is_refused():
    costs, first, second, bounds = joined(3)
    with pytest.raises(CertificateRefused, match="float64"):
        least_cost_rows(costs, first, second, bounds, 1e-15)


def test_inverses_that_would_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(ratio_program, "LARGEST_BLOCKS", 10)
    with pytest.raises(TooLarge, match="inverses"):
        least_cost_rows(*joined(3), 1e-3)
