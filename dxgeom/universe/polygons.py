"""Areas on the plane of longitude and latitude, and what is handed out as geometries, by Shapely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, TypeAlias, final

import numpy as np
import shapely
from numpy.typing import NDArray

from dxgeom.numeric.sealed import cached_property

Rings: TypeAlias = Sequence[NDArray[np.float64]]
"""A polygon: its outer ring, then its holes, each (n, 2) with the first position repeated at the end."""

OUTSIDE: Final = -1
DECIMALS: Final = 6
"""Representative points are rounded to a millionth of a degree, a tenth of a metre, so that they do not hang on how
one version of a library or another rounds."""
MOST_COMPARED: Final = 50_000_000
_POINTS_PER_BLOCK: Final = 1 << 17
_AREAS_PER_BLOCK: Final = 64
_INTERIORS_MEET: Final = "T********"


@final
@dataclass(frozen=True, eq=False)
class Areas:
    """Some areas in a fixed order, each of one or more polygons; edges are straight in longitude and latitude."""

    shapes: NDArray[Any] = field(repr=False)

    def first_invalid(self) -> tuple[int, str] | None:
        """The first area that is none (its border crosses itself, say), and the reason; None when all are well."""
        invalid = np.flatnonzero(~shapely.is_valid(self.shapes))
        return (int(invalid[0]), str(shapely.is_valid_reason(self.shapes[invalid[0]]))) if invalid.size else None

    def first_overlap(self) -> tuple[int, int] | None:
        """Two areas that share more than their borders; None when there are none.

        Raises: OverflowError when finding out would need more than ``MOST_COMPARED`` corners to be compared.
        """
        corners, compared = shapely.get_num_coordinates(self.shapes), 0
        for start in range(0, len(self.shapes), _AREAS_PER_BLOCK):
            here, there = self._tree.query(self.shapes[start : start + _AREAS_PER_BLOCK])
            here, there = (side[here + start < there] for side in (here + start, there))
            compared += int(corners[here].sum() + corners[there].sum())
            if compared > MOST_COMPARED:
                raise OverflowError
            meet = np.flatnonzero(shapely.relate_pattern(self.shapes[here], self.shapes[there], _INTERIORS_MEET))
            if meet.size:
                return int(here[meet[0]]), int(there[meet[0]])
        return None

    def representatives(self) -> NDArray[np.float64]:
        """A point of each area, (n, 2) as longitude and latitude: in the middle of one of its widest parts."""
        points = shapely.get_coordinates(shapely.point_on_surface(self.shapes))
        return np.asarray(np.round(points, DECIMALS), dtype=np.float64)

    def containing(self, longitudes: NDArray[np.float64], latitudes: NDArray[np.float64]) -> NDArray[np.int64]:
        """The area that each point lies in, the first one in order where borders meet, ``OUTSIDE`` where there is none.

        Guarantee: *exact* for the float64 coordinates of points and corners: borders belong to their areas.
        """
        codes = np.full(len(longitudes), OUTSIDE, dtype=np.int64)
        for start in range(0, len(longitudes), _POINTS_PER_BLOCK):
            block = slice(start, start + _POINTS_PER_BLOCK)
            codes[block] = self._containing(longitudes[block], latitudes[block])
        return codes

    def digest(self) -> str:
        """SHA-256 of every corner of every area."""
        return sha256(b"".join(shapely.to_wkb(self.shapes, byte_order=1).tolist())).hexdigest()

    def _containing(self, longitudes: NDArray[np.float64], latitudes: NDArray[np.float64]) -> NDArray[np.int64]:
        codes = np.full(len(longitudes), len(self.shapes), dtype=np.int64)
        there = np.flatnonzero(np.isfinite(longitudes) & np.isfinite(latitudes))
        points = shapely.points(longitudes[there], latitudes[there])
        point, area = self._tree.query(points)
        inside = shapely.intersects(self.shapes[area], points[point])
        np.minimum.at(codes, there[point[inside]], area[inside])
        return np.where(codes == len(self.shapes), OUTSIDE, codes)

    @cached_property
    def _tree(self) -> shapely.STRtree:
        shapely.prepare(self.shapes)
        return shapely.STRtree(self.shapes)


def areas_of(polygons: Sequence[Sequence[Rings]]) -> Areas:
    """The areas that are made of these polygons. Args: each ring has four or more positions and is closed."""
    shapes = np.empty(len(polygons), dtype=object)
    shapes[:] = [_shape(parts) for parts in polygons]
    return Areas(shapes)


def points_at(coordinates: NDArray[np.float64]) -> NDArray[Any]:
    """A point for each of the coordinates (n, 2)."""
    return np.asarray(shapely.points(coordinates))


def hull_around(points: NDArray[np.float64]) -> Any:
    """The convex hull of points (n, 2) of the plane: a polygon, or the line or point that it is."""
    return shapely.MultiPoint(points).convex_hull


def _shape(parts: Sequence[Rings]) -> Any:
    made = [shapely.Polygon(rings[0], rings[1:]) for rings in parts]
    return made[0] if len(made) == 1 else shapely.MultiPolygon(made)
