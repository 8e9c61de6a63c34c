"""Released answers, as files and ledgers hold them: read as if an enemy had written them.

One document is what a terminal, a notebook, a page and a table of a release are made of, fresh or from a ledger. Of
what earlier versions stored, what they did not say is left out.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, final

from dxgeom.arguments import require
from dxgeom.errors import DataError, file_errors

_LARGEST: Final = 64 << 20
_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError, RecursionError)
Columns: TypeAlias = dict[str, list[Any]]
Json: TypeAlias = Mapping[str, Any]
_EVERYBODY: Final = "all records"
BARS: Final = ("value", "low", "high", "rmse")


class AnswerAsReleased(NamedTuple):
    """One answer that is a number, with the ends of its bar; ``low`` and ``high`` are ∞ where no limit can be given."""

    name: str
    unit: str | None
    value: float
    low: float
    high: float


class Note(NamedTuple):
    """A sentence about a release, and in a word what it is about."""

    about: str
    sentence: str


@final
@dataclass(frozen=True)
class ReleasedTable:
    """Answers of one kind below each other.

    ``heading``: what a row is; ``answer``: what its value is. ``columns``: by name, as a CSV file has them: what comes
    before ``value`` names a row; ``low`` and ``high`` are None where nothing is known. ``level``, ``manner``: how often
    bars hold the truth, and in words what else holds of them. ``before``, ``beside``: further columns that people are
    shown, left and right of it.
    """

    heading: str
    columns: Columns = field(repr=False)
    answer: str = "answer"
    level: float = 0.95
    manner: str = ""
    before: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

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
        return named or [_EVERYBODY] * self.rows

    def cells(self, column: str) -> list[Any]:
        """A column, None in each row where there is none."""
        return self.columns.get(column) or [None] * self.rows


@final
@dataclass(frozen=True)
class ReleasedPart:
    """What one task answered, or all of a release of one; ``name``, ``kind``, ``share`` are of a task, else empty.

    ``whole``: all of it as one table, as files have it; None where it was not written out. ``summary``: a row for each
    table instead, where that is shorter; None else.
    """

    tables: tuple[ReleasedTable, ...]
    summary: ReleasedTable | None
    whole: Columns | None = field(repr=False)
    notes: tuple[Note, ...] = ()
    name: str = ""
    kind: str = ""
    share: str = ""
    spent: str = ""


@final
@dataclass(frozen=True)
class Released:
    """One release: when, at what spend, under which policy, and its answers; ``level``: the bars' own.

    ``remaining``: of the budget, as it said then.
    """

    time: str
    policy: str
    spend: Fraction
    remaining: Fraction | None
    records: int | None
    level: float
    parts: tuple[ReleasedPart, ...] = field(repr=False)
    rehearsal: bool

    @property
    def answers(self) -> tuple[AnswerAsReleased, ...]:
        """Those that are numbers, a quotient beside its parts, too."""
        return tuple(one for part in self.parts for table in part.tables for one in _numbers(table))

    @property
    def together(self) -> bool:
        """Whether all bars of every table hold at once."""
        return all("at once" in table.manner for part in self.parts for table in part.tables)


def read_release(path: str | Path) -> Released:
    """The release in a file of ``dxgeom release``.

    Raises: DataError when it is none.
    """
    require(path, (str, os.PathLike), "path", "name a file of 'dxgeom release --format json'")
    place = Path(path)
    with file_errors(place, "read"):
        if place.stat().st_size > _LARGEST:
            raise DataError(f"'{place}' is larger than a release may be; name a file of 'dxgeom release --format json'")
        content = place.read_bytes()
    return release_of(content, f"'{place}'")


def release_of(content: bytes, where: str) -> Released:
    """The release that a text holds. Raises: DataError."""
    try:
        document = json.loads(content)
        remaining = document.get("remaining")
        return Released(
            time=str(document.get("time") or ""),
            policy=str(document["policy"]["fingerprint"]),
            spend=Fraction(str(document["spent"])),
            remaining=None if remaining is None else Fraction(str(remaining)),
            records=None if document.get("records") is None else int(document["records"]),
            level=float(document.get("level", 0.95)),
            parts=parts_of(document),
            rehearsal=bool(document.get("rehearsal")),
        )
    except _UNREADABLE as error:
        raise DataError(f"{where} is no release; name a file of 'dxgeom release --format json'") from error


def parts_of(document: Any) -> tuple[ReleasedPart, ...]:
    """What was answered in a release, task by task.

    Raises: ValueError, KeyError, TypeError, AttributeError for what is no document of a release.
    """
    if "tasks" not in document:
        return (_part(document),)
    return tuple(_part(one) for one in document["tasks"])


def known_parts(document: Any) -> tuple[ReleasedPart, ...]:
    """The same; empty for what is no document of a release, or has no answers in a table."""
    try:
        found = parts_of(document)
    except _UNREADABLE:
        return ()
    return found if any(part.tables for part in found) else ()


def stacked(parts: Sequence[ReleasedPart]) -> Columns | None:
    """All parts as one table: where these are tasks a first column names them, and a cell is empty where a task has no
    such column. None where none is a table."""
    if len(parts) == 1 and not parts[0].name:
        return parts[0].whole
    wholes = [(part.name, part.whole) for part in parts if part.whole]
    if not wholes:
        return None
    each = [(name, whole, len(next(iter(whole.values())))) for name, whole in wholes]
    titles = dict.fromkeys(title for _, whole, _ in each for title in whole)
    columns = {title: [cell for _, whole, rows in each for cell in whole.get(title, [None] * rows)] for title in titles}
    return {"task": [name for name, _, rows in each for _ in range(rows)], **columns}


def _part(document: Json) -> ReleasedPart:
    notes = [Note(str(one["about"]), str(one["sentence"])) for one in document.get("notes", ())]
    tables, whole = _tables(document)
    summary = _summary(document) if document.get("tables") else None
    said = {word: str(document[word]) for word in ("name", "kind", "share", "spent") if "share" in document}
    return ReleasedPart(tables, summary, whole, tuple(notes or _notes_of_old(document)), **said)


def _notes_of_old(document: Json) -> Iterator[Note]:
    """What documents said of errors before they had notes."""
    if "note" in document:
        yield Note("error", str(document["note"]))
    yield from (Note("error", str(one)) for one in document.get("statements", ()))
    yield from (Note("error", str(one)) for one in _errors_of_one(document))


def _errors_of_one(document: Json) -> Sequence[Any]:
    answer = document.get("answer")
    return answer.get("errors", ()) if isinstance(answer, dict) else ()


def _tables(document: Json) -> tuple[tuple[ReleasedTable, ...], Columns | None]:
    """The tables of a document, and all of them as one."""
    readers: Mapping[str, Callable[[Json], Iterator[ReleasedTable]]] = {
        "answers": _listed,
        "quantiles": _quantiles,
        "tables": _cross_tables,
        "boxes": _boxes,
        "first": _boxes,
        "picked": _picked,
        "coefficients": _coefficients,
        "answer": _one_answer,
    }
    found = next((word for word in readers if document.get(word) is not None), None)
    if found is None:
        return (), None
    tables = tuple(readers[found](document))
    if found == "tables":
        return tables, _all_cells(document) if tables else None
    if found == "first":
        return tables, None
    titles = dict.fromkeys(title for table in tables for title in table.columns if title != "within")
    return tables, {title: [cell for table in tables for cell in table.cells(title)] for title in titles} or None


def _listed(document: Json) -> Iterator[ReleasedTable]:
    """Answers to queries, with what their groups are, then the ratios that were asked for."""
    rows, ratios = ([_named(row) for row in document.get(word, ())] for word in ("answers", "ratios"))
    manner = " at once, proved" if "bounds" in document else " at once" if document.get("joint") else ""
    titles = dict.fromkeys(title for row in (*rows, *ratios) for title in row.get("group", {}))
    bars = [one for one in (*BARS, "bias") if one in BARS[:3] or any(one in row for row in rows)]
    exact = ["exact"] if any("exact" in row for row in rows) else []
    for heading, answer, several in (("query", "answer", rows), ("ratio", "value", ratios)):
        columns: Columns = {column: [row[column] for row in several] for column in ("query", "name")}
        columns |= {_titled(title): [row.get("group", {}).get(title) for row in several] for title in titles}
        columns |= {column: [_cell(row, column) for row in several] for column in (*bars, "unit", *exact)}
        columns |= {"within": [row["parts"] for row in several]} if several is ratios else {}
        if several or several is rows:
            beside = ("within",) if several is ratios else ()
            yield ReleasedTable(heading, columns, answer, float(document["level"]), manner, beside=beside)


def _titled(title: str) -> str:
    """What a column of the policy is called beside those of the table."""
    return f"by {title}" if title in ("query", "name", *BARS, "bias", "unit") else title


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
    sign = -1 if which == "low" else 1
    if "parts" in row:
        ends = [end for part in row["parts"] for end in part]
        return None if not ends else _ends(ends[0 if which == "low" else -1], sign)
    if "interval" in row:
        return _ends(row["interval"][0 if which == "low" else 1], sign)
    if "bound" in row:
        return sign * math.inf if row["bound"] is None else float(row["value"]) + sign * float(row["bound"])
    return row.get(which)


def _ends(end: Any, sign: int) -> float:
    return sign * math.inf if end is None else float(end)


def _quantiles(document: Json) -> Iterator[ReleasedTable]:
    rows = document["quantiles"]
    titles = dict.fromkeys(title for row in rows for title in row.get("group", {}))
    labelled = any(row["value"] == row["label"] for row in rows)
    columns: Columns = {"query": [row.get("query", row["name"]) for row in rows], "name": [row["name"] for row in rows]}
    columns |= {
        f"by {title}" if title in ("query", "name", "at", "value", "rank", "of") else title: [
            row.get("group", {}).get(title) for row in rows
        ]
        for title in titles
    }
    columns |= {"at": [row.get("at") for row in rows], "value": [row["label" if labelled else "value"] for row in rows]}
    columns |= {column: [row.get(column) for row in rows] for column in ("rank", "of")}
    yield ReleasedTable("quantile", columns, "value", beside=("rank",))


def _cross_tables(document: Json) -> Iterator[ReleasedTable]:
    """Each table with its cells; those that were too many to be written out have none."""
    for one in document["tables"]:
        if one["cells"] is not None:
            columns = {**_labels(document, one), **_cells_of(one)}
            yield ReleasedTable(", ".join(one["table"]), columns, "count", float(document["level"]))


def _summary(document: Json) -> ReleasedTable:
    """A row for each table: how many cells, and their error."""
    tables = document["tables"]
    widths = [float(one["half_width"]) for one in tables]
    columns: Columns = {
        "name": [", ".join(one["table"]) or _EVERYBODY for one in tables],
        "cells": [math.prod(one["shape"]) for one in tables],
        "low": [-width for width in widths],
        "high": widths,
        "rmse": [float(one["rmse"]) for one in tables],
    }
    return ReleasedTable("table", columns, "count", float(document["level"]), before=("cells",))


def _labels(document: Json, one: Json) -> Columns:
    """What each cell is about, column by column; by numbers where values were not written down."""
    values, each_size = document.get("values", {}), zip(one["table"], one["shape"], strict=True)
    words = [values.get(title) or [*map(str, range(size))] for title, size in each_size]
    each = [*itertools.product(*words)]
    return {title: [row[place] for row in each] for place, title in enumerate(one["table"])}


def _cells_of(one: Json) -> Columns:
    divisor, width, error = int(one["divisor"]), float(one["half_width"]), float(one["rmse"])
    values = [count / divisor for count in one["cells"]]
    low, high = [value - width for value in values], [value + width for value in values]
    return {"value": values, "low": low, "high": high, "rmse": [error] * len(values)}


def _all_cells(document: Json) -> Columns:
    """Every cell of every table: the table's name, its columns and their values, the count, its bar and error."""
    given = [one for one in document["tables"] if one["cells"] is not None]
    widest = max(len(one["table"]) for one in given)
    found: Columns = {"table": []}
    found |= {word: [] for number in range(widest) for word in (f"column {number + 1}", f"value {number + 1}")}
    found |= {"count" if column == "value" else column: [] for column in BARS}
    for one in given:
        labels, bars = _labels(document, one), _cells_of(one)
        rows, own = len(bars["value"]), [*labels.items()]
        found["table"] += [", ".join(one["table"]) or _EVERYBODY] * rows
        for number in range(widest):
            title, words = own[number] if number < len(own) else (None, [None] * rows)
            found[f"column {number + 1}"] += [title] * rows
            found[f"value {number + 1}"] += words
        for column in BARS:
            found["count" if column == "value" else column] += bars[column]
    return found


def _boxes(document: Json) -> Iterator[ReleasedTable]:
    rows = document.get("boxes") or document["first"]
    columns = {column: [row[column] for row in rows] for column in ("name", *BARS)}
    yield ReleasedTable("box", columns, "count", float(document["level"]))


def _picked(document: Json) -> Iterator[ReleasedTable]:
    picked = document["picked"] if isinstance(document["picked"], list) else [document["picked"]]
    rows, short = len(picked), document["shortfall"]
    columns = {
        "query": ["picked"] * rows,
        "name": [*map(str, picked)],
        "shortfall": [short["at_most"]] * rows,
        "candidates": [document["candidates"]] * rows,
        "unit": [document.get("unit")] * rows,
    }
    yield ReleasedTable("picked", columns, level=float(short["level"]), beside=("candidates",))


def _coefficients(document: Json) -> Iterator[ReleasedTable]:
    rows = document["coefficients"]
    columns = {column: [row[column] for row in rows] for column in ("name", "unit", "value", "low", "high")}
    yield ReleasedTable(str(document["response"]), columns, "coefficient", float(document["level"]), before=("unit",))


def _one_answer(document: Json) -> Iterator[ReleasedTable]:
    answer = document["answer"]
    value = answer.get("told", answer.get("value")) if isinstance(answer, dict) else answer
    if not isinstance(value, str | int | float):
        return
    yield ReleasedTable("what", {"name": ["the answer"], "value": [value]})


def _numbers(table: ReleasedTable) -> Iterator[AnswerAsReleased]:
    ends = (-math.inf, math.inf)
    for name, unit, value, *bar in zip(table.names, *map(table.cells, ("unit", *BARS[:3])), strict=True):
        if isinstance(value, float | int):
            low, high = (free if end is None else float(end) for free, end in zip(ends, bar, strict=True))
            yield AnswerAsReleased(name, unit, float(value), low, high)
