"""The bound along random directions: against lists of all changes, their hull's volume, and linear programmes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

import dxgeom as dx
from dxgeom.mechanisms.parts import box_bound as random_volumes
from dxgeom.mechanisms.parts.box_bound import BoxChanges, every_pair, neighbours, random_volume_bound

SIZES = (3, 4, 2)


def drawn(seed, sizes=SIZES, count=9):
    """Boxes of one attribute or two by a seed, changes of the second along a line, of the last not at all."""
    generator = np.random.default_rng(seed)
    inside = [np.ones((count, size)) for size in sizes]
    kinds = [(0,), (1,), (0, 1), (1, 2), (0, 2)]
    which = np.concatenate([np.arange(5), generator.integers(0, len(kinds), count)])[:count]
    for box, kind in enumerate(which):
        for place in kinds[kind]:
            low, high = np.sort(generator.choice(sizes[place] + 1, 2, replace=False))
            inside[place][box] = (low <= np.arange(sizes[place])) & (np.arange(sizes[place]) < high)
    supports = tuple((kinds[kind], np.flatnonzero(which == kind)) for kind in range(len(kinds)) if kind in which)
    pairs = (every_pair(sizes[0], 1.5), neighbours(np.array([1.0, math.inf, 0.5])), None)
    return BoxChanges(tuple(inside), supports, pairs, generator.uniform(0.5, 2, count))


def listed(changes):
    """Every change, one record's after another's."""
    sizes, found = [one.shape[1] for one in changes.inside], []
    for place, own in enumerate(changes.pairs):
        if own is not None:
            rest = [range(size) for number, size in enumerate(sizes) if number != place]
            for one, other, inverse in zip(*own, strict=True):
                for values in itertools.product(*rest):
                    records = [(*values[:place], value, *values[place:]) for value in (one, other)]
                    counts = [
                        math.prod(inside[:, value] for inside, value in zip(changes.inside, record, strict=True))
                        for record in records
                    ]
                    found.append(changes.roots * (counts[0] - counts[1]) * inverse)
    return np.array(found)


@pytest.mark.parametrize("seed", range(8))
def test_the_smooth_maximum_is_that_of_the_list_and_so_is_the_mean_square(seed):
    changes = drawn(seed)
    every, direction = listed(changes), np.random.default_rng(seed).standard_normal(9)
    assert changes.count == len(every)
    value, mean = changes.smooth(direction, 2.5)
    scores = 2.5 * every @ direction
    assert value == pytest.approx(np.log(np.exp(scores).sum()) / 2.5)
    assert mean == pytest.approx(np.exp(scores) @ every / np.exp(scores).sum())
    # The same weight for both attributes, whatever their numbers of changes.
    first = 6 * 8
    by_attribute = [every[:first], every[first:]]
    assert changes.moment() == pytest.approx(sum(one.T @ one / len(one) for one in by_attribute) / 2)


def spanned(changes):
    every = listed(changes)
    _, lengths, axes = np.linalg.svd(every, full_matrices=False)
    return every @ axes[lengths > 1e-9].T


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_below_that_of_the_hulls_volume_and_no_caution_makes_it_nearly_that(seed, monkeypatch):
    changes = drawn(seed, count=4)
    points = spanned(changes)
    dimension = points.shape[1]
    monkeypatch.setattr(random_volumes, "_LEAST_DIMENSION", 1)
    hull = ConvexHull(points).volume if dimension > 1 else float(np.ptp(points))
    ball = math.pi ** (dimension / 2) / math.gamma(dimension / 2 + 1)
    exact = dimension * (dimension + 1) * (hull / ball) ** (2 / dimension)
    assert 0 < random_volume_bound(changes) < exact
    monkeypatch.setattr(random_volumes, "_DRAWN", 60)
    assert 0.3 * exact < random_volume_bound(changes) < exact


@pytest.mark.parametrize("seed", range(4))
def test_a_gauge_is_not_below_that_of_a_linear_programme_and_near_it(seed):
    changes = drawn(seed, count=7)
    squares, axes = np.linalg.eigh(changes.moment())
    kept = squares > 1e-9
    hull = random_volumes._Hull(changes, axes[:, kept], squares[kept])
    lengths = np.sqrt(squares[kept]) * np.random.default_rng(seed).uniform(0.7, 1.4, hull.dimension)
    direction = np.random.default_rng(seed + 9).standard_normal(hull.dimension)
    direction /= np.linalg.norm(direction)
    points = listed(changes) @ (hull.axes / lengths)
    exact = linprog(np.ones(len(points)), A_eq=points.T, b_eq=direction).fun
    assert exact * (1 - 1e-9) <= hull.gauge(lengths, direction).above <= 1.25 * exact


def test_ranges_and_cells_together_have_a_larger_bound_by_directions():
    names = [f"a{k}" for k in range(4)]
    universe = {"attributes": {name: {"range": [0, 4], "step": 1} for name in names}}
    rules = [{"change": name, "epsilon": 1} for name in names]
    own = dx.Policy.from_dict({"policy": "boxes", "universe": universe, "rules": rules})
    asked = [
        {one: (i, i + 1), other: (j, j + 1)}
        for one, other in itertools.combinations(names, 2)
        for i in range(5)
        for j in range(5)
    ]
    asked += [{one: (1, 4), other: (0, 3)} for one, other in itertools.combinations(names, 2)]
    plan = dx.plan(own.compile(), dx.universe.BoxQueries.of(own.universe, asked))
    assert 1 < plan.gap < 3.2
