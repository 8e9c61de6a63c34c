"""Places in the plane or on the globe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.metric import Metric
from dxgeom.metrics.points import Geometry, PointsMetric, lower_distance, pairs_within
from dxgeom.numeric.rounding import round_up
from dxgeom.policy.axes.axis import MAX_PAIRS, Axis, Codes, Pairs, Row, too_many_pairs

_SAMPLED_DISTANCES: Final = 5_000_000


@final
@dataclass(frozen=True, eq=False)
class PlacesAxis(Axis):
    """The plane or great-circle distance, float64 and *rounded down*; see :func:`lower_distance`.

    ``coordinates``: (size, 2), degrees (latitude, longitude) on the great circle. A pair whose distance cannot be told
    from a reach counts as within it: one bound more can only protect more.
    """

    geometry: Geometry
    coordinates: NDArray[np.float64] = field(repr=False)
    name: Literal["places"] = field(default="places", init=False)
    in_order: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PlacesAxis)
            and self.geometry == other.geometry
            and (self.coordinates is other.coordinates or np.array_equal(self.coordinates, other.coordinates))
        )

    def __hash__(self) -> int:
        return hash((self.name, self.geometry, self.size))

    @property
    def size(self) -> int:
        return len(self.coordinates)

    @property
    def grain(self) -> None:
        return None

    def between(self, start: int, end: int) -> float:
        return float(lower_distance(self.coordinates, self.geometry, start, end))

    def apart(self, first: Codes, second: Codes) -> Row:
        return lower_distance(self.coordinates, self.geometry, first, second)

    def within(self, reach: Fraction) -> Callable[[Codes, Codes], NDArray[np.bool_]]:
        limit = round_up(reach)
        return lambda first, second: self.apart(first, second) <= limit

    def pairs(self, reach: Fraction) -> Pairs:
        radius, size = round_up(reach), self.size
        if size * (size - 1) // 2 > MAX_PAIRS:
            expected = self._expected_pairs(radius)
            if expected > MAX_PAIRS:
                raise too_many_pairs(expected)
        first, second, _ = pairs_within(self.coordinates, self.geometry, radius)
        return first, second

    def metric(self, rate: Fraction, floor: Fraction) -> Metric:
        return PointsMetric(self.coordinates, self.geometry, rate, floor)

    def _expected_pairs(self, radius: float) -> int:
        """An estimate from evenly spaced rows of the file, so that the memory is known before it is taken."""
        rows = np.linspace(0, self.size - 1, max(50, _SAMPLED_DISTANCES // self.size))
        sources, everyone = np.unique(rows.astype(np.int64)), np.arange(self.size)
        near = sum(int(np.sum(self.apart(source, everyone) <= radius)) - 1 for source in sources)
        return near * self.size // (2 * sources.size)
