"""Tables within a thousandth of the best one: what HiGHS finds lies in the bracket."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import DxgeomError, UnboundedLoss, UnsupportedCombination
from dxgeom.lab import optimal_tables
from dxgeom.lab.dataset_space import neighbouring_datasets, small_graphs
from dxgeom.lab.finite_mechanism import PrivateTable
from dxgeom.lab.optimal_tables import bracketed_table, optimal_table


def even(size):
    return [Fraction(1, size)] * size


@pytest.mark.parametrize("rate", ["1/4", "1", "4"])
def test_the_best_table_of_small_graphs_lies_in_the_bracket(rate):
    graphs = small_graphs(5)
    space = neighbouring_datasets(graphs.triangles().tolist(), graphs.first, graphs.second)
    metric = space.metric(Fraction(rate))
    best = optimal_table(metric, even(space.size), space.losses).expected_loss(even(space.size), space.losses)
    found = bracketed_table(metric, even(space.size), space.losses)
    assert isinstance(found.table, PrivateTable)
    error = found.table.expected_loss(even(space.size), space.losses)
    assert found.least <= best * (1 + 1e-6)
    assert best * (1 - Fraction(1, 10**6)) <= error <= found.least * 1.0011


def test_half_the_spend_is_half_the_distance():
    places = np.array([[x, y] for x in range(4) for y in range(3)])
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    losses = [[Fraction(int(((a - b) ** 2).sum())) for b in places] for a in places]
    half = bracketed_table(dx.verify_metric(apart), even(12), losses, spend=Fraction(1, 2))
    whole = bracketed_table(dx.verify_metric(apart / 2), even(12), losses)
    assert half.table.spend == Fraction(1, 2)
    assert half.least == pytest.approx(whole.least, rel=2e-3)


def test_secrets_that_are_hidden_among_none_or_fully_are_refused():
    losses = [[Fraction(abs(x - w)) for w in range(3)] for x in range(3)]
    apart = dx.verify_metric([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    with pytest.raises(UnsupportedCombination, match="leave it out"):
        bracketed_table(apart, even(3), losses)
    with pytest.raises(UnboundedLoss):
        bracketed_table(dx.verify_metric(np.zeros((3, 3))), even(3), losses)
    with pytest.raises(DxgeomError, match="a row for each"):
        bracketed_table(apart, even(3), losses[:2])


def test_negative_losses_have_no_bracket():
    """Their multipliers began below 0, and a bound came out that the best table undercuts."""
    losses = [[Fraction(abs(x - w) - 3) for w in range(4)] for x in range(4)]
    metric = dx.verify_metric([[abs(x - y) for y in range(4)] for x in range(4)])
    with pytest.raises(UnsupportedCombination, match="not negative"):
        bracketed_table(metric, even(4), losses)


def places(side):
    spots = np.array([[x, y] for x in range(side) for y in range(side)])
    apart = np.linalg.norm(spots[:, None] - spots, axis=2)
    losses = [[Fraction(int(((a - b) ** 2).sum())) for b in spots] for a in spots]
    return dx.verify_metric(apart), even(side**2), losses


def test_large_programmes_are_solved_from_inside_and_lose_no_more(monkeypatch):
    given = places(5)
    highs = optimal_table(*given)
    monkeypatch.setattr(optimal_tables, "_FROM_INSIDE", 0)
    inside = optimal_table(*given)
    assert inside.expected_loss(*given[1:]) <= highs.expected_loss(*given[1:]) * (1 + Fraction(1, 10**4))
    shifted = [[cost - 5 for cost in row] for row in given[2]]
    moved = optimal_table(given[0], given[1], shifted).expected_loss(*given[1:])
    assert float(moved) == pytest.approx(float(inside.expected_loss(*given[1:])), rel=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("stretch", ["1.05", "1.2"])
def test_a_hundred_places_have_an_optimal_table(stretch):
    metric, prior, losses = places(10)
    table = optimal_table(metric, prior, losses, stretch=Fraction(stretch))
    assert table.expected_loss(prior, losses) < 5
