"""Which store a name means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from dxgeom.ledger.chronicle import LedgerStore
from dxgeom.ledger.entry import unusable
from dxgeom.ledger.postgres_store import PostgresLedger
from dxgeom.ledger.sqlite_store import SqliteFile, SqliteMemory

IN_MEMORY: Final = ":memory:"


def _memory(place: str | Path) -> LedgerStore:
    # A mistyped name must not be a ledger that is forgotten, and the budget with it.
    if str(place) != IN_MEMORY:
        what = f"only '{IN_MEMORY}' is a ledger in memory, and no file's name begins so; name a file"
        raise unusable(f"'{place}'", what)
    return SqliteMemory()


STORES: Final[tuple[tuple[str, Callable[[str | Path], LedgerStore]], ...]] = (
    (IN_MEMORY, _memory),
    ("postgresql:", PostgresLedger),
    ("postgres:", PostgresLedger),
    ("", SqliteFile),
)
"""How the name of a ledger begins, and what it is kept in; the first that fits, a file last."""


def file_of(place: str | Path) -> Path | None:
    """The file of a ledger's name; None where it is kept elsewhere."""
    store = next(make for begins, make in STORES if str(place).startswith(begins))
    return Path(place) if store is SqliteFile else None


def store_at(place: str | Path) -> LedgerStore:
    """The store of a ledger's name. Raises: LedgerError for a name that none can have."""
    return next(make(place) for begins, make in STORES if str(place).startswith(begins))
