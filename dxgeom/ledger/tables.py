"""What a ledger holds, row by row, and the chain of seals that ties the rows: the one definition that stores follow.

Every row of every table has a position, counted from 1 over all tables, and a seal: SHA-256 of the parts
"dxgeom ledger 2", the seal of the row before ("" for the first), the position, the table's name, and the row's
fields in the table's order. Each part is written as its length in bytes, ":", its UTF-8 bytes, ","; integers in
decimal, and what is NULL as "-,". So SQL can write the same bytes, and no two rows share them. Columns that came with
version 3 are sealed where one of them says something, and the first part is then "dxgeom ledger 3"; a row that says
nothing in them is sealed as it was before there were any.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

FORMAT: Final = 2
"""The version of the chain, and of rows without the columns that came later."""

COMMITTED: Final = 3
"""The version of rows of charges that say who may answer them, and of their answers."""

MARK: Final = "dxgeom ledger {}"
"""The first part of what is sealed, of a row's version."""

RIGHT: Final = f"dxgeom right {COMMITTED}"
"""The first part of what a charge commits to."""

Field: TypeAlias = str | int | None


@final
@dataclass(frozen=True)
class Column:
    """``kind``: int or str. ``unique``: no two rows have the same, but for None. ``exact``: the text of a fraction.
    ``since``: the version that it came with; older rows say nothing in it."""

    name: str
    kind: type[int] | type[str] = str
    optional: bool = False
    unique: bool = False
    exact: bool = False
    since: int = FORMAT


@final
@dataclass(frozen=True)
class Table:
    """``columns``: what is sealed, besides the position; newer ones last. ``content``: rows also carry bytes, sealed by
    their digest."""

    name: str
    columns: tuple[Column, ...]
    content: bool = False

    def columns_of(self, version: int) -> tuple[Column, ...]:
        """The columns that there were in this version."""
        return tuple(column for column in self.columns if column.since <= version)

    def whole(self, fields: tuple[Field, ...]) -> tuple[Field, ...]:
        """The fields of a row of any version, with None in columns that came later."""
        return (*fields, *[None] * (len(self.columns) - len(fields)))

    def fits(self, fields: tuple[object, ...]) -> bool:
        """Whether the fields are of the columns' kinds."""
        return len(fields) == len(self.columns) and all(
            type(field) is column.kind or (field is None and column.optional)
            for field, column in zip(fields, self.columns, strict=True)
        )


_NUMBER = Column("number", int, unique=True)

DATA_SETS: Final = Table(
    "data_sets",
    (
        _NUMBER,
        Column("ledger"),  # random, the same in all rows: no two ledgers have the same seals
        Column("name", optional=True),
        Column("people"),  # SHARED or DISJOINT between editions
        Column("budget", optional=True, exact=True),
        Column("continues", optional=True),  # the last seal of the format that this ledger was migrated from
    ),
)
"""Which data the ledger is about; the last row holds. A ledger begins with its first row."""

ACCOUNTS: Final = Table(
    "accounts",
    (
        _NUMBER,
        Column("policy_name"),
        Column("policy_fingerprint", unique=True),
        Column("budget", exact=True),
        Column("currency"),
    ),
)
"""One for each policy under which the data were released."""

POLICIES: Final = Table("policies", (Column("account", int, unique=True), Column("document")))
"""What an account's policy says, as canonical text, where that is known."""

ENTRIES: Final = Table(
    "entries",
    (
        _NUMBER,
        Column("account", int),
        Column("edition", optional=True),
        Column("owner", optional=True),
        Column("key", optional=True, unique=True),
        Column("spend", exact=True),
        Column("remaining", exact=True),
        Column("total", exact=True),
        Column("purpose"),
        Column("plan_fingerprint"),
        Column("time_utc"),
        Column("reserved", int),
        Column("commitment", optional=True, since=COMMITTED),  # whose preimage alone stores the answer
        Column("charged_by", optional=True, since=COMMITTED),  # the role of the server, where one vouches for it
    ),
)
"""The charges. Where squares add up, ``remaining`` and ``total`` are those of squares, and so exact."""

ANSWERS: Final = Table(
    "answers",
    (
        Column("entry", int, unique=True),
        Column("place"),
        Column("bytes", int),
        Column("digest"),
        Column("secret", optional=True, since=COMMITTED),  # what the entry committed to
    ),
    content=True,
)
"""What was released: each entry's answer, once, here or in a file of its own."""

ALLOTMENTS: Final = Table(
    "allotments", (_NUMBER, Column("account", int), Column("owner"), Column("amount", exact=True))
)
"""How accounts are divided: what an owner may spend of an account, from this row on; an owner's last row counts."""

TABLES: Final = (DATA_SETS, ACCOUNTS, POLICIES, ENTRIES, ANSWERS, ALLOTMENTS)
"""What every ledger has."""

INSTALMENTS: Final = Table(
    "instalments",
    (
        _NUMBER,
        Column("entry", int),
        Column("step", unique=True),  # entry, kind, turn and period, between slashes
        Column("key", optional=True),  # which key a seal is closed with, never the key
        Column("time_utc"),
        Column("text"),
    ),
)
"""What became of plans that are released in instalments, step by step. Only ledgers that opened one have it."""

ALL_TABLES: Final = (*TABLES, INSTALMENTS)

CHANCES: Final = Table(
    "chances",
    (
        _NUMBER,
        Column("entry", int, unique=True),
        Column("chance", exact=True),
        Column("total", exact=True),  # of the account's entries so far
        Column("allowed", exact=True),  # what the account's policy allows for all time, the same in all its rows
    ),
)
"""With which chance δ an entry's release is outside its promise. Only ledgers with such an entry have it."""

LATER_TABLES: Final = (INSTALMENTS, CHANCES)
"""What a ledger gets with the first row in it."""

COUNTING_CHANCES: Final = (*TABLES, *LATER_TABLES)

LATER_COLUMNS: Final = tuple((table, column) for table in TABLES for column in table.columns if column.since > FORMAT)

SHARED: Final = "shared"
DISJOINT: Final = "disjoint"
INSIDE: Final = "inside"
BESIDE: Final = "beside"


@final
@dataclass(frozen=True)
class Record:
    """A row of a table: ``fields`` in the order of the table's columns."""

    table: Table
    position: int
    fields: tuple[Field, ...]
    seal: str

    def rightly_sealed(self, previous: str) -> bool:
        """Whether the seal is that of this row after the row of the seal ``previous``."""
        return self.seal == seal_of(self.table, previous, self.position, self.fields)


def seal_of(table: Table, previous: str, position: int, fields: tuple[Field, ...]) -> str:
    """The seal of a row that follows the row with the seal ``previous``; "" for the first row."""
    old = len(table.columns_of(FORMAT))
    version = FORMAT if set(fields[old:]) <= {None} else COMMITTED
    return _sha256(
        (MARK.format(version), previous, position, table.name, *(fields[:old] if version == FORMAT else fields))
    )


def commitment_of(secret: str) -> str:
    """What a charge says of the secret that stores its answer: SHA-256 of the parts "dxgeom right 3", the secret."""
    return _sha256((RIGHT, secret))


def digest_of(entry_seal: str, content: bytes) -> str:
    """What an answer's row says of the answer: SHA-256 of the parts "dxgeom answer 2", the entry's seal, the bytes."""
    return _sha256((f"dxgeom answer {FORMAT}", entry_seal, content))


def _sha256(parts: Iterable[Field | bytes]) -> str:
    return hashlib.sha256(b"".join(map(_piece, parts))).hexdigest()


def _piece(part: Field | bytes) -> bytes:
    if part is None:
        return b"-,"
    written = part if isinstance(part, bytes) else str(part).encode()
    return b"%d:%b," % (len(written), written)
