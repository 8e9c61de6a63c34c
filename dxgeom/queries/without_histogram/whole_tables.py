"""Whole tables of counts in words: read where there are too many possible records to count each, and written as
words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.entries import QueryReader
from dxgeom.queries.query_kind import TableKind
from dxgeom.universe.columns import plain
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.groups import Groups
from dxgeom.universe.workloads.whole_tables import MarginalQueries

_NOT_SAID: Final = {
    "where": "whole tables count all records, without a condition",
    "weight": "cells of whole tables count whole records",
    "name": "a whole table is called by its columns",
    "unit": "cells of whole tables are all counts of records",
    "by": "whole tables are grouped by their own columns",
}
_MOST_LISTED: Final = 20_000
"""So many tables are written one by one."""


class _Asked(NamedTuple):
    """The tables of one query, each by its columns, and what is said of them."""

    node: Node
    tables: Sequence[tuple[Groups, ...]]
    importance: Fraction
    error: Fraction | None


@final
@dataclass(frozen=True)
class TablesReader:
    """Reads whole tables of counts over one universe; notes mistakes, and gives None then."""

    universe: Universe
    mistakes: Mistakes
    records: int | None

    def workload(self, entries: Sequence[Node]) -> MarginalQueries | None:
        """The tables that the queries of a file ask for, in their order."""
        reader = QueryReader(ColumnReader(self.universe, self.mistakes), self.records)
        asked = [one for entry in entries if (one := self._read_entry(entry, reader)) is not None]
        if self.mistakes:
            return None
        columns = self._columns(asked)
        if columns is None:
            return None
        places = {axis: place for place, axis in enumerate(columns)}
        tables = [(one, tuple(sorted(places[own.axis] for own in table))) for one in asked for table in one.tables]
        seen: set[tuple[int, ...]] = set()
        for one, table in tables:
            if table in seen:
                called = ", ".join(columns[axis].title for axis, place in places.items() if place in table)
                message = f"the table over {shown(called or 'all records')} is asked for twice"
                self.mistakes.add("DX203", one.node.span, message, "ask for each table once")
                return None
            seen.add(table)
        alike = all(one.importance == 1 for one in asked)
        try:
            return MarginalQueries(
                self.universe,
                tuple(columns.values()),
                tuple(table for _, table in tables),
                None if alike else tuple(one.importance for one, _ in tables),
                tuple(one.error for one, _ in tables) if any(one.error is not None for one in asked) else (),
                self.records,
            )
        except (UnsupportedCombination, TooLarge) as error:
            self.mistakes.add("DX207" if isinstance(error, TooLarge) else "DX201", entries[0].span, str(error))
            return None

    def _read_entry(self, entry: Node, reader: QueryReader) -> _Asked | None:
        found = reader.checked(entry)
        if found is None:
            return None
        kind, syntax, value = found
        if not isinstance(kind, TableKind):
            message = (
                f"a query for '{kind.word}' needs a count of every possible record, and this policy has about "
                f"10^{len(str(self.universe.record_types)) - 1} of them"
            )
            self.mistakes.add("DX221", entry.span, message, "ask for the marginals of its columns, or 'count: true'")
            return None
        for key, why in _NOT_SAID.items():
            said = entry.entry(key) if isinstance(entry, Mapping) else None
            if said is not None:
                self.mistakes.add("DX221", said[0].span, why, f"leave {shown(key)} out")
        tables = kind.tables(value, reader.columns)
        if tables is None:
            return None
        return _Asked(entry, tables, getattr(syntax, "importance", None) or Fraction(1), getattr(syntax, "error", None))

    def _columns(self, entries: Sequence[_Asked]) -> dict[int, Groups] | None:
        """By attribute the column that tables are over, rising."""
        found: dict[int, Groups] = {}
        for one in entries:
            for own in itertools.chain.from_iterable(one.tables):
                if found.setdefault(own.axis, own).column != own.column:
                    message = f"tables are over {shown(found[own.axis].title)} and {shown(own.title)} of one attribute"
                    advice = "take the same column of an attribute in all tables"
                    self.mistakes.add("DX201", one.node.span, message, advice)
                    return None
        return dict(sorted(found.items()))


def words_of_tables(queries: MarginalQueries) -> dict[str, Any]:
    """What a queries file says that asks for the same, in the same order.

    Raises: TooLarge for very many tables that are not all of so many columns; UnsupportedCombination for an importance
    or an error that is no decimal.
    """
    records = {} if queries.records is None else {"records": str(queries.records)}
    return {**records, "queries": [*_entries(queries)]}


def _entries(queries: MarginalQueries) -> Iterator[dict[str, Any]]:
    """A query for all neighbouring tables of which the same is said."""

    def said(table: int) -> tuple[bool, dict[str, str]]:
        more = {} if queries.importance is None else {"importance": _decimal(queries.importance[table])}
        wanted = queries.errors[table] if queries.errors else None
        return not queries.attribute_sets[table], {**more, **({} if wanted is None else {"error": _decimal(wanted)})}

    for (total, more), tables in itertools.groupby(range(len(queries.attribute_sets)), said):
        yield {"count": "true", **more} if total else {"marginals": _groups(queries, [*tables]), **more}


def _decimal(number: Fraction) -> str:
    if "/" in plain(number):
        raise UnsupportedCombination(f"files write importance and errors as decimals, and {number} is none: round it")
    return plain(number)


def _groups(queries: MarginalQueries, tables: list[int]) -> Any:
    asked = [queries.attribute_sets[table] for table in tables]
    ways, columns = len(asked[0]), sorted({place for one in asked for place in one})
    if len(asked) > 1 and asked == [*itertools.combinations(columns, ways)]:
        return {"ways": str(ways), "of": [queries.column_titles[place] for place in columns]}
    if len(asked) > _MOST_LISTED:
        raise TooLarge(f"{len(asked):,} tables are not written one by one; at most {_MOST_LISTED:,} are")
    return [[queries.column_titles[place] for place in one] for one in asked]
