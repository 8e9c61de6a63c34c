"""Geometries of shapely, and frames of them as GeoPandas makes, as GeoJSON or as files of points."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from dxgeom.policy.handed.frames import NotAFile, cells_of, column_names, csv_of_rows

KEY: Final = "key"
"""The name of the column of names where a mapping gives them."""
_GLOBE: Final = 4326
_METRE: Final = ("metre", "meter")
_ADVICE: Final = "hand over frame.to_crs(4326)"


@final
@dataclass(frozen=True)
class Places:
    """Names, further columns, geometries, and the number of the coordinate system where it is known."""

    columns: dict[str, list[str]]
    geometries: list[Any]
    system: Any

    @property
    def on_the_globe(self) -> bool:
        """Whether coordinates are longitudes and latitudes of WGS 84; of what says nothing they are."""
        return self.system is None or self.system.to_epsg() == _GLOBE


def places_of(thing: object) -> Places | None:
    """What has geometries: a frame with some, or a mapping from names to them; None for anything else.

    Raises: NotAFile.
    """
    if isinstance(thing, Mapping) and thing and all(hasattr(one, "__geo_interface__") for one in thing.values()):
        return Places({KEY: [str(name) for name in thing]}, list(thing.values()), None)
    if not (hasattr(thing, "geometry") and hasattr(thing, "crs") and hasattr(thing, "columns")):
        return None
    held = str(thing.geometry.name)
    columns = {name: cells_of(thing, name) for name in column_names(thing) if name != held}
    return Places(columns, list(thing.geometry), thing.crs)


def geojson_of(places: Places) -> bytes:
    """The areas with what is known about each. Raises: NotAFile."""
    if not places.on_the_globe:
        raise NotAFile(f"regions are told in longitudes and latitudes of WGS 84; {_ADVICE}")
    known = {name: _numbers(cells) for name, cells in places.columns.items()}
    features = [
        {
            "type": "Feature",
            "properties": {name: column[place] for name, column in known.items()},
            "geometry": one,
        }
        for place, one in enumerate(_shapes(places, ("Polygon", "MultiPolygon"), "a region"))
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, allow_nan=False).encode("utf-8")


def csv_of_points(places: Places, plane: bool) -> tuple[bytes, dict[str, str]]:
    """A row for each point, and the keys that say where a file has its coordinates.

    Args: ``plane``: the policy states the unit of coordinates in a plane. Raises: NotAFile.
    """
    first, second = ("x", "y") if plane or not places.on_the_globe else ("longitude", "latitude")
    if {first, second} & places.columns.keys():
        raise NotAFile(f"a column of this frame is called '{first}' or '{second}'; rename it")
    spots = [shape["coordinates"] for shape in _shapes(places, ("Point",), "a place")]
    header = (*places.columns, first, second)
    rows = zip(
        *places.columns.values(),
        (repr(float(x)) for x, *_ in spots),
        (repr(float(y)) for _, y, *_ in spots),
        strict=True,
    )
    said = {first: first, second: second}
    if first == "x" and not plane:
        said["unit"] = _unit(places)
    return csv_of_rows(header, [tuple(row) for row in rows]), said


def _numbers(cells: list[str]) -> Sequence[str | int | float]:
    """The cells of a column as numbers of JSON, where all are, and read again as the same."""
    try:
        numbers = [int(cell) if cell.lstrip("-").isdigit() else float(cell) for cell in cells]
    except ValueError:
        return cells
    return numbers if [str(number) for number in numbers] == cells else cells


def _unit(places: Places) -> str:
    """The unit of a projected coordinate system. Raises: NotAFile unless it is the metre."""
    names = [axis.unit_name for axis in getattr(places.system, "axis_info", ())]
    if not names or any(name not in _METRE for name in names):
        raise NotAFile(f"the coordinates are neither degrees of WGS 84 nor metres; {_ADVICE}")
    return "m"


def _shapes(places: Places, kinds: tuple[str, ...], what: str) -> list[dict[str, Any]]:
    found = []
    for place, geometry in enumerate(places.geometries):
        shape = getattr(geometry, "__geo_interface__", None)
        if shape is None or shape.get("type") not in kinds or not shape.get("coordinates"):
            told = "none" if shape is None else f"a {shape.get('type')}"
            raise NotAFile(f"{what} is a {' or a '.join(kinds)}, found {told} in row {place + 1}")
        found.append(dict(shape))
    return found
