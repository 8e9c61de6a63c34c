"""Passwords of servers are where libpq keeps them, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from services.postgres import PostgresServer
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.errors import LedgerError, LedgerUnreachable
from dxgeom.ledger.history import read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.postgres_store import address_of

SECRET = "never-to-be-seen"
HOLDER = """
import sys
from dxgeom.ledger.stores import store_at
with store_at(sys.argv[1]).writing():
    print("in", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize(
    "place",
    [
        f"postgresql://ana:{SECRET}@127.0.0.1/privacy",
        f"postgres://ana:{SECRET}@127.0.0.1/privacy?ledger=clinic",
        f"postgresql://127.0.0.1/privacy?user=ana&password={SECRET}",
        f"postgresql://127.0.0.1/privacy?user=ana&sslpassword={SECRET}",
        f"postgresql://127.0.0.1/privacy?PassWord={SECRET}",
        f"postgresql://127.0.0.1/privacy?oauth_client_secret={SECRET}",
        f"postgresql://ana:{SECRET}@a,b/privacy",
        f"postgresql://ana:{SECRET}#@127.0.0.1/privacy",
        f"postgresql://ana:{SECRET}@127.0.0.1/pri vacy",
        f"postgresql://ana:{SECRET}",
        f"postgresql://ana:{SECRET}/privacy",
        f"postgresql://ana:12/{SECRET}@127.0.0.1/privacy",
        f"postgresql://ana:12?{SECRET}@127.0.0.1/privacy",
        f"postgresql://ana:12@{SECRET}@127.0.0.1/privacy",
        f"postgresql:/ana:{SECRET}@127.0.0.1/privacy",
    ],
)
def test_a_url_with_a_password_is_refused_and_not_repeated(place: str) -> None:
    for use in (
        read_ledger,
        lambda place: Ledger.open(place, policy_fingerprint="f", policy_name="n", budget=Fraction(1)),
    ):
        with pytest.raises(LedgerError) as refusal:
            use(place)
        assert SECRET not in "".join(traceback.format_exception(refusal.value))
    outcome = CliRunner().invoke(app, ["ledger", "show", place])
    assert outcome.exit_code == 1 and SECRET not in outcome.output


@pytest.mark.parametrize("place", [Path("postgresql:/127.0.0.1/privacy"), "postgresql:/host/privacy", "postgres:x"])
def test_a_url_that_is_none_is_refused(place: Any) -> None:
    with pytest.raises(LedgerError, match="the URL of a ledger cannot be used"):
        address_of(place)


@pytest.mark.parametrize("name", ["public", "pg_x", "A", "a-b", "", "a;b", 'a"b', "é", "x" * 64])
def test_a_ledger_has_a_plain_name(name: str) -> None:
    with pytest.raises(LedgerError, match=r"named in small letters|'%23'|it has a"):
        address_of(f"postgresql://h/d?ledger={name}")


def test_what_the_url_says_of_the_server_is_handed_on() -> None:
    found = address_of("postgresql://ana@h1:5433,h2/privacy?sslmode=verify-full&ledger=clinic&connect_timeout=3")
    assert found.schema == "clinic" and found.shown.startswith("postgresql://ana@h1:5433,h2/privacy?sslmode")
    assert "sslmode=verify-full" in found.server and "connect_timeout=3" in found.server
    assert "ledger=" not in found.server and "tcp_user_timeout=" in found.server
    assert address_of("postgresql:///?service=clinic").schema == "dxgeom_ledger"


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgresServer]:
    """A server that asks ana for a password."""
    server = PostgresServer("host all ana 127.0.0.1/32 scram-sha-256")
    server.execute(f"CREATE ROLE ana LOGIN PASSWORD '{SECRET}'")
    yield server
    server.close()


def with_file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    (folder / name).chmod(0o600)
    return str(folder / name)


@pytest.mark.service("postgres")
def test_a_password_file_and_a_service_file_let_in(
    guarded: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = guarded.new_ledger()
    ledger = place.partition("?")[2]
    with Ledger.open(place, policy_fingerprint="f", policy_name="n", budget=Fraction(1)) as kept:
        kept.grant("ana")
    as_ana = place.replace("postgres@", "ana@")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    with pytest.raises(LedgerUnreachable, match="password") as refusal:
        verify_ledger(as_ana)
    assert SECRET not in "".join(traceback.format_exception(refusal.value))
    monkeypatch.setenv("PGPASSFILE", with_file(tmp_path, "pgpass", f"127.0.0.1:*:*:ana:{SECRET}\n"))
    with Ledger.open(as_ana, policy_fingerprint="f", policy_name="n", budget=Fraction(1)) as kept:
        kept.store(kept.charge(Fraction(1, 3), purpose="", plan_fingerprint="p"), "answer")
        assert SECRET not in repr(kept) + repr(vars(kept)) + repr(kept.file)
    monkeypatch.delenv("PGPASSFILE")
    service = f"[clinic]\nhost=127.0.0.1\nport={guarded.port}\nuser=ana\ndbname=postgres\npassword={SECRET}\n"
    monkeypatch.setenv("PGSERVICEFILE", with_file(tmp_path, "services", service))
    assert len(verify_ledger(f"postgresql:///?service=clinic&{ledger}").entries) == 1
    monkeypatch.setenv("PGSERVICEFILE", with_file(tmp_path, "services", service.replace(SECRET, "wrong" + SECRET)))
    with pytest.raises(LedgerUnreachable, match="password authentication failed") as refusal:
        verify_ledger(f"postgresql:///?service=clinic&{ledger}")
    assert SECRET not in "".join(traceback.format_exception(refusal.value))


@pytest.mark.service("postgres")
def test_a_running_release_shows_no_password_to_other_processes(guarded: PostgresServer, tmp_path: Path) -> None:
    place = guarded.new_ledger()
    with Ledger.open(place, policy_fingerprint="f", policy_name="n", budget=Fraction(1)) as kept:
        kept.grant("ana")
    words = with_file(tmp_path, "pgpass", f"127.0.0.1:*:*:ana:{SECRET}\n")
    command = [sys.executable, "-c", HOLDER, place.replace("postgres@", "ana@")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env={**os.environ, "PGPASSFILE": words}, text=True, **pipes) as running:
        assert running.stdout is not None and running.stdout.readline() == "in\n"
        listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
        asked = guarded.execute("SELECT string_agg(query, ' ') FROM pg_stat_activity")[0][0]
        running.communicate("go\n", timeout=30)
    assert SECRET not in listed and SECRET not in asked
    assert SECRET not in (guarded.folder / "log").read_text()
