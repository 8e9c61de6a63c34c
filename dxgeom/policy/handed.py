"""What Python hands over where a file would name a data file: graphs, data frames and geometries, as such files; and
what a policy hands out: its metrics as graphs of NetworkX, its places as geometries of Shapely.

Knows packages by what their objects can do and imports none.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, final

from dxgeom.errors import DataError, Diagnostic, UnsupportedCombination
from dxgeom.metrics.graph import graph_of_metric, is_networkx
from dxgeom.policy.kinds.attribute_kinds import kind_of
from dxgeom.policy.source.data_files import WrongContent
from dxgeom.policy.source.text import Folder, FolderInMemory, Language, PolicyText, Unreadable
from dxgeom.policy.syntax.writing import path_text, text_of_data, word_of
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

_LISTS: Final = ("tolist", "to_list", "to_pylist")
"""How columns of the various frames become lists."""


@final
class NotAFile(Exception):
    """A thing cannot stand for a data file; the text says why and what to do. Never leaves this module."""


def is_frame(thing: object) -> bool:
    """Whether it has columns by name."""
    return hasattr(thing, "columns") and hasattr(thing, "__getitem__") and not isinstance(thing, type)


def csv_of_frame(frame: Any) -> bytes:
    """The rows under the columns' names; numbers exactly, what is missing as an empty cell. Raises: NotAFile."""
    names = column_names(frame)
    return csv_of_rows(names, zip(*(cells_of(frame, name) for name in names), strict=True))


def column_names(frame: Any) -> list[str]:
    """The columns, in order."""
    names = list(getattr(frame, "column_names", None) or frame.columns)
    if not all(isinstance(name, str) for name in names):
        raise NotAFile("columns have names; found one that is no text")
    return names


def cells_of(frame: Any, name: str) -> list[str]:
    """The cells of a column as a file would hold them. Raises: NotAFile."""
    column = frame[name]
    listed = next((getattr(column, way) for way in _LISTS if hasattr(column, way)), None)
    if listed is None:
        raise NotAFile(f"the column '{name}' cannot be listed; give a data frame of pandas, polars or Arrow")
    return [cell_of(value, f"the column '{name}'") for value in listed()]


def cell_of(value: Any, where: str) -> str:
    """A word or number as a file would hold it. Raises: NotAFile for what is neither."""
    if value is None or value != value:
        return ""
    word = word_of(value)
    if word is None:
        raise NotAFile(f"{where} holds words, numbers or dates; found a {type(value).__name__}")
    return word


def csv_of_rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A CSV file in UTF-8."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return written.getvalue().encode("utf-8")


_ENDS: Final = ("from", "to")
_NODE: Final = "node"


def csv_of_edges(graph: Any) -> bytes:
    """A row for each edge: its ends, then what is known about it, a column for each name. Raises: NotAFile."""
    if graph.is_directed():
        raise NotAFile("an edge here has no direction; hand over graph.to_undirected()")
    edges = [(one, other, facts) for one, other, facts in graph.edges(data=True)]
    if not edges:
        raise NotAFile("this graph has no edge")
    known = _known(facts for _, _, facts in edges)
    return csv_of_rows(
        (*_ENDS, *known),
        [(_name(one), _name(other), *_cells(facts, known)) for one, other, facts in edges],
    )


def csv_of_nodes(graph: Any) -> bytes:
    """A row for each node, in the graph's order: its name, then what is known about it. Raises: NotAFile."""
    nodes = list(graph.nodes(data=True))
    known = _known(facts for _, facts in nodes)
    return csv_of_rows((_NODE, *known), [(_name(node), *_cells(facts, known)) for node, facts in nodes])


def _name(node: Any) -> str:
    try:
        name = cell_of(node, "a node's name")
    except NotAFile as error:
        raise NotAFile("nodes are named by words or numbers; hand over networkx.relabel_nodes(graph, str)") from error
    if not name:
        raise NotAFile("a node has an empty name")
    return name


def _known(facts: Any) -> list[str]:
    """The names of what is known of some, in the order in which they come; what no file can hold is left out."""
    found: dict[str, bool] = {}
    for one in facts:
        for name, value in one.items():
            found[name] = found.get(name, True) and isinstance(name, str) and _writable(value)
    return [name for name, sound in found.items() if sound and name not in (*_ENDS, _NODE)]


def _writable(value: Any) -> bool:
    try:
        cell_of(value, "")
    except NotAFile:
        return False
    return True


def _cells(facts: Any, known: list[str]) -> list[str]:
    return [cell_of(facts.get(name), name) for name in known]


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


_NAME: Final = "policy.yaml"


def save(content: str, text: PolicyText | None, folder: str | os.PathLike[str]) -> Path:
    """Write the content as ``policy.yaml``, and beside it the data files that were read for a text; the former's path.

    Raises: FileExistsError where one of these is there already, which then stays as it is.
    """
    home = Path(folder)
    taken = {} if text is None or text.folder is None else text.folder.taken
    for name, written in {**taken, _NAME: content.encode("utf-8")}.items():
        place = home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:
            file.write(written)
    return home / _NAME


Keys: TypeAlias = dict[Any, Any]
_OTHERWISE: Final = "name a file, or hand over a graph of NetworkX, a data frame, or geometries by name"


@final
@dataclass
class HandedOver:
    """What was handed over as files by name, and what could not be."""

    contents: dict[str, bytes] = field(default_factory=dict)
    refused: list[Diagnostic] = field(default_factory=list)

    def folder(self, beside: Folder | None) -> Folder | None:
        """The folder with these files before those of another one."""
        return FolderInMemory(self.contents, beside) if self.contents else beside

    def kept(self, stem: str, ending: str, content: bytes) -> str:
        """The name of a new file of that content."""
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", stem) or "_"
        name, number = f"{plain}.{ending}", 1
        while name in self.contents:
            number += 1
            name = f"{plain}-{number}.{ending}"
        self.contents[name] = content
        return name

    def replaced(self, file: str, path: tuple[str | int, ...], make: Callable[[], Keys]) -> Keys:
        """What ``make`` says instead; nothing where the thing at a path cannot be a file, which is then noted."""
        try:
            return make()
        except NotAFile as error:
            self.refused.append(Diagnostic(file, 1, 1, "DX115", str(error), _OTHERWISE, path=path_text(path)))
            return {}


def taken_for_files(data: Any, file: str) -> tuple[Any, HandedOver]:
    """The data with the names of files in the place of things, and these files.

    Args: ``file``: how messages call the policy.
    """
    held = HandedOver()
    if not isinstance(data, Mapping):
        return data, held
    changed: Keys = {}
    if isinstance(data.get("universe"), Mapping):
        changed["universe"] = _universe(data["universe"], file, held)
    if isinstance(data.get("rules"), list | tuple):
        changed["rules"] = [_rule(rule, number, file, held) for number, rule in enumerate(data["rules"])]
    return {**data, **changed}, held


def text_with_files(
    data: Any, language: Language, file: str, folder: str | os.PathLike[str] | Folder | None
) -> PolicyText:
    """Python data as a text of its language, with the files that things in it amount to. Raises: as text_of_data."""
    said, held = taken_for_files(data, file)
    if held.refused:
        raise language.refused(held.refused)
    return text_of_data(said, language, file, held.folder(language.folder(folder)))


def _universe(universe: Mapping[Any, Any], file: str, held: HandedOver) -> Keys:
    found = dict(universe)
    if is_frame(found.get("table")):
        found |= held.replaced(file, ("universe", "table"), partial(_table, found["table"], held))
    stated = found.get("attributes")
    if isinstance(stated, Mapping):
        found["attributes"] = {
            name: _attribute(name, keys, file, held) if isinstance(keys, Mapping) else keys
            for name, keys in stated.items()
        }
    return found


def _table(frame: Any, held: HandedOver) -> Keys:
    return {"table": held.kept("universe", "table.csv", csv_of_frame(frame))}


def _attribute(name: Any, keys: Mapping[Any, Any], file: str, held: HandedOver) -> Keys:
    found = dict(keys)
    for key, said in _BY_KEY.items():
        thing = found.get(key)
        if thing is None or isinstance(thing, str | list | tuple):
            continue
        path = ("universe", "attributes", str(name), key)
        found |= held.replaced(file, path, partial(said, str(name), thing, found, held))
    return found


def _graph(name: str, thing: Any, keys: Keys, held: HandedOver) -> Keys:
    if is_networkx(thing):
        said = {"graph": held.kept(name, "edges.csv", csv_of_edges(thing))}
        return said if "nodes" in keys else said | {"nodes": held.kept(name, "nodes.csv", csv_of_nodes(thing))}
    return {"graph": held.kept(name, "edges.csv", csv_of_frame(thing))} if is_frame(thing) else {}


def _nodes(name: str, thing: Any, keys: Keys, held: HandedOver) -> Keys:
    return {"nodes": held.kept(name, "nodes.csv", csv_of_frame(thing))} if is_frame(thing) else {}


def _points(name: str, thing: Any, keys: Keys, held: HandedOver) -> Keys:
    places = places_of(thing)
    stated = {"x", "y", "longitude", "latitude"} & keys.keys()
    if places is not None and not stated:
        content, said = csv_of_points(places, "unit" in keys)
        return {"points": held.kept(name, "points.csv", content), "key": keys.get("key", KEY), **said}
    return {"points": held.kept(name, "points.csv", csv_of_frame(thing))} if is_frame(thing) else {}


def _regions(name: str, thing: Any, keys: Keys, held: HandedOver) -> Keys:
    places = places_of(thing)
    if places is None:
        return {}
    return {"regions": held.kept(name, "geojson", geojson_of(places)), "key": keys.get("key", KEY)}


_BY_KEY: Final[dict[str, Callable[[str, Any, Keys, HandedOver], Keys]]] = {
    "graph": _graph,
    "nodes": _nodes,
    "points": _points,
    "regions": _regions,
}
"""The keys of attributes that name data files, and what a thing in such a place amounts to."""


def _rule(rule: Any, number: int, file: str, held: HandedOver) -> Any:
    secrets = rule.get("secrets") if isinstance(rule, Mapping) else None
    edges = secrets.get("edges") if isinstance(secrets, Mapping) else None
    if not (is_networkx(edges) or is_frame(edges)):
        return rule
    written = csv_of_edges if is_networkx(edges) else csv_of_frame
    stem = f"rule-{number + 1}"
    path = ("rules", number, "secrets", "edges")
    said = held.replaced(file, path, lambda: {"edges": held.kept(stem, "edges.csv", written(edges))})
    return {**rule, "secrets": {**(secrets or {}), **said}}


def graph_of_attribute(policy: Any, name: str) -> Any:
    """The pairs of values that generate an attribute's own metric; nodes are the values, as words.

    Raises: UnsupportedCombination, TooLarge, MissingExtra.
    """
    attribute = _attribute_named(policy.universe, name)
    if not policy.parts:
        raise UnsupportedCombination(
            "a table lists the records, so attributes have no metric of their own: leave it out"
        )
    labels = attribute.labels
    part = policy.parts[policy.universe.names.index(name)]
    return graph_of_metric(part, lambda place: labels[place], lambda place: {}, name)


def geometries_of(policy: Any, name: str) -> dict[str, Any]:
    """A geometry for each value of an attribute that is somewhere: points, or the regions of the policy's file.

    On the globe longitude comes first, as Shapely's users have it.
    Raises: UnsupportedCombination for an attribute whose values are nowhere; DataError where the file has changed.
    """
    attribute = _attribute_named(policy.universe, name)
    present = attribute.present
    syntax = policy.resolved.document.universe.attributes.get(name)
    kind = None if syntax is None else kind_of(syntax)
    folder = None if policy.text is None else policy.text.folder
    try:
        shapes = None if kind is None else kind.geometries(syntax, present, folder)
    except (Unreadable, WrongContent) as error:
        raise DataError(f"the regions of {shown(name)} cannot be read again: {error}") from error
    if shapes is None:
        raise UnsupportedCombination(f"the values of {shown(name)} are no places: geometries are of points and regions")
    if len(shapes) != present.size:
        raise DataError(f"the file with the regions of {shown(name)} is not what it was: load the policy again")
    return dict(zip(present.labels, shapes.tolist(), strict=True))


def _attribute_named(universe: Universe, name: str) -> Attribute:
    if name not in universe.names:
        raise UnsupportedCombination(f"no attribute is called {shown(name)}: {did_you_mean(name, universe.names)}")
    return universe.attribute(name)
