"""A small map of regions, as GeoJSON, and the file of it."""

from __future__ import annotations

import json
from pathlib import Path

LOCATED = "regions: map.geojson, key: name, longitude: lon, latitude: lat"


def ring(west, south, size=1.0):
    corners = [[west, south], [west + size, south], [west + size, south + size], [west, south + size]]
    return [*corners, corners[0]]


def feature(name, *rings, **properties):
    geometry = {"type": "Polygon", "coordinates": list(rings)}
    return {"type": "Feature", "properties": {"name": name, **properties}, "geometry": geometry}


def collection(*features, **more):
    return {"type": "FeatureCollection", "features": list(features), **more}


MAP = collection(
    feature("west", ring(0, 0), wards=3, kind="town", height=1.5, tags=["a"]),
    feature("east", ring(1, 0), wards=4, kind=None, height=2.25, tags=[]),
    feature("ring", ring(3, 0, 3), ring(4, 1), wards=12, kind=True, height="none"),
    {
        "type": "Feature",
        "properties": {"name": "isles", "wards": 1, "kind": "sea", "height": 0},
        "geometry": {"type": "MultiPolygon", "coordinates": [[ring(10, 10)], [ring(12, 10, 2)]]},
    },
)


def written(folder: Path, document) -> Path:
    (folder / "map.geojson").write_text(document if isinstance(document, str) else json.dumps(document))
    return folder
