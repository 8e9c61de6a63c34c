"""Workloads handed over as sparse matrices mean what their dense ones mean, and are not laid out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import dxgeom as dx
from dxgeom.errors import TooLarge, UnsupportedCombination


def universe_of(sizes, presence=False):
    attributes = {f"a{k}": {"range": [0, n - 1], "step": 1} for k, n in enumerate(sizes)}
    rules = [{"change": name, "epsilon": 1} for name in attributes]
    rules += [{"presence": True, "epsilon": 2}] if presence else []
    policy = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
    return policy, policy.universe


def rows_of(sizes, generator):
    """Boxes, products of sets, fractions, any weights, and nothing at all."""
    shape, rows = tuple(sizes), []
    for kind in range(12):
        row = np.zeros(shape)
        if kind < 8:
            sets = [np.flatnonzero(generator.random(n) < 0.5) if k % 2 else np.arange(n) for k, n in enumerate(sizes)]
            row[np.ix_(*sets)] = [1, 1, 0.5, -3][kind % 4]
        elif kind < 11:
            row = np.where(generator.random(shape) < 0.2, generator.integers(-5, 6, shape) / 4, 0)
        rows.append(row.ravel())
    return np.array(rows)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_matrix, sparse.csc_array])
@pytest.mark.parametrize("presence", [False, True])
def test_a_sparse_matrix_means_what_its_rows_mean(form, presence):
    generator = np.random.default_rng(1)
    policy, universe = universe_of((4, 3, 5), presence)
    rows = rows_of((4, 3, 5), generator)
    names = [f"q{k}" for k in range(len(rows))]
    thin, laid_out = (dx.LinearQueries.from_matrix(names, one, universe) for one in (form(rows), rows))
    counts = generator.integers(0, 9, universe.size)
    assert thin.answers(counts) == laid_out.answers(counts)
    assert np.array_equal(thin.matrix, laid_out.matrix)
    plans = [dx.plan(policy.compile(), one, mechanism="laplace") for one in (thin, laid_out)]
    assert plans[0].mechanism.variances() == pytest.approx(plans[1].mechanism.variances(), rel=1e-6)


def test_nothing_as_large_as_the_matrix_is_laid_out():
    _, universe = universe_of((100, 100, 100))
    cells = np.arange(10**6).reshape(100, 100, 100)
    queries, places = [], []
    for k in range(600):
        box = cells[k % 90 : k % 90 + 1 + k % 7, k // 7 : k // 7 + 3, :].ravel()
        queries.append(np.full(box.size, k))
        places.append(box)
    entries = np.ones(sum(map(len, places)), dtype=np.int64)
    matrix = sparse.csr_array((entries, (np.concatenate(queries), np.concatenate(places))), shape=(600, 10**6))
    workload = dx.LinearQueries.from_matrix([f"q{k}" for k in range(600)], matrix, universe)
    assert sum(table.cells * len(table.queries) for table in workload.tables.tables) < 10**7
    assert workload.answers(np.ones(10**6, dtype=np.int64)) == [len(one) for one in places]


def test_what_does_not_fit_is_refused():
    _, universe = universe_of((4, 3))
    with pytest.raises(UnsupportedCombination, match="one weight per possible record, 12"):
        dx.LinearQueries.from_matrix(["q"], sparse.csr_array(np.ones((1, 11))), universe)
    with pytest.raises(UnsupportedCombination):
        dx.LinearQueries.from_matrix(["q"], sparse.csr_array(np.array([[np.nan] + [0.0] * 11])), universe)
    with pytest.raises(TooLarge, match="laid out"):
        dx.LinearQueries.from_matrix([f"q{k}" for k in range(300)], sparse.csr_array((300, 10**6)))
