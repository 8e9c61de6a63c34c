"""What each kind of query asks for, as exact weights over record types."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import PredicateError
from dxgeom.policy.data_files import WrongContent, read_csv
from dxgeom.policy.mistakes import Mistakes, Span
from dxgeom.policy.text import Unreadable
from dxgeom.policy.weights import Row, TooFine, Workload, along, integers_over_unit, laid_out
from dxgeom.policy.yaml_tree import Mapping, Node, Scalar, Sequence, place_in
from dxgeom.universe.columns import Column, NumberColumn, TextColumn
from dxgeom.universe.predicates import Name, parse_predicate
from dxgeom.universe.selections import Selection, evaluate, find_column
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

MAX_ENTRIES: Final = 200_000_000
KINDS: Final = ("count", "sum", "mean", "marginal", "matrix")
WITH_WHERE: Final = ("sum", "marginal")


@final
@dataclass(frozen=True)
class QueryReader:
    """Reads queries of one file, over one universe; notes mistakes and returns None for the query that has one."""

    universe: Universe
    records: int | None
    mistakes: Mistakes

    def workload(self, node: Node) -> Workload | None:
        """The query of one entry of the list."""
        if not isinstance(node, Mapping):
            self._note("DX200", node.span, "a query is a mapping such as 'count: age >= 65'")
            return None
        before = len(self.mistakes.found)
        kind = self._kind(node)
        self._check_keys(node, kind)
        if kind is None or len(self.mistakes.found) > before:
            return None
        _, value = node.entry(kind) or (None, node)
        made = {
            "count": self._count,
            "sum": self._sum,
            "mean": self._mean,
            "marginal": self._marginal,
            "matrix": self._matrix,
        }[kind](node, value)
        return None if made is None or len(self.mistakes.found) > before else self._named(node, made)

    def _kind(self, node: Mapping) -> str | None:
        found = [key.text for key, _ in node.entries if key.text in KINDS]
        if len(found) == 1:
            return found[0]
        what = f"found {' and '.join(found)}" if found else "found none of them"
        advice = "write each as a query of its own" if found else ""
        strangers = [key for key, _ in node.entries if key.text not in ("name", "where")]
        if not found and strangers:
            advice = did_you_mean(strangers[0].text, KINDS)
        self._note("DX200", node.span, f"a query asks for one of {', '.join(KINDS)}; {what}", advice)
        return None

    def _check_keys(self, node: Mapping, kind: str | None) -> None:
        known = ("name", "where", *KINDS)
        for key, value in node.entries:
            if key.text not in known:
                if kind is not None:
                    self._note(
                        "DX105", key.span, f"the key {shown(key.text)} is not known here", did_you_mean(key.text, known)
                    )
            elif isinstance(value, Scalar) and value.plain and not value.text:
                self._note("DX107", key.span, f"{shown(key.text)} has no value", "write one or remove the key")
            elif key.text in ("name", "where", "count", "sum", "mean", "matrix") and not isinstance(value, Scalar):
                self._note("DX108", value.span, f"{shown(key.text)} is a single word or condition")
        where = node.entry("where")
        if where is not None and kind == "mean":
            self._note(
                "DX204",
                where[0].span,
                "a mean is over all records: how many records satisfy a condition is itself private",
                "ask for the sum and the count with the same condition, and divide the answers",
            )
        elif where is not None and kind not in (None, *WITH_WHERE):
            self._note("DX200", where[0].span, f"'where' goes with {' and '.join(WITH_WHERE)}, not with {kind}")

    def _named(self, node: Mapping, made: Workload) -> Workload:
        name = node.entry("name")
        if name is None or not isinstance(name[1], Scalar):
            return made
        given = name[1].text
        several = node.entry("marginal") or node.entry("matrix")
        return replace(made, names=tuple(f"{given}: {own}" for own in made.names) if several else (given,))

    def _count(self, node: Mapping, value: Node) -> Workload | None:
        chosen = self._condition(value)
        if chosen is None or not isinstance(value, Scalar):
            return None
        return Workload((_one_line(value),), (Fraction(1),), lambda _: chosen.over_universe().astype(np.int64))

    def _sum(self, node: Mapping, value: Node) -> Workload | None:
        where = node.entry("where")
        chosen = self._condition(where[1]) if where else Selection(self.universe, (), np.array(True))
        found = self._numbers(value)
        if found is None or chosen is None:
            return None
        axis, numbers, unit = found
        name = f"sum of {_one_line(value)}{_condition_words(node)}"
        full = along(self.universe, axis, numbers)
        return Workload((name,), (unit,), lambda _: laid_out(self.universe, full) * chosen.over_universe())

    def _mean(self, node: Mapping, value: Node) -> Workload | None:
        found = self._numbers(value)
        if self.universe.absent is not None:
            advice = "ask for the sum and for 'count: true', and divide the answers"
            where = (node.entry("mean") or (node,))[0].span
            self._note(
                "DX215", where, "a mean divides by the number of records, which the policy keeps private", advice
            )
        elif self.records is None:
            advice = "add 'records: …' at the top of the file; it is public when one record replaces another"
            self._note("DX204", (node.entry("mean") or (node,))[0].span, "a mean needs the number of records", advice)
        if found is None or self.records is None:
            return None
        axis, numbers, unit = found
        full = along(self.universe, axis, numbers)
        return Workload((f"mean {_one_line(value)}",), (unit / self.records,), lambda _: laid_out(self.universe, full))

    def _marginal(self, node: Mapping, value: Node) -> Workload | None:
        where = node.entry("where")
        chosen = self._condition(where[1]) if where else Selection(self.universe, (), np.array(True))
        entries = value.items if isinstance(value, Sequence) else (value,)
        groups = [group for group in map(self._groups, entries) if group is not None]
        axes = [group.axis for group in groups]
        if chosen is None or len(groups) < len(entries) or not groups:
            return None
        if len(set(axes)) < len(axes):
            self._note("DX201", value.span, "a marginal takes one column of each attribute, found two of one")
            return None
        shape = tuple(len(group.words) for group in groups)
        if math.prod(shape) * self.universe.size > MAX_ENTRIES:
            self._note_size(value.span, math.prod(shape))
            return None
        suffix = _condition_words(node)
        names = tuple(
            ", ".join(g.label(c) for g, c in zip(groups, codes, strict=True)) + suffix for codes in np.ndindex(shape)
        )

        def row(k: int) -> Row:
            cell = np.ones((1,) * len(self.universe.layout), dtype=np.bool_)
            for group, code in zip(groups, np.unravel_index(k, shape), strict=True):
                cell = cell & (along(self.universe, group.axis, group.codes) == code)
            return laid_out(self.universe, cell.astype(np.int64)) * chosen.over_universe()

        return Workload(names, (Fraction(1),) * len(names), row)

    def _matrix(self, node: Mapping, value: Node) -> Workload | None:
        file = _one_line(value)
        try:
            table = read_csv(self.mistakes.text.folder, file)
            if len(table.rows) != self.universe.record_types:
                raise WrongContent(
                    f"{file} has {len(table.rows):,} rows below its header; "
                    f"the universe has {self.universe.record_types:,} record types"
                )
            columns = [integers_over_unit(table.numbers(name)) for name in table.header]
        except Unreadable as error:
            self._note(
                "DX114", value.span, f"the matrix file {shown(file)}: {error}", "keep it in the folder of this file"
            )
            return None
        except WrongContent as error:
            self._note("DX206", value.span, str(error), "one row per record type, one column per query")
            return None
        except TooFine as error:
            self._note("DX208", value.span, f"{file}: {error}", "round the numbers")
            return None
        gone = np.zeros(self.universe.size - self.universe.record_types, dtype=np.int64)
        units = tuple(unit for _, unit in columns)
        return Workload(table.header, units, lambda k: np.concatenate([columns[k][0], gone]))

    def _condition(self, node: Node) -> Selection | None:
        if not isinstance(node, Scalar):
            self._note("DX108", node.span, "a condition is one piece of text")
            return None
        try:
            chosen = evaluate(parse_predicate(node.text), self.universe)
        except PredicateError as error:
            span = place_in(node, error.offset, self.mistakes.text.content)
            self._note("DX202", span, error.message, error.advice)
            return None
        if not chosen.mask.any():
            self._note("DX202", node.span, "no record type satisfies this condition", "the answer would always be 0")
            return None
        return chosen

    def _column(self, node: Node) -> tuple[int, Column] | None:
        if not isinstance(node, Scalar):
            self._note("DX108", node.span, "a column's name is expected here")
            return None
        whole = Name(node.text.strip("`"), None, 0)
        attribute, dot, column = node.text.partition(".")
        try:
            qualified = dot and attribute in self.universe.names
            return find_column(self.universe, Name(column, attribute, 0) if qualified else whole)
        except PredicateError as error:
            self._note("DX201", node.span, error.message, error.advice)
            return None

    def _numbers(self, node: Node) -> tuple[int, Row, Fraction] | None:
        found = self._column(node)
        if found is None:
            return None
        axis, column = found
        if isinstance(column, TextColumn):
            self._note("DX201", node.span, f"{shown(column.name)} holds words; only numbers can be added up")
            return None
        try:
            return axis, *integers_over_unit(column.numbers)
        except TooFine as error:
            self._note("DX208", node.span, f"{shown(column.name)}: {error}", "round the numbers in the file")
            return None

    def _groups(self, node: Node) -> _Groups | None:
        found = self._column(node)
        if found is None:
            return None
        axis, column = found
        attribute = self.universe.attributes[axis]
        own = column.name == attribute.columns[0].name
        cells = attribute.labels if own else _words(column)
        words = tuple(dict.fromkeys(cells))
        code_of = {word: code for code, word in enumerate(words)}
        return _Groups(column.name, axis, words, np.array([code_of[cell] for cell in cells], dtype=np.int64))

    def _note_size(self, span: Span, count: int) -> None:
        size = self.universe.size
        total = f"{count:,} queries over {size:,} record types make {count * size:,} weights"
        message = f"{total}; at most {MAX_ENTRIES:,} are kept"
        self._note("DX207", span, message, "ask fewer queries, or use coarser values in the policy")

    def _note(self, code: str, span: Span, message: str, advice: str = "") -> None:
        self.mistakes.add(code, span, message, advice)


@final
@dataclass(frozen=True)
class _Groups:
    """A column's distinct values, and which of them each code of its attribute has."""

    column: str
    axis: int
    words: tuple[str, ...]
    codes: NDArray[np.int64]

    def label(self, code: int) -> str:
        return f"{self.column}={self.words[code]}"


def _words(column: Column) -> tuple[str, ...]:
    return tuple(map(str, column.numbers)) if isinstance(column, NumberColumn) else column.texts


def _one_line(node: Node) -> str:
    return " ".join(node.text.split()) if isinstance(node, Scalar) else ""


def _condition_words(node: Mapping) -> str:
    where = node.entry("where")
    return f" where {_one_line(where[1])}" if where else ""
