"""Attributes with meaning: lists, ranges, dates, places, graphs, each checked before anything large is built."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Final

from dxgeom.policy.resolve.graphs import graph, graph_mistake
from dxgeom.policy.resolve.places import coordinate_mistake, places
from dxgeom.policy.source.data_files import CsvTable, WrongContent, read_csv
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import Unreadable
from dxgeom.policy.source.tree_places import node_at
from dxgeom.policy.source.yaml_tree import Mapping
from dxgeom.policy.syntax.models import (
    AttributeSyntax,
    BinsSyntax,
    DatesSyntax,
    GraphSyntax,
    PlacesSyntax,
    RangeSyntax,
    RegionsSyntax,
)
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.universe.attributes import Attribute, BinnedAttribute, CategoricalAttribute, RangeAttribute
from dxgeom.universe.columns import plain
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.wording import shown

MAX_VALUES: Final = 1_000_000
MAX_ATTRIBUTES: Final = 32
NAMES: Final = "an attribute's name has 1 to 100 printable characters and no backtick"
MAX_RECORD_TYPES: Final = 100_000_000
_FINEST: Final = 2**50
"""Neighbouring numbers of one attribute differ by more than this fraction of the largest, or float64 merges them."""


def resolve_attributes(tree: SyntaxTree, mistakes: Mistakes) -> dict[str, Attribute]:
    """Every attribute that makes sense, by name, in order; mistakes noted for the others and for their product."""
    written = node_at(tree.root, ("universe",))
    keys = {key.text for key, _ in written.entries} if isinstance(written, Mapping) else set()
    if not tree.document.universe.attributes and not tree.broken and keys <= {"attributes"}:
        span = tree.key_span("universe", "attributes")
        mistakes.add("DX107", span, "the universe has no attribute", "list at least one with its values")
    found = declared_attributes(tree, mistakes)
    size = math.prod(attribute.size for attribute in found.values())
    if size > MAX_RECORD_TYPES:
        message = f"the attributes make {size:,} record types; at most {MAX_RECORD_TYPES:,} are handled"
        mistakes.add("DX116", tree.key_span("universe", "attributes"), message, "use coarser steps or fewer attributes")
    return found


def declared_attributes(tree: SyntaxTree, mistakes: Mistakes) -> dict[str, Attribute]:
    """The same, whatever their product."""
    found: dict[str, Attribute] = {}
    written = tree.document.universe.attributes
    if len(written) > MAX_ATTRIBUTES:
        message = f"the universe has {len(written):,} attributes; at most {MAX_ATTRIBUTES} are handled"
        mistakes.add("DX116", tree.key_span("universe", "attributes"), message, "keep those that rules or queries need")
        return {}
    for name, syntax in written.items():
        if not good_name(name):
            mistakes.add("DX117", tree.key_span("universe", "attributes", name), NAMES)
            continue
        attribute = _resolve(name, syntax, tree, mistakes)
        if attribute is not None:
            found[name] = attribute
    return found


def good_name(name: str) -> bool:
    """Whether conditions can name an attribute so."""
    return bool(name) and len(name) <= 100 and "`" not in name and name.isprintable()


def _resolve(name: str, syntax: AttributeSyntax, tree: SyntaxTree, mistakes: Mistakes) -> Attribute | None:
    match syntax:
        case RangeSyntax():
            return _range(name, syntax, tree, mistakes)
        case BinsSyntax():
            return _bins(name, syntax, tree, mistakes)
        case DatesSyntax():
            return _dates(name, syntax, tree, mistakes)
        case PlacesSyntax():
            return _places(name, syntax, tree, mistakes)
        case GraphSyntax():
            return _graph(name, syntax, tree, mistakes)
        case RegionsSyntax():
            return _regions(name, syntax, tree, mistakes)
        case _:
            return _values(name, syntax, tree, mistakes)


def _values(name: str, values: tuple[str, ...], tree: SyntaxTree, mistakes: Mistakes) -> Attribute | None:
    before = len(mistakes.found)
    if not values:
        message = f"attribute {shown(name)} has no values"
        mistakes.add("DX110", tree.span("universe", "attributes", name), message, "list at least one")
    if len(values) > MAX_VALUES:
        _too_many(name, len(values), tree, mistakes)
    seen: set[str] = set()
    for place, value in enumerate(values):
        if value in seen:
            message = f"attribute {shown(name)} lists the value {shown(value)} twice"
            mistakes.add("DX110", tree.span("universe", "attributes", name, place), message, "remove one of them")
        seen.add(value)
    return CategoricalAttribute(name, values) if len(mistakes.found) == before else None


def _range(name: str, syntax: RangeSyntax, tree: SyntaxTree, mistakes: Mistakes) -> Attribute | None:
    low, high = syntax.range
    path = ("universe", "attributes", name)
    if low > high:
        message = f"attribute {shown(name)}: a range runs upwards, found {plain(low)} to {plain(high)}"
        mistakes.add("DX111", tree.span(*path, "range"), message, f"write [{plain(high)}, {plain(low)}]")
        return None
    count = (high - low) // syntax.step + 1
    if count > MAX_VALUES:
        _too_many(name, count, tree, mistakes)
        return None
    if syntax.step * _FINEST <= max(abs(low), abs(high)):
        message = f"attribute {shown(name)}: the step is too fine beside numbers as large as these"
        mistakes.add("DX111", tree.span(*path, "step"), message, "use a coarser step, or count from nearer to 0")
        return None
    return RangeAttribute(name, low, high, syntax.step)


def _bins(name: str, syntax: BinsSyntax, tree: SyntaxTree, mistakes: Mistakes) -> Attribute | None:
    edges = syntax.bins
    path = ("universe", "attributes", name, "bins")
    if len(edges) < 2:
        message = f"attribute {shown(name)}: bins need at least two edges, found {len(edges)}"
        mistakes.add("DX112", tree.span(*path), message, "write every edge, the outer two included")
        return None
    if len(edges) > MAX_VALUES:
        _too_many(name, len(edges) - 1, tree, mistakes)
        return None
    largest = max(map(abs, edges))
    for place, (low, high) in enumerate(pairwise(edges), start=1):
        if (high - low) * _FINEST <= largest:
            problem = "edges increase" if high <= low else "these edges are too close beside numbers as large"
            message = f"attribute {shown(name)}: {problem}, found {plain(low)} then {plain(high)}"
            mistakes.add("DX112", tree.span(*path, place), message, "sort the edges and remove doubles")
            return None
    return BinnedAttribute(name, edges)


def _dates(name: str, syntax: DatesSyntax, tree: SyntaxTree, mistakes: Mistakes) -> Attribute | None:
    first, last = syntax.dates
    if first > last:
        message = f"attribute {shown(name)}: dates run forwards, found {first} to {last}"
        mistakes.add("DX118", tree.span("universe", "attributes", name, "dates"), message, f"write [{last}, {first}]")
        return None
    attribute = DateAttribute(name, first, last, syntax.step)
    if attribute.size > MAX_VALUES:
        _too_many(name, attribute.size, tree, mistakes)
        return None
    return attribute


def _places(name: str, syntax: PlacesSyntax, tree: SyntaxTree, mistakes: Mistakes) -> Attribute | None:
    path = ("universe", "attributes", name)
    problem = coordinate_mistake(syntax)
    if problem is not None:
        mistakes.add("DX113", tree.span(*path), f"attribute {shown(name)}: {problem}")
        return None
    span = tree.span(*path, "points")
    try:
        return places(name, syntax, read_csv(mistakes.text.folder, syntax.points))
    except Unreadable as error:
        advice = "name a CSV file in the policy's own folder or below it"
        mistakes.add("DX114", span, f"the points file {shown(syntax.points)}: {error}", advice)
    except WrongContent as error:
        mistakes.add("DX115", span, str(error))
    return None


def _graph(name: str, syntax: GraphSyntax, tree: SyntaxTree, mistakes: Mistakes) -> Attribute | None:
    path = ("universe", "attributes", name)
    problem = graph_mistake(syntax)
    if problem is not None:
        mistakes.add("DX121", tree.span(*path), f"attribute {shown(name)}: {problem}", "name the column of lengths")
        return None
    tables: list[CsvTable | None] = []
    for key, file in (("graph", syntax.graph), ("nodes", syntax.nodes)):
        span = tree.span(*path, key)
        try:
            tables.append(None if file is None else read_csv(mistakes.text.folder, file))
        except Unreadable as error:
            advice = "name a CSV file in the policy's own folder or below it"
            mistakes.add("DX114", span, f"the file {shown(file or '')}: {error}", advice)
        except WrongContent as error:
            mistakes.add("DX115", span, str(error))
    if len(tables) < 2 or tables[0] is None:
        return None
    try:
        attribute = graph(name, syntax, tables[0], tables[1])
    except WrongContent as error:
        mistakes.add("DX115", tree.span(*path, "graph"), str(error))
        return None
    if attribute.size > MAX_VALUES:
        _too_many(name, attribute.size, tree, mistakes)
        return None
    return attribute


def _regions(name: str, syntax: RegionsSyntax, tree: SyntaxTree, mistakes: Mistakes) -> Attribute | None:
    from dxgeom.policy.resolve.regions import regions
    from dxgeom.policy.source.geojson import read_geojson

    path = ("universe", "attributes", name)
    if (syntax.longitude is None) != (syntax.latitude is None) or (syntax.longitude or 0) == syntax.latitude:
        message = (
            f"attribute {shown(name)}: 'longitude' and 'latitude' name two columns of the data, or are both left out"
        )
        mistakes.add(
            "DX121", tree.span(*path), message, "with both, data tell where a row is; without, its region's key"
        )
        return None
    try:
        return regions(name, syntax, read_geojson(mistakes.text.folder, syntax.regions))
    except Unreadable as error:
        advice = "name a GeoJSON file in the policy's own folder or below it"
        mistakes.add("DX114", tree.span(*path, "regions"), f"the file {shown(syntax.regions)}: {error}", advice)
    except WrongContent as error:
        mistakes.add("DX115", tree.span(*path, "regions"), str(error))
    return None


def _too_many(name: str, count: int | Fraction, tree: SyntaxTree, mistakes: Mistakes) -> None:
    message = f"attribute {shown(name)} would have {count:,} values; at most {MAX_VALUES:,} are handled"
    mistakes.add("DX116", tree.span("universe", "attributes", name), message, "use a coarser step or bins")
