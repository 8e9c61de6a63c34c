"""A graph from a file of edges: its nodes, how long its edges are, and what else is known about the nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.policy.source.data_files import CsvTable, WrongContent, check_keys, column_of
from dxgeom.policy.syntax.models import GraphSyntax
from dxgeom.universe.places import GraphAttribute
from dxgeom.universe.wording import did_you_mean, shown

_SUMS_BELOW: Final = 2**52
"""All lengths together stay below this in their common unit, so that sums along paths are exact in every type."""


def graph_mistake(syntax: GraphSyntax) -> str | None:
    """Why the keys of a graph do not go together, or None."""
    if syntax.unit is not None and syntax.length is None:
        return "'unit' is the unit of a graph's 'length', found no 'length'"
    return None


def graph(name: str, syntax: GraphSyntax, edges: CsvTable, nodes: CsvTable | None) -> GraphAttribute:
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
