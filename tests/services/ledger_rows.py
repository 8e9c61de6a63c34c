"""Rows of a ledger on a server, written by hand: what a reader of the ledger makes of each, and the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dxgeom.errors import LedgerError
from dxgeom.ledger.book import Book
from dxgeom.ledger.stores import store_at
from dxgeom.ledger.tables import Record


def schema_of(place: str) -> str:
    return place.partition("?ledger=")[2]


def book_of(place: str) -> Book:
    book = Book("read")
    with store_at(place).reading() as session:
        for record in session.records_from(0):
            book.add(record)
    return book


@contextmanager
def connected(postgres: Any, user: str = "postgres") -> Iterator[Any]:
    import psycopg

    with psycopg.connect(postgres.url(user=user), autocommit=True) as connection:
        yield connection


def insert(connection: Any, place: str, record: Record, content: bytes | None = None) -> None:
    names = ["position", *(column.name for column in record.table.columns), "seal"]
    values = [record.position, *record.fields, record.seal]
    if record.table.content:
        names, values = [*names, "content"], [*values, content]
    marks = ", ".join(["%s"] * len(values))
    connection.execute(
        f"INSERT INTO {schema_of(place)}.{record.table.name} ({', '.join(names)}) VALUES ({marks})", values
    )


def judged_alike(connection: Any, place: str, book: Book, record: Record) -> tuple[Book, bool]:
    """The book after a row, and whether it was taken: by the server exactly where a reader takes it."""
    import psycopg

    position = book.position
    try:
        book.add(record)
        accepted = True
    except LedgerError:
        accepted, book = False, book_of(place)
    try:
        insert(connection, place, record)
    except psycopg.Error:
        assert not accepted, record
    else:
        assert accepted, record
        assert book.position == position + 1
    return book, accepted
