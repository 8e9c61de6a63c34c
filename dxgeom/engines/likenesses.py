"""Columns that look like people: named as such, and with repeats, where every row is taken to be another person's."""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa

from dxgeom.engines.cells import is_text
from dxgeom.engines.failures import plain_errors
from dxgeom.engines.tables.embedded import DuckDB, names_of_columns
from dxgeom.engines.tables.sources import engine_of, opened
from dxgeom.universe.universe import Universe

ROWS_LOOKED_AT: Final = 1_000_000
# fmt: off
_WORDS: Final = frozenset((
    "id", "ids", "uid", "uuid", "guid", "user", "users", "userid", "username", "person", "persons", "personid",
    "people", "patient", "patientid", "customer", "customerid", "client", "clientid", "member", "memberid",
    "subscriber", "account", "accountid", "email", "phone", "msisdn", "imsi", "imei", "mac", "ssn", "device",
    "deviceid", "household", "employee", "employeeid", "student", "studentid", "pupil", "driver", "rider",
    "passenger", "citizen", "resident", "donor", "voter", "taxpayer", "tenant", "participant", "respondent",
))
# fmt: on
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def repeated_identifiers(table: Any, universe: Universe) -> tuple[str, ...]:
    """The columns whose names say that they tell who a row is of, that no attribute is made of, and in which two of the
    first million rows say the same. None where the policy says who people are.

    Looked at are words and whole numbers; a reader, which flows by once, and tables on servers are left alone.
    Raises: DataError for a table that cannot be read.
    """
    alone = isinstance(table, pa.RecordBatchReader) or not isinstance(engine_of(table), DuckDB)
    if universe.reading.people is not None or alone:
        return ()
    names = names_of_columns(table)
    named = [name for name in names if looks_like_people(name) and name not in universe.reading.columns]
    if not named or len(set(names)) < len(names):
        return ()
    with opened(table, tuple(named)) as source, plain_errors(source.described):
        places = [k for k, kind in enumerate(source.types) if is_text(kind) or pa.types.is_integer(kind)]
        if not places:
            return ()
        first = source.rows.limit(ROWS_LOOKED_AT)
        counts = {f"n{k}": first[f"k{k}"].count() for k in places} | {f"d{k}": first[f"k{k}"].nunique() for k in places}
        (found,) = source.fetched(first.agg(**counts))
    kinds = found[len(places) :]
    return tuple(named[k] for k, rows, different in zip(places, found, kinds, strict=False) if different < rows)


def looks_like_people(name: str) -> bool:
    """Whether a column's name says that it tells who a row is of.

    >>> [name for name in ("user_id", "patientId", "email", "age", "grid", "ID") if looks_like_people(name)]
    ['user_id', 'patientId', 'email', 'ID']
    """
    return any(part.lower() in _WORDS for part in _PARTS.findall(name))
