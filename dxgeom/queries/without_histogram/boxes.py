"""Counts in very many boxes in words: prefixes, ranges, cells and conditions, with no weight laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, NamedTuple, final

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.entries import QueryReader
from dxgeom.queries.query_kind import BoxKind, one_line
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.spans import Spans, spans_of, together

_NOT_SAID: Final = {
    "weight": "counts in boxes are of whole records",
    "name": "a box is called by its ends",
    "unit": "counts in boxes are all counts of records",
    "by": "boxes are grouped by their own ends: write a marginal of these columns, with 'where'",
}


class _Asked(NamedTuple):
    """The boxes of one query, and what is said of them."""

    spans: Sequence[Spans]
    importance: Fraction
    error: Fraction | None

    @property
    def boxes(self) -> int:
        return sum(len(one.lower) for one in self.spans)


def asks_for_boxes(entries: Sequence[Node]) -> bool:
    """Whether some query is for other counts than those in whole tables: prefixes, ranges, or with a condition."""
    return any(isinstance(one, Mapping) and _is_no_table(one) for one in entries)


def _is_no_table(entry: Mapping) -> bool:
    count = entry.entry("count")
    conditioned = count is not None and one_line(count[1]) != "true"
    return conditioned or any(entry.entry(word) is not None for word in ("prefixes", "ranges", "where"))


@final
@dataclass(frozen=True)
class BoxesReader:
    """Reads counts in boxes over one universe; notes mistakes, and gives None then."""

    universe: Universe
    mistakes: Mistakes
    records: int | None

    def workload(self, entries: Sequence[Node]) -> BoxQueries | None:
        """The boxes that the queries of a file ask for, in their order."""
        reader = QueryReader(ColumnReader(self.universe, self.mistakes), self.records)
        asked = [one for entry in entries if (one := self._read_entry(entry, reader)) is not None]
        if self.mistakes:
            return None
        alike, free = all(one.importance == 1 for one in asked), all(one.error is None for one in asked)
        try:
            found = together(self.universe, [own for one in asked for own in one.spans])
            return replace(
                found,
                importance=None if alike else tuple(one.importance for one in asked for _ in range(one.boxes)),
                errors=() if free else tuple(one.error for one in asked for _ in range(one.boxes)),
                records=self.records,
            )
        except (UnsupportedCombination, TooLarge) as error:
            self.mistakes.add("DX207" if isinstance(error, TooLarge) else "DX201", entries[0].span, str(error))
            return None

    def _read_entry(self, entry: Node, reader: QueryReader) -> _Asked | None:
        found = reader.checked(entry)
        if found is None or not isinstance(entry, Mapping):
            return None
        kind, syntax, value = found
        if not isinstance(kind, BoxKind):
            message = f"a query for '{kind.word}' needs a count of every possible record, and here there is none"
            advice = "ask for marginals, prefixes, ranges, or for counts in boxes"
            self.mistakes.add("DX221", entry.span, message, advice)
            return None
        for key, why in _NOT_SAID.items():
            said = entry.entry(key)
            if said is not None:
                self.mistakes.add("DX221", said[0].span, why, f"leave {shown(key)} out")
        spans = self._spans(kind, entry, value, reader.columns)
        if spans is None:
            return None
        return _Asked(spans, getattr(syntax, "importance", None) or Fraction(1), getattr(syntax, "error", None))

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
