"""``{graph: edges.csv}`` or ``{graph: [[a, b], …]}``, with ``length``, ``unit`` and ``nodes``: nodes and edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PlainValidator, WithJsonSchema

from dxgeom.policy.axes import Axis, PathAxis
from dxgeom.policy.kinds.kind import METRES, AttributeKeys, AttributeKind, Declared, Misfit, written_as, wrote
from dxgeom.policy.source.data_files import (
    CsvTable,
    WrongContent,
    check_keys,
    column_of,
    edges_of,
    listed_rows,
    read_csv,
)
from dxgeom.policy.source.fields import NAMES_SCHEMA, Edges, Length, edges_words, have_numbers, wrong_field
from dxgeom.policy.source.text import Folder
from dxgeom.universe.places import GraphAttribute, LengthUnit
from dxgeom.universe.wording import did_you_mean, shown

_SUMS_BELOW: Final = 2**52
"""All lengths together stay below this in their common unit, so that sums along paths are exact in every type."""
_GRAPH = (
    "A CSV file beside the policy, whose first two columns are the nodes that each edge joins; or a list of edges, "
    "[[a, b], [b, c]], each perhaps with its length, [a, b, 2.5]."
)
_LENGTH = "The column of that file with each edge's length; without it an edge is one step."
_UNIT = "The unit of the lengths; without it they are plain numbers."
_NODES = (
    "A CSV file with a row for each node, named in its first column; its other columns are for queries. Or a list of "
    "the nodes, which says their order."
)
_WRITE_NODES: Final = "name a CSV file, or list the nodes as [a, b, c]"
_LISTED_LENGTH: Final = "its length"


def _nodes(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return value
    if not isinstance(value, list | tuple) or not value or not all(isinstance(name, str) for name in value):
        raise wrong_field("DX108", "a file's name or a list of nodes is expected here", _WRITE_NODES)
    return tuple(value)


Nodes: TypeAlias = Annotated[str | tuple[str, ...], PlainValidator(_nodes), WithJsonSchema(NAMES_SCHEMA)]


@final
class GraphSyntax(AttributeKeys):
    """``{graph: edges.csv}`` or ``{graph: [[a, b], …]}``, with ``length: column``, its ``unit``, and ``nodes``."""

    model_config = written_as("Graph", "nodes and the edges between them; distances are counted along the edges.")

    graph: Annotated[Edges, Field(description=_GRAPH)]
    length: Annotated[str | None, Field(description=_LENGTH)] = None
    unit: Annotated[Literal["m", "km"] | None, Field(description=_UNIT)] = None
    nodes: Annotated[Nodes | None, Field(description=_NODES)] = None


@final
class GraphKind(AttributeKind[GraphSyntax, GraphAttribute]):
    """The nodes of a graph; lengths are in steps, or where edges have lengths in these."""

    key: ClassVar[str] = "graph"
    noun: ClassVar[str] = "a graph"
    form: ClassVar[str] = "{graph} with length and unit, and with nodes"
    joining: ClassVar[str] = "join the parts by an edge, or add a rule with a plain 'epsilon'"
    syntax = GraphSyntax
    makes = GraphAttribute

    def resolve(self, syntax: GraphSyntax, declared: Declared) -> GraphAttribute | None:
        length = _length_column(syntax, declared)
        if length is None:
            return None
        file, named = edges_words(syntax.graph), syntax.nodes
        edges = declared.read("graph", file, lambda: edges_of(declared.folder, syntax.graph, _LISTED_LENGTH))
        nodes = None if named is None else declared.read("nodes", str(named), lambda: _named(declared.folder, named))
        if edges is None or (nodes is None and named is not None):
            return None
        unit = syntax.unit or ""
        attribute = declared.read("graph", file, lambda: _graph(declared.name, length, unit, edges, nodes))
        return attribute if attribute is not None and declared.few_enough(attribute.size) else None

    def measured(self, attribute: GraphAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        nodes, first, second = attribute.size, attribute.first, attribute.second
        if length.unit == "step":
            return PathAxis("hops", nodes, first, second, np.ones(first.size, dtype=np.int64)), length.amount
        own, lengths = attribute.unit, attribute.lengths
        if lengths is None or (length.unit not in METRES if own else length.unit != ""):
            return _misfit(attribute, length)
        amount = length.amount * METRES[length.unit] / METRES[own] if own else length.amount
        return PathAxis("paths", nodes, first, second, lengths, attribute.grain), amount


def _misfit(attribute: GraphAttribute, length: Length) -> Misfit:
    name, own = shown(attribute.name), attribute.unit
    if attribute.lengths is None:
        advice = "write '2 steps', or name the column of the edges' lengths: 'length'"
        return Misfit(f"the edges of {name} are steps, found {wrote(length)}", advice)
    advice = f"write '10 {own}' or '2 steps'" if own else "write a number in their own unit, or '2 steps'"
    return Misfit(f"the lengths of {name} are in {own or 'a unit of their own'}, found {wrote(length)}", advice)


def _length_column(syntax: GraphSyntax, declared: Declared) -> str | None:
    """The column of the edges' lengths, empty for none; None when the keys do not go together, which is then noted."""
    listed = not isinstance(syntax.graph, str)
    if listed and syntax.length is not None:
        message = ": 'length' names a column of a file, and these edges are listed"
        declared.note("DX121", message, "write each length beside its edge, [a, b, 2.5]", at=("length",))
        return None
    length = _LISTED_LENGTH if have_numbers(syntax.graph) else syntax.length or ""
    if syntax.unit is not None and not length:
        message = ": 'unit' is the unit of a graph's 'length', found no 'length'"
        declared.note("DX121", message, "write each length beside its edge" if listed else "name the column of lengths")
        return None
    return length


def _named(folder: Folder | None, nodes: str | tuple[str, ...]) -> CsvTable:
    """The nodes of a file, or of a list. Raises: Unreadable, WrongContent."""
    if isinstance(nodes, str):
        return read_csv(folder, nodes)
    return listed_rows("the list of nodes", "entry", ("node",), tuple((node,) for node in nodes))


def _graph(name: str, length: str, unit: LengthUnit, edges: CsvTable, nodes: CsvTable | None) -> GraphAttribute:
    """The attribute of a graph's nodes: those of the nodes' file in its order, else in the order the edges name them.

    Raises: WrongContent.
    """
    if len(edges.header) < 2:
        raise WrongContent(f"{edges.file} needs two columns of nodes, found only {shown(edges.header[0])}")
    if length in edges.header[:2]:
        raise WrongContent(f"{edges.file}: the column {shown(length)} holds nodes; lengths need one of their own")
    labels = _named_by_edges(edges) if nodes is None else nodes.column(nodes.header[0])
    if nodes is not None:
        check_keys(labels, nodes)
    further = () if nodes is None else tuple(column_of(nodes, header) for header in nodes.header[1:])
    if nodes is not None and any(column.name == name for column in further):
        raise WrongContent(f"{nodes.file} has a column named like the attribute, {shown(name)}; rename one of them")
    stated = _lengths(edges, length) if length else [Fraction(1)] * len(edges.rows)
    shortest = _shortest(edges, labels, stated, nodes)
    ordered = sorted(shortest)
    pairs = np.array(ordered, dtype=np.int64)
    lengths, grain = _whole(edges, [shortest[pair] for pair in ordered])
    return GraphAttribute(name, labels, pairs[:, 0], pairs[:, 1], lengths if length else None, grain, unit, further)


def _named_by_edges(edges: CsvTable) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell for row in edges.rows for cell in row[:2]))


def _lengths(edges: CsvTable, column: str) -> Sequence[Fraction]:
    lengths = edges.numbers(column)
    for length, line in zip(lengths, edges.lines, strict=True):
        if length <= 0:
            raise WrongContent(f"{edges.at(line)}: {column} is not above 0; an edge has a length")
    return lengths


def _shortest(
    edges: CsvTable, labels: tuple[str, ...], lengths: Sequence[Fraction], nodes: CsvTable | None
) -> dict[tuple[int, int], Fraction]:
    """The smallest length of each pair of codes, lower code first."""
    code_of = {label: code for code, label in enumerate(labels)}
    found: dict[tuple[int, int], Fraction] = {}
    for row, line, length in zip(edges.rows, edges.lines, lengths, strict=True):
        for cell in row[:2]:
            if not cell:
                raise WrongContent(f"{edges.at(line)}: an edge names both its ends; found an empty cell")
            if cell not in code_of and nodes is not None:
                raise WrongContent(_stranger(edges, line, cell, nodes, labels))
        one, other = sorted(code_of[cell] for cell in row[:2])
        if one == other:
            raise WrongContent(f"{edges.at(line)}: {shown(row[0])} is joined to itself; an edge joins two nodes")
        found[one, other] = min(length, found.get((one, other), length))
    return found


def _stranger(edges: CsvTable, line: int, cell: str, nodes: CsvTable, labels: tuple[str, ...]) -> str:
    guess = did_you_mean(cell, labels)
    message = f"{edges.at(line)}: {nodes.file} lists no node {shown(cell)}"
    return f"{message}; {guess}" if guess else message


def _whole(edges: CsvTable, lengths: Sequence[Fraction]) -> tuple[NDArray[np.int64], Fraction]:
    """Lengths as whole multiples of one grain, the largest that measures them all."""
    denominator = math.lcm(*{length.denominator for length in lengths})
    scaled = [length.numerator * (denominator // length.denominator) for length in lengths]
    divisor = math.gcd(*scaled)
    if sum(scaled) // divisor >= _SUMS_BELOW:
        raise WrongContent(
            f"{edges.file}: in a unit that measures them all the lengths add up to more than {_SUMS_BELOW:,}; "
            "write them with fewer decimals"
        )
    return np.array([one // divisor for one in scaled], dtype=np.int64), Fraction(divisor, denominator)
