from __future__ import annotations

import numpy as np
import pytest

from dxgeom.errors import TooLarge
from dxgeom.geometry.hulls.span import hull_in_span


def flat(rank, coordinates, seed=0):
    generator = np.random.default_rng(seed)
    return generator.integers(-9, 10, (5 * rank, rank)) @ generator.integers(-3, 4, (rank, coordinates))


@pytest.mark.parametrize(("rank", "coordinates"), [(1, 4), (2, 3), (3, 7), (3, 3)])
def test_a_flat_hull_is_a_norm_on_its_span_and_infinite_beside_it(rank, coordinates):
    differences, bounds = flat(rank, coordinates), np.full(5 * rank, 2.0)
    hull = hull_in_span(differences, bounds, 7)
    assert hull.is_flat == (rank < coordinates)
    assert hull.body.dimension == rank
    assert np.all(hull.gauge(differences) <= bounds * (1 + 1e-12))
    assert np.any(hull.gauge(differences) >= bounds * (1 - 1e-6))
    if hull.is_flat:
        follower = next(k for k in range(coordinates) if k not in hull.span.pivots)
        beside = differences.copy()
        beside[:, follower] += 1
        assert np.all(np.isinf(hull.gauge(beside)))


def test_a_span_of_too_many_dimensions_is_refused():
    with pytest.raises(TooLarge, match="more than 2 dimensions"):
        hull_in_span(flat(3, 4), np.ones(15), 2)
