"""What every test may use, and which tests need more than the test environment holds."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from reference.calibration import LONG_SECONDS, SecondsOfASlowCore, is_crowded
from reference.long_tests import SLOTS, of_privacy, slot_of
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
MORE_FOR_PRIVACY = 300
"""So many seconds later are those of privacy skipped that have not begun."""
TIMES = os.environ.get("DXGEOM_TIMES")
"""The file that gets the seconds of every test, most first; none where it is not set."""
LONG = frozenset(LONG_TESTS.read_text(encoding="utf-8").splitlines())
"""Tests that took more than half a second of a slow core when all were timed: they have the mark ``long``."""
SLOT = os.environ.get("DXGEOM_SLOT")
"""Which slot's long tests run, beside those of privacy; all do where it is not set."""
MARKS_OF_LONG_TESTS = ("long", "service", "needs")
"""A test without one of these must be short."""
MOST_SECONDS = (4 if os.environ.get("CI") else 2) * LONG_SECONDS
"""A short test that takes more fails; whatever machine CI runs on may be slow at what another does fast."""
NEW_MODULES = 20
"""A test that was the first to load so many modules is not judged: others would have loaded them."""
_SECONDS = SecondsOfASlowCore()
_SHARE: dict[str, int] = {}
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
    """Marks what is long, before tests are chosen by marks. Of long ones those of privacy come first; where one slot
    runs, the others' are left out."""
    for item in items:
        if item.nodeid in LONG:
            item.add_marker("long")
        for mark in list(item.iter_markers("service")):
            # Where processes share the tests, each service is started by one of them.
            item.add_marker(pytest.mark.xdist_group(mark.args[0]))
    if str(config.option.markexpr) != "long":
        return
    items.sort(key=lambda item: not of_privacy(item.nodeid))
    if SLOT is None:
        return
    others = [item for item in items if item.get_closest_marker("long") and not of_privacy(item.nodeid)]
    later = {item for item in others if slot_of(item.nodeid) != int(SLOT) % SLOTS}
    privacy = sum(item.get_closest_marker("long") is not None and of_privacy(item.nodeid) for item in items)
    _SHARE.update(privacy=privacy, others=len(others), now=len(others) - len(later))
    config.hook.pytest_deselected(items=[item for item in items if item in later])
    items[:] = [item for item in items if item not in later]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected lives as long as the tests: no search for garbage looks at it, then or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test for want of a library or a service, unless it must run; a long one for want of time."""
    if item.get_closest_marker("long"):
        if of_privacy(item.nodeid):
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
    """Counts what the test and the processes that it waited for took of the processor, in seconds of a slow core;
    fails a short test that takes far more than it may."""
    before, loaded = sum(os.times()[:4]), len(sys.modules)
    try:
        result = yield
    finally:
        # Where it looks too long, the machine may have become slower: it is measured again.
        seconds = _SECONDS.of(sum(os.times()[:4]) - before, above=MOST_SECONDS)
        item.user_properties.append(("cpu", seconds))
    first = len(sys.modules) - loaded >= NEW_MODULES
    marked = any(item.get_closest_marker(mark) for mark in MARKS_OF_LONG_TESTS)
    if seconds > MOST_SECONDS and not (marked or first or is_crowded()):
        pytest.fail(
            f"This took {seconds:.2f} s of a slow core, and a test that is not marked long may take {LONG_SECONDS}. "
            "Make it cheaper, or mark it as CONTRIBUTING.md says.",
            pytrace=False,
        )
    return result


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


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Learns from one of the processes that share the tests which slot they ran."""
    _SHARE.update(getattr(node, "workeroutput", {}).get("share", {}))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says which tests took longest, and which share of long ones ran."""
    short = sorted(((seconds, name) for seconds, name in _TIMES if name not in LONG), reverse=True)[:10]
    terminalreporter.section("the ten longest, in seconds of a slow core" if short else "times")
    for seconds, name in short:
        terminalreporter.line(f"{seconds:8.2f} {name}")
    if _SHARE and SLOT is not None:
        terminalreporter.line(
            f"long tests: slot {int(SLOT) % SLOTS + 1} of {SLOTS}: all {_SHARE['privacy']} of privacy, and "
            f"{_SHARE['now']} of {_SHARE['others']} others; all others run within {SLOTS} days"
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes times down; fails when no test passed of what must run, or one was skipped for whatever reason."""
    gc.unfreeze()
    if hasattr(session.config, "workerinput"):
        session.config.workeroutput["share"] = _SHARE
        return
    if TIMES is not None:
        lines = (f"{seconds:8.2f} {name}\n" for seconds, name in sorted(_TIMES, reverse=True))
        Path(TIMES).write_text("".join(lines), encoding="utf-8")
    for names, what in ((MUST_RUN - _PASSED, "no test passed that needs"), (MUST_RUN & _SKIPPED, "skipped: a test of")):
        if names:
            print(f"\n{what} {', '.join(sorted(names))}, named in DXGEOM_MUST_RUN")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
