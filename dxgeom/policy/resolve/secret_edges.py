"""Secret graphs: pairs of values listed in a file, with one ε for all of them or each with its own."""

from __future__ import annotations

from fractions import Fraction

from dxgeom.policy.bounds.edges import Edges
from dxgeom.policy.source.data_files import CsvTable, WrongContent, read_csv
from dxgeom.policy.source.text import Folder
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.wording import did_you_mean, shown


def secret_edges(
    attribute: Attribute, folder: Folder | None, file: str, epsilon: Fraction | None, weight: str | None
) -> Edges:
    """The edges of a file whose first two columns hold values of the attribute; the smallest bound of each pair.

    Args: ``epsilon`` for every edge, or ``weight``, the column that holds each edge's own.
    Raises: Unreadable, WrongContent.
    """
    table = read_csv(folder, file)
    if len(table.header) < 2:
        raise WrongContent(f"{file} needs two columns of values, found only {shown(table.header[0])}")
    if weight is not None and weight in table.header[:2]:
        raise WrongContent(f"{file}: the column {shown(weight)} holds values; the weights need a column of their own")
    code_of = {label: code for code, label in enumerate(attribute.labels)}
    bounds = _weights(table, weight) if weight is not None else (epsilon or Fraction(0),) * len(table.rows)
    smallest: dict[tuple[int, int], Fraction] = {}
    for row, line, bound in zip(table.rows, table.lines, bounds, strict=True):
        one, other = (_code(attribute, code_of, cell, table, line) for cell in row[:2])
        if one == other:
            raise WrongContent(f"{file}, line {line}: {shown(row[0])} is joined to itself; an edge joins two values")
        pair = (min(one, other), max(one, other))
        smallest[pair] = min(bound, smallest.get(pair, bound))
    ordered = sorted(smallest)
    return Edges(tuple(ordered), tuple(smallest[pair] for pair in ordered))


def _weights(table: CsvTable, column: str) -> tuple[Fraction, ...]:
    weights = table.numbers(column)
    for weight, line in zip(weights, table.lines, strict=True):
        if weight <= 0:
            raise WrongContent(f"{table.file}, line {line}: {column} is not above 0; a weight is an epsilon")
    return weights


def _code(attribute: Attribute, code_of: dict[str, int], cell: str, table: CsvTable, line: int) -> int:
    if cell not in code_of:
        guess = did_you_mean(cell, code_of)
        message = f"{table.file}, line {line}: the attribute {shown(attribute.name)} has no value {shown(cell)}"
        raise WrongContent(f"{message}; {guess}" if guess else message)
    return code_of[cell]
