"""Counts in words that are not listed one by one: whole tables, and boxes, with no weight laid out; and tables written
as words."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeVar, final

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.entries import QueryReader
from dxgeom.queries.query_kind import BoxKind, QueryKind, TableKind, one_line
from dxgeom.universe.columns import plain
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.counts import Counts, SaidOfCounts
from dxgeom.universe.workloads.groups import Groups
from dxgeom.universe.workloads.spans import Spans, spans_of, together
from dxgeom.universe.workloads.whole_tables import MarginalQueries

_IN_TABLES: Final = {
    "where": "whole tables count all records, without a condition",
    "weight": "cells of whole tables count whole records",
    "name": "a whole table is called by its columns",
    "label": "a whole table is called by its columns: the policy labels its attributes and values",
    "unit": "cells of whole tables are all counts of records",
    "by": "whole tables are grouped by their own columns",
}
_IN_BOXES: Final = {
    "weight": "counts in boxes are of whole records",
    "name": "a box is called by its ends",
    "label": "a box is called by its ends",
    "unit": "counts in boxes are all counts of records",
    "by": "boxes are grouped by their own ends: write a marginal of these columns, with 'where'",
}
_BOXED: Final = ("prefixes", "ranges", "every", "total", "window", "where")
_MOST_LISTED: Final = 20_000
"""So many tables are written one by one."""
Made = TypeVar("Made", bound=Counts)


class _Asked(NamedTuple):
    """What one query asks for, and what is said of it. ``parts``: tables by their columns, or boxes; ``each``: how many
    tables, or boxes, these are."""

    node: Node
    parts: Sequence[Any]
    each: int
    importance: Fraction
    error: Fraction | None


def asks_for_boxes(entries: Sequence[Node]) -> bool:
    """Whether some query is for other counts than those in whole tables: prefixes, ranges, or with a condition."""
    return any(isinstance(one, Mapping) and _is_no_table(one) for one in entries)


def _is_no_table(entry: Mapping) -> bool:
    count = entry.entry("count")
    conditioned = count is not None and one_line(count[1]) != "true"
    return conditioned or any(entry.entry(word) is not None for word in _BOXED)


@final
@dataclass(frozen=True)
class UnlistedReader:
    """Reads whole tables of counts, or counts in boxes, over one universe; notes mistakes, and gives None then."""

    universe: Universe
    mistakes: Mistakes
    records: int | None

    def read(self, entries: Sequence[Node]) -> Counts | None:
        """What the queries of a file ask for: whole tables, where all of them ask for such."""
        return self.boxes(entries) if asks_for_boxes(entries) else self.tables(entries)

    def tables(self, entries: Sequence[Node]) -> MarginalQueries | None:
        """The tables that the queries of a file ask for, in their order."""
        asked = self._asked(entries, tables=True)
        columns = None if asked is None else self._columns(asked)
        if asked is None or columns is None:
            return None
        places = {axis: place for place, axis in enumerate(columns)}
        tables = [(one, tuple(sorted(places[own.axis] for own in table))) for one in asked for table in one.parts]
        seen: set[tuple[int, ...]] = set()
        for one, table in tables:
            if table in seen:
                called = ", ".join(columns[axis].title for axis, place in places.items() if place in table)
                message = f"the table over {shown(called or 'all records')} is asked for twice"
                self.mistakes.add("DX203", one.node.span, message, "ask for each table once")
                return None
            seen.add(table)
        sets, said = tuple(table for _, table in tables), self._said(asked)
        return self._made(entries, lambda: MarginalQueries(self.universe, tuple(columns.values()), sets, *said))

    def boxes(self, entries: Sequence[Node]) -> BoxQueries | None:
        """The boxes that the queries of a file ask for, in their order."""
        asked = self._asked(entries, tables=False)
        if asked is None:
            return None
        spans, said = [own for one in asked for own in one.parts], self._said(asked)
        return self._made(entries, lambda: replace(together(self.universe, spans), **said._asdict()))

    def _said(self, asked: Sequence[_Asked]) -> SaidOfCounts:
        each = [one for one in asked for _ in range(one.each)]
        alike, free = all(one.importance == 1 for one in asked), all(one.error is None for one in asked)
        costs = None if alike else tuple(one.importance for one in each)
        return SaidOfCounts(costs, () if free else tuple(one.error for one in each), self.records)

    def _made(self, entries: Sequence[Node], made: Callable[[], Made]) -> Made | None:
        try:
            return made()
        except (UnsupportedCombination, TooLarge) as error:
            self.mistakes.add("DX207" if isinstance(error, TooLarge) else "DX201", entries[0].span, str(error))
            return None

    def _asked(self, entries: Sequence[Node], *, tables: bool) -> list[_Asked] | None:
        """What each query asks for, all as whole ``tables``, or as boxes."""
        reader, asked = QueryReader(ColumnReader(self.universe, self.mistakes), self.records), []
        for entry in entries:
            found = reader.checked(entry)
            if found is None or not isinstance(entry, Mapping):
                continue
            kind, syntax, value = found
            if not isinstance(kind, BoxKind) or (tables and not isinstance(kind, TableKind)):
                self._refuse(kind, entry, tables=tables)
                continue
            for key, why in (_IN_TABLES if tables else _IN_BOXES).items():
                said = entry.entry(key)
                if said is not None and not (key == "by" and kind.by_itself):
                    self.mistakes.add("DX221", said[0].span, why, f"leave {shown(key)} out")
            parts: Sequence[Any] | None
            if tables and isinstance(kind, TableKind):
                parts = kind.tables(value, reader.columns)
            else:
                parts = self._spans(kind, entry, value, reader.columns)
            if parts is not None:
                each = sum(len(one.lower) if isinstance(one, Spans) else 1 for one in parts)
                importance, error = getattr(syntax, "importance", None), getattr(syntax, "error", None)
                asked.append(_Asked(entry, parts, each, importance or Fraction(1), error))
        return None if self.mistakes else asked

    def _refuse(self, kind: QueryKind, entry: Node, *, tables: bool) -> None:
        here, advice = "here there is none", "ask for marginals, prefixes, ranges, or for counts in boxes"
        if tables:
            here = f"this policy has about 10^{len(str(self.universe.record_types)) - 1} of them"
            advice = "ask for the marginals of its columns, or 'count: true'"
        message = f"a query for '{kind.word}' needs a count of every possible record, and {here}"
        self.mistakes.add("DX221", entry.span, message, advice)

    def _spans(self, kind: BoxKind, entry: Mapping, value: Node, columns: ColumnReader) -> list[Spans] | None:
        chosen = columns.where(entry)
        stated = entry.entry("where")
        at = value if stated is None else stated[1]
        try:
            within = None if chosen is None or stated is None else spans_of(chosen)
            at = value
            spans = kind.spans(entry, value, columns)
        except (UnsupportedCombination, TooLarge) as error:
            code = "DX207" if isinstance(error, TooLarge) else "DX221"
            self.mistakes.add(code, at.span, str(error), "" if code == "DX207" else "ask for its parts one by one")
            return None
        if spans is None or chosen is None:
            return None
        found = list(spans) if within is None else [one.within(within) for one in spans]
        if not any(len(one.lower) for one in found):
            self.mistakes.add("DX202", at.span, "no possible record that satisfies its condition is counted here")
            return None
        return found

    def _columns(self, entries: Sequence[_Asked]) -> dict[int, Groups] | None:
        """By attribute the column that tables are over, rising."""
        found: dict[int, Groups] = {}
        for one in entries:
            for own in itertools.chain.from_iterable(one.parts):
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
