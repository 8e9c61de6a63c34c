"""A draft for a table in one call, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dxgeom.errors import DataError
from dxgeom.starting.choices import Wishes, chosen_alone
from dxgeom.starting.declared import Declared, ends_of, values_of
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
    declared: dict[str, Declared] = {name: values_of(",".join(words)) for name, words in (values or {}).items()}
    declared |= {name: ends_of(text, whole=False) for name, text in (ranges or {}).items()}
    people = (person,) if isinstance(person, str) else tuple(person)
    wishes = Wishes(people, rows, one_row_each, {}, accept, tuple(take), tuple(leave_out), declared)
    said = Said(encoding, separator, None if header is None else str(header), None if names is None else tuple(names))
    try:
        found = found_of(table, said, sheet, header_only=header_only)
    except FormDoubt as doubt:
        ways = "; ".join(f"{way}: {option}" for way, option in doubt.ways)
        raise DataError(f"{doubt} Say which it is: {ways}") from doubt
    return chosen_alone(found, wishes).draft(found, Fraction(epsilon), "queries.yaml")
