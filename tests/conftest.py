"""What every test may use, and which tests need more than the test environment holds."""

from __future__ import annotations

import os
import signal
import time
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from reference.project import LONG_TESTS, POLICIES
from services.postgres import PostgresServer
from services.requirements import missing
from services.spark import session_of
from services.tables import HERE, SERVERS, PostgresTables, as_parquet, as_relation, as_spark, as_sqlite

# A shell has its background work ignore interrupts, and children inherit that: some tests send them one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests never time: a busy machine is no failure. Where changes are judged, examples are the same each time;
# elsewhere every run tries new ones.
settings.register_profile("judge", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("judge" if os.environ.get("CI") else "search")

MUST_RUN = frozenset(filter(None, os.environ.get("DXGEOM_MUST_RUN", "").split(",")))
"""Libraries and services whose tests may neither be skipped nor be missing."""
UNTIL = float(os.environ.get("DXGEOM_UNTIL", "inf"))
"""In seconds of the clock since 1970: long tests that have not begun by then are skipped, and counted."""
MORE_FOR_PRIVACY = 1200
"""So many seconds later are those of privacy skipped that have not begun."""
TIMES = os.environ.get("DXGEOM_TIMES")
"""The file that gets the CPU seconds of every test, most first; none where it is not set."""
LONG = frozenset(LONG_TESTS.read_text(encoding="utf-8").splitlines())
"""Tests that took more than half a second of a processor when all were timed: they have the mark ``long``."""
DAY = os.environ.setdefault("DXGEOM_DAY", str(int(time.time() // 86400)))
"""The same for the processes that share the tests of one run."""
PRIVACY = ("tests/laws/", "tests/statistical/", "tests/unit/audit/", "tests/unit/ledger/", "tests/unit/mechanisms/")
"""Where tests are of what privacy rests on: long ones come first."""
_TIMES: list[tuple[float, str]] = []
_PASSED: set[str] = set()
_SKIPPED: set[str] = set()


@pytest.fixture(scope="session")
def policies() -> Path:
    """The folder of example policies and their data."""
    return POLICIES


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session in this process; mark those that use it with ``service("spark")``."""
    session = session_of("local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of this process; mark those that use it with ``service("postgres")``."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(
    params=[*HERE, *(pytest.param(name, marks=pytest.mark.service(service)) for name, service in SERVERS.items())]
)
def keep(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[pa.Table], Any]:
    """How one of the engines keeps a table."""
    if request.param == "PostgreSQL":
        way: Callable[[pa.Table, Path], Any] = PostgresTables(request.getfixturevalue("postgres")).keep
    elif request.param == "Spark":
        session = request.getfixturevalue("spark")
        way = lambda table, folder: as_spark(session, table, folder)  # noqa: E731
    else:
        way = {"parquet": as_parquet, "relation": as_relation, "SQLite": as_sqlite}[request.param]
    return lambda table: way(table, tmp_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what is long, before tests are chosen by marks. Of long ones those of privacy come first, the others in
    another order every day: where time ends, other tests are left out each time."""
    for item in items:
        if item.nodeid in LONG:
            item.add_marker("long")
    if str(config.option.markexpr) == "long":
        items.sort(key=lambda item: (not item.nodeid.startswith(PRIVACY), zlib.crc32(f"{DAY} {item.nodeid}".encode())))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test for want of a library or a service, unless it must run; a long one for want of time."""
    if item.get_closest_marker("long"):
        if item.nodeid.startswith(PRIVACY):
            if time.time() > UNTIL + MORE_FOR_PRIVACY:
                pytest.skip("no time was left for this long test of privacy")
        elif time.time() > UNTIL:
            pytest.skip("no time was left for this long test")
    for mark in [*item.iter_markers("needs"), *item.iter_markers("service")]:
        (name,) = mark.args
        item.user_properties.append(("needs", name))
        reason = missing(name) if mark.name == "service" else _not_installed(name)
        if name not in MUST_RUN and reason is not None:
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Counts what the test and the processes that it waited for took of the processor."""
    before = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", sum(os.times()[:4]) - before))


def _not_installed(library: str) -> str | None:
    return None if find_spec(library) else f"{library} is not installed; make test-extras runs this"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remembers whose tests have passed or were skipped, also those that ran in other processes."""
    needed = {name for key, name in report.user_properties if key == "needs"}
    if report.when == "teardown":
        _TIMES.extend((seconds, report.nodeid) for key, seconds in report.user_properties if key == "cpu")
    if report.when == "call" and report.passed:
        _PASSED.update(needed)
    if report.skipped and not hasattr(report, "wasxfail"):
        _SKIPPED.update(needed)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes times down; fails when no test passed of what must run, or one was skipped for whatever reason."""
    if hasattr(session.config, "workerinput"):
        return
    if TIMES is not None:
        lines = (f"{seconds:8.2f} {name}\n" for seconds, name in sorted(_TIMES, reverse=True))
        Path(TIMES).write_text("".join(lines), encoding="utf-8")
    for names, what in ((MUST_RUN - _PASSED, "no test passed that needs"), (MUST_RUN & _SKIPPED, "skipped: a test of")):
        if names:
            print(f"\n{what} {', '.join(sorted(names))}, named in DXGEOM_MUST_RUN")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
