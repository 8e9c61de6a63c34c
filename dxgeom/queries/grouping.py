"""``by``: one answer for each group of records with the same values in some columns."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.policy.source.mistakes import Span
from dxgeom.policy.source.yaml_tree import Node, Sequence
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.weights import AskedQueries
from dxgeom.universe.weight_table import only, products
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.counts import NamedTable, marginal
from dxgeom.universe.workloads.groups import AnswerOrigin, Groups

MOST_WEIGHTS_BY_GROUP: Final = 50_000_000
"""The answers of one query by group have at most so many weights: 400 MB."""
_COARSER = "group by fewer columns, or by coarser ones, such as bins"


def by_groups(asked: AskedQueries, by: Node, columns: ColumnReader) -> AskedQueries | None:
    """A query with one answer, asked of each group by itself; the last column's values run fastest.

    Groups that no record type is in, or none that the query is about, are left out: their answers would always be 0.
    Notes mistakes, and gives None then.
    """
    found = _groups_by(by, columns)
    if found is None:
        return None
    (table,), (name,), (unit,) = asked.tables, asked.names, asked.units
    counts = math.prod(len(group.words) for group in found)
    # What one group is counted by has its classes and those of the query, at most.
    weights = counts * counts * table.cells
    if weights > MOST_WEIGHTS_BY_GROUP:
        message = f"{counts:,} groups make {weights:,} weights; at most {MOST_WEIGHTS_BY_GROUP:,} are kept"
        columns.note("DX207", by.span, message, _COARSER)
        return None
    try:
        groups = marginal(found)
        counted = groups.table if asked.counted is None else products(groups.table, asked.counted)
        inhabited = np.flatnonzero(counted.extremes[1])
        answers = products(groups.table, table)
    except TooLarge as error:
        columns.note("DX207", by.span, str(error), _COARSER)
        return None
    kept = [int(place) for place in inhabited]
    counted = only(counted, kept)
    return replace(
        asked,
        names=tuple(f"{name}, {_words(groups, place)}" for place in kept),
        units=(unit,) * len(kept),
        tables=(only(answers, kept),),
        counted=counted,
        by_group=() if asked.numbers is None else asked.numbers.roundings(counted),
        origins=tuple(AnswerOrigin(name, groups.groups[place]) for place in kept),
    )


def _groups_by(by: Node, columns: ColumnReader) -> list[Groups] | None:
    """The groups of each column that ``by`` names."""
    nodes = by.items if isinstance(by, Sequence) else (by,)
    if not nodes:
        columns.note("DX108", by.span, "'by' names one or more columns", "write 'by: ward', or 'by: [ward, sex]'")
    read = [(node, columns.groups(node)) for node in nodes]
    found = [(node.span, group) for node, group in read if group is not None]
    if len(found) < len(nodes) or not nodes:
        return None
    return None if _repeated(found, columns) else [group for _, group in found]


def _repeated(found: list[tuple[Span, Groups]], columns: ColumnReader) -> bool:
    """Whether two columns are of one attribute, which is noted at the second."""
    before: dict[int, str] = {}
    for span, group in found:
        if group.axis in before:
            same = before[group.axis] == group.column
            what = "the same column twice" if same else f"{shown(group.column)} is of the same attribute"
            what = f"'by' names {what}" if same else f"{what} as {shown(before[group.axis])}"
            columns.note("DX201", span, what, "groups are by one column of each attribute")
            return True
        before[group.axis] = group.column
    return False


def _words(groups: NamedTable, place: int) -> str:
    return ", ".join(f"{column}={value}" for column, value in groups.groups[place])
