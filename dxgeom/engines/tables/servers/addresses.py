"""Addresses of tables on servers: the server's URL, then # and the table, a path or a query there; queries of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, final
from urllib.parse import unquote

from dxgeom.engines.tables.source import ROWS
from dxgeom.errors import DataError

_QUERY = re.compile(r"\s*(select|with|values|table)\s", re.IGNORECASE)


@final
@dataclass(frozen=True)
class Address:
    """Where a table is. ``server``: its URL, which may hold a password and is in no message; ``what``: the rest."""

    server: str = field(repr=False)
    what: str

    @property
    def is_query(self) -> bool:
        return bool(_QUERY.match(self.what))

    @property
    def described(self) -> str:
        """What messages call the table."""
        return "the result of the query" if self.is_query else f"the table '{self.what}'"


def has_scheme(table: Any, *schemes: str) -> bool:
    """Whether a table is given by a URL of one of these schemes."""
    return isinstance(table, str) and table.partition("://")[0].lower() in schemes and "://" in table


def address_of(url: str, example: str) -> Address:
    """Raises: DataError where no table is named."""
    server, sign, what = url.partition("#")
    what = unquote(what).strip().rstrip(";")
    if not sign or not what:
        raise DataError(f"a table on a server is its URL, then # and the table or a query, such as {example}")
    return Address(server, what)


def preceded(columns: str, query: Any) -> str:
    """A query over ROWS, which are the result of another one; whatever else is called so there is not meant."""
    rest = str(query)
    rest = f", {rest[4:].lstrip()}" if rest.startswith("WITH") else f" {rest}"
    return f"WITH {ROWS} AS ({columns}){rest}"
