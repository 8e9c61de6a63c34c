"""Graphs, frames and geometries in Python data are taken for the files that they amount to."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import ClassVar

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import shapely

import dxgeom as dx
from dxgeom.errors import PolicyError

NEAR = {"epsilon": 1, "per": "1 km"}


def policy(attribute, *rules, folder=None):
    stated = {"town": attribute, "ill": ["flu", "cold", "virus"]}
    about = rules or ({"change": "town", **NEAR},)
    data = {"policy": "p", "universe": {"attributes": stated}, "rules": [*about, {"change": "ill", "epsilon": 1}]}
    return dx.Policy.from_dict(data, folder=folder)


def mistake(attribute, *rules):
    with pytest.raises(PolicyError) as caught:
        policy(attribute, *rules)
    [found] = caught.value.diagnostics
    return found


@pytest.fixture
def roads():
    graph = nx.Graph()
    graph.add_edge("a", "b", km=2.5, name="old road")
    graph.add_edge("b", "c", km=0.1)
    graph.add_nodes_from([("a", {"height": 3}), ("b", {"height": 1.5}), ("c", {"height": 2, "seen": [1, 2]})])
    return graph


class GeoFrame(pd.DataFrame):
    """What of a GeoDataFrame of GeoPandas is asked for."""

    _metadata: ClassVar = ["crs"]

    @property
    def geometry(self):
        return self["geometry"]


def geo(crs, **columns):
    frame = GeoFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    frame.crs = crs
    return frame


def system(number, unit="metre"):
    return SimpleNamespace(to_epsg=lambda: number, axis_info=[SimpleNamespace(unit_name=unit)] * 2)


GLOBE = system(4326, "degree")
SQUARES = [shapely.box(0, 0, 1, 1), shapely.box(0, 1, 1, 2)]


def test_a_graph_of_networkx_is_that_of_its_files(roads, tmp_path):
    held = policy({"graph": roads, "length": "km", "unit": "km"})
    (tmp_path / "e.csv").write_text("from,to,km\na,b,2.5\nb,c,0.1\n")
    (tmp_path / "n.csv").write_text("node,height\na,3\nb,1.5\nc,2\n")
    filed = policy({"graph": "e.csv", "length": "km", "unit": "km", "nodes": "n.csv"}, folder=tmp_path)
    assert held.fingerprint == filed.fingerprint
    lengths = dict(nx.all_pairs_dijkstra_path_length(roads, weight="km"))
    for one, other in itertools.product(range(3), repeat=2):
        assert held.parts[0].distance(one, other) == pytest.approx(lengths["abc"[one]]["abc"[other]], rel=1e-15)


def test_a_secret_graph_may_be_handed_over_with_a_weight_and_without_an_attribute():
    tree = nx.Graph()
    tree.add_edge("flu", "virus", cost=0.5)
    tree.add_edge("cold", "virus", cost=0.25)
    held = policy(["a", "b"], {"change": "town", "epsilon": 1}, {"secrets": {"edges": tree}, "weight": "cost"})
    assert held.parts[1].distance(0, 1) == 0.75
    listed = [["flu", "virus", 0.5], ["cold", "virus", 0.25]]
    said = policy(["a", "b"], {"change": "town", "epsilon": 1}, {"secrets": {"edges": listed}})
    assert held.fingerprint == said.fingerprint
    assert policy(["a", "b"], {"change": "town", "epsilon": 1}, {"secrets": {"edges": [("flu", "cold")]}, "epsilon": 1})


def test_what_was_handed_over_is_saved_as_files_and_kept_in_one_line(roads, tmp_path):
    held = policy({"graph": roads, "length": "km", "unit": "km"})
    saved = held.save(tmp_path / "new")
    assert dx.load_policy(saved).fingerprint == held.fingerprint == dx.Policy.from_stated(held.stated()).fingerprint
    assert {path.name for path in saved.parent.iterdir()} == {"policy.yaml", "town.edges.csv", "town.nodes.csv"}
    with pytest.raises(FileExistsError):
        held.save(tmp_path / "new")


def test_frames_are_files_of_points_edges_and_records(tmp_path):
    frame = pd.DataFrame({"id": ["u", "v"], "x": [1.0, 0.1], "y": [2, 3]})
    keys = {"key": "id", "x": "x", "y": "y", "unit": "km"}
    (tmp_path / "p.csv").write_text("id,x,y\nu,1.0,2\nv,0.1,3\n")
    held, filed = policy({"points": frame, **keys}), policy({"points": "p.csv", **keys}, folder=tmp_path)
    assert held.fingerprint == filed.fingerprint
    edges = pd.DataFrame({"a": ["flu"], "b": ["cold"], "w": [np.float64(0.25)]})
    along = policy({"points": frame, **keys}, {"change": "town", **NEAR}, {"secrets": {"edges": edges}, "weight": "w"})
    assert along.parts[1].distance(0, 1) == 0.25
    listed = {"universe": {"table": pd.DataFrame({"s": ["f", "m"], "j": ["x", "y"]})}}
    assert (
        dx.Policy.from_dict({"policy": "p", **listed, "rules": [{"between": "everything", "epsilon": 1}]}).universe.size
        == 2
    )


def test_geometries_are_regions_and_points(tmp_path):
    by_name = policy({"regions": dict(zip("us", SQUARES, strict=True))})
    frame = geo(GLOBE, key=["u", "s"], people=[3, 4], geometry=SQUARES)
    held = policy({"regions": frame, "key": "key"})
    assert held.metric.distance(0, 3) == by_name.metric.distance(0, 3) > 110
    assert held.universe.attributes[0].columns[1].numbers == (3, 4)
    spots = [shapely.Point(13.4, 52.5), shapely.Point(11.6, 48.1)]
    (tmp_path / "p.csv").write_text("key,longitude,latitude\nn,13.4,52.5\ns,11.6,48.1\n")
    filed = policy({"points": "p.csv", "key": "key", "longitude": "longitude", "latitude": "latitude"}, folder=tmp_path)
    for thing in (dict(zip("ns", spots, strict=True)), geo(GLOBE, key=["n", "s"], geometry=spots)):
        assert policy({"points": thing}).fingerprint == filed.fingerprint
    flat = policy(
        {"points": geo(system(25832), key=["n", "s"], geometry=[shapely.Point(0, 0), shapely.Point(3000, 4000)])}
    )
    assert flat.parts[0].distance(0, 1) == pytest.approx(5, rel=1e-12)


@pytest.mark.parametrize(
    ("attribute", "told"),
    [
        ({"graph": nx.DiGraph([("a", "b")])}, "an edge here has no direction; hand over graph.to_undirected()"),
        ({"graph": nx.Graph()}, "this graph has no edge"),
        ({"graph": nx.grid_2d_graph(2, 2)}, "nodes are named by words or numbers; hand over networkx.relabel"),
        ({"graph": nx.Graph([("a", "a")])}, "is joined to itself"),
        (
            {"graph": pd.DataFrame({"a": [[1]], "b": ["x"]})},
            "the column 'a' holds words, numbers or dates",
        ),
        ({"regions": geo(system(3857), key=["u"], geometry=SQUARES[:1])}, "hand over frame.to_crs(4326)"),
        ({"regions": {"u": shapely.Point(1, 2)}}, "a region is a Polygon or a MultiPolygon, found a Point in row 1"),
        ({"points": {"u": SQUARES[0]}}, "a place is a Point, found a Polygon in row 1"),
        ({"points": {"u": shapely.Point()}}, "a place is a Point"),
        ({"points": geo(system(2263, "US survey foot"), key=["u"], geometry=[shapely.Point(1, 2)])}, "nor metres"),
    ],
)
def test_what_cannot_stand_for_a_file_is_told_by_its_path(attribute, told):
    found = mistake(attribute)
    assert told in found.message
    assert found.path == f"universe.attributes.town.{next(iter(attribute))}"
