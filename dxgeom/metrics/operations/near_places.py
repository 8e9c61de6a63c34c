"""Which places of two kinds are nearest to each other, without looking at every pair of places.

Kernel: SciPy's k-d tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.families.distances import EARTH_RADIUS_KM, absolute_error, on_the_unit_sphere
from dxgeom.metrics.families.points import PointsMetric
from dxgeom.metrics.kernels.dual_tree import Separation
from dxgeom.metrics.metric import PairBlock
from dxgeom.numeric.rounding import round_down

TREE_FROM: Final = 3000
"""Fewer places are compared pair by pair."""
_KINDS: Final = 256
_ROUNDING_OF_A_PRODUCT: Final = 2.0**-51
_ROUNDING_OF_A_CHORD: Final = 1e-14
"""Relative: more than a tree's distance of two points is rounded by."""


def separation_of(metric: PointsMetric) -> tuple[NDArray[np.float64], Separation]:
    """The places as points in space, and how far their distance there keeps them apart at least; *rounded down*."""
    points, radius = metric.coordinates, 0.0
    if metric.geometry == "great circle":
        points, radius = on_the_unit_sphere(points), EARTH_RADIUS_KM
    error = absolute_error(metric.coordinates, metric.geometry)
    rate = round_down(metric.rate) * (1 - _ROUNDING_OF_A_PRODUCT)
    return points, Separation(rate, round_down(metric.floor), error, radius)


def few_kinds(metric: PointsMetric, which: NDArray[np.int64]) -> bool:
    """Whether places are so many, and of so few kinds, that trees are the way."""
    return metric.size >= TREE_FROM and int(which.max()) < _KINDS


def nearest_of_kinds(metric: PointsMetric, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Every pair of kinds that occur, once, with a bound *not above* the distance of any two places of these kinds.

    Below the least of these by a relative 10⁻¹³ at most, and what the rounding of coordinates can do.
    """
    from scipy.spatial import cKDTree  # not before there are many places: most metrics have none

    points, separation = separation_of(metric)
    order = np.argsort(which, kind="stable")
    kinds, starts = np.unique(which[order], return_index=True)
    members = np.split(points[order], starts[1:])
    for place, kind in enumerate(kinds[:-1].tolist()):
        tree, others = cKDTree(members[place]), points[order][starts[place + 1] :]
        nearest = np.minimum.reduceat(tree.query(others)[0], starts[place + 1 :] - starts[place + 1])
        bounds = separation.at_least(nearest * (1 - _ROUNDING_OF_A_CHORD))
        yield PairBlock(np.full(len(bounds), kind), kinds[place + 1 :].astype(np.int64), bounds)


def nearest_at_all(metric: PointsMetric) -> float:
    """Not above the smallest positive distance of two places, by as little; ∞ where all are at one spot."""
    from scipy.spatial import cKDTree

    points, separation = separation_of(metric)
    floor = float(separation.floor)
    spots = np.unique(points, axis=0)
    if floor > 0 and len(spots) < len(points):
        return floor
    if len(spots) < 2:
        return np.inf
    nearest = cKDTree(spots).query(spots, k=2)[0][:, 1].min()
    return float(separation.at_least(np.array([nearest * (1 - _ROUNDING_OF_A_CHORD)]))[0])
