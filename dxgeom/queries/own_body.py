"""``body``: the shape of the noise, stated beside queries by its corners, or for two queries as a polygon in WKT."""

from __future__ import annotations

import re
from collections.abc import Sequence as Listed
from dataclasses import replace
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias, TypeVar, cast, final

from dxgeom.errors import QueryError
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.queries import LinearQueries

Corners: TypeAlias = tuple[tuple[Fraction, ...], ...]

Asked = TypeVar("Asked")

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


def in_body(asked: Asked, body: StatedBody | None, mistakes: Mistakes) -> Asked:
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
            return cast(Asked, replace(listed, body=body.corners))
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
