"""Who a person is, where a policy says so."""

from __future__ import annotations

from collections.abc import Iterable

from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.syntax.models import HERE
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.universe.people.people import People
from dxgeom.universe.wording import shown

_ORDERED = "write 'people: {column: user, count: rows, at_most: 5, order: time}'"


def stated_people(tree: SyntaxTree, read: Iterable[str], mistakes: Mistakes) -> People | None:
    """How people count; None where the policy does not say, or a mistake was noted.

    ``read``: the columns that attributes are made of. A person's own column is none of them, or a change of the
    attribute would make another person; nor is the order of rows, which is not protected.
    """
    stated = tree.document.people
    if stated is None:
        return None
    before = len(mistakes.found)
    needed = {"at_most": stated.at_most, "order": stated.order}
    for key, value in needed.items():
        if stated.count == "rows" and value is None:
            message = f"people who count by rows need {shown(key)}"
            mistakes.add("DX170", tree.key_span("people", "count"), message, _ORDERED)
        if stated.count != "rows" and value is not None:
            message = f"{shown(key)} is for people who count by rows, these are counted {stated.count}"
            mistakes.add("DX170", tree.key_span("people", key), message, f"leave it out; {HERE['people']}")
    if stated.order is not None and stated.order == stated.column:
        message = f"the rows of a person are ordered by another column than {shown(stated.column)}, which says whose"
        mistakes.add("DX170", tree.span("people", "order"), message, "name the column of a time, or of a number")
    columns = set(read)
    for key, column in (("column", stated.column), ("order", stated.order)):
        if column in columns:
            message = f"the column {shown(column)} is read by an attribute, and cannot be the 'people' {key} too"
            advice = "what says who people are, or which of their rows are kept, is not what the rules hide"
            mistakes.add("DX171", tree.span("people", key), message, advice)
    if len(mistakes.found) > before:
        return None
    return People(stated.column, stated.count, stated.at_most, stated.order)
