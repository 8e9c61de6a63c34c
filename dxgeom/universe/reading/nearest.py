"""The nearest of some places, for tables that say in two columns where a row is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.sealed import cached_property

if TYPE_CHECKING:
    from dxgeom.universe.reading.nearest_tree import NearestTree

OUTSIDE: Final = -1
EARTH_RADIUS_KM: Final = 6371.0088
_LIMITS: Final = {"great circle": (360.0, 90.0), "plane": (np.inf, np.inf)}


@final
@dataclass(frozen=True, eq=False)
class Nearest:
    """A table says where a row is, in two columns; its value is the nearest place, if that is near enough.

    Definition: distances are float64: straight lines in the plane, great circles on the sphere (from chords). Of places
    equally near the first one counts. ``places``: (n, 2); degrees (latitude, longitude) on the great circle.
    ``longitude`` and ``latitude``: the columns (of x and y in a plane); ``at_most``: in ``unit``; farther is outside.
    """

    longitude: str
    latitude: str
    at_most: float
    unit: str
    geometry: Literal["plane", "great circle"]
    places: NDArray[np.float64] = field(repr=False)

    def encode(self, longitudes: NDArray[np.float64], latitudes: NDArray[np.float64]) -> NDArray[np.int64]:
        """The code of the nearest place, ``OUTSIDE`` where none is near enough or the numbers are no place."""
        most = _LIMITS[self.geometry]
        sound = np.isfinite(longitudes) & np.isfinite(latitudes)
        sound &= (np.abs(longitudes) <= most[0]) & (np.abs(latitudes) <= most[1])
        codes = np.full(len(longitudes), OUTSIDE, dtype=np.int64)
        there = np.flatnonzero(sound)
        spots = np.stack([latitudes[there], longitudes[there]], axis=1)
        spots = spots if self.geometry == "great circle" else spots[:, ::-1]
        codes[there] = self._tree.nearest(_in_space(spots, self.geometry), self._reach)
        return codes

    @property
    def outside_words(self) -> str:
        """What a row must be, for a person whose row is none."""
        return f"which is not within {self.at_most:g} {self.unit} of any of"

    @property
    def digest(self) -> list[Any]:
        """The columns and the reach; the places are the attribute's own."""
        return ["nearest", self.longitude, self.latitude, float(self.at_most).hex(), self.unit]

    @property
    def _reach(self) -> float:
        """The largest straight line, in kilometres through the earth where that is meant."""
        if self.geometry == "plane":
            return self.at_most
        kilometres = self.at_most / 1000 if self.unit == "m" else self.at_most
        return float(2 * EARTH_RADIUS_KM * np.sin(min(kilometres / (2 * EARTH_RADIUS_KM), np.pi / 2)))

    @cached_property
    def _tree(self) -> NearestTree:
        # SciPy is loaded only when a table is read.
        from dxgeom.universe.reading.nearest_tree import NearestTree

        return NearestTree(_in_space(self.places, self.geometry))


def _in_space(spots: NDArray[np.float64], geometry: str) -> NDArray[np.float64]:
    """Points between which straight lines are as long as asked: on a sphere of the earth's size, or as they are."""
    if geometry == "plane":
        return np.asarray(spots, dtype=np.float64)
    latitudes, longitudes = np.radians(spots).T
    around = np.stack([np.cos(latitudes) * np.cos(longitudes), np.cos(latitudes) * np.sin(longitudes)], axis=1)
    return EARTH_RADIUS_KM * np.concatenate([around, np.sin(latitudes)[:, None]], axis=1)
