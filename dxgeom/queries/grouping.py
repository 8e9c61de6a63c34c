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
from dxgeom.universe.workloads.constructors import NamedTable, marginal
from dxgeom.universe.workloads.groups import AnswerOrigin, Groups, GroupValues

MOST_WEIGHTS_BY_GROUP: Final = 50_000_000
"""The answers of one query by group have at most so many weights: 400 MB."""
MOST_RATIOS: Final = 400
"""Each ratio has an interval of its own to be worked out, so that fewer groups are feasible."""
_COARSER = "group by fewer columns, or by coarser ones, such as bins"


def by_groups(queries: AskedQueries, by: Node, columns: ColumnReader) -> AskedQueries | None:
    """A query with one answer, or a ratio of two, asked of each group by itself; the last column's values run fastest.

    Groups that no possible record is in, or none that the query is about, are left out: their answers would always be
    0. Notes mistakes, and gives None then.
    """
    found = groups_by(by, columns)
    if found is None:
        return None
    count = math.prod(len(group.words) for group in found)
    if queries.ratios and count > MOST_RATIOS:
        columns.note(
            "DX207", by.span, f"{count:,} groups make as many ratios; at most {MOST_RATIOS} are told", _COARSER
        )
        return None
    # What one group is counted by has its classes and those of the query, at most.
    weights = count * count * max(table.cells for table in queries.tables)
    if weights > MOST_WEIGHTS_BY_GROUP:
        message = f"{count:,} groups make {weights:,} weights; at most {MOST_WEIGHTS_BY_GROUP:,} are kept"
        columns.note("DX207", by.span, message, _COARSER)
        return None
    try:
        made = _asked_of_each(queries, marginal(found))
    except TooLarge as error:
        columns.note("DX207", by.span, str(error), _COARSER)
        return None
    if made is None:
        columns.note("DX202", by.span, "no group has a record that this is about", "the answers would always be 0")
    return made


def _asked_of_each(queries: AskedQueries, groups: NamedTable) -> AskedQueries | None:
    """The query times each group that it is about, None for none. Raises: TooLarge."""
    counted = groups.table if queries.counted is None else products(groups.table, queries.counted)
    inhabited = counted if queries.numbers is None else products(counted, queries.numbers.there)
    kept = [int(place) for place in np.flatnonzero(inhabited.extremes[1])]
    if not kept:
        return None
    counted, about = only(counted, kept), [groups.groups[place] for place in kept]
    return replace(
        queries,
        names=tuple(_called(name, group) for name in queries.names for group in about),
        units=tuple(unit for unit in queries.units for _ in about),
        tables=tuple(only(products(groups.table, table), kept) for table in queries.tables),
        counted=counted,
        by_group=() if queries.numbers is None else queries.numbers.roundings(counted),
        origins=tuple(AnswerOrigin(name, group) for name in queries.names for group in about),
        ratios=tuple(
            one._replace(title=_called(one.title, group), asks=AnswerOrigin(one.title, group))
            for one in queries.ratios
            for group in about
        ),
    )


def groups_by(by: Node, columns: ColumnReader, key: str = "by", *, unlisted: bool = False) -> list[Groups] | None:
    """The groups of each column that is named behind ``key``; with ``unlisted`` also where nobody listed values."""
    nodes = by.items if isinstance(by, Sequence) else (by,)
    if not nodes:
        advice = f"write '{key}: ward', or '{key}: [ward, sex]'"
        columns.note("DX108", by.span, f"'{key}' names one or more columns", advice)
    read = [(node, columns.groups(node, unlisted=unlisted)) for node in nodes]
    found = [(node.span, group) for node, group in read if group is not None]
    if len(found) < len(nodes) or not nodes:
        return None
    return None if _repeated(found, columns, key) else [group for _, group in found]


def _repeated(found: list[tuple[Span, Groups]], columns: ColumnReader, key: str) -> bool:
    """Whether two columns are of one attribute, which is noted at the second."""
    before: dict[int, str] = {}
    for span, group in found:
        if group.axis in before:
            same = before[group.axis] == group.column
            what = "the same column twice" if same else f"{shown(group.column)} is of the same attribute"
            what = f"'{key}' names {what}" if same else f"{what} as {shown(before[group.axis])}"
            columns.note("DX201", span, what, "groups are by one column of each attribute")
            return True
        before[group.axis] = group.column
    return False


def _called(name: str, group: GroupValues) -> str:
    return f"{name}, {', '.join(f'{column}={value}' for column, value in group)}"
