"""Rényi divergences of released answers, summed over the exact discrete law, against α·(s·d)²/2 at every order.

The law is worked out again here from the mechanism's own numbers: cells of a normal density, one for each answer that
can be released. A sum that leaves cells out is smaller than the whole, and is told to be no more than is promised;
quadrature is good to 10⁻¹¹ of each cell.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

import dxgeom as dx

ORDERS = (1.001, 1.1, 1.5, 2.0, 3.0, 8.0, 32.0, 128.0, 1024.0)
SPENDS = (Fraction(1, 10), Fraction(1), Fraction(7), Fraction(40))
"""Noise is from some hundred steps wide to half of one."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
SLACK = 1e-9


def between(low, high):
    """log(Φ(high) − Φ(low)), of the tail that is nearer to 0."""
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    top = log_ndtr(high)
    return top + np.log1p(-np.exp(log_ndtr(low) - top))


def log_law(axes, around, reach):
    """Of round(axes·N + around), N standard normal, m ≤ 2: log-probabilities of all integers within the reach of 0."""
    _, upper = np.linalg.qr(axes.T)
    lower = upper.T * np.sign(np.diag(upper))
    cells = np.arange(-reach, reach + 1)
    if len(axes) == 1:
        return between((cells - 0.5 - around[0]) / lower[0, 0], (cells + 0.5 - around[0]) / lower[0, 0])
    at = (cells[:, None] + NODES / 2 - around[0]) / lower[0, 0]
    density = -(at**2) / 2 - np.log(2 * np.pi) / 2 + np.log(WEIGHTS / 2) - np.log(lower[0, 0])
    middle = around[1] + lower[1, 0] * at[..., None]
    inner = between((cells - 0.5 - middle) / lower[1, 1], (cells + 0.5 - middle) / lower[1, 1])
    return logsumexp(density[..., None] + inner, axis=1)


def divergence(one, other, order):
    """D_α in nats, of what both sums hold."""
    both = np.isfinite(one) & np.isfinite(other)
    return logsumexp(order * one[both] + (1 - order) * other[both]) / (order - 1)


def mechanism(rows, apart):
    metric = dx.verify_metric(np.array(apart, dtype=float), privacy="concentrated")
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], np.array(rows))
    return dx.plan(metric, queries, mechanism="gaussian").mechanism


def carriers(made):
    """The answers that carry a coordinate of the noise each."""
    mixing = made.mixing_matrix.tolist()
    return [mixing.index(unit) for unit in np.eye(made.law.dimension, dtype=int).tolist()]


LINE = [[abs(i - j) / 2 for j in range(4)] for i in range(4)]
EVEN = [[0.0 if i == j else 1.5 for j in range(4)] for i in range(4)]
UNEVEN = [[0, 0.1, 0.4, 3.0], [0.1, 0, 0.4, 3.0], [0.4, 0.4, 0, 3.0], [3.0, 3.0, 3.0, 0]]
ASKED = {
    "one count": [[1, 0, 0, 1]],
    "weights": [[0, 1, 2, 7]],
    "two": [[1, 0, 0, 0], [0, 1, 2, 3]],
    "one follows": [[1, 0, 0, 0], [0, 1, 1, 0], [2, -1, -1, 0]],
}


@pytest.mark.parametrize(
    "asked", ["one count", "weights", *(pytest.param(name, marks=pytest.mark.long) for name in ("two", "one follows"))]
)
@pytest.mark.parametrize("apart", [LINE, EVEN, UNEVEN], ids=["line", "even", "uneven"])
def test_no_order_of_the_exact_law_exceeds_its_promise_for_any_pair(asked, apart):
    made = mechanism(ASKED[asked], apart)
    place, nearest = carriers(made), 0.0
    integers = made.sensitivity.queries.numerators[place]
    for spend in SPENDS if len(place) == 1 else SPENDS[1:]:
        axes = made.law.body.axes / float(spend)
        spread = float(np.sqrt((axes**2).sum(axis=1)).max())
        for i, j in itertools.permutations(range(4), 2):
            shift = (integers[:, i] - integers[:, j]).astype(float)
            reach = int(np.ceil(min(9 * spread, 40) + np.abs(shift).max() + 2))
            if reach > 400:
                continue
            here, there = log_law(axes, np.zeros(len(place)), reach), log_law(axes, shift, reach)
            allowed = (float(spend) * apart[i][j]) ** 2 / 2
            found = np.array([divergence(here, there, order) / order for order in ORDERS])
            assert np.all(found <= allowed * (1 + SLACK) + SLACK), (spend, i, j, found / allowed)
            nearest = max(nearest, float(found.max() / allowed))
    assert nearest > 0.8
