"""Answers as tables, from the document that a release is written as: fresh, from a file, or from a ledger.

A document is read as if an enemy had written it. One table is what a terminal, a notebook, a page, data frames and
files of a release are made of. Of what earlier versions stored, what they did not say is left out.

Counts in the cells of tables, as rows below each other: fresh, or as a file or a ledger has them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.arrays import Column, Columns, plain_columns
from dxgeom.universe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from dxgeom.universe.labels import PolicyLabels
    from dxgeom.universe.workloads.groups import AnswerOrigin


EVERYBODY: Final = "all records"
NO_BAR: Final = "no bar"
"""What stands beside a count whose error nothing is known of."""
_LABEL: Final = "label"
_AT_ONCE: Final = 1 << 18
"""About so many cells are laid out at a time."""


@final
@dataclass(frozen=True, eq=False)
class CellTable:
    """One table: the ``titles`` of the columns that it is over, and of each the values that it can have, in ``words``.

    ``values`` (cells,): the counts, the last column's values the fastest; each is at most ``half_width`` off with the
    probability that is said beside it, and ``rmse`` off in the root of the mean square. A half-width is one for all, or
    (cells,), or None where there is no bar; the other is None where it is not known. ``estimate`` (cells,): what
    they are estimated to be, where that was asked for; ``most``: what no count is larger than. ``called``: the words
    that readers see, where any of them is another. ``within``: what a count can be at all, by which intervals are cut.
    """

    titles: tuple[str, ...]
    words: tuple[Sequence[str], ...] = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)
    half_width: float | NDArray[np.float64] | None
    rmse: float | None
    estimate: NDArray[np.float64] | None = field(default=None, repr=False)
    most: float = math.inf
    called: tuple[Sequence[str], ...] = field(default=(), repr=False)
    within: tuple[float, float] = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        called = self.called or self.words
        if len(self.values) != math.prod(map(len, self.words)) or [*map(len, called)] != [*map(len, self.words)]:
            raise ValueError("a table has a count for each combination of the values of its columns")

    @property
    def name(self) -> str:
        """What the table is called."""
        return ", ".join(self.titles) or EVERYBODY

    @property
    def places(self) -> NDArray[np.int64]:
        """(columns, cells): which value of each column a cell is about."""
        shape = tuple(map(len, self.words))
        return np.indices(shape).reshape(len(shape), math.prod(shape))

    @property
    def bars(self) -> dict[str, NDArray[Any]]:
        """The counts with the ends of their intervals, and their errors."""
        if self.half_width is None:
            return {"value": self.values, "bar": np.full(len(self.values), NO_BAR)}
        least, most = self.within
        low, high = np.maximum(self.values - self.half_width, least), np.minimum(self.values + self.half_width, most)
        bars = {"value": self.values, "low": low, "high": high}
        bars |= {} if self.rmse is None else {"rmse": np.full(len(self.values), self.rmse)}
        if self.estimate is None:
            return bars
        ends = {f"estimate_{end}": np.clip(bars[end], 0.0, self.most) for end in ("low", "high")}
        return {**bars, "estimate": self.estimate, **ends}

    @property
    def columns(self) -> dict[str, list[Any]]:
        """A row for each cell: its columns' values, the count, its interval and error."""
        named = zip(self.titles, self.places, self.words, strict=True)
        columns = {title: [words[place] for place in places.tolist()] for title, places, words in named}
        return {**columns, **plain_columns(self.bars)}

    @property
    def whole(self) -> dict[str, list[Any]]:
        """The same with what readers see the cells called, where that is anything else."""
        return with_label(self.columns, self.labels) if self.called else self.columns

    @property
    def labels(self) -> list[str]:
        """What readers see each cell called."""
        return [", ".join(words) or EVERYBODY for words in itertools.product(*(self.called or self.words))]


def with_label(columns: dict[str, list[Any]], labels: list[str]) -> dict[str, list[Any]]:
    """With a last column of what readers see answers called; an attribute may be called "label", too."""
    return {**columns, _LABEL if _LABEL not in columns else f"{_LABEL} shown": labels}


def rows_of(tables: Sequence[CellTable], at_once: int = _AT_ONCE) -> Iterator[dict[str, Any]]:
    """Every cell of every table as rows of one table, about ``at_once`` at a time: the table's name, its columns and
    their values, the count, its interval and error."""
    known = [each for one in tables for each in zip(one.titles, one.words, strict=True)]
    words = dict(sorted(known, key=lambda each: len(each[1])))
    begins = dict(zip(words, itertools.accumulate(map(len, words.values()), initial=0), strict=False))
    listed = [*words], [*itertools.chain.from_iterable(words.values())], [one.name for one in tables]
    sizes = [len(one.values) for one in tables]
    begun = [before // at_once for before in itertools.accumulate(sizes, initial=0)]
    for _, places in itertools.groupby(range(len(tables)), begun.__getitem__):
        yield _rows(tables, [*places], begins, *listed)


def _rows(
    tables: Sequence[CellTable],
    places: Sequence[int],
    begins: Mapping[str, int],
    titles: list[str],
    words: list[str],
    names: list[str],
) -> dict[str, Any]:
    """The cells of some tables; ``begins``: of each column, the place of its first value among all ``words``."""
    some = [tables[place] for place in places]
    widest, lengths = max(len(one.titles) for one in tables), [len(one.values) for one in some]
    columns = np.full((widest, sum(lengths)), -1, dtype=np.int32)
    codes, end = columns.copy(), 0
    for one, length in zip(some, lengths, strict=True):
        own, here = len(one.titles), slice(end, end + length)
        columns[:own, here] = np.array([titles.index(title) for title in one.titles], dtype=np.int32)[:, None]
        codes[:own, here] = one.places + np.array([begins[title] for title in one.titles], dtype=np.int32)[:, None]
        end += length
    found: dict[str, Any] = {"table": (np.repeat(np.array(places, dtype=np.int32), lengths), names)}
    for number in range(widest):
        found[f"column {number + 1}"] = (columns[number], titles)
        found[f"value {number + 1}"] = (codes[number], words)
    bars = [one.bars for one in some]
    named = {bar: "count" if bar == "value" else bar for bar in bars[0]}
    found |= {title: np.concatenate([one[bar] for one in bars]) for bar, title in named.items()}
    labelled = any(one.called for one in tables)
    return found | ({_LABEL: [label for one in some for label in one.labels]} if labelled else {})


def joined(batches: Sequence[Columns]) -> dict[str, Column]:
    """The batches as one. The words of a column are the same in all of them."""
    if len(batches) == 1:
        return {**batches[0]}
    return {title: _joined([one[title] for one in batches]) for title in batches[0]}


def _joined(parts: Sequence[Any]) -> Column:
    if isinstance(parts[0], tuple):
        return np.concatenate([places for places, _ in parts]), parts[0][1]
    return [*itertools.chain(*parts)] if isinstance(parts[0], list) else np.concatenate(parts)


Listed: TypeAlias = dict[str, list[Any]]
Json: TypeAlias = Mapping[str, Any]
UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)
BARS: Final = ("value", "low", "high", "rmse")


class Note(NamedTuple):
    """A sentence about a release, and in a word what it is about."""

    about: str
    sentence: str


@final
@dataclass(frozen=True)
class AnswerTable:
    """Answers of one kind below each other.

    ``heading``: what a row is; ``answer``: what its value is. ``columns``: by name, as a CSV file has them: what comes
    before ``value`` names a row; ``low`` and ``high`` are None where nothing is known. ``level``, ``manner``: how often
    bars hold the truth, and in words what else holds of them. ``before``, ``beside``: further columns that people are
    shown, left and right of it. ``labels``: what readers see the answers called, where that is anything else.
    """

    heading: str
    columns: Listed = field(repr=False)
    answer: str = "answer"
    level: float = 0.95
    manner: str = ""
    before: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    labels: list[str] = field(default_factory=list, repr=False)

    @property
    def rows(self) -> int:
        """How many answers there are."""
        return len(next(iter(self.columns.values()), []))

    @property
    def names(self) -> list[str]:
        """What the answers are called."""
        if "name" in self.columns:
            return self.columns["name"]
        own = itertools.takewhile(lambda one: one[0] != "value", self.columns.items())
        named = [", ".join(words) for words in zip(*(cells for _, cells in own), strict=True)]
        return named or [EVERYBODY] * self.rows

    @property
    def called(self) -> list[str]:
        """What readers see the answers called."""
        return self.labels or self.names

    def cells(self, column: str) -> list[Any]:
        """A column, None in each row where there is none."""
        return self.columns.get(column) or [None] * self.rows


@final
@dataclass(frozen=True)
class AnswerPart:
    """What one task answered, or all of a release of one; ``name``, ``kind``, ``share`` are of a task, else empty.

    ``summary``: a row for each table instead, where that is shorter; None else. ``cells``: of whole tables each one.
    ``complete``: whether the tables have all answers.
    """

    tables: tuple[AnswerTable, ...]
    summary: AnswerTable | None = None
    cells: tuple[CellTable, ...] = field(default=(), repr=False)
    complete: bool = True
    notes: tuple[Note, ...] = ()
    name: str = ""
    kind: str = ""
    share: str = ""
    spent: str = ""

    @cached_property
    def whole(self) -> Listed | None:
        """All of it as one table, as files have it; None where it was not written out."""
        if self.cells or not self.columns or not any(table.labels for table in self.tables):
            return self.columns
        return with_label(self.columns, [called for table in self.tables for called in table.called])

    @cached_property
    def columns(self) -> Listed | None:
        """The same without what readers see answers called, but for cells of whole tables."""
        if self.cells:
            return plain_columns(joined([*rows_of(self.cells)]))
        titles = dict.fromkeys(title for table in self.tables for title in table.columns if title != "within")
        columns = {title: [cell for table in self.tables for cell in table.cells(title)] for title in titles}
        return columns or None if self.complete else None


def unknown_name(what: str, name: object, known: Any) -> UnsupportedCombination:
    """Where there is no query, task or reading of a name."""
    advice = did_you_mean(str(name), known)
    return UnsupportedCombination(f"no {what} is called {shown(str(name))}" + (f"; {advice}" if advice else ""))


def origin_words(name: str, origin: AnswerOrigin) -> dict[str, Any]:
    """Which query of a file an answer is to, where it has another name, the group that it is about, and its label."""
    query = {} if origin.query == name else {"query": origin.query}
    label = {"label": origin.called(name)} if origin.label else {}
    return {**query, **({"group": dict(origin.group)} if origin.group else {}), **label}


def called_by(labels: PolicyLabels | None, name: str, origin: AnswerOrigin) -> str:
    """What readers see an answer of this name called."""
    said = origin.called(name)
    return labels.answer(said, {str(column): str(value) for column, value in origin.group}) if labels else said


def with_labels(document: Json, labels: PolicyLabels | None) -> dict[str, Any]:
    """A document, and behind each answer what readers see it called, where that is not its name; of whole tables what
    the values of their columns are called."""
    said = dict(document)
    if not labels:
        return said
    for word, key in (
        ("answers", "label"),
        ("first_answers", "label"),
        ("ratios", "label"),
        ("quantiles", "name_label"),
    ):
        if isinstance(said.get(word), list):
            said[word] = [_with_label(row, key, labels) for row in said[word]]
    called = {title: [*labels.values_of(title, words)] for title, words in said.get("values", {}).items()}
    called = {title: words for title, words in called.items() if words != said["values"][title]}
    tasks = [with_labels(one, labels) for one in said.get("tasks", ())]
    return {**said, **({"labels": called} if called else {}), **({"tasks": tasks} if tasks else {})}


def _with_label(row: Json, key: str, labels: PolicyLabels) -> Json:
    label = labels.answer(row.get(key, row["name"]), row.get("group", {}))
    return row if label == row.get(key, row["name"]) else {**row, key: label}


def parts_of(document: Any) -> tuple[AnswerPart, ...]:
    """What was answered in a release, task by task.

    Raises: ValueError, KeyError, TypeError, AttributeError for what is no document of a release.
    """
    if "tasks" not in document:
        return (part_of(document),)
    return tuple(part_of(one) for one in document["tasks"])


def known_parts(document: Any) -> tuple[AnswerPart, ...]:
    """The same; empty for what is no document of a release, or has no answers in a table."""
    try:
        found = parts_of(document)
    except UNREADABLE:
        return ()
    return found if any(part.tables for part in found) else ()


def whole_of(parts: Sequence[AnswerPart]) -> Listed | None:
    """All parts as one table. None where none is a table."""
    if len(parts) == 1 and not parts[0].name:
        return parts[0].whole
    wholes = [(part.name, part.whole) for part in parts if part.whole]
    return stacked(wholes) if wholes else None


def stacked(wholes: Sequence[tuple[str, Listed]]) -> Listed:
    """Tables of tasks as one: a first column names the task, and a cell is empty where a task has no such column."""
    each = [(name, whole, len(next(iter(whole.values()), []))) for name, whole in wholes]
    titles = dict.fromkeys(title for _, whole, _ in each for title in whole)
    columns = {title: [cell for _, whole, rows in each for cell in whole.get(title, [None] * rows)] for title in titles}
    return {"task": [name for name, _, rows in each for _ in range(rows)], **columns}


def of_query(document: Json, query: str | None) -> Json:
    """A document without tasks, with the rows alone that answer one query, or with all.

    Raises: UnsupportedCombination for an unknown query.
    """
    if query is None:
        return document
    rows = {word: document[word] for word in ("answers", "ratios", "quantiles", "coefficients") if word in document}
    known = dict.fromkeys(_query(row) for each in rows.values() for row in each) or {"picked": None}
    if query not in known:
        raise unknown_name("query", query, known)
    return {**document, **{word: [row for row in each if _query(row) == query] for word, each in rows.items()}}


def _query(row: Json) -> str:
    return str(row.get("query", row["name"]))


def part_of(document: Json) -> AnswerPart:
    """One task of a document, or all of one without tasks. Raises: as :func:`parts_of`."""
    notes = [Note(str(one["about"]), str(one["sentence"])) for one in document.get("notes", ())]
    word = next((word for word in _READERS if document.get(word) is not None), None)
    cells = tuple(_cell_tables(document)) if word == "tables" else ()
    tables = tuple(_READERS[word](document)) if word else ()
    summary = _summary(document) if document.get("tables") else None
    said = {word: str(document[word]) for word in ("name", "kind", "share", "spent") if "share" in document}
    return AnswerPart(
        tables, summary, cells, word not in ("first", "first_answers"), tuple(notes or _notes_of_old(document)), **said
    )


def _notes_of_old(document: Json) -> Iterator[Note]:
    """What documents said of errors before they had notes."""
    answer = document.get("answer")
    old = [document["note"]] if "note" in document else []
    errors = answer.get("errors", ()) if isinstance(answer, dict) else ()
    yield from (Note("error", str(one)) for one in (*old, *document.get("statements", ()), *errors))


def _listed(document: Json) -> Iterator[AnswerTable]:
    """Answers to queries, with what their groups are, then the ratios that were asked for."""
    rows, ratios = ([_named(row) for row in document.get(word, ())] for word in ("answers", "ratios"))
    manner = " at once, proved" if "bounds" in document else " at once" if document.get("joint") else ""
    each = (*rows, *ratios)
    labelled = any("label" in row for row in each)
    public = ["public"] if any("public" in row for row in rows) else []
    groups = _groups(each, ("query", "name", *BARS, "bias", "unit", *public))
    known = [one for one in ("rmse", "bias", "unit", "exact", *public) if any(one in row for row in each)]
    known = ["rmse", *known] if ratios and "rmse" not in known else known
    for heading, answer, several in (("query", "answer", rows), ("ratio", "value", ratios)):
        columns: Listed = {column: [row[column] for row in several] for column in ("query", "name")}
        columns |= {called: [row.get("group", {}).get(title) for row in several] for title, called in groups.items()}
        columns |= {column: [_cell(row, column) for row in several] for column in (*BARS[:3], *known)}
        labels = [row.get("label", row["name"]) for row in several] if labelled else []
        columns |= {"within": [row["parts"] for row in several]} if several is ratios else {}
        if several or several is rows:
            beside = ("within",) if several is ratios else tuple(public)
            yield AnswerTable(heading, columns, answer, float(document["level"]), manner, beside=beside, labels=labels)


def _groups(rows: Sequence[Json], own: Sequence[str]) -> dict[str, str]:
    """The columns of the policy that rows are grouped by, and what each is called beside those of the table."""
    titles = dict.fromkeys(title for row in rows for title in row.get("group", {}))
    return {title: f"by {title}" if title in own else title for title in titles}


def _named(row: Any) -> Json:
    """Raises: ValueError for what has no name, or whose value is no number."""
    if not isinstance(row["name"], str) or not (row["value"] is None or math.isfinite(float(row["value"]))):
        raise ValueError("an answer has a name, and is a number")
    return {"query": row["name"], **row}


def _cell(row: Json, column: str) -> Any:
    found = row.get(column)
    match column:
        case "low" | "high":
            return _end(row, column)
        case "bias" if isinstance(found, dict):
            parts = [found.get("rounding", 0.0), found.get("changed", 0.0)]
            return math.inf if None in parts else float(sum(map(float, parts)))
        case "value" | "rmse":
            return None if found is None else float(found)
        case _:
            return found


def _end(row: Json, which: str) -> float | None:
    """An end of the interval around an answer, infinite where there is none."""
    sign, place = (-1, 0) if which == "low" else (1, -1)
    if "parts" in row:
        ends = [end for part in row["parts"] for end in part]
        return None if not ends else _or_infinite(ends[place], sign)
    if "interval" in row:
        return _or_infinite(row["interval"][0 if which == "low" else 1], sign)
    if "bound" in row:
        return sign * math.inf if row["bound"] is None else float(row["value"]) + sign * float(row["bound"])
    return row.get(which)


def _or_infinite(end: Any, sign: int) -> float:
    return sign * math.inf if end is None else float(end)


def _quantiles(document: Json) -> Iterator[AnswerTable]:
    rows = document["quantiles"]
    groups = _groups(rows, ("query", "name", "at", "value", "rank", "of"))
    labelled = any(row["value"] == row["label"] for row in rows)
    columns: Listed = {"query": [row.get("query", row["name"]) for row in rows], "name": [row["name"] for row in rows]}
    columns |= {called: [row.get("group", {}).get(title) for row in rows] for title, called in groups.items()}
    columns |= {"at": [row.get("at") for row in rows], "value": [row["label" if labelled else "value"] for row in rows]}
    columns |= {column: [row.get(column) for row in rows] for column in ("rank", "of")}
    called = [row.get("name_label", row["name"]) for row in rows] if any("name_label" in row for row in rows) else []
    yield AnswerTable("quantile", columns, "value", beside=("rank",), labels=called)


def _cell_tables(document: Json) -> Iterator[CellTable]:
    """Each table with its cells; those that were too many to be written out are left out."""
    values, called = document.get("values", {}), document.get("labels", {})
    for one in document["tables"]:
        if one["cells"] is not None:
            sized = zip(one["table"], one["shape"], strict=True)
            words = tuple(values.get(title) or [*map(str, range(size))] for title, size in sized)
            counts = np.array([count / int(one["divisor"]) for count in one["cells"]], dtype=np.float64)
            labels = tuple(called.get(title, own) for title, own in zip(one["table"], words, strict=True))
            labels = labels if called.keys() & {*one["table"]} else ()
            width, error = _width(one), None if one["rmse"] is None else float(one["rmse"])
            yield CellTable((*one["table"],), words, counts, width, error, called=labels, within=_within(one))


def _within(table: Json) -> tuple[float, float]:
    """What its cells can be at all, where that is said."""
    least, most = table.get("cells_lie_between", (None, None))
    return _or_infinite(least, -1), _or_infinite(most, 1)


def _width(table: Json) -> float | NDArray[np.float64] | None:
    """How far off each cell is: one number for all, one for each, or nothing known."""
    if table.get("half_widths") is not None:
        return np.array(table["half_widths"], dtype=np.float64)
    return None if table["half_width"] is None else float(table["half_width"])


def _cross_tables(document: Json) -> Iterator[AnswerTable]:
    level = float(document["level"])
    return (
        AnswerTable(
            ", ".join(one.titles),
            one.columns,
            "count",
            level,
            beside=("bar",) if one.half_width is None else (),
            labels=one.labels if one.called else [],
        )
        for one in _cell_tables(document)
    )


def _summary(document: Json) -> AnswerTable:
    """A row for each table: how many cells, and their error; of cells with bars of their own the widest."""
    tables = document["tables"]
    columns: Listed = {
        "name": [", ".join(one["table"]) or EVERYBODY for one in tables],
        "cells": [math.prod(one["shape"]) for one in tables],
    }
    known = [None if one["half_width"] is None else float(one["half_width"]) for one in tables]
    if None in known:
        columns["bar"] = [NO_BAR] * len(tables)
    else:
        columns |= {"low": [-width for width in known if width is not None], "high": known}
    if all(one["rmse"] is not None for one in tables):
        columns["rmse"] = [float(one["rmse"]) for one in tables]
    beside = ("bar",) if "bar" in columns else ()
    return AnswerTable("table", columns, "count", float(document["level"]), before=("cells",), beside=beside)


def _boxes(document: Json) -> Iterator[AnswerTable]:
    rows = document.get("boxes") or document["first"]
    columns = {column: [row[column] for row in rows] for column in ("name", *BARS)}
    yield AnswerTable("box", columns, "count", float(document["level"]))


def _picked(document: Json) -> Iterator[AnswerTable]:
    picked = document["picked"] if isinstance(document["picked"], list) else [document["picked"]]
    rows, short = len(picked), document["shortfall"]
    columns = {
        "query": ["picked"] * rows,
        "name": [*map(str, picked)],
        "shortfall": [short["at_most"]] * rows,
        "candidates": [document["candidates"]] * rows,
        "unit": [document.get("unit")] * rows,
    }
    yield AnswerTable("picked", columns, level=float(short["level"]), beside=("candidates",))


def _coefficients(document: Json) -> Iterator[AnswerTable]:
    rows = document["coefficients"]
    columns = {column: [row[column] for row in rows] for column in ("name", "unit", "value", "low", "high")}
    yield AnswerTable(str(document["response"]), columns, "coefficient", float(document["level"]), before=("unit",))


def _one_answer(document: Json) -> Iterator[AnswerTable]:
    answer = document["answer"]
    value = answer.get("told", answer.get("value")) if isinstance(answer, dict) else answer
    if isinstance(value, str | int | float):
        yield AnswerTable("what", {"name": ["the answer"], "value": [value]})


_READERS: Final[Mapping[str, Callable[[Json], Iterator[AnswerTable]]]] = {
    "answers": _listed,
    "first_answers": lambda document: _listed({**document, "answers": document["first_answers"]}),
    "quantiles": _quantiles,
    "tables": _cross_tables,
    "boxes": _boxes,
    "first": _boxes,
    "picked": _picked,
    "coefficients": _coefficients,
    "answer": _one_answer,
}
"""What says which form a document, or a task of one, has; in the order in which they are looked for."""
