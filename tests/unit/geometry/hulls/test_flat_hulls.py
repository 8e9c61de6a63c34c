from __future__ import annotations

import numpy as np
import pytest

from dxgeom.errors import TooLarge
from dxgeom.geometry.hulls import span_of
from dxgeom.geometry.polytope import hull_of_differences


def flat(rank, coordinates, seed=0):
    generator = np.random.default_rng(seed)
    return generator.integers(-9, 10, (5 * rank, rank)) @ generator.integers(-3, 4, (rank, coordinates))


@pytest.mark.parametrize(("rank", "coordinates"), [(1, 4), (2, 3), (3, 7), (3, 3)])
def test_a_flat_hull_is_a_norm_on_its_span_and_infinite_beside_it(rank, coordinates):
    differences, bounds = flat(rank, coordinates), np.full(5 * rank, 2.0)
    span = span_of(differences, bounds, 7)
    body = hull_of_differences(differences[:, span.pivots], bounds)

    def gauge(points):
        places = points[:, span.pivots]
        beside = np.any(places.astype(object) @ span.combinations.T != points, axis=1)
        return np.where(beside, np.inf, body.gauge(places))

    assert (len(span.pivots) < len(span.combinations)) == (rank < coordinates)
    assert body.dimension == rank
    assert np.all(gauge(differences) <= bounds * (1 + 1e-12))
    assert np.any(gauge(differences) >= bounds * (1 - 1e-6))
    if rank < coordinates:
        follower = next(k for k in range(coordinates) if k not in span.pivots)
        beside = differences.copy()
        beside[:, follower] += 1
        assert np.all(np.isinf(gauge(beside)))


def test_a_span_of_too_many_dimensions_is_refused():
    with pytest.raises(TooLarge, match="more than 2 dimensions"):
        span_of(flat(3, 4), np.ones(15), 2)
