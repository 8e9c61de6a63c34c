"""A draft for a table in one call, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import NoneType
from typing import Any

from dxgeom.arguments import WHOLE, require, words_of
from dxgeom.errors import DataError, WrongArgument
from dxgeom.planner.amounts import exact_amount
from dxgeom.starting.choices import Wishes, chosen_alone
from dxgeom.starting.declared import Declared, each_once, ends_of
from dxgeom.starting.drafts import Draft
from dxgeom.starting.form import FormDoubt, Said
from dxgeom.starting.tables import found_of


def init(
    table: Any,
    *,
    person: str | Sequence[str] = (),
    rows: int | None = None,
    one_row_each: bool = False,
    values: Mapping[str, Sequence[str]] | None = None,
    ranges: Mapping[str, str] | None = None,
    leave_out: Sequence[str] = (),
    take: Sequence[str] = (),
    accept: bool = False,
    header: int | str | None = None,
    names: Sequence[str] | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    header_only: bool = False,
    epsilon: int | float | str | Fraction = 1,
) -> Draft:
    """Draft a policy and queries for a table: a file, a frame, or a table on a server by its URL.

    Looks at the rows of files and frames to find how they are written. Guarantee: no value, end, count or share of the
    data is in the draft; it holds names of columns, how cells are written, and what is said here.

    Args: ``person``: the column, or columns, that say who a row is of; ``rows``: every row counts, nobody more than so
    many; ``one_row_each``: nobody has two; ``values`` and ``ranges``: what there can be in a column, as words or as
    ``"0:110"``; ``leave_out`` and ``take``: columns; ``accept``: what the rows show of how cells are written is known
    without them; the rest is of files: the line of names or ``"none"``, the names, a workbook's sheet, the encoding,
    what separates cells, and whether only the line of names is looked at.
    Returns: a draft with ``policy`` and ``queries`` as texts, ``todo`` for what says FILL IN, and ``write``.
    Raises: DataError, also where a file can be read in more than one way; MissingExtra.
    """
    require(rows, (*WHOLE, NoneType), "rows", "give the whole number of rows that nobody has more of")
    if rows is not None and rows < 1:
        raise WrongArgument(f"'rows' is a number of rows from 1; found {rows}")
    require(header, (*WHOLE, str, NoneType), "header", "give the line of names, or 'none'")
    for what, said_so in (("one_row_each", one_row_each), ("accept", accept), ("header_only", header_only)):
        require(said_so, bool, what, "say True or False")
    for what, text in (("sheet", sheet), ("encoding", encoding), ("separator", separator)):
        require(text, (str, NoneType), what, "give it as text, or leave it out")
    for what, given in (("values", values), ("ranges", ranges)):
        require(given, (Mapping, NoneType), what, "give what there can be by the name of its column")
    require(epsilon, (*WHOLE, float, str, Fraction), "epsilon", "give a positive number such as 0.5")
    declared: dict[str, Declared] = {name: each_once(_named(words, "values")) for name, words in (values or {}).items()}
    for name, text in (ranges or {}).items():
        require(text, str, "ranges", 'write both ends, as in "0:110"')
        declared[name] = ends_of(text, whole=False)
    people = (person,) if isinstance(person, str) else _named(person, "person")
    kept, left = _named(take, "take"), _named(leave_out, "leave_out")
    wishes = Wishes(people, rows, one_row_each, {}, accept, kept, left, declared)
    line = None if header is None else str(header)
    said = Said(encoding, separator, line, None if names is None else _named(names, "names"))
    amount = exact_amount(epsilon, "epsilon")
    try:
        found = found_of(table, said, sheet, header_only=header_only)
    except FormDoubt as doubt:
        ways = "; ".join(f"{way}: {option}" for way, option in doubt.ways)
        raise DataError(f"{doubt} Say which it is: {ways}") from doubt
    return chosen_alone(found, wishes).draft(found, amount, "queries.yaml")


def _named(columns: object, what: str) -> tuple[str, ...]:
    """Raises: WrongArgument for what holds no names."""
    require(columns, Sequence, what, "give a list of texts")
    return words_of(columns, what, "give the names of columns")
