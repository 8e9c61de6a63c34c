"""Places: what is near is hard to tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.families.distances import Geometry, lower_distance
from dxgeom.metrics.metric import Metric, PairBlock, pairs_at_a_finite_distance
from dxgeom.numeric.rounding import product_round_down, round_down
from dxgeom.numeric.sealed import cached_property

_COORDINATE_RANGE = (1e-100, 1e100)
"""Squares of larger coordinates could overflow, of smaller ones lose their digits: the distance could be too large."""


@final
@dataclass(frozen=True, eq=False)
class PointsMetric(Metric):
    """d(i, j) = max(floor, rate·D(i, j)) for i ≠ j, D the plane or great-circle distance.

    With floor 0 this is geo-indistinguishability; with a floor, Blowfish's smooth distance threshold.

    ``coordinates``: (n, dims), degrees (latitude, longitude) on the great circle; ``rate``: nats per coordinate unit
    in the plane, per kilometre on the great circle. Two places at one spot have distance ``floor``.
    """

    coordinates: NDArray[np.float64] = field(repr=False)
    geometry: Geometry
    rate: Fraction
    floor: Fraction = Fraction(0)

    @property
    def size(self) -> int:
        return len(self.coordinates)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        grown = product_round_down(
            round_down(self.rate), lower_distance(self.coordinates, self.geometry, first, second)
        )
        return np.where(first == second, 0.0, np.maximum(grown, self._floor))

    def generating_pairs(self) -> Iterator[PairBlock]:
        return pairs_at_a_finite_distance(self)

    def certificate(self) -> MetricCertificate:
        require(self.rate > 0 and self.floor >= 0, "a rate is positive and a floor is not negative")
        furthest = float(np.max(np.abs(self.coordinates), initial=0.0))
        low, high = _COORDINATE_RANGE
        require(furthest == 0 or low <= furthest <= high, f"the largest coordinate lies between {low:g} and {high:g}")
        if self.geometry == "great circle":
            on_earth = (np.abs(self.coordinates) <= (90, 360)).all()
            require(bool(on_earth), "latitudes lie between -90 and 90 degrees, longitudes between -360 and 360")
        floor = f"max({float(self.floor):g}, ·) of " if self.floor else ""
        reason = f"{floor}rate times the {self.geometry} distance, computed from below"
        return MetricCertificate("points", self.size, reason)

    @cached_property
    def _floor(self) -> float:
        return round_down(self.floor)
