"""``dxgeom open``, ``release --period``, ``close``, ``key`` and ``ledger show``: a year of months, told by commands."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.ledger.ledger import Ledger
from dxgeom.planner.instalments import keys as key_files
from dxgeom.planner.instalments import telling
from dxgeom.planner.instalments.keys import alone_with, make_key, read_keys, replaced, with_new_key
from dxgeom.planner.instalments.schedule import schedule_of

pytest.importorskip("cryptography")
pytestmark = pytest.mark.long

POLICY = """policy: visits
privacy: concentrated
universe: {attributes: {ward: [a, b]}}
time: {column: loaded, from: 2025-01-01, to: 2025-04-30, every: month, after: false}
rules:
  - {presence: true, epsilon: 1}
  - {change: ward, epsilon: 1}
"""
QUERIES = "queries:\n  - {total: so far}\n"
ROWS = "ward,loaded\na,2024-12-30\na,2025-01-02\nb,2025-01-31\nb,2025-02-03\n"
MONTHS = ["2025-01-01", "2025-02-01", "2025-03-01", "2025-04-01"]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


def ran(*words: object) -> Any:
    found = run(*words, "--format", "json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("planned")
    for name, text in {"policy.yaml": POLICY, "queries.yaml": QUERIES, "rows.csv": ROWS}.items():
        (home / name).write_text(text)
    files = (home / "policy.yaml", home / "queries.yaml")
    assert run("plan", *files, "--mechanism", "gaussian", "--output", home / "plan.json").exit_code == 0
    return home


@pytest.fixture
def home(planned: Path, tmp_path: Path) -> Path:
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    (tmp_path / "books").mkdir()
    make_key(tmp_path / "keys" / "key")
    return tmp_path


def release(home: Path, period: str, *more: object, table: object = "rows.csv", book: str = "l.db") -> Result:
    words = ("release", home / "plan.json", home / str(table), "--ledger", home / "books" / book, "--period", period)
    return run(*words, "--key", home / "keys" / "key", *more)


def opened(home: Path) -> Any:
    return ran("open", home / "plan.json", "--ledger", home / "books" / "l.db", "--spend", 1)


def test_a_window_is_opened_released_shown_and_closed(home: Path) -> None:
    book = home / "books" / "l.db"
    assert opened(home)["periods"] == 5
    assert opened(home)["repeated"]
    for period in ("before", *MONTHS[:2]):
        assert release(home, period).exit_code == 0
    again = release(home, MONTHS[1], "--format", "json", table="none.csv")
    assert json.loads(again.stdout)["repeated"]
    [window] = ran("ledger", "show", book)["instalments"]
    assert [one["released"] is not None for one in window["periods"]] == [True] * 3 + [False] * 2
    assert (window["entry"], window["released"], window["next"], window["spent"]) == (1, 3, MONTHS[2], "1")
    assert window["missed"] == [MONTHS[2]]  # of the last one it is not known when it ends
    shown = run("ledger", "show", book, "--all").stdout
    assert "3 of 5" in shown
    assert "released in instalments" in shown
    assert MONTHS[2] in run("ledger", "show", book, "--entry", 1, "--all").stdout
    closing = ran("close", home / "plan.json", "--ledger", book)
    assert (closing["periods_told"], closing["spent"]) == (3, "1")
    [window] = ran("ledger", "show", book)["instalments"]
    assert (window["next"], window["missed"], window["closed"] is not None) == (None, [], True)
    assert "closed" in run("ledger", "show", book).stdout
    assert release(home, MONTHS[2]).exit_code == 2


@pytest.mark.parametrize(
    ("is_open", "period", "said"),
    [
        (False, "before", "was not opened"),
        (True, "2026-01-01", "there is no period"),
        (True, MONTHS[1], "out of turn"),
    ],
)
def test_what_is_not_due_ends_with_2_and_reads_nothing(home: Path, is_open: bool, period: str, said: str) -> None:
    if is_open:
        opened(home)
    found = release(home, period, table="none.csv")
    assert (found.exit_code, said in found.stderr, "nothing was read" in found.stderr) == (2, True, True)


def test_a_period_to_come_and_a_clock_that_was_set_back_end_with_2(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(home)
    at = {"now": datetime(2024, 12, 31, 23, tzinfo=UTC)}
    monkeypatch.setattr(Ledger, "now", lambda self: at["now"])
    found = release(home, "before", table="none.csv")
    assert (found.exit_code, "set back" in found.stderr) == (2, True)
    at["now"] = datetime(2099, 1, 1, tzinfo=UTC)
    assert release(home, "before").exit_code == 0
    monkeypatch.setattr(telling, "_SLACK", timedelta(days=10**4))  # as if the ledger were as old as that
    at["now"] = datetime(2025, 1, 31, 23, tzinfo=UTC)
    found = release(home, MONTHS[0], table="none.csv")
    assert (found.exit_code, "is not over before 2025-02-01 UTC" in found.stderr) == (2, True)


def test_wrong_keys_and_copied_ledgers_are_refused(home: Path) -> None:
    opened(home)
    assert release(home, "before").exit_code == 0
    make_key(home / "keys" / "other")
    shutil.copy(home / "books" / "l.db", home / "books" / "copy.db")
    assert release(home, MONTHS[0]).exit_code == 0
    wrong = release(home, MONTHS[1], "--key", home / "keys" / "other", table="none.csv")
    assert (wrong.exit_code, "closed with another key" in wrong.stderr) == (1, True)
    behind = release(home, MONTHS[0], table="none.csv", book="copy.db")
    assert (behind.exit_code, "is behind" in behind.stderr) == (1, True)
    gone = release(home, MONTHS[1], "--key", home / "keys" / "none", table="none.csv")
    assert (gone.exit_code, "dxgeom key make" in gone.stderr) == (1, True)


def test_keys_are_made_found_rotated_and_forgotten_and_never_shown(home: Path) -> None:
    opened(home)
    assert release(home, "before").exit_code == 0
    file, book = home / "keys" / "key", home / "books" / "l.db"
    first = ran("key", "where", "--key", file)
    assert run("key", "make", "--key", file).exit_code == 1
    rotated = ran("key", "rotate", home / "plan.json", "--ledger", book, "--key", file)
    assert (rotated["seals"], rotated["name"] != first["name"]) == (1, True)
    assert ran("key", "where", "--key", file)["earlier"] == 1
    assert release(home, MONTHS[0]).exit_code == 0
    assert ran("key", "forget", "--key", file)["forgotten"] == 1
    assert release(home, MONTHS[1]).exit_code == 0
    shown = [run("key", "where", "--key", file).output, run("ledger", "show", book, "--all").output]
    assert not any(line in one for line in file.read_text().split()[3:] for one in shown)
    assert {one.name for one in file.parent.iterdir()} == {"key", "key.lock", "key.seen"}


def _rotates(file: Path, times: int) -> None:
    for _ in range(times):
        with alone_with(file):
            with_new_key(read_keys(file))


def test_processes_that_rotate_at_once_lose_no_key(tmp_path: Path) -> None:
    file, first = tmp_path / "keys" / "key", make_key(tmp_path / "keys" / "key")
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_rotates, args=(file, 5)) for _ in range(3)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    found = read_keys(file)
    assert len({found.current, *found.earlier}) == 16
    assert found.earlier[-1] == first.current


def test_a_key_that_another_process_holds_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(home)
    monkeypatch.setattr(key_files, "PATIENCE", 0.05)
    file = home / "keys" / "key"
    with alone_with(file):
        found = run("key", "rotate", home / "plan.json", "--ledger", home / "books" / "l.db", "--key", file)
    assert (found.exit_code, "another process is at work" in found.stderr) == (1, True)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_change_that_is_ended_leaves_no_key_behind(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_key(tmp_path / "keys" / "key")
    old = made.file.with_name("key.4711.new")
    old.write_text("what an earlier version left")

    def ended(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync" if step == "fsync" else "pathlib.Path.replace", ended)
        with pytest.raises(KeyboardInterrupt), alone_with(made.file):
            replaced(made)
    assert {one.name for one in made.file.parent.iterdir()} == {"key", "key.lock"}
    made.file.with_name("key.new").write_text("of a process that was killed")
    with alone_with(made.file):
        assert not made.file.with_name("key.new").exists()
    assert read_keys(made.file).current == made.current


def _killed(change: Callable[[], object], step: str) -> None:
    """Run until its first call of that, where SIGKILL ends it."""
    module, name = (os, "fsync") if step == "fsync" else (Path, "replace")
    setattr(module, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    change()


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("changed", [False, True])
def test_a_killed_process_leaves_the_old_key_or_none_and_the_next_one_tidies_up(
    tmp_path: Path, step: str, changed: bool
) -> None:
    """A key is there whole, or not at all; what was written beside it is gone with the next command that changes it."""
    file = tmp_path / "keys" / "key"
    first = make_key(file) if changed else None
    change = (lambda: _rotates(file, 1)) if changed else (lambda: make_key(file))
    process = multiprocessing.get_context("fork").Process(target=_killed, args=(change, step))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert file.with_name("key.new").exists()
    if first is None:
        assert not file.exists()
        assert make_key(file) == read_keys(file)
    else:
        assert read_keys(file) == first
        _rotates(file, 1)
        assert read_keys(file).earlier == (first.current,)
    assert {one.name for one in file.parent.iterdir()} == {"key", "key.lock"}


@pytest.mark.parametrize(("zone", "hours"), [("Europe/Berlin", -1), ("America/New_York", 5), (None, 0)])
def test_a_period_is_over_where_the_policys_time_is(zone: str | None, hours: int) -> None:

    text = POLICY if zone is None else POLICY.replace("every: month", f"every: month, zone: {zone}")
    policy = dx.parse_policy(text)
    plan = dx.plan(policy.compile(), dx.parse_queries(QUERIES, policy), mechanism="gaussian")
    schedule = schedule_of(plan, "loaded")
    assert schedule.ends(1) == datetime(2025, 2, 1, tzinfo=UTC) + timedelta(hours=hours)
    # The last month has no other after it, and is over with the window.
    assert schedule.ends(4).date() == datetime(2025, 5, 1).date()


def test_a_count_with_every_is_told_to_leave_the_count_out(home: Path) -> None:
    (home / "queries.yaml").write_text("queries:\n  - {count: true, every: month}\n")
    found = run("plan", home / "policy.yaml", home / "queries.yaml")
    assert found.exit_code == 1
    assert "leave out 'count': 'every' counts by itself; a condition stands behind 'where'" in found.stderr
