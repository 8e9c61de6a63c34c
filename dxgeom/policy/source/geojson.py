"""Regions in a GeoJSON file (RFC 7946): read from the policy's folder only, with stated sizes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.policy.source.data_files import WrongContent
from dxgeom.policy.source.text import Folder, decoded, read_beside
from dxgeom.universe.wording import shown

MAX_BYTES: Final = 16 << 20
MAX_REGIONS: Final = 100_000
_LARGEST: Final = (180.0, 90.0)
_REFERENCES: Final = frozenset(
    {"urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:OGC::CRS84", "urn:ogc:def:crs:EPSG::4326", "EPSG:4326"}
)


@final
class Numeral(str):
    """A JSON number, as it was written."""

    __slots__ = ()


@final
@dataclass(frozen=True, eq=False)
class Feature:
    """A region: where the file has it, what is known about it, and its polygons, each a list of closed rings."""

    place: str
    properties: Mapping[str, Any]
    polygons: tuple[tuple[NDArray[np.float64], ...], ...]


def read_geojson(folder: Folder | None, name: str) -> tuple[Feature, ...]:
    """The features of a GeoJSON file by its name relative to ``folder``, in the file's order.

    Raises: Unreadable when it may not or cannot be opened, WrongContent when it is no collection of polygons.
    """
    document = _json(name, decoded(read_beside(folder, name, MAX_BYTES)))
    if not isinstance(document, dict) or document.get("type") != "FeatureCollection":
        raise WrongContent(f"{name} is not a GeoJSON FeatureCollection")
    _check_reference(name, document.get("crs"))
    features = document.get("features")
    if not isinstance(features, list) or not features:
        raise WrongContent(f"{name} has no features; each region is one")
    if len(features) > MAX_REGIONS:
        raise WrongContent(f"{name} has {len(features):,} features; at most {MAX_REGIONS:,} regions are handled")
    return tuple(_feature(f"{name}, feature {number}", one) for number, one in enumerate(features, start=1))


def _json(name: str, text: str) -> Any:
    try:
        document = json.loads(
            text,
            parse_float=Numeral,
            parse_int=Numeral,
            parse_constant=lambda word: _refuse(f"{name}: {word} is no number of JSON"),
            object_pairs_hook=lambda pairs: _distinct(name, pairs),
        )
        if "\\ud" in text.lower():
            json.dumps(document, ensure_ascii=False).encode("utf-8")
        return document
    except UnicodeEncodeError as error:
        raise WrongContent(f"{name} holds half a character: a surrogate without the other one") from error
    except RecursionError as error:
        raise WrongContent(f"{name}: nested too deeply") from error
    except json.JSONDecodeError as error:
        raise WrongContent(f"{name}, line {error.lineno}: this is not JSON: {error.msg}") from error


def _refuse(message: str) -> Any:
    raise WrongContent(message)


def _distinct(name: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise WrongContent(f"{name}: the key {shown(twice)} stands twice in one object")
    return found


def _check_reference(name: str, crs: Any) -> None:
    """Older files name their coordinate system; anything but longitude and latitude would be misread."""
    if crs is None:
        return
    properties = crs.get("properties") if isinstance(crs, dict) else None
    said = properties.get("name") if isinstance(properties, dict) else None
    if said not in _REFERENCES:
        found = shown(said) if isinstance(said, str) else "another"
        raise WrongContent(
            f"{name}: coordinates are WGS 84 longitudes and latitudes (EPSG:4326), found the coordinate system "
            f"{found}; convert the file"
        )


def _feature(place: str, feature: Any) -> Feature:
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        raise WrongContent(f"{place}: this is not a GeoJSON Feature")
    properties = feature.get("properties")
    geometry = feature.get("geometry")
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if not isinstance(geometry, dict) or kind not in ("Polygon", "MultiPolygon"):
        found = shown(kind) if isinstance(kind, str) else "none"
        raise WrongContent(f"{place}: a region is a Polygon or a MultiPolygon, found {found}")
    parts = geometry.get("coordinates")
    parts = [parts] if kind == "Polygon" else parts
    if not isinstance(parts, list) or not parts:
        raise WrongContent(f"{place}: the {kind} has no coordinates")
    polygons = tuple(_polygon(place, rings) for rings in parts)
    return Feature(place, properties if isinstance(properties, dict) else {}, polygons)


def _polygon(place: str, rings: Any) -> tuple[NDArray[np.float64], ...]:
    if not isinstance(rings, list) or not rings:
        raise WrongContent(f"{place}: a polygon is a list of rings, found none")
    return tuple(_ring(place, ring) for ring in rings)


def _ring(place: str, ring: Any) -> NDArray[np.float64]:
    if not isinstance(ring, list) or len(ring) < 4:
        raise WrongContent(f"{place}: a ring has at least four positions, the last one equal to the first")
    positions = np.array([_position(place, position) for position in ring], dtype=np.float64)
    if tuple(positions[0]) != tuple(positions[-1]):
        raise WrongContent(f"{place}: a ring ends where it begins, found {_words(ring[0])} and {_words(ring[-1])}")
    return positions


def _position(place: str, position: Any) -> tuple[float, float]:
    """Longitude and latitude; heights are left out."""
    wellformed = isinstance(position, list) and len(position) in (2, 3)
    if not wellformed or not all(isinstance(number, Numeral) for number in position):
        raise WrongContent(f"{place}: a position is [longitude, latitude], both numbers")
    longitude, latitude = float(position[0]), float(position[1])
    if not (math.fabs(longitude) <= _LARGEST[0] and math.fabs(latitude) <= _LARGEST[1]):
        raise WrongContent(
            f"{place}: longitudes lie between -180 and 180 degrees, latitudes between -90 and 90, found "
            f"{_words(position)}"
        )
    return longitude, latitude


def _words(position: Any) -> str:
    return f"[{', '.join(number[:20] for number in position[:2])}]"
