"""Queries files: what to ask, in words, over the universe of a policy.

``body``: the shape of the noise, stated beside queries by its corners, or for two queries as a polygon in WKT.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping as Map
from collections.abc import Sequence as Listed
from dataclasses import replace
from fractions import Fraction
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast, final

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import QueryError
from dxgeom.policy.policy import Policy
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.text import Folder, Language, PolicyText
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence, is_policy, note_no_mapping, read_language
from dxgeom.policy.syntax.writing import text_of_data
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.entries import QueryReader
from dxgeom.queries.one_file import queries_listed
from dxgeom.queries.query_kind import LIST_THEM
from dxgeom.queries.syntax import QueriesSyntax, instead_of
from dxgeom.queries.tasks.grammar import tasks_listed, tasks_of_histograms
from dxgeom.queries.tasks.task_kind import TaskReader
from dxgeom.queries.unlisted import UnlistedReader, asks_for_boxes
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.quantile_queries import QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.tasks import Tasks
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.counts import Counts
from dxgeom.universe.workloads.whole_tables import MarginalQueries

Corners: TypeAlias = tuple[tuple[Fraction, ...], ...]

Given = TypeVar("Given")

MOST_CORNERS: Final = 10_000
_POLYGON: Final = re.compile(r"\s*polygon\s*\(\s*\(([^()]*)\)\s*\)\s*", re.IGNORECASE)
_WRITE: Final = "write body: [[2, 0], [0, 1]], each of which stands for its opposite, too; or POLYGON ((2 0, 0 1, ...))"


@final
class NoBody(ValueError):
    """Why what was written is no body, in words."""


class StatedBody(NamedTuple):
    """What a file's ``body`` says, and where."""

    corners: Corners
    span: Span


def body_beside(root: Node | None, mistakes: Mistakes) -> StatedBody | None:
    """The body that a file states, None where it states none or where a mistake was noted."""
    entry = root.entry("body") if isinstance(root, Mapping) else None
    if entry is None:
        return None
    try:
        return StatedBody(corners_stated(_plain(entry[1])), entry[1].span)
    except NoBody as error:
        mistakes.add("DX222", entry[1].span, str(error), _WRITE)
        return None


def in_body(asked: Given, body: StatedBody | None, mistakes: Mistakes) -> Given:
    """What is asked, with the body that stands beside it. Raises: QueryError for another number of queries, and where
    what is asked is no list of counts and sums; and whatever was wrong with the body itself."""
    if body is not None:
        width, listed = len(body.corners[0]), cast(LinearQueries, asked)
        if getattr(asked, "form", None) != "listed":
            message = "a body shapes the noise on a list of counts and sums, and this file asks for something else"
            mistakes.add("DX222", body.span, message, "leave 'body' out")
        elif width != listed.count:
            named = ", ".join(listed.names[:3]) + (", …" if listed.count > 3 else "")
            message = f"the corners of the body have {width} numbers, and there are {listed.count} answers: {named}"
            mistakes.add("DX222", body.span, message, "give each corner a number for every answer, in their order")
        else:
            return cast(Given, replace(listed, body=body.corners))
    if any(one.code == "DX222" for one in mistakes.all):
        raise QueryError(mistakes.all)
    return asked


def corners_stated(said: object) -> Corners:
    """The corners of a text, a polygon in WKT, or of a list of lists of numbers; *exact*.

    Raises: NoBody for what is neither, and for a polygon that is not convex, or not symmetric about 0.
    """
    if isinstance(said, str):
        return _of_polygon(said)
    if not (isinstance(said, list) and said and all(isinstance(corner, list) and corner for corner in said)):
        raise NoBody("a body is a list of corners, each with a number for every query, or a polygon in WKT")
    if len(said) > MOST_CORNERS:
        raise NoBody(f"a body has at most {MOST_CORNERS:,} corners, found {len(said):,}")
    corners = tuple(tuple(map(_number, corner)) for corner in said)
    if len({len(corner) for corner in corners}) > 1:
        raise NoBody("all corners of a body have as many numbers as there are queries, and some have more than others")
    return corners


def _plain(node: Node) -> object:
    match node:
        case Sequence(items=items):
            return [_plain(one) for one in items]
        case Scalar(text=text):
            return text
        case _:
            return None


def _number(said: object) -> Fraction:
    try:
        return exact(str(said).strip())
    except NotANumber as error:
        raise NoBody(f"a corner of a body holds numbers; found {said!r}") from error


def _of_polygon(text: str) -> Corners:
    found = _POLYGON.fullmatch(text)
    if found is None:
        raise NoBody("a body in words is one polygon in WKT, without holes")
    pairs = [[_number(word) for word in pair.split()] for pair in found[1].split(",")]
    if any(len(pair) != 2 for pair in pairs) or len(pairs) < 4 or pairs[0] != pairs[-1]:
        raise NoBody("a polygon has three corners or more of two numbers each, and its first one again at the end")
    corners = [(pair[0], pair[1]) for pair in pairs[:-1]]
    if len({*corners}) < len(corners):
        raise NoBody("a polygon has each corner once, but for the first, which comes again at the end")
    if {(-x, -y) for x, y in corners} != {*corners}:
        raise NoBody("a body is symmetric about 0: with each corner v it has the corner -v")
    if not _is_convex(corners):
        raise NoBody("a body is convex; this polygon is not: leave out the corners inside of its hull")
    return tuple(corners)


def _is_convex(corners: Listed[tuple[Fraction, Fraction]]) -> bool:
    """Of distinct corners in their order: they turn one way, and once around; *exact*."""
    edges = [(x - corners[place - 1][0], y - corners[place - 1][1]) for place, (x, y) in enumerate(corners)]
    pairs = [(edges[place - 1], edge) for place, edge in enumerate(edges)]
    turns = [one[0] * other[1] - one[1] * other[0] for one, other in pairs]
    back = any(
        not turn and one[0] * other[0] + one[1] * other[1] < 0 for turn, (one, other) in zip(turns, pairs, strict=True)
    )
    # Edges that go up, or to the right, follow each other once in a whole turn.
    upward = [(y > 0) or (y == 0 and x > 0) for x, y in edges]
    changes = sum(up != upward[place - 1] for place, up in enumerate(upward))
    return not back and changes == 2 and (min(turns) >= 0 or max(turns) <= 0) and any(turns)


_MOST_RECORDS: Final = 2**53
_QUERIES: Final = Language("queries", "dx.queries_from_dict", "matrix", QueryError)
Asked: TypeAlias = Counts | QuantileQueries | Tasks
"""What a queries file asks for: counts and sums, however they are kept, quantiles, or several tasks."""
_RECORDS: Final = "write it as 1000, without separators"
_BEGIN: Final = "begin with 'queries:' and list the queries below"


def load_queries(path: str | os.PathLike[str], policy: Policy, records: int | None = None) -> Asked:
    """Read a queries file for a policy's universe: linear queries, quantiles, or tasks of any kinds.

    Counts and sums are :class:`Counts`, with the same members however many there are. Where there are too many possible
    records to count each, or too many weights to list each, whole tables alone, and boxes alone, are kept as such;
    ``.listed`` has them one by one. Quantiles need a count of every possible record.

    Args: ``records``: the public number of records, needed by ``mean`` unless the file states it.
    Raises: QueryError with every mistake in the file, each with its line, column and code.
    """
    return _queries_of(_QUERIES.read(path), policy, records)


def parse_queries(
    content: str,
    policy: Policy,
    records: int | None = None,
    *,
    file: str = "queries",
    folder: str | os.PathLike[str] | Folder | None = None,
) -> Asked:
    """The queries of a text; matrix files are read from ``folder`` only, and without one not at all.

    Raises: QueryError.
    """
    return _queries_of(_QUERIES.given(content, file, folder), policy, records)


def queries_from_dict(
    data: Map[str, Any],
    policy: Policy,
    records: int | None = None,
    *,
    file: str = "queries",
    folder: str | os.PathLike[str] | Folder | None = None,
) -> Asked:
    """The queries that Python data states: the mappings, lists, words and numbers that a queries file would hold.

    Numbers are exact as in :meth:`Policy.from_dict`. Matrix files are read from ``folder`` only, and without one not at
    all.

    Raises: QueryError with every mistake, each with the path to it, such as ``queries[0].count``.
    """
    return _queries_of(text_of_data(data, _QUERIES, file, folder), policy, records)


def queries_text(data: Map[str, Any]) -> PolicyText:
    """The text of a queries file that says what Python data state. Raises: QueryError."""
    return text_of_data(data, _QUERIES, "queries", None)


def tables_from_dict(data: Map[str, Any], policy: Policy, records: int | None = None) -> MarginalQueries:
    """The whole tables of counts that Python data ask for as a queries file does, however many possible records there
    are.

    Raises: QueryError with every mistake, among them whatever is no whole table.
    """
    mistakes = Mistakes(text_of_data(data, _QUERIES, "queries", None))
    _, entries, agreed, body = _read_all(mistakes, policy.universe, records)
    found = UnlistedReader(policy.universe, mistakes, agreed).tables(entries)
    if found is None:
        raise QueryError(mistakes.all)
    in_body(found, body, mistakes)
    return found


def _read_all(
    mistakes: Mistakes, universe: Universe, records: int | None
) -> tuple[str, tuple[Node, ...], int | None, StatedBody | None]:
    """The key of a text's list, its entries, the number of records, where that is public, and the body beside them."""
    root = read_language(mistakes, "queries", _BEGIN)
    key, entries = _entries(root, mistakes) if root is not None else ("queries", ())
    if universe.absent is None:
        return key, entries, _records(root, records, mistakes), body_beside(root, mistakes)
    _refuse_records(root, records, mistakes)
    return key, entries, None, body_beside(root, mistakes)


def _queries_of(text: PolicyText, policy: Policy, records: int | None) -> Asked:
    require(policy, Policy, "policy", "load one with dx.load_policy; queries are about its universe")
    require(records, (*WHOLE, NoneType), "records", "give their whole number, or leave it out")
    mistakes = Mistakes(text)
    key, entries, number, body = _read_all(mistakes, policy.universe, records)
    return in_body(_asked(key, entries, policy.universe, number, text, mistakes), body, mistakes)


def _asked(
    key: str,
    entries: tuple[Node, ...],
    universe: Universe,
    records: int | None,
    text: PolicyText,
    mistakes: Mistakes,
) -> Asked:
    counted = entries[:1] if universe.indexable else tasks_of_histograms(entries)
    of_tasks = key == "tasks"
    if not universe.indexable and of_tasks and (counted or not entries):
        if not entries:
            raise QueryError(mistakes.all)
        many = f"about 10^{len(str(universe.record_types)) - 1} of them"
        message = f"tasks need a count of every possible record, and this policy has {many}"
        advice = "take fewer or coarser attributes; or ask below 'queries:' for marginals, prefixes, ranges or counts"
        mistakes.add("DX221", counted[0].span, message, advice)
        raise QueryError(mistakes.all)
    if not universe.indexable and not of_tasks:
        found: Asked | None = UnlistedReader(universe, mistakes, records).read(entries)
        if found is None and key == "queries" and "DX221" in {one.code for one in mistakes.all}:
            found = _together(entries, universe, records, text)
        if found is None:
            raise QueryError(mistakes.all)
        return found
    reader = QueryReader(ColumnReader(universe, mistakes), records)
    asked = tasks_listed(entries, TaskReader(reader), text) if of_tasks else queries_listed(entries, reader, text)
    if mistakes or asked is None:
        whole = None if of_tasks else _without_cells(entries, universe, records, mistakes)
        if whole is None:
            raise QueryError(mistakes.all)
        return whole
    return asked


def _together(
    entries: tuple[Node, ...], universe: Universe, records: int | None, text: PolicyText
) -> LinearQueries | QuantileQueries | None:
    """Queries of all kinds beside each other, each of a few attributes; None where some need more than tables.

    Raises: QueryError with every other mistake.
    """
    mistakes = Mistakes(text)
    asked = queries_listed(entries, QueryReader(ColumnReader(universe, mistakes), records), text)
    if mistakes:
        raise QueryError(mistakes.all)
    return asked


def _without_cells(
    entries: tuple[Node, ...], universe: Universe, records: int | None, mistakes: Mistakes
) -> Counts | None:
    """The same as whole tables or as boxes, where all that is wrong is that there are too many weights to list each; a
    count for every value of one attribute alone is no table here, its noise is not found in closed form."""
    if {one.code for one in mistakes.all} != {"DX207"}:
        return None
    if not asks_for_boxes(entries):
        found = UnlistedReader(universe, Mistakes(mistakes.text), records).tables(entries)
        if found is not None and any(len(one) > 1 for one in found.attribute_sets):
            return found
    return UnlistedReader(universe, Mistakes(mistakes.text), records).boxes(entries)


def _entries(root: Node, mistakes: Mistakes) -> tuple[str, tuple[Node, ...]]:
    """The key of the file's list, 'queries' or 'tasks', and its entries."""
    if not isinstance(root, Mapping):
        note_no_mapping(root, "queries", _BEGIN, mistakes)
        return "queries", ()
    if is_policy(root, mistakes):
        return "queries", ()
    for word, _ in root.entries:
        if word.text not in QueriesSyntax.model_fields:
            advice = instead_of(word.text, tuple(QueriesSyntax.model_fields))
            mistakes.add("DX105", word.span, f"the key {shown(word.text)} is not known here", advice)
    queries, tasks = root.entry("queries"), root.entry("tasks")
    if queries is not None and tasks is not None:
        advice = "make the queries a task: '- queries: [...]' below 'tasks'"
        mistakes.add("DX234", tasks[0].span, "a file lists queries or tasks, found both", advice)
        return "queries", ()
    listed = tasks or queries
    if listed is None:
        mistakes.add("DX107", root.span, "the key 'queries' is missing", "list the queries below 'queries:'")
        return "queries", ()
    key = listed[0].text
    if not isinstance(listed[1], Sequence) or not listed[1].items:
        one = "query" if key == "queries" else "task"
        mistakes.add("DX108", listed[0].span, f"'{key}' is a list with at least one {one}", LIST_THEM)
        return key, ()
    return key, listed[1].items


def _records(root: Node | None, given: int | None, mistakes: Mistakes) -> int | None:
    """The number of records that the file and the caller agree on."""
    entry = root.entry("records") if isinstance(root, Mapping) else None
    span = entry[1].span if entry is not None else (root.span if root is not None else None)
    if span is not None and given is not None and not 0 < given <= _MOST_RECORDS:
        mistakes.add("DX205", span, f"the number of records is a positive whole number, given {given}")
        return None
    if entry is None:
        return given
    stated = _whole(entry[1])
    if stated is None:
        mistakes.add("DX205", entry[1].span, "'records' is a positive whole number", _RECORDS)
    elif given is not None and given != stated:
        mistakes.add("DX205", entry[1].span, f"the file says {stated:,} records, the caller says {given:,}")
    return stated


def _refuse_records(root: Node | None, given: int | None, mistakes: Mistakes) -> None:
    """Nobody may state the number of records: that a table is refused for another number would tell it."""
    entry = root.entry("records") if isinstance(root, Mapping) else None
    advice = "leave 'records' out; 'count: true' asks for it, with noise"
    if entry is not None:
        mistakes.add("DX215", entry[0].span, "the policy keeps the number of records private", advice)
    elif given is not None and root is not None:
        mistakes.add("DX215", root.span, f"the policy keeps the number of records private, given {given}", advice)


def _whole(node: Node) -> int | None:
    try:
        number = exact(node.text) if isinstance(node, Scalar) else None
    except NotANumber:
        return None
    if number is None or number.denominator != 1 or not 0 < number <= _MOST_RECORDS:
        return None
    return int(number)
