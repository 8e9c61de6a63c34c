"""A release on the command line: as text, as JSON, into files; and what is said when it cannot be shown."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from dxgeom.cli.agreeing import Bars, print_agreeing
from dxgeom.cli.answers import print_answers
from dxgeom.cli.terminal.outcomes import Outcome
from dxgeom.cli.terminal.printing import print_csv, print_error, print_lines
from dxgeom.errors import AlreadyCharged, DxgeomError
from dxgeom.privacy.currencies import PURE
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import ONE_ROW

if TYPE_CHECKING:
    from dxgeom.planner.answers.consistency import ConsistentAnswers
    from dxgeom.planner.release import Release

REHEARSAL = "REHEARSAL"
"""Stands before every line of a rehearsal."""


@contextmanager
def kept_safe(released: Release[Any]) -> Iterator[None]:
    """Whatever fails while the release is shown, says where its answers are, on standard error.

    A full disk, a closed pipe or a lost terminal ends with the exit code of stored answers; anything else goes on to
    who can name it.
    """
    booking = released.booking
    where = f"the answers are safe in entry {booking.entry}: {booking.command}" if booking else "nothing was spent"
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        _drop_output()
        with contextlib.suppress(OSError):
            print_error(f"error: the release could not be shown: {error.strerror or error}; {where}")
        raise typer.Exit(Outcome.STORED if booking else Outcome.REFUSED) from error
    except DxgeomError as error:
        if booking is None:
            raise
        raise AlreadyCharged(f"{error}; {where}", booking.entry, stored=True) from error
    except BaseException:
        with contextlib.suppress(OSError):
            print_error(where)
        raise


@contextmanager
def whatever_becomes_of_the_terminal() -> Iterator[None]:
    """A terminal that is closed does not end what is under way: what was charged is still stored."""
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(hangup, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(hangup, before)


def print_release(released: Release[Any], bars: Bars, agreeing: ConsistentAnswers | DxgeomError | None) -> None:
    """The release as text, and the answers that agree; of a rehearsal every line says so."""
    with marked(rehearsal=released.rehearsal):
        _print(released, bars)
        print_agreeing(agreeing)


@contextmanager
def marked(*, rehearsal: bool) -> Iterator[None]:
    """Every line that is printed below says that it is of a rehearsal, if it is."""
    if not rehearsal:
        yield
        return
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines):
        yield
    sys.stdout.writelines(f"{REHEARSAL}  {line}".rstrip() + "\n" for line in lines.getvalue().splitlines())


def write_answer_table(released: Release[Any], bars: Bars, target: BinaryIO, suffix: str) -> None:
    """The answers as rows of a CSV or Parquet file; of a rehearsal every row says so."""
    from dxgeom.engines.results.answer_files import write_batches

    def marked(batch: Mapping[str, Any]) -> Mapping[str, Any]:
        rows = next(len(one[0]) if isinstance(one, tuple) else len(one) for one in batch.values())
        return {"rehearsal": [REHEARSAL] * rows, **batch} if released.rehearsal else batch

    write_batches(map(marked, released.answer.batches(bars.level, joint=bars.joint)), target, suffix)


def write_records(released: Release[Any], task: str, target: BinaryIO, suffix: str) -> None:
    """The records of a task, or of the whole release where its name is empty, as rows of a CSV or Parquet file; of a
    rehearsal every row says so."""
    from dxgeom.engines.results.answer_files import write_batches

    answers = released.answer[task] if task else released.answer
    marked = {"rehearsal": [REHEARSAL] * answers.rows} if released.rehearsal else {}
    write_batches(iter([{**marked, **answers.record_columns}]), target, suffix)


def print_answer_table(released: Release[Any], bars: Bars) -> None:
    """The answers as CSV; of a rehearsal every row says so. What text warns of goes to standard error."""
    from dxgeom.planner.answers.marginal_answers import MarginalAnswers

    if isinstance(released.answer, MarginalAnswers):
        write_answer_table(released, bars, sys.stdout.buffer, ".csv")
    else:
        columns = released.answer.columns(bars.level, joint=bars.joint)
        marked = {"rehearsal": [REHEARSAL] * len(columns["name"])} if released.rehearsal else {}
        table = {**marked, **columns}
        print_csv(tuple(table), zip(*table.values(), strict=True))
    for warning in released.answer.warnings:
        print_error(f"warning: {warning}")


def _print(released: Release[Any], bars: Bars) -> None:
    dropped = f"; left out as outside the universe: {released.dropped:,}" if released.dropped else ""
    records = "records" if released.people is None else released.people.records_are
    counted = f"the number of {records} is private" if released.records is None else f"{released.records:,} {records}"
    made_up = " that are made up" if released.rehearsal else ""
    print_lines([f"{released.mechanism.account.policy_name}: {counted}{made_up}{dropped}"])
    said = print_answers(released.answer, bars)
    print_lines(
        [
            "",
            f"mechanism  {released.mechanism.name}",
            *said,
            f"people     {ONE_ROW if released.people is None else released.people.sentence}",
            *account_lines(released),
            *(f"warning    {warning}" for warning in released.answer.warnings),
        ]
    )


def account_lines(released: Release[Any]) -> list[str]:
    """What was spent, and where that is written down."""
    budget, booking = released.mechanism.account.budget, released.booking
    currency = released.mechanism.account.currency
    how = "" if currency == PURE else f" ({currency}: squares add up)"
    spent = f"{plain(released.spent)}, remaining {plain(released.remaining)} of {plain(budget)}{how}"
    if booking is None:
        return [f"spent      nothing; a release would have spent {plain(released.spent)} of {plain(budget)}"]
    return [
        f"spent      {spent}",
        f"ledger     {booking.ledger}, entry {booking.entry}",
        f"seal       {booking.entry}:{booking.seal}",
        *([f"repeated   as it was at {released.time}; nothing was spent again"] if released.repeated else []),
        *([] if booking.waiting is None else [f"waiting    beside the ledger, to be booked later: {booking.waiting}"]),
        *([] if booking.warning is None else [f"warning    {booking.warning}"]),
    ]


def _drop_output() -> None:
    """What is still to be written goes nowhere, so that the end of the process does not fail on it again."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
