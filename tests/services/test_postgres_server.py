"""The server that other tests use is a real one, and is gone afterwards."""

import signal

import pytest
from services.postgres import PostgresServer

pytestmark = pytest.mark.service("postgres")


def test_a_new_database_is_empty_and_keeps_what_is_written(postgres):
    database = postgres.new_database()
    postgres.execute("CREATE TABLE kept (number int)", database=database)
    postgres.execute("INSERT INTO kept VALUES (%s)", 7, database=database)
    assert postgres.execute("SELECT number FROM kept", database=database) == [(7,)]


def test_a_server_that_was_stopped_without_order_has_all_that_was_committed():
    server = PostgresServer()
    try:
        server.execute("CREATE TABLE kept (number int)")
        server.stop(signal.SIGQUIT)
        server.start()
        assert server.execute("SELECT * FROM kept") == []
    finally:
        server.close()
    assert not server.folder.exists()
