"""The ledger: what was spent of a policy's budget, written down before anything is released."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import final

from dxgeom.arguments import require
from dxgeom.errors import BudgetExceeded
from dxgeom.ledger import storage
from dxgeom.ledger.book import Book, read_book
from dxgeom.ledger.entry import Account, Entry, amount, storable
from dxgeom.ledger.storage import plain_errors, unusable
from dxgeom.universe.columns import plain


@final
class Ledger:
    """An append-only account of spends, exact to the last fraction; made by :meth:`open`.

    Guarantees: what :meth:`charge` returned is on the disk; the spends never exceed the budget, whatever
    processes and threads charge at once and whenever they are killed; an altered file is refused. Whoever can
    write the file can still replace it by an older copy: keep it where only releases write.
    """

    def __init__(self, path: Path | None, account: Account) -> None:
        self._path, self._account = path, account
        self._described = "in memory" if path is None else f"'{path}'"
        self._seen = Book((), account.budget, account.seal)
        self._closed = False
        self._process = os.getpid()
        # File connections last one operation only, so none is ever carried into a forked process.
        self._memory = storage.connected_to_memory(account) if path is None else None
        self._memory_turn = threading.Lock()

    @classmethod
    def open(cls, path: str | Path, *, policy_fingerprint: str, policy_name: str, budget: Fraction) -> Ledger:
        """Opens the ledger at ``path``, or begins one if there is no such file.

        ":memory:" is a ledger that is forgotten when it is closed: it protects nobody across runs.

        Raises: LedgerError when the file cannot be used, is damaged, or belongs to another policy or budget.
        """
        require(path, (str, os.PathLike), "path", "name the file in which spends are written down, or ':memory:'")
        account = Account(
            storable(policy_name, "policy's name"),
            storable(policy_fingerprint, "policy's fingerprint"),
            amount(budget, "budget"),
        )
        ledger = cls(None if str(path) == ":memory:" else _place(Path(path), account), account)
        with ledger._transaction() as (connection, _):
            storage.try_to_write(connection)
        return ledger

    @property
    def account(self) -> Account:
        """Whose budget this is: the policy's name, its fingerprint, and the budget."""
        return self._account

    def charge(self, spend: Fraction, *, purpose: str, plan_fingerprint: str) -> Entry:
        """Spends; when this returns, the entry is on the disk, and only then may noise be drawn.

        Raises: BudgetExceeded, with nothing spent; LedgerError when the ledger cannot be written (the release
        must not happen; at worst budget is lost).
        """
        spend = amount(spend, "spend")
        purpose, plan = storable(purpose, "purpose"), storable(plan_fingerprint, "plan's fingerprint")
        with self._transaction() as (connection, book):
            remaining = book.remaining
            if spend > remaining:
                raise self._exceeded(spend, remaining)
            if spend < remaining:
                amount(remaining - spend, "budget that would remain")
            time = datetime.now(UTC).isoformat(timespec="microseconds")
            entry = Entry(len(book.entries) + 1, spend, purpose, plan, time, remaining - spend)
            seal = entry.seal(book.seal)
            connection.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)",
                (entry.number, str(spend), purpose, plan, time, seal),
            )
            connection.execute("COMMIT")
            self._seen = Book((*book.entries, entry), entry.remaining, seal)
        return entry

    def spent(self) -> Fraction:
        """The sum of all spends."""
        return self._account.budget - self.remaining()

    def remaining(self) -> Fraction:
        """The budget less what is spent."""
        with self._transaction() as (_, book):
            return book.remaining

    def entries(self) -> tuple[Entry, ...]:
        """Every charge so far, oldest first."""
        with self._transaction() as (_, book):
            return book.entries

    def close(self) -> None:
        """Ends the use of this object; the file stays."""
        self._closed = True
        if self._memory is not None:
            self._memory.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[tuple[sqlite3.Connection, Book]]:
        """Holds the file's write lock; what is not committed inside is undone."""
        if self._closed:
            raise unusable(self._described, "it was closed; open it again")
        with plain_errors(self._described), self._connection() as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                storage.check_layout(connection, self._described)
                yield connection, self._checked(read_book(connection, self._account, self._described))
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self._path is not None:
            with closing(storage.connected(self._path, self._described)) as connection:
                yield connection
        elif self._memory is None or self._process != os.getpid():
            raise unusable(self._described, "it belongs to another process; open a ledger in a file to share it")
        elif not self._memory_turn.acquire(timeout=storage.LOCK_SECONDS):
            raise unusable(self._described, "another thread kept it locked; try again")
        else:
            try:
                yield self._memory
            finally:
                self._memory_turn.release()

    def _checked(self, book: Book) -> Book:
        # A ledger that was swapped for an older copy is consistent in itself; only memory can tell.
        known = self._seen
        if book.entries[: len(known.entries)] != known.entries:
            raise unusable(
                self._described, "entries seen earlier by this process are gone; put the file back as it was"
            )
        self._seen = book
        return book

    def _exceeded(self, spend: Fraction, remaining: Fraction) -> BudgetExceeded:
        budget = self._account.budget
        advice = f"ask for at most {plain(remaining)}" if remaining else "no further release is possible"
        return BudgetExceeded(
            f"the budget of policy '{self._account.policy_name}' is {plain(budget)}: {plain(budget - remaining)} is "
            f"spent, {plain(remaining)} remains, and this asks for {plain(spend)}; nothing was spent; {advice}"
        )


def _place(path: Path, account: Account) -> Path:
    """The ledger's own path; begins the ledger if there is none."""
    described = f"'{path}'"
    with plain_errors(described):
        if "\0" in str(path):
            raise unusable(described, "its name holds a character that no file name has; name another file")
        place = Path(os.path.realpath(path))
        if place.is_dir():
            raise unusable(described, "it is a folder; name a file in it")
        if not place.parent.is_dir():
            raise unusable(described, "its folder does not exist; create the folder first")
        if not place.exists():
            storage.create(place, account)
        elif not place.is_file():
            raise unusable(described, "it is not an ordinary file; name another file")
    return place
