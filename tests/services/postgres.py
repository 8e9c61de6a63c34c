"""A real PostgreSQL server on loopback, run by an unprivileged user, in a temporary folder of its own."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("initdb", "postgres")
SUPERUSER = "postgres"
_SETTINGS = {"listen_addresses": "127.0.0.1", "max_connections": "60", "log_min_messages": "warning", "timezone": "UTC"}
_NUMBERS = itertools.count(1)


def program(name: str) -> str | None:
    """The path of one of the server's programs, which Debian keeps out of PATH."""
    found = shutil.which(name)
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return found or (str(kept[-1]) if kept else None)


class PostgresServer:
    """A server: started when made, stopped by :meth:`close`, with nothing left of it.

    Whoever connects from this machine is trusted, but for ``rules``, lines of pg_hba.conf that go before.
    """

    def __init__(self, *rules: str, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dxgeom-postgres-"))
        self._data = self.folder / "data"
        if os.geteuid() == 0:
            shutil.chown(self.folder, SUPERUSER)
        self._run("initdb", "-D", self._data, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        kept = (self._data / "pg_hba.conf").read_text()
        (self._data / "pg_hba.conf").write_text("\n".join([*rules, kept]))
        self._settings = {**_SETTINGS, "unix_socket_directories": str(self.folder), **settings}
        self.port = _free_port()
        self.start()

    def url(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """Where a database is, for any client."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The name of a new, empty database."""
        name = f"tests_{os.getpid()}_{next(_NUMBERS)}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def new_ledger(self, user: str = SUPERUSER) -> str:
        """The URL of a ledger that nobody has begun."""
        return f"{self.url(user=user)}?ledger=tests_{os.getpid()}_{next(_NUMBERS)}"

    def execute(
        self, statement: str, *values: object, database: str = "postgres", user: str = SUPERUSER
    ) -> list[tuple]:
        """Rows of a statement, committed by itself."""
        import psycopg

        with psycopg.connect(self.url(database, user), autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*_as_nobody_special(), program("postgres"), "-D", str(self._data), "-p", str(self.port), *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", start_new_session=True,
            )  # fmt: skip
        self._wait_until_it_answers()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stops it: SIGTERM once all have gone, SIGINT at once and in order, SIGQUIT at once and without any."""
        if self._process.poll() is None:
            first_line = (self._data / "postmaster.pid").read_text().splitlines()[0]
            os.kill(int(first_line), how)
            self._process.wait(60)

    def as_replica(self) -> None:
        """From its next start on it follows a server that never says anything."""
        (self._data / "standby.signal").touch()
        if os.geteuid() == 0:
            shutil.chown(self._data / "standby.signal", SUPERUSER)

    def close(self) -> None:
        """Stops it and removes all that it kept."""
        # In order it would write all databases of all tests first.
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until_it_answers(self) -> None:
        import psycopg

        until = time.monotonic() + 60
        while True:
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    log = (self.folder / "log").read_text(errors="replace")
                    raise RuntimeError(f"PostgreSQL did not start:\n{log}") from None
                time.sleep(0.05)
            else:
                return

    def _run(self, name: str, *arguments: object) -> None:
        command = [*_as_nobody_special(), program(name), *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd="/")


def _as_nobody_special() -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["runuser", "-u", SUPERUSER, "--"] if os.geteuid() == 0 else []


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
