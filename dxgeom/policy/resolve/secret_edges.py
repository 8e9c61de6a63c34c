"""Secret graphs: pairs of values that a file or the policy lists, with one ε for all of them or each with its own."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from dxgeom.policy.bounds.edges import Edges
from dxgeom.policy.source.data_files import CsvTable, WrongContent, edges_of
from dxgeom.policy.source.fields import EdgeList, have_numbers
from dxgeom.policy.source.text import Folder
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.wording import did_you_mean, shown

_OWN: Final = "its number"


def secret_edges(
    attribute: Attribute, folder: Folder | None, edges: str | EdgeList, epsilon: Fraction | None, weight: str | None
) -> Edges:
    """The edges of a file whose first two columns hold values of the attribute; the smallest bound of each pair.

    Args: ``epsilon`` for every edge, or ``weight``, the column that holds each edge's own; a list has them beside
    the ends.
    Raises: Unreadable, WrongContent.
    """
    table = _table(folder, edges)
    file = table.file
    weight = _OWN if have_numbers(edges) else weight
    if weight is not None and weight in table.header[:2]:
        raise WrongContent(f"{file}: the column {shown(weight)} holds values; the weights need a column of their own")
    code_of = {label: code for code, label in enumerate(attribute.labels)}
    bounds = _weights(table, weight) if weight is not None else (epsilon or Fraction(0),) * len(table.rows)
    smallest: dict[tuple[int, int], Fraction] = {}
    for row, line, bound in zip(table.rows, table.lines, bounds, strict=True):
        one, other = (_code(attribute, code_of, cell, table, line) for cell in row[:2])
        if one == other:
            raise WrongContent(f"{table.at(line)}: {shown(row[0])} is joined to itself; an edge joins two values")
        pair = (min(one, other), max(one, other))
        smallest[pair] = min(bound, smallest.get(pair, bound))
    ordered = sorted(smallest)
    return Edges(tuple(ordered), tuple(smallest[pair] for pair in ordered))


def joined_attribute(attributes: Mapping[str, Attribute], folder: Folder | None, edges: str | EdgeList) -> str:
    """The one attribute that has all values which the edges join.

    Raises: Unreadable; WrongContent when none has them all, or several have.
    """
    table = _table(folder, edges)
    words = dict.fromkeys(cell for row in table.rows for cell in row[:2])
    missing = {name: [word for word in words if word not in set(one.labels)] for name, one in attributes.items()}
    fitting = [name for name, lacks in missing.items() if not lacks]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        several = " and ".join(map(shown, fitting))
        raise WrongContent(
            f"{table.file}: its values are those of {several}; say with 'change' which attribute is meant"
        )
    if not missing:
        raise WrongContent(f"{table.file}: no attribute is known whose values these edges could join")
    nearest = min(missing, key=lambda name: len(missing[name]))
    raise WrongContent(
        f"{table.file}: no attribute has all the values that its edges join; {shown(nearest)} lacks "
        f"{shown(missing[nearest][0])}; say with 'change' which attribute is meant, or correct the values"
    )


def _table(folder: Folder | None, edges: str | EdgeList) -> CsvTable:
    table = edges_of(folder, edges, _OWN)
    if len(table.header) < 2:
        raise WrongContent(f"{table.file} needs two columns of values, found only {shown(table.header[0])}")
    return table


def _weights(table: CsvTable, column: str) -> tuple[Fraction, ...]:
    weights = table.numbers(column)
    for weight, line in zip(weights, table.lines, strict=True):
        if weight <= 0:
            raise WrongContent(f"{table.at(line)}: {column} is not above 0; a weight is an epsilon")
    return weights


def _code(attribute: Attribute, code_of: dict[str, int], cell: str, table: CsvTable, line: int) -> int:
    if cell not in code_of:
        guess = did_you_mean(cell, code_of)
        message = f"{table.at(line)}: the attribute {shown(attribute.name)} has no value {shown(cell)}"
        raise WrongContent(f"{message}; {guess}" if guess else message)
    return code_of[cell]
