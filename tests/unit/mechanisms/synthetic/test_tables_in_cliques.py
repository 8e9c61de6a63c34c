"""Cliques that grow table by table, and the model that is kept in them: held against the histogram of it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.optimize  # noqa: F401 (loaded before a test is timed)

from dxgeom.mechanisms.synthetic import table_model
from dxgeom.mechanisms.synthetic.clique_forest import CliqueForest
from dxgeom.mechanisms.synthetic.clique_tables import CliqueLayout
from dxgeom.mechanisms.synthetic.table_model import MeasuredTable, TableModel, fitted

SHAPE = (3, 2, 4, 2, 3, 2)


def sets_of(seed, shape=SHAPE, most=3):
    random = np.random.default_rng(seed)
    count = int(random.integers(0, 8))
    drawn = [random.choice(len(shape), size=random.integers(1, most + 1), replace=False) for _ in range(count)]
    return list(dict.fromkeys(tuple(sorted(one.tolist())) for one in drawn))


def require_a_forest(forest, sets):
    assert all(forest.holding(one) is not None for one in sets)
    assert not any(one <= other for one, other in itertools.permutations(forest.cliques, 2))
    for axis in range(len(forest.shape)):
        having = {place for place, clique in enumerate(forest.cliques) if axis in clique}
        tops = [place for place in having if forest.parents[place] not in having]
        assert len(tops) == 1  # connected: each but the first has the one before it among them
    assert all(parent is None or parent < place for place, parent in enumerate(forest.parents))
    assert forest.cells == sum(math.prod(forest.shape[axis] for axis in one) for one in forest.cliques)


@pytest.mark.parametrize("seed", range(60))
def test_cliques_hold_every_table_and_cost_no_more_than_was_said(seed):
    shape = tuple(np.random.default_rng(seed).integers(2, 6, 9).tolist())
    forest, before = CliqueForest.around(shape), []
    for axes in sets_of(seed, shape, 4) + sets_of(seed + 1000, shape, 2):
        said, forest = forest.cells_with(axes), forest.joined(axes)
        before.append(axes)
        require_a_forest(forest, before)
        assert forest.cells <= said
        assert forest.joined(axes) is forest
    again = CliqueForest.around(shape, before)
    assert (again.cliques, again.parents) == (forest.cliques, forest.parents)


def parameters_of(sets, seed, scale=2.0):
    random = np.random.default_rng(seed)
    return {axes: random.normal(0, scale, math.prod(SHAPE[axis] for axis in axes)) for axes in sets}


def by_hand(histogram, axes):
    """A table of rising axes, flat, without the code that is tested."""
    return np.einsum(histogram, range(6), axes).ravel()


@pytest.mark.parametrize("seed", range(40))
def test_every_table_is_that_of_the_histogram(seed):
    parameters = parameters_of(sets_of(seed), seed)
    slow, log_sum = table_model._distribution(SHAPE, parameters)
    cliques = CliqueLayout(CliqueForest.around(SHAPE, parameters)).fitted_to(parameters)
    assert cliques.log_sum == pytest.approx(log_sum)
    wanted = [one for width in (1, 2, 3, 6) for one in itertools.combinations(range(6), width)]
    for axes, table in cliques.tables(wanted).items():
        assert np.allclose(table, by_hand(slow, axes), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_tables_of_pairs_are_those_that_are_summed_one_by_one(seed):
    """Trees of any form, shared sets that overlap in part, and a hub; against tables made pair by pair."""
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(2, 4, 12).tolist())
    sets = [tuple(sorted({int(one), int(random.integers(max(one - 3, 0), one + 1))})) for one in range(12)]
    sets += sets_of(seed, shape) if seed % 2 else [(0, one) for one in range(5, 12)]
    parameters = {axes: random.normal(0, 2, math.prod(shape[axis] for axis in axes)) for axes in sets}
    cliques = CliqueLayout(CliqueForest.around(shape, parameters)).fitted_to(parameters)
    pairs = [one for one in itertools.combinations(range(12), 2) if cliques.layout.home(one) is None]
    assert len(pairs) > 12
    found = cliques._pairs(pairs)
    assert set(found) == set(pairs)
    for pair in pairs:
        assert np.allclose(found[pair], cliques._across(pair), rtol=1e-9, atol=1e-15)


def test_far_apart_logarithms_lose_nothing_of_what_is_left():
    """A value of a shared attribute has e^-900 of the others in one clique, and all of them by the next."""
    parameters = {(0, 1): np.array([0, 1, 0, 2, -900.0, -901]), (0, 2): np.array([*[0.0] * 8, *[900.0] * 4])}
    slow, log_sum = table_model._distribution(SHAPE, parameters)
    cliques = CliqueLayout(CliqueForest.around(SHAPE, parameters)).fitted_to(parameters)
    assert cliques.log_sum == pytest.approx(log_sum)
    assert np.allclose(cliques.tables([(0, 1)])[0, 1], by_hand(slow, (0, 1)))


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_both_fit_the_same_model(seed, monkeypatch):
    """The law that models in cliques are held to: same tables in, same answers out, up to where searches end."""
    random = np.random.default_rng(seed)
    truth = random.multinomial(2000, random.dirichlet(np.full(math.prod(SHAPE), 0.5))).reshape(SHAPE)
    tables = []
    for axes in [(0,), *sets_of(seed + 2)]:
        exact = by_hand(truth, axes)
        tables.append(MeasuredTable(axes, exact + random.normal(0, 5, exact.size), 5.0))
    begun, laid_out = tables[: len(tables) // 2 + 1], []
    for most in (10**7, 1):
        monkeypatch.setattr(table_model, "MOST_CELLS", most)
        model = fitted(SHAPE, tables, 2000.0, 200, fitted(SHAPE, begun, 2000.0, 20))
        assert model.laid_out == (most > 1)
        laid_out.append(model.tables([(0, 1), (2, 3, 4), (5,)]))
    for one, other in zip(*laid_out, strict=True):
        assert np.allclose(one, other, atol=0.5)


def test_a_layout_goes_on_from_that_of_before(monkeypatch):
    monkeypatch.setattr(table_model, "MOST_CELLS", 1)
    tables = [MeasuredTable(axes, np.full(math.prod(SHAPE[a] for a in axes), 9.0), 1.0) for axes in ((0,), (1, 2))]
    first = fitted(SHAPE, tables, 72.0, 5)
    assert fitted(SHAPE, tables, 72.0, 5, first).layout is first.layout
    more = fitted(SHAPE, [*tables, MeasuredTable((2, 3), np.full(8, 9.0), 1.0)], 72.0, 5, first)
    assert more.layout.forest.cliques == CliqueForest.around(SHAPE, more.parameters).cliques


@pytest.mark.parametrize("seed", range(4))
def test_records_have_the_tables_of_the_model(seed, monkeypatch):
    """Every clique's table within a part of what as many records drawn at random would be off by."""
    monkeypatch.setattr(table_model, "MOST_CELLS", 1)
    parameters = parameters_of([(0, 1), (1, 2), (2, 3), (4,), (0, 5)], seed, 1.0)
    model, rows = TableModel(SHAPE, parameters, 100.0), 20_000
    parts = list(model.records(rows, 6000))
    assert [len(one[0]) for one in parts] == [6000, 6000, 6000, 2000]
    codes = [np.concatenate([one[axis] for one in parts]) for axis in range(6)]
    wanted = [*parameters, (0, 2), (3, 4), (1, 3, 5)]
    for axes, table in zip(wanted, model.tables(wanted), strict=True):
        shape = [SHAPE[axis] for axis in axes]
        counts = np.bincount(np.ravel_multi_index([codes[axis] for axis in axes], shape), minlength=table.size)
        chance = table / 100
        assert np.all(np.abs(counts - rows * chance) < 4 * np.sqrt(rows * chance * (1 - chance)) + 3)
        if axes in parameters:
            assert np.abs(counts - rows * chance).max() < 25
    again = next(model.records(rows, 6000))
    assert all(map(np.array_equal, again, parts[0]))


def test_few_records_in_many_groups_follow_the_model():
    """Of as many records as there are values of what is shared: each has a value of its own chance, none the middle."""
    shape = (500, 10, 10)
    parameters = {(0, 1): np.zeros(5000), (0, 2): np.zeros(5000)}
    cliques = CliqueLayout(CliqueForest.around(shape, parameters)).fitted_to(parameters)
    (codes,) = cliques.records(500, 1000)
    for axes in ((1,), (2,)):
        assert np.bincount(codes[axes[0]], minlength=10).max() < 75
    both = np.bincount(codes[1] * 10 + codes[2], minlength=100)
    assert both.max() < 20  # 5 are expected of each
    assert np.count_nonzero(both) > 75
