"""Where a ledger on a server is: a URL as libpq reads it, and the schema that the ledger has for itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from dxgeom.errors import LedgerError

SCHEMA: Final = "dxgeom_ledger"
"""The ledger of a database that has one only."""

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HOST: Final = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:[0-9]*)?")
_OPTION: Final = re.compile(r"[a-zA-Z_]+")
_SECRETS: Final = ("password", "secret")
_FALLBACKS: Final = {
    "connect_timeout": "10",
    "application_name": "dxgeom",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""A server that is gone, or a network that is cut, is noticed within half a minute."""


@final
@dataclass(frozen=True)
class LedgerAddress:
    """``server``: what libpq is given; it holds no password. ``shown``: the URL as it was given."""

    server: str
    schema: str
    shown: str


def address_of(place: str | Path) -> LedgerAddress:
    """The address that a URL states. Raises: LedgerError, which does not repeat a URL that may hold a password."""
    text = str(place)
    if isinstance(place, Path) or not re.match(r"postgres(ql)?://", text):
        raise _wrong("it is 'postgresql://user@host/database' as text, no path of a file; found another beginning")
    if re.search(r"[\s\x00-\x1f\x7f]", text):
        raise _wrong("it has a space or a control character; write these as %20 and the like")
    parts = urlsplit(text)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    user, _, hosts = parts.netloc.rpartition("@")
    if ":" in user or any(secret in option.lower() for option in options for secret in _SECRETS):
        raise _wrong(
            "it holds a password, which would be seen in lists of processes, histories and releases; leave it out, and "
            "keep the password in a password file (~/.pgpass, or PGPASSFILE=file) or a service file "
            "(postgresql:///?service=name)"
        )
    # A password with such a character of its own would be taken for a port, a database or an option.
    plain = all(_HOST.fullmatch(host) for host in hosts.split(",")) and all(map(_OPTION.fullmatch, options))
    if not plain or "#" in text or "@" in parts.path + parts.query:
        raise _wrong(
            "it is no 'postgresql://user@host:port/database?option=value'; write characters such as # / ? @ in a name "
            "as %23 and the like"
        )
    schema = options.pop("ledger", SCHEMA)
    if not _NAME.fullmatch(schema) or schema.startswith("pg_") or schema in ("public", "information_schema"):
        raise LedgerError(
            f"a ledger on a server has a schema for itself, named in small letters, digits and _; found {schema!r}; "
            "write for instance '?ledger=visits'"
        )
    given = {**_FALLBACKS, **options} if "service" not in options else options
    server = f"postgresql://{parts.netloc}{parts.path}?{urlencode(given, quote_via=quote)}"
    return LedgerAddress(server, schema, text)


def _wrong(reason: str) -> LedgerError:
    return LedgerError(f"the URL of a ledger cannot be used: {reason}")
