"""``{graph: edges.csv}``, with ``length: column`` and its ``unit``, and ``nodes: file.csv``: nodes joined by edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Final, Literal, final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dxgeom.policy.axes.axis import Axis
from dxgeom.policy.axes.paths import PathAxis
from dxgeom.policy.kinds.attribute_keys import AttributeKeys
from dxgeom.policy.kinds.kind import METRES, AttributeKind, Declared, Misfit, written_as, wrote
from dxgeom.policy.source.data_files import CsvTable, WrongContent, check_keys, column_of, read_csv
from dxgeom.policy.source.lengths import Length
from dxgeom.universe.places import GraphAttribute
from dxgeom.universe.wording import did_you_mean, shown

_SUMS_BELOW: Final = 2**52
"""All lengths together stay below this in their common unit, so that sums along paths are exact in every type."""
_GRAPH = "A CSV file beside the policy; its first two columns are the nodes that each edge joins."
_LENGTH = "The column of that file with each edge's length; without it an edge is one step."
_UNIT = "The unit of the lengths; without it they are plain numbers."
_NODES = "A CSV file with a row for each node, named in its first column; its other columns are for queries."


@final
class GraphSyntax(AttributeKeys):
    """``{graph: edges.csv}``, with ``length: column`` and its ``unit``, and ``nodes: file.csv``."""

    model_config = written_as("Graph", "nodes and the edges between them; distances are counted along the edges.")

    graph: Annotated[str, Field(description=_GRAPH)]
    length: Annotated[str | None, Field(description=_LENGTH)] = None
    unit: Annotated[Literal["m", "km"] | None, Field(description=_UNIT)] = None
    nodes: Annotated[str | None, Field(description=_NODES)] = None


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
        if syntax.unit is not None and syntax.length is None:
            message = ": 'unit' is the unit of a graph's 'length', found no 'length'"
            declared.note("DX121", message, "name the column of lengths")
            return None
        files = {"graph": syntax.graph} | ({} if syntax.nodes is None else {"nodes": syntax.nodes})
        tables = {
            key: declared.read(key, file, partial(read_csv, declared.folder, file)) for key, file in files.items()
        }
        edges, nodes = tables["graph"], tables.get("nodes")
        if edges is None or (nodes is None and syntax.nodes is not None):
            return None
        attribute = declared.read("graph", syntax.graph, lambda: _graph(declared.name, syntax, edges, nodes))
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


def _graph(name: str, syntax: GraphSyntax, edges: CsvTable, nodes: CsvTable | None) -> GraphAttribute:
    """The attribute of a graph's nodes: those of the nodes' file in its order, else in the order the edges name them.

    Raises: WrongContent.
    """
    if len(edges.header) < 2:
        raise WrongContent(f"{edges.file} needs two columns of nodes, found only {shown(edges.header[0])}")
    if syntax.length in edges.header[:2]:
        raise WrongContent(
            f"{edges.file}: the column {shown(syntax.length)} holds nodes; lengths need one of their own"
        )
    labels = _named_by_edges(edges) if nodes is None else nodes.column(nodes.header[0])
    if nodes is not None:
        check_keys(labels, nodes)
    further = () if nodes is None else tuple(column_of(nodes, header) for header in nodes.header[1:])
    if nodes is not None and any(column.name == name for column in further):
        raise WrongContent(f"{nodes.file} has a column named like the attribute, {shown(name)}; rename one of them")
    stated = [Fraction(1)] * len(edges.rows) if syntax.length is None else _lengths(edges, syntax.length)
    shortest = _shortest(edges, labels, stated, nodes)
    ordered = sorted(shortest)
    pairs = np.array(ordered, dtype=np.int64)
    lengths, grain = _whole(edges, [shortest[pair] for pair in ordered])
    measured = None if syntax.length is None else lengths
    return GraphAttribute(name, labels, pairs[:, 0], pairs[:, 1], measured, grain, syntax.unit or "", further)


def _named_by_edges(edges: CsvTable) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell for row in edges.rows for cell in row[:2]))


def _lengths(edges: CsvTable, column: str) -> Sequence[Fraction]:
    lengths = edges.numbers(column)
    for length, line in zip(lengths, edges.lines, strict=True):
        if length <= 0:
            raise WrongContent(f"{edges.file}, line {line}: {column} is not above 0; an edge has a length")
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
                raise WrongContent(f"{edges.file}, line {line}: an edge names both its ends; found an empty cell")
            if cell not in code_of and nodes is not None:
                raise WrongContent(_stranger(edges, line, cell, nodes, labels))
        one, other = sorted(code_of[cell] for cell in row[:2])
        if one == other:
            raise WrongContent(
                f"{edges.file}, line {line}: {shown(row[0])} is joined to itself; an edge joins two nodes"
            )
        found[one, other] = min(length, found.get((one, other), length))
    return found


def _stranger(edges: CsvTable, line: int, cell: str, nodes: CsvTable, labels: tuple[str, ...]) -> str:
    guess = did_you_mean(cell, labels)
    message = f"{edges.file}, line {line}: {nodes.file} lists no node {shown(cell)}"
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
