"""A histogram fitted to noisy tables: the maximum of its objective, positive, and what another library finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.synthetic.table_model import SOFTENING, MeasuredTable, TableModel, fitted

SHAPE = (3, 2, 4)


def tables_of(seed, deviation=2.0, records=500, sets=((0,), (1, 2), (0, 2))):
    random = np.random.default_rng(seed)
    truth = random.multinomial(records, random.dirichlet(np.full(24, 0.5))).reshape(SHAPE)
    found = []
    for axes in sets:
        exact = truth.sum(axis=tuple(axis for axis in range(3) if axis not in axes)).ravel()
        found.append(MeasuredTable(axes, exact + random.normal(0, deviation, exact.size), deviation))
    return truth, found


def plainly(tables, total):
    """The same maximum, with every cell's logarithm as a sum over listed tables, by another search."""
    places = [
        np.ravel_multi_index(
            [np.indices(SHAPE).reshape(3, -1)[axis] for axis in one.axes], [SHAPE[axis] for axis in one.axes]
        )
        for one in tables
    ]
    ends = np.cumsum([one.values.size for one in tables])[:-1]

    def loss(point):
        parts = np.split(point, ends)
        logs = sum(part[place] for part, place in zip(parts, places, strict=True))
        value = total * (logs.max() + np.log(np.exp(logs - logs.max()).sum()))
        for one, part in zip(tables, parts, strict=True):
            value += SOFTENING * one.deviation / 2 * part @ part - one.values @ part
        return value

    found = minimize(loss, np.zeros(sum(one.values.size for one in tables)), method="BFGS", options={"gtol": 1e-4})
    logs = sum(part[place] for part, place in zip(np.split(found.x, ends), places, strict=True))
    weights = np.exp(logs - logs.max())
    return total * weights / weights.sum()


@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_the_maximum_that_a_plain_search_finds(seed):
    _, tables = tables_of(seed)
    model = fitted(SHAPE, tables, 500.0, 400)
    assert np.allclose(model.table((0, 1, 2)), plainly(tables, 500.0), atol=0.1)
    assert model.distribution.min() > 0
    assert model.distribution.sum() == pytest.approx(1)


def test_tables_of_the_same_attributes_count_by_their_precision():
    _, (one, *_) = tables_of(3)
    twice = [one, MeasuredTable(one.axes, one.values + 30, one.deviation * 1e6)]
    assert np.allclose(
        fitted(SHAPE, twice, 500.0, 100).table((0,)), fitted(SHAPE, [one], 500.0, 100).table((0,)), atol=0.01
    )


def test_it_begins_where_it_is_told_and_tables_agree():
    truth, tables = tables_of(4, deviation=0.01)
    model = fitted(SHAPE, tables, 500.0, 300)
    again = fitted(SHAPE, tables, 500.0, 1, model)
    assert np.allclose(again.table((1, 2)), model.table((1, 2)), atol=0.5)
    assert np.allclose(model.table((1, 2)), truth.sum(axis=0).ravel(), atol=1)
    assert np.allclose(model.table((1, 2)).reshape(2, 4).sum(axis=1), model.table((1,)))


def test_a_histogram_of_too_many_cells_is_refused():
    with pytest.raises(TooLarge, match="cells"):
        _ = TableModel((10_000, 10_000), {}, 1.0).distribution


@pytest.mark.needs("mbi")
@pytest.mark.long
def test_mbi_fits_the_same_tables_about_as_well():
    from dxgeom.mechanisms.synthetic.graphical_model import NoisyTable, estimate

    truth, tables = tables_of(5, deviation=6.0, records=2000)
    noisy = [NoisyTable(one.axes, one.values, np.full(one.values.size, one.deviation)) for one in tables]
    other = estimate(SHAPE, noisy, 2000.0, 0.8) * 2000
    own = fitted(SHAPE, tables, 2000.0, 300).table((0, 1, 2))
    errors = [np.abs(one - truth.ravel()).sum() for one in (own, other)]
    assert errors[0] < 1.2 * errors[1]
