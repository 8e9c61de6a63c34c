"""A release on the command line: as text, as JSON, into files, with estimates beside; and when it cannot be shown."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, NamedTuple, TypeAlias, final

import typer

from dxgeom.cli.options import TableFormat
from dxgeom.cli.terminal import (
    Outcome,
    error_dict,
    print_csv,
    print_error,
    print_lines,
    print_parts,
    print_screen,
    print_table,
    unshown,
)
from dxgeom.errors import AlreadyCharged, DataError, DxgeomError
from dxgeom.privacy.measures import PURE
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import ONE_ROW, PUBLIC_NUMBER

if TYPE_CHECKING:
    from dxgeom.planner.estimates.estimate import Estimate, EstimateName, EstimateWish
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.release import Release
    from dxgeom.universe.labels import PolicyLabels


class EstimateChoice(StrEnum):
    """What is asked of estimates: the names that Python takes."""

    auto = "auto"
    consistent = "consistent"
    integers = "integers"
    records = "records"
    model = "model"
    none = "none"


EstimateOption: TypeAlias = Annotated[
    EstimateChoice | None,
    typer.Option(
        "--estimate",
        help="Also show the answers moved to what is known, which reads no data and costs nothing: 'auto', none "
        "negative, and all agree; 'consistent', they only agree; 'integers', whole counts besides; 'records', whole "
        "tables are those of some records, in parts; 'model', one histogram explains all tables, for few records. "
        "'none': not even the model that a plan shows where noise is much of its answers.",
    ),
]
ConsistentOption: TypeAlias = Annotated[
    bool, typer.Option("--consistent", help="The same as --estimate consistent, weighed by the answers' variances.")
]
NonnegativeOption: TypeAlias = Annotated[
    bool, typer.Option("--nonnegative", help="With --consistent: answers that cannot be negative are not.")
]
IntegersOption: TypeAlias = Annotated[
    bool, typer.Option("--integers", help="With --consistent: answers that are whole numbers are so.")
]


class Bars(NamedTuple):
    """The confidence of error bars, whether all hold at once, and whether everything is shown beside them."""

    level: float
    joint: bool
    everything: bool = False


@final
@dataclass(frozen=True)
class ShownEstimate:
    """Whether an estimate is shown beside the released answers, what is asked of it, and which error bars."""

    named: EstimateChoice | None
    consistent: bool
    nonnegative: bool
    integers: bool
    output: TableFormat
    bars: Bars

    def __post_init__(self) -> None:
        if (self.nonnegative or self.integers) and not self.consistent:
            raise typer.BadParameter("--nonnegative and --integers are about the answers of --consistent: give it, too")
        if self.consistent and self.named is not None:
            raise typer.BadParameter("--estimate and --consistent are the same in two ways: give one of them")
        if self.consistent and self.output in (TableFormat.csv, TableFormat.parquet):
            raise typer.BadParameter(
                "answers that agree are shown as text or JSON, beside the released ones; take --estimate for a table"
            )

    @property
    def name(self) -> EstimateName | None:
        """What is asked for by name."""
        from dxgeom.planner.estimates.estimate import named_estimate

        return None if self.named is None else named_estimate(self.named.value)

    @property
    def wish(self) -> EstimateWish | None:
        """What is asked; None where no estimate is."""
        from dxgeom.planner.estimates.estimate import EstimateWish, as_wish

        if self.name is not None:
            return as_wish(self.name)
        return EstimateWish(self.nonnegative, self.integers, by_loss=False) if self.consistent else None

    def check(self, plan: Plan, spend: Fraction) -> None:
        """Raises: TooLarge, before anything is charged, when there are too many answers; UnsupportedCombination for a
        level that no error bar can be computed for, and for answers without bars, or without such an estimate."""
        if self.wish is not None:
            plan.require_estimate(self.wish)
        plan.require_bars(self.bars.level, spend, joint=self.bars.joint)

    def of(self, released: Release[Any]) -> Estimate | DxgeomError | None:
        """The estimate, or why there is none: the released answers are paid for, and shown in any case."""
        from dxgeom.planner.estimates.estimate import FAILURES, refusal_of

        try:
            if self.consistent:
                return released.consistent(nonnegative=self.nonnegative, integers=self.integers)
            own = self.named is None and self.output in (TableFormat.text, TableFormat.json)
            name = released.shown_estimate if own else self.name
            return None if name is None else released.estimate(name)
        except FAILURES as error:
            return refusal_of(error)

    def document(self, estimate: Estimate | DxgeomError | None) -> dict[str, Any]:
        """What goes into the release's JSON; nothing where nothing was asked for."""
        if estimate is None:
            return {}
        if isinstance(estimate, DxgeomError):
            document = {"error": error_dict(estimate)}
        elif self.consistent:
            document = estimate.as_dict()
        else:
            document = estimate.document(self.bars.level, joint=self.bars.joint)
        return {"consistent" if self.consistent else "estimate": document}


_MOST_ROWS: Final = 100


def print_estimate(estimate: Estimate | DxgeomError | None, labels: PolicyLabels | None) -> None:
    """A table of the estimates, and what was done to the released answers."""
    if isinstance(estimate, DxgeomError):
        print_lines(["", f"no estimates: {estimate}"])
    elif estimate is not None:
        pairs = estimate.pairs(labels)
        rows = [(name, f"{released:,.6g}", f"{value:,.6g}") for name, released, value in pairs[:_MOST_ROWS]]
        if rows:
            print_lines([""])
            print_table(("query", "released", "estimate"), rows)
        more = [f"{len(pairs) - len(rows):,} more are in --format csv, parquet or json"] if pairs[len(rows) :] else []
        print_lines(["", *more, *estimate.done])


REHEARSAL = "REHEARSAL"
"""Stands before every line of a rehearsal."""


@contextmanager
def kept_safe(released: Release[Any]) -> Iterator[None]:
    """Whatever fails while the release is shown, says where its answers are.

    A full disk, a closed pipe, a lost terminal or a mistake of dxgeom ends with the exit code of stored answers.
    Raises: AlreadyCharged; a mistake as it is, with that exit code.
    """
    booking = released.receipt
    where = f"the answers are safe in entry {booking.entry}: {booking.command}" if booking else "nothing was spent"
    try:
        yield
        missed = unshown()
        if missed is not None:
            raise missed
    except (OSError, DxgeomError) as error:
        said = f"the release could not be shown: {error.strerror or error}" if isinstance(error, OSError) else error
        if booking is None:
            raise error if isinstance(error, DxgeomError) else DataError(f"{said}; {where}") from error
        raise AlreadyCharged(f"{said}; {where}", booking.entry, stored=True) from error
    except BaseException as mistake:
        print_error(where)
        if booking is not None and isinstance(mistake, Exception):
            mistake.exit_code = Outcome.STORED  # type: ignore[attr-defined]
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


def print_release(released: Release[Any], bars: Bars, estimate: Estimate | DxgeomError | None) -> None:
    """The release as text, and the estimate; of a rehearsal every line says so."""
    with marked(rehearsal=released.rehearsal):
        _print(released, bars)
        print_estimate(estimate, released.mechanism.account.labels)


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


def _batches(released: Release[Any], bars: Bars, estimate: Estimate | None) -> Iterator[Mapping[str, Any]]:
    """The rows of a table, with estimates beside the answers where there are some."""
    shown = released.answer if estimate is None else estimate
    batches: Iterator[Mapping[str, Any]] = shown.batches(
        bars.level, joint=bars.joint, labels=released.mechanism.account.labels
    )
    return batches


def write_answer_table(
    released: Release[Any], bars: Bars, target: BinaryIO, suffix: str, estimate: Estimate | None = None
) -> None:
    """The answers as rows of a CSV or Parquet file; of a rehearsal every row says so."""
    from dxgeom.engines.answer_frames import write_batches

    batches = _batches(released, bars, estimate)
    write_batches((_marked_rows(released, batch) for batch in batches), target, suffix)


def write_records(released: Release[Any], task: str, target: BinaryIO, suffix: str) -> None:
    """The records of a task, or of the whole release where its name is empty, as rows of a CSV or Parquet file; of a
    rehearsal every row says so."""
    from dxgeom.engines.answer_frames import write_batches

    answers = released.answer[task] if task else released.answer
    write_batches((_marked_rows(released, batch) for batch in answers.record_batches), target, suffix)


def _marked_rows(released: Release[Any], columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """The columns of a table; of a rehearsal with one more, which says so."""
    rows = next(len(one[0]) if isinstance(one, tuple) else len(one) for one in columns.values())
    return {"rehearsal": [REHEARSAL] * rows, **columns} if released.rehearsal else columns


def print_answer_table(
    released: Release[Any], bars: Bars, output: TableFormat, estimate: Estimate | DxgeomError | None
) -> None:
    """The answers as CSV or Parquet; of a rehearsal every row says so. What text warns of goes to standard error."""
    if isinstance(estimate, DxgeomError):
        print_error(f"no estimates: {estimate}")
        estimate = None
    if output is TableFormat.parquet:
        write_answer_table(released, bars, sys.stdout.buffer, ".parquet", estimate)
    else:
        _print_csv(released, bars, estimate)
    for warning in released.answer.warnings:
        print_error(f"warning: {warning}")


def _print_csv(released: Release[Any], bars: Bars, estimate: Estimate | None) -> None:
    from dxgeom.numeric.arrays import plain_columns

    for number, batch in enumerate(_batches(released, bars, estimate)):
        table = plain_columns(_marked_rows(released, batch))
        print_csv(tuple(table), zip(*table.values(), strict=True), headed=not number)


def _print(released: Release[Any], bars: Bars) -> None:
    from dxgeom.planner.answers.tables import parts_of
    from dxgeom.report.short_release import release_screen

    if not bars.everything:
        margin = len(REHEARSAL) + 2 if released.rehearsal else 0
        print_screen(release_screen(released, bars.level, joint=bars.joint), margin)
        return
    dropped = f"; left out as outside the universe: {released.dropped:,}" if released.dropped else ""
    records = "records" if released.people is None else released.people.records_are
    counted = f"the number of {records} is private" if released.records is None else f"{released.records:,} {records}"
    made_up = " that are made up" if released.rehearsal else ""
    print_lines([f"{released.mechanism.account.policy_name}: {counted}{made_up}{dropped}"])
    said = print_parts(parts_of(released.as_dict(bars.level, joint=bars.joint)))
    print_lines(
        [
            "",
            f"mechanism  {released.mechanism.name}",
            *said,
            *([] if released.records is None else [f"public     {PUBLIC_NUMBER}"]),
            f"people     {ONE_ROW if released.people is None else released.people.sentence}",
            *account_lines(released),
            *(f"warning    {warning}" for warning in released.answer.warnings),
        ]
    )


def account_lines(released: Release[Any]) -> list[str]:
    """What was spent, and where that is written down."""
    budget, booking = released.mechanism.account.budget, released.receipt
    currency = released.mechanism.account.privacy_measure
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
