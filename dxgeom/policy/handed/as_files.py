"""Python data of a policy whose graphs, frames and geometries are taken for the data files that they amount to."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias, final

from dxgeom.errors import Diagnostic
from dxgeom.policy.handed.frames import NotAFile, csv_of_frame, is_frame
from dxgeom.policy.handed.geometries import KEY, csv_of_points, geojson_of, places_of
from dxgeom.policy.handed.graphs import csv_of_edges, csv_of_nodes, is_graph
from dxgeom.policy.source.language import Language
from dxgeom.policy.source.text import Folder, FolderInMemory, PolicyText
from dxgeom.policy.syntax.writing import path_text, text_of_data

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
    if is_graph(thing):
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
    if not (is_graph(edges) or is_frame(edges)):
        return rule
    written = csv_of_edges if is_graph(edges) else csv_of_frame
    stem = f"rule-{number + 1}"
    path = ("rules", number, "secrets", "edges")
    said = held.replaced(file, path, lambda: {"edges": held.kept(stem, "edges.csv", written(edges))})
    return {**rule, "secrets": {**(secrets or {}), **said}}
