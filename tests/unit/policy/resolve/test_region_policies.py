"""Attributes whose values are the regions of a GeoJSON file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference.region_maps import LOCATED, MAP, collection, feature, ring, written

import dxgeom as dx
from dxgeom.audit.claims import claims_of
from dxgeom.audit.policy_audit import audit_policy
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError, PolicyError
from dxgeom.metrics.points import PointsMetric
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.queries.queries_file import parse_queries

KEYED = "regions: map.geojson, key: name"


def policy(folder: Path, form: str = KEYED, rule: str = "epsilon: 1, per: 100 km") -> Policy:
    text = f"policy: p\nuniverse:\n  attributes:\n    area: {{{form}}}\nrules:\n  - {{change: area, {rule}}}\n"
    return parse_policy(text, folder=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path, MAP)


def test_distances_are_great_circles_between_points_inside_the_regions(folder):
    found = policy(folder)
    metric = found.compile().metric
    assert isinstance(metric, PointsMetric)
    attribute = found.universe.attributes[0]
    assert attribute.labels == ("west", "east", "ring", "isles")
    assert attribute.coordinates[:2].tolist() == [[0.5, 0.5], [0.5, 1.5]]
    assert metric.distance(0, 1) == pytest.approx(1.1119, rel=1e-3)
    assert len(audit_policy(json.loads(json.dumps(claims_of(found.compile(), "policy"))), found).lines) == 2


def test_further_properties_are_numbers_if_every_region_has_one_and_lists_are_left_out(folder):
    columns = {column.name: column for column in policy(folder).universe.attributes[0].columns}
    assert set(columns) == {"area", "wards", "kind", "height"}
    assert columns["wards"].numbers == (3, 4, 12, 1)
    assert columns["kind"].texts == ("town", "", "true", "sea")
    assert columns["height"].texts == ("1.5", "2.25", "none", "0")
    queries = parse_queries("queries:\n  - sum: wards\n  - count: kind == 'town'\n", policy(folder))
    assert dx.plan(policy(folder).compile(), queries).predicted_mse > 0


def test_a_table_of_keys_is_counted_by_key(folder):
    table = pd.DataFrame({"area": ["east", "east", "isles"]})
    assert histogram_of_table(table, policy(folder).universe).counts.tolist() == [0, 2, 0, 1]


def points(rows):
    return pd.DataFrame(rows, columns=["lon", "lat"])


INSIDE = [(0.5, 0.5), (1.0, 0.5), (2.0, 1.0), (4.0, 1.5), (5.9, 2.9), (10.5, 10.5), (13, 11)]


def test_a_table_of_coordinates_is_counted_by_region_the_first_one_on_a_border(folder, tmp_path):
    universe = policy(folder, LOCATED).universe
    expected = [2, 1, 2, 2]
    frame = points(INSIDE)
    assert histogram_of_table(frame, universe).counts.tolist() == expected
    frame.to_csv(tmp_path / "people.csv", index=False)
    assert histogram_of_table(str(tmp_path / "people.csv"), universe).counts.tolist() == expected
    frame.to_parquet(tmp_path / "people.parquet")
    assert histogram_of_table(tmp_path / "people.parquet", universe).counts.tolist() == expected
    whole = pd.DataFrame({"lat": [0, 0], "lon": [0, 2], "n": [3, 4]})
    assert histogram_of_table(whole, universe, count_column="n").counts.tolist() == [3, 4, 0, 0]


def test_rows_in_no_region_are_outside_and_said_with_both_coordinates(folder, tmp_path):
    universe = policy(folder, LOCATED).universe
    (tmp_path / "people.csv").write_text("id,lat,lon\n1,0.5,0.5\n2,1.5,4.5\n3,,1\n4,north,1\n5,nan,1\n6,0.5,360.5\n")
    with pytest.raises(DataError) as caught:
        histogram_of_table(tmp_path / "people.csv", universe)
    said = str(caught.value)
    assert "5 of 6 rows are outside" in said
    assert "data row 2 (line 3): lon is '4.5' and lat is '1.5', which is in none of the 4 regions of area" in said
    assert "lon is '1' and lat is missing" in said
    dropped = histogram_of_table(tmp_path / "people.csv", universe, outside="drop")
    assert (dropped.total, dropped.dropped) == (1, 5)


def test_a_table_without_the_columns_or_with_words_in_them_is_refused_by_their_names(folder):
    universe = policy(folder, LOCATED).universe
    with pytest.raises(DataError, match="no column named 'lat'"):
        histogram_of_table(pd.DataFrame({"area": ["west"], "lon": [1.0]}), universe)
    with pytest.raises(DataError, match="column 'lat' of the table must hold numbers"):
        histogram_of_table(pd.DataFrame({"lon": [1.0], "lat": ["north"]}), universe)
    with pytest.raises(DataError, match="the count column must not be one of them"):
        histogram_of_table(points(INSIDE), universe, count_column="lon")


def test_located_regions_stand_beside_other_attributes_and_share_their_columns(folder):
    text = f"""policy: p
universe:
  attributes:
    sex: [F, M]
    work: {{{LOCATED}}}
    home: {{regions: map.geojson, key: name, longitude: home_lon, latitude: lat}}
    lat: {{range: [0, 20], step: 10}}
rules: [{{between: everything, epsilon: 1}}]
"""
    universe = parse_policy(text, folder=folder).universe
    assert universe.raw_columns == ("sex", "lon", "lat", "home_lon", "lat", "lat")
    table = pd.DataFrame({"home_lon": [0.5, 12.5], "lon": [1.5, 10.5], "lat": [0.5, 10.5], "sex": ["M", "F"]})
    counts = histogram_of_table(table, universe).counts
    first = universe.index({"sex": "M", "work": "east", "home": "west", "lat": 0})
    second = universe.index({"sex": "F", "work": "isles", "home": "isles", "lat": 10})
    assert np.flatnonzero(counts).tolist() == sorted([first, second])


def test_areas_are_part_of_the_meaning_when_tables_hold_coordinates(folder):
    keyed, located = policy(folder), policy(folder, LOCATED)
    larger = json.loads(json.dumps(MAP))
    larger["features"][3]["geometry"]["coordinates"][0][0][2] = [11, 11.0625]
    written(folder, larger)
    assert policy(folder).fingerprint == keyed.fingerprint
    assert policy(folder, LOCATED).fingerprint != located.fingerprint
    assert keyed.fingerprint != located.fingerprint
    written(folder, MAP)
    assert policy(folder, LOCATED).fingerprint == located.fingerprint


def test_heights_and_a_stated_wgs_84_are_accepted(folder):
    high = [[[*position, 7] for position in ring(0, 0)]]
    document = collection(
        {"type": "Feature", "properties": {"name": 5}, "geometry": {"type": "Polygon", "coordinates": high}},
        crs={"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}},
    )
    attribute = policy(written(folder, document)).universe.attributes[0]
    assert attribute.labels == ("5",)


def test_the_policy_comes_back_from_its_own_text(folder):
    found = policy(folder, LOCATED)
    assert parse_policy(found.to_yaml(), folder=folder).fingerprint == found.fingerprint


HOSTILE = {
    "deep": ("[" * 200_000, "nested too deeply"),
    "deep objects": ('{"a":' * 200_000, "nested too deeply"),
    "not json": ("{'type': 1}", "line 1: this is not JSON"),
    "nan": ('{"type": NaN}', "NaN is no number of JSON"),
    "infinity": ('{"type": -Infinity}', "-Infinity is no number of JSON"),
    "long number": ('{"type": ' + "9" * 100_000 + "}", "not a GeoJSON FeatureCollection"),
    "a list": ("[]", "not a GeoJSON FeatureCollection"),
    "empty file": ("", "this is not JSON"),
    "no features": (collection(), "has no features"),
    "no list": ({"type": "FeatureCollection", "features": {}}, "has no features"),
    "twice": ('{"type": "FeatureCollection", "type": "Feature"}', "the key 'type' stands twice"),
    "another system": (collection(crs={"properties": {"name": "EPSG:3857"}}), "coordinate system 'EPSG:3857'"),
    "a linked system": (collection(crs={"type": "link"}), "coordinate system another"),
    "no feature": (collection({"type": "Polygon"}), "feature 1: this is not a GeoJSON Feature"),
    "a point": (
        collection({"type": "Feature", "geometry": {"type": "Point", "coordinates": [0, 0]}}),
        "a Polygon or a MultiPolygon, found 'Point'",
    ),
    "no geometry": (collection({"type": "Feature", "geometry": None}), "found none"),
    "no coordinates": (
        collection({"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": []}}),
        "the MultiPolygon has no coordinates",
    ),
    "no rings": (collection(feature("a")), "the Polygon has no coordinates|a list of rings"),
    "a short ring": (collection(feature("a", [[0, 0], [1, 1], [0, 0]])), "at least four positions"),
    "an open ring": (collection(feature("a", [*ring(0, 0)[:-1], [5, 5]])), r"ends where it begins, found \[0, 0\] and"),
    "words": (collection(feature("a", [["0", "0"]] * 4)), "a position is"),
    "truth values": (collection(feature("a", [[True, False]] * 4)), "a position is"),
    "one number": (collection(feature("a", [[1]] * 4)), "a position is"),
    "metres": (collection(feature("a", ring(500_000, 4_000_000))), r"found \[500000, 4000000\]"),
    "an overflow": ('{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"name":"a"},"geometry":'
        '{"type":"Polygon","coordinates":[[[1e999,0],[1,0],[1,1],[1e999,0]]]}}]}', "longitudes lie between"),
    "a bow": (collection(feature("a", [[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]])), "not an area: Self-intersection"),
    "a line": (collection(feature("a", [[0, 0], [1, 1], [2, 2], [0, 0]])), "this is not an area"),
    "an overlap": (collection(feature("a", ring(0, 0)), feature("b", ring(0.5, 0))), "'a' and 'b' overlap"),
    "one inside another": (collection(feature("a", ring(0, 0, 9)), feature("b", ring(5, 5))), "'a' and 'b' overlap"),
    "a key twice": (collection(feature("a", ring(0, 0)), feature("a", ring(5, 0))), "'a' is already that of feature 1"),
    "no key": (collection({**feature("a", ring(0, 0)), "properties": {"nmae": 1}}), "did you mean 'nmae'"),
    "no properties": (collection({**feature("a", ring(0, 0)), "properties": None}), "has no property 'name'"),
    "a key that is a list": (collection(feature(["a"], ring(0, 0))), "a word or a number"),
    "an empty key": (collection(feature("", ring(0, 0))), "a word or a number"),
    "the attribute's name": (collection(feature("a", ring(0, 0), area=1)), "named like the attribute, 'area'"),
    "half a character": (collection(feature("\ud800", ring(0, 0))), "half a character"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_holds_no_regions_is_a_clear_mistake(tmp_path, case):
    document, said = HOSTILE[case]
    with pytest.raises(PolicyError, match=said) as caught:
        policy(written(tmp_path, document))
    assert [one.code for one in caught.value.diagnostics] == ["DX115"]


def test_sizes_are_limited_before_anything_large_is_built(tmp_path, monkeypatch):
    (tmp_path / "map.geojson").write_bytes(b" " * ((16 << 20) + 1))
    with pytest.raises(PolicyError, match=r"DX114.*16,777,216"):
        policy(tmp_path)
    monkeypatch.setattr("dxgeom.policy.source.data_files.MAX_REGIONS", 3)
    with pytest.raises(PolicyError, match="at most 3 regions"):
        policy(written(tmp_path, MAP))
    monkeypatch.setattr("dxgeom.policy.source.data_files.MAX_REGIONS", 9)
    monkeypatch.setattr("dxgeom.policy.kinds.places._MAX_CELLS", 9)
    with pytest.raises(PolicyError, match="more than 9 properties"):
        policy(tmp_path)


def test_very_many_coordinates_find_their_regions(tmp_path):
    squares = [feature(f"{x}.{y}", ring(x, y)) for x in range(20) for y in range(20)]
    universe = policy(written(tmp_path, collection(*squares)), LOCATED).universe
    spots = np.random.default_rng(1).random((300_000, 2)) * 20
    counts = histogram_of_table(points(spots), universe).counts
    west, south = np.floor(spots).astype(int).T
    assert np.array_equal(counts, np.bincount(west * 20 + south, minlength=400))
