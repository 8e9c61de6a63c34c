"""Columns that look like people: named as such, and with repeats, where every row is taken to be another person's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, final

import pyarrow as pa

from dxgeom.engines.cells import is_text
from dxgeom.engines.column_names import names_a_contact, names_a_person
from dxgeom.engines.opening import opened
from dxgeom.engines.source import Source
from dxgeom.engines.watching import plain_errors
from dxgeom.universe.universe import Universe

ROWS_LOOKED_AT: Final = 1_000_000
ROWS_LOOKED_AT_THERE: Final = 100_000


@final
class _NoneNamedSo(Exception):
    """No column of a table is named as people are."""


def repeated_identifiers(table: Any, universe: Universe) -> tuple[str, ...]:
    """The columns whose names say that they tell who a row is of, that no attribute is made of, and in which two of the
    first million rows, of the first hundred thousand on a server, say the same. None where the policy says who people
    are, or that everybody has one row.

    Looked at are words and whole numbers; a reader, which flows by once, is left alone.
    Raises: DataError for a table that cannot be read; MissingExtra.
    """
    stated = universe.reading.people is not None or universe.one_row_each
    if stated or isinstance(table, pa.RecordBatchReader):
        return ()
    named: list[str] = []

    def chosen(names: Sequence[str]) -> tuple[str, ...]:
        named[:] = [name for name in names if looks_like_people(name) and name not in universe.reading.columns]
        if not named or len(set(names)) < len(names):
            raise _NoneNamedSo
        return tuple(named)

    with suppress(_NoneNamedSo), opened(table, chosen, universe) as source, plain_errors(source.described):
        return tuple(named[place] for place in _repeated(source))
    return ()


def _repeated(source: Source) -> list[int]:
    """Which of a source's columns say the same in two of its first rows, but for those that hold no names of people."""
    places = [k for k, kind in enumerate(source.types) if is_text(kind) or pa.types.is_integer(kind)]
    if not places:
        return []
    rows = source.rows if source.there is None else source.there.table()
    first = rows.limit(ROWS_LOOKED_AT if source.there is None else ROWS_LOOKED_AT_THERE)
    counts = {f"n{k}": first[f"k{k}"].count() for k in places} | {f"d{k}": first[f"k{k}"].nunique() for k in places}
    wanted = first.agg(**counts)
    there = source.there
    if there is None:
        (found,) = source.fetched(wanted)
    else:
        told = source.watch.done(lambda: there.run(wanted).read_all())
        (found,) = zip(*told.to_pydict().values(), strict=True)
    kinds = found[len(places) :]
    return [k for k, rows, different in zip(places, found, kinds, strict=False) if different < rows]


def looks_like_people(name: str) -> bool:
    """Whether a column's name says that it tells who a row is of.

    >>> [name for name in ("user_id", "patientId", "email", "age", "grid", "ID") if looks_like_people(name)]
    ['user_id', 'patientId', 'email', 'ID']
    """
    return names_a_person(name) or names_a_contact(name)
