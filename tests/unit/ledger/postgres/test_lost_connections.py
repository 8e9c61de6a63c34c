"""Clients that are killed, servers that stop, connections that break at a bad moment: nothing acknowledged is lost."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from services.postgres import PostgresServer

import dxgeom as dx
from dxgeom.errors import LedgerError, LedgerUnreachable
from dxgeom.ledger import answers, postgres_store
from dxgeom.ledger.entry import Account
from dxgeom.ledger.history import read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger

pytestmark = pytest.mark.service("postgres")

WRITER = """
import sys
from fractions import Fraction
from dxgeom.errors import BudgetExceeded, LedgerUnreachable
from dxgeom.ledger.entry import Account
from dxgeom.ledger.ledger import Ledger
place, who, budget, spend, tries = sys.argv[1:]
ledger = Ledger.at(place, Account("n", "f", Fraction(budget)))
print("ready", flush=True)
sys.stdin.readline()
refused = 0
for k in range(int(tries)):
    try:
        entry = ledger.charge(Fraction(spend), purpose=f"{who}-{k}", plan_fingerprint="p")
    except BudgetExceeded:
        refused += 1
        if refused == 12:  # what is spent does not come back
            break
        continue
    except LedgerUnreachable:
        break
    print(f"{who}-{k}", flush=True)
    if k % 3 == 0:
        ledger.store(entry, who)
"""


def opened(place: str, budget: str = "1") -> Ledger:
    return Ledger.open(place, policy_fingerprint="f", policy_name="n", budget=Fraction(budget))


def charge(ledger: Ledger, **more: Any) -> Any:
    return ledger.charge(Fraction(1, 10), purpose="test", plan_fingerprint="p", **more)


def writer(place: str, who: str, budget: str, spend: str, tries: int) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", WRITER, place, who, budget, spend, str(tries)], text=True, **pipes)


def let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()


def whole_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines(keepends=True) if line.endswith("\n")]


@pytest.fixture
def own() -> Iterator[PostgresServer]:
    """A server that a test may stop."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.mark.long
@pytest.mark.parametrize(("writers", "tries", "fitting"), [(8, 320, 100)])
def test_many_processes_spend_exactly_the_budget(postgres: Any, writers: int, tries: int, fitting: int) -> None:
    spend_exactly(postgres.new_ledger(), writers, tries, fitting)


def test_a_few_processes_spend_exactly_the_budget(postgres: Any) -> None:
    spend_exactly(postgres.new_ledger(), 3, 12, 20)


def spend_exactly(place: str, writers: int, tries: int, fitting: int) -> None:
    opened(place).close()
    processes = [writer(place, f"w{number}", "1", f"1/{fitting}", tries) for number in range(writers)]
    for process in processes:
        let_go(process)
    with ThreadPoolExecutor(writers) as readers:
        outcomes = [*readers.map(lambda process: process.communicate(timeout=500), processes)]
    assert [errors for _, errors in outcomes] == [""] * writers
    returned = [line for lines, _ in outcomes for line in lines.split()]
    history = verify_ledger(place)
    assert sorted(returned) == sorted(entry.purpose for entry in history.entries)
    assert len(returned) == fitting and history.entries[-1].remaining == 0
    # Nobody starved: each was served among the first, while the budget lasted.
    assert {line.split("-")[0] for line in returned} == {f"w{number}" for number in range(writers)}


@pytest.mark.parametrize("kills", [3, pytest.param(12, marks=pytest.mark.long)])
def test_killed_clients_lose_no_charge_that_was_acknowledged(postgres: Any, kills: int) -> None:
    place, chance, returned = postgres.new_ledger(), random.Random(5), []
    opened(place).close()
    for turn in range(kills):
        victims = [writer(place, f"v{turn}.{number}", "1", "1/100000", 10**6) for number in range(2)]
        for victim in victims:
            let_go(victim)
        time.sleep(chance.uniform(0.05, 0.6))
        for victim in victims:
            victim.send_signal(signal.SIGKILL)
        returned += [line for victim in victims for line in whole_lines(victim.communicate(timeout=60)[0])]
    written = {entry.purpose for entry in verify_ledger(place).entries}
    assert returned and {*returned} <= written
    assert len(written) - len(returned) <= 2 * kills


def test_a_server_that_stops_at_once_loses_no_charge_that_was_acknowledged(own: PostgresServer) -> None:
    place, returned = own.new_ledger(), []
    opened(place).close()
    for turn in range(2):
        clients = [writer(place, f"c{turn}.{number}", "1", "1/100000", 10**6) for number in range(2)]
        for client in clients:
            let_go(client)
        time.sleep(0.5)
        own.stop(signal.SIGQUIT)
        own.start()
        time.sleep(0.3)
        for client in clients:
            client.send_signal(signal.SIGKILL)
        returned += [line for client in clients for line in whole_lines(client.communicate(timeout=60)[0])]
    written = {entry.purpose for entry in verify_ledger(place).entries}
    assert returned and {*returned} <= written


def test_a_server_that_is_not_there_is_named_and_nothing_is_drawn(own: PostgresServer, policies: Path) -> None:
    place, policy = own.new_ledger(), dx.load_policy(policies / "clinic" / "policy.yaml")
    queries = dx.load_queries(policies / "clinic" / "queries.yaml", policy)
    plan = dx.plan(policy.compile(), queries)
    with pytest.raises(LedgerError, match=r"there is none yet; whoever keeps it begins it: 'dxgeom ledger init"):
        plan.release(policies / "clinic" / "patients.csv", ledger=place, spend="0.1")
    own.stop()
    for table in (policies / "clinic" / "patients.csv", policies / "is-not-even-read.csv"):
        with pytest.raises(LedgerUnreachable, match=r"cannot be reached: .*refused.*check that the server runs"):
            plan.release(table, ledger=place, spend="0.1")
    with pytest.raises(LedgerUnreachable):
        verify_ledger(place)
    own.start()


def test_a_server_that_can_lose_what_it_acknowledged_is_refused() -> None:
    server = PostgresServer(fsync="off")
    try:
        with pytest.raises(LedgerError, match="fsync=off"):
            opened(server.new_ledger())
    finally:
        server.close()


def test_a_replica_is_refused_for_reading_too(own: PostgresServer) -> None:
    place = own.new_ledger()
    with opened(place) as ledger:
        charge(ledger)
    own.stop()
    own.as_replica()
    own.start()
    for look in (read_ledger, lambda place: Ledger.at(place, Account("n", "f", Fraction(1)))):
        with pytest.raises(LedgerError, match="the server is a replica"):
            look(place)


def test_commits_are_on_the_disk_though_the_role_would_not_have_them_wait(postgres: Any) -> None:
    place = postgres.new_ledger()
    postgres.execute("ALTER ROLE postgres SET synchronous_commit = off")
    try:
        opened(place).close()
        with postgres_store.PostgresLedger(place).writing() as session:
            assert session._connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
            assert session._connection.execute("SHOW search_path").fetchone() == ("pg_catalog, pg_temp",)
    finally:
        postgres.execute("ALTER ROLE postgres RESET synchronous_commit")


def test_an_answer_that_a_server_cannot_hold_is_refused_before_the_charge(postgres: Any) -> None:
    with opened(postgres.new_ledger()) as ledger:
        with pytest.raises(LedgerError, match="more than 256 MiB"):
            charge(ledger, reserve=2**28 + 1)
        assert ledger.spent() == 0


def test_a_lock_that_somebody_keeps_is_waited_for_and_then_named(postgres: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(postgres_store, "LOCK_SECONDS", 0.3)
    place = postgres.new_ledger()
    with opened(place) as ledger, postgres_store.PostgresLedger(place).writing():
        with pytest.raises(LedgerError, match=r"locked for longer than 0\.3 seconds; try again"):
            charge(ledger)
        assert len(read_ledger(place).entries) == 0
    with opened(place) as ledger:
        charge(ledger)


def test_a_client_that_falls_asleep_with_the_lock_is_ended_by_the_server(postgres: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(postgres_store, "IDLE_SECONDS", 1)
    place = postgres.new_ledger()
    with opened(place) as ledger:
        with pytest.raises(LedgerUnreachable, match="nothing was written"), ledger._chronicle.writing() as page:
            time.sleep(2)
            another = opened(place)
            charge(another)
            page.commit()
        assert len(ledger.entries()) == 1


class Cut:
    """A way to the server that breaks when a client says COMMIT: before the server hears it, or before it answers."""

    def __init__(self, port: int, *, heard: bool) -> None:
        self._server, self._heard, self.cuts = port, heard, 0
        self.armed = self.last = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server))
            threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
            threading.Thread(target=self._back, args=(server, client), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        while said := _received(client):
            if self.armed and b"COMMIT\0" in said:
                self.armed, self.cuts = False, self.cuts + 1
                if self.last:
                    self._listening.shutdown(socket.SHUT_RDWR)
                    self.close()
                if self._heard:
                    # No more of what the server says arrives; it has heard all.
                    client.shutdown(socket.SHUT_RDWR)
                    server.sendall(said)
                    time.sleep(0.5)
                client.close()
                time.sleep(0.5)
                break
            server.sendall(said)
        _end(server)

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        while said := _received(server):
            try:
                client.sendall(said)
            except OSError:
                break
        _end(client)


def _received(one: socket.socket) -> bytes:
    try:
        return one.recv(65536)
    except OSError:
        return b""


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@contextmanager
def cut(postgres: Any, *, heard: bool) -> Iterator[tuple[Cut, str]]:
    way = Cut(postgres.port, heard=heard)
    try:
        yield way, postgres.new_ledger().replace(str(postgres.port), str(way.port))
    finally:
        way.close()


def test_a_commit_that_was_heard_and_not_answered_counts_once(postgres: Any) -> None:
    with cut(postgres, heard=True) as (way, place), opened(place) as ledger:
        way.armed = True
        entry = charge(ledger, key="k")
        assert (way.cuts, entry.number) == (1, 1)
        way.armed = True
        receipt = ledger.store(entry, "answer")
        assert way.cuts == 2 and ledger.answer_of(entry) == b"answer"
        assert verify_ledger(place, seal=(1, receipt.seal)).entries == (entry,)


def test_a_commit_that_was_not_heard_is_no_charge_and_said_to_be_none(postgres: Any) -> None:
    with cut(postgres, heard=False) as (way, place), opened(place) as ledger:
        way.armed = True
        with pytest.raises(LedgerUnreachable, match="nothing was written"):
            charge(ledger, key="k")
        assert way.cuts == 1 and ledger.find("k", plan_fingerprint="p", spend=Fraction(1, 10)) is None
        entry = charge(ledger, key="k")
        way.armed = True
        # What is paid for is stored in the end.
        ledger.store(entry, "answer")
        assert way.cuts == 2 and verify_ledger(place).answers.keys() == {1}


def test_what_became_of_a_commit_is_never_guessed(postgres: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(postgres_store, "SETTLE_SECONDS", 0.5)
    with cut(postgres, heard=True) as (way, place), opened(place) as ledger:
        way.armed = way.last = True
        with pytest.raises(LedgerUnreachable, match="has not said whether row 3 was written"):
            charge(ledger, key="k")
    # It was, and nobody drew for it.
    with opened(place.replace(str(way.port), str(postgres.port))) as ledger:
        found = ledger.find("k", plan_fingerprint="p", spend=Fraction(1, 10))
        assert found is not None and found.answer is None and ledger.spent() == Fraction(1, 10)


def test_an_answer_waits_for_a_server_that_is_away(own: PostgresServer, monkeypatch: Any) -> None:
    place = own.new_ledger()
    with opened(place) as ledger:
        first, second = charge(ledger), charge(ledger)
        own.stop(signal.SIGQUIT)
        with ThreadPoolExecutor(1) as pool:
            stored = pool.submit(ledger.store, first, "answer")
            time.sleep(0.5)
            own.start()
            receipt = stored.result(timeout=30)
        assert verify_ledger(place, seal=(1, receipt.seal)).answers.keys() == {1}
        own.stop(signal.SIGQUIT)
        monkeypatch.setattr(answers, "PATIENCE_SECONDS", 0.2)
        with pytest.raises(LedgerUnreachable):
            ledger.store(second, "answer")
        own.start()
