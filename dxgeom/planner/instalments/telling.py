"""From opening a plan to closing it: charged once, then period by period sealed, answered from seals, stored, shown.

Nothing released depends on a table but through a seal, and a period is sealed once: whoever ends the process, and
whenever, the next run finds no seal and reads the table, or finds one and works out the very same answers.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dxgeom.arguments import require
from dxgeom.errors import LedgerError, NotDue
from dxgeom.ledger.ledger import Ledger, ledger_of
from dxgeom.ledger.windows import ANSWER, CLOSE, InstalmentStep, Window
from dxgeom.noise.keyed import Bits, keyed_bits, rounded_coordinates
from dxgeom.numeric.json_text import compact_json
from dxgeom.planner.amounts import Amount
from dxgeom.planner.instalments.forms import TableReading
from dxgeom.planner.instalments.instalment import Instalment, stored_instalment, stored_text
from dxgeom.planner.instalments.keys import Keys, alone_with, place_of_key, read_keys
from dxgeom.planner.instalments.schedule import Schedule, schedule_of, time_of
from dxgeom.planner.instalments.sealing import PeriodSeal, closed, fresh_secret, opened, require_sums
from dxgeom.universe.periods import BEFORE

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan

_SLACK: Final = timedelta(minutes=5)
"""By so much clocks are set right."""


class Opening(NamedTuple):
    """``entry``: the ledger's, which the whole window was charged to; ``spent``: how much; ``periods``: their names;
    ``repeated``: it was open before."""

    entry: int
    spent: Fraction
    along: str
    periods: tuple[str, ...]
    repeated: bool


class Closing(NamedTuple):
    """``entry``, ``spent``: as of the opening; ``released``: how many periods; ``most_told``: of what was charged, what
    these account for at most, *rounded up*. The ledger keeps the whole charge."""

    entry: int
    spent: Fraction
    released: int
    most_told: float


def open_plan(
    plan: Plan,
    ledger: str | Path | Ledger,
    along: str | None,
    spend: Amount | None,
    purpose: str,
    allotment: str | None,
) -> Opening:
    """See :meth:`dxgeom.planner.plan.Plan.open`."""
    require(purpose, str, "purpose", "say in words what the answers are for")
    require(allotment, (str, NoneType), "allotment", "name an allotment of the ledger, or leave it out")
    schedule = _schedule(plan, along)
    amount = plan.at_spend(spend)
    schedule.form.law.check_size(schedule.form.mechanism.shares / amount)
    with ledger_of(ledger, schedule.form.mechanism.account) as book:
        known = book.window(_key(plan, schedule), plan_fingerprint=plan.fingerprint)
        if known is not None:
            _require_same(known, schedule)
            if known.entry.spend != amount:
                raise LedgerError(
                    f"this plan was opened with --spend {known.entry.spend}, as entry {known.entry.number}; it is not "
                    "opened twice; nothing was spent"
                )
            _require_open(known)
            return Opening(known.entry.number, amount, schedule.along, schedule.periods, True)
        said = purpose or f"{plan.purpose}, in {len(schedule.periods)} instalments along {schedule.along}"
        window = book.open_window(
            amount,
            _opening_text(schedule),
            key=_key(plan, schedule),
            purpose=said,
            plan_fingerprint=plan.fingerprint,
            owner=allotment,
        )
    return Opening(window.entry.number, amount, schedule.along, schedule.periods, False)


def tell(
    plan: Plan,
    data: Any,
    period: str,
    along: str | None,
    ledger: str | Path | Ledger,
    key: str | Path | None,
    how: TableReading,
) -> Instalment:
    """See :meth:`dxgeom.planner.plan.Plan.release_period`."""
    schedule = _schedule(plan, along)
    place = _place_of(schedule, period)
    period = schedule.periods[place]
    with ledger_of(ledger, schedule.form.mechanism.account) as book:
        window = _window(book, plan, schedule)
        if period in window.answers:
            return stored_instalment(schedule, window, window.answers[period], repeated=True)
        _require_open(window)
        keys = read_keys(place_of_key(key), ledger.file if isinstance(ledger, Ledger) else ledger)
        window = keys.not_behind(lambda: _window(book, plan, schedule))
        before = [opened(window, one, keys) for one in schedule.periods[:place] if one in window.seals]
        if period not in window.seals:
            _require_turn(schedule, window, place)
            _require_due(schedule, window, place, book.now())
            require_sums(before, _sums_each(schedule, place))
            sums = schedule.form.sums_of(place, data, window.entry.spend, how)
            with alone_with(keys.file):
                keys = read_keys(keys.file)  # they may have been rotated while the table was read
                book.take_step(closed(PeriodSeal(fresh_secret(keys, window, period), sums), keys, window, period))
            window = _window(book, plan, schedule)
            keys.remember(window)
        sealed = [*before, opened(window, period, keys)]
        require_sums(sealed, _sums_each(schedule, place + 1))
        values = answers_of(schedule, place, sealed, window.entry.spend)
        text = stored_text(period, schedule.names_in(place), values)
        released = book.take_step(InstalmentStep(window.entry.number, ANSWER, 0, period, None, "", text))
        keys.remember(_window(book, plan, schedule))
    return stored_instalment(schedule, window, released, repeated=released.text != text)


def answers_of(
    schedule: Schedule, place: int, sealed: list[PeriodSeal], spend: Fraction, bits: Bits | None = None
) -> tuple[Fraction, ...]:
    """The answers of a period, from the seals of all periods up to it and nothing else. ``bits``: in place of those of
    the seals' secrets, for tests."""
    form, law, own = schedule.form, schedule.form.law, schedule.answers_in(place)
    size = form.mechanism.shares / spend  # sums of people are in shares, and so is the noise
    rows = np.flatnonzero(form.takes[own].any(axis=0))
    numbers = np.flatnonzero(law.dependence[rows].any(axis=0))
    secrets = [sealed[one].secret if one <= place else None for one in schedule.numbers.tolist()]
    drawn = rounded_coordinates(law, size, rows.tolist(), numbers.tolist(), bits or keyed_bits(secrets))
    noise = [0] * law.dimension
    for row, one in zip(rows.tolist(), drawn, strict=True):
        noise[row] = one
    answers = form.answered([one.sums for one in sealed], noise, spend)
    return tuple(answers[answer] for answer in own)


def close_plan(plan: Plan, ledger: str | Path | Ledger, along: str | None) -> Closing:
    """See :meth:`dxgeom.planner.plan.Plan.close`."""
    schedule = _schedule(plan, along)
    with ledger_of(ledger, schedule.form.mechanism.account) as book:
        window = _window(book, plan, schedule)
        # What was sealed may have been released, whether or not that was written down.
        places = [schedule.periods.index(period) for period in window.seals]
        most = most_told(schedule, max(places, default=-1))
        if window.closing is None:
            text = compact_json({"released": len(window.answers), "share": most})
            book.take_step(InstalmentStep(window.entry.number, CLOSE, 0, "", None, "", text))
        entry = window.entry
        return Closing(entry.number, entry.spend, len(window.answers), float(entry.spend) * most)


def seal_again(plan: Plan, ledger: str | Path | Ledger, along: str | None, keys: Keys) -> int:
    """Close all seals of an opened plan with the current key, as far as they are not; how many were closed so.

    Raises: NotDue for a plan that is not open; LedgerError for an older copy, or without an earlier key.
    """
    schedule, again = _schedule(plan, along), 0
    with ledger_of(ledger, schedule.form.mechanism.account) as book:
        window = keys.not_behind(lambda: _window(book, plan, schedule))
        _require_open(window)
        for period in [*window.seals]:
            window = _window(book, plan, schedule)
            if window.seals[period].key != keys.name:
                book.take_step(closed(opened(window, period, keys), keys, window, period))
                again += 1
        keys.remember(_window(book, plan, schedule))
    return again


def most_told(schedule: Schedule, place: int) -> float:
    """What the answers of the periods up to a place tell at most, as a share of what the plan promises of all;
    *rounded up*, 1 where it is not worked out.

    Definition: max_e ‖(Δ_e)_J‖/d_e in the norm of the noise in the coordinates J that were released, whose law is the
    leading block's.
    """
    released = np.flatnonzero(schedule.coordinates <= place)
    return min(1.0, schedule.form.load_among(released)) if released.size else 0.0


def _schedule(plan: Plan, along: str | None) -> Schedule:
    """Raises: also NotDue where nobody says along which attribute."""
    require(along, (str, NoneType), "along", "name the attribute whose values are the periods")
    plan.kind.require_whole(plan)
    if along is None:
        along = time_of(plan)
    if along is None:
        raise NotDue("say along which attribute the periods run: along='day', --along day; nothing was read or spent")
    return schedule_of(plan, along)


def _key(plan: Plan, schedule: Schedule) -> str:
    edition = schedule.form.mechanism.account.data_set.edition
    of = "" if edition is None else f", edition {edition}"
    return f"instalments along {schedule.along} of plan {plan.fingerprint}{of}"


def _opening_text(schedule: Schedule) -> str:
    """What must be the same each time: the periods, and the very noise."""
    return compact_json(
        {
            "format": "dxgeom opening 1",
            "along": schedule.along,
            "periods": [*schedule.periods],
            "mechanism": schedule.form.mechanism.fingerprint,
        }
    )


def _require_same(window: Window, schedule: Schedule) -> None:
    if window.opening is None or window.opening.text != _opening_text(schedule):
        raise LedgerError(
            f"entry {window.entry.number} opened this plan with other periods or other noise than are worked out here; "
            "go on with the dxgeom, and the machine, that opened it; nothing was read"
        )


def _require_open(window: Window) -> None:
    if window.closing is not None:
        raise NotDue(f"this plan was closed, as entry {window.entry.number} says; nothing was read or spent")


def _window(book: Ledger, plan: Plan, schedule: Schedule) -> Window:
    found = book.window(_key(plan, schedule), plan_fingerprint=plan.fingerprint)
    if found is None:
        raise NotDue(
            f"this plan was not opened along '{schedule.along}' in this ledger: 'dxgeom open PLAN --ledger L' charges "
            "all its periods once; nothing was read or spent"
        )
    _require_same(found, schedule)
    return found


def _place_of(schedule: Schedule, period: str) -> int:
    require(period, str, "period", "name a period as the policy does")
    if period == "before" and schedule.periods[0] == BEFORE:
        return 0
    if period not in schedule.periods:
        before = schedule.periods[0] == BEFORE
        first, last = schedule.periods[int(before)], schedule.periods[-1]
        raise NotDue(
            f"there is no period '{period}' along '{schedule.along}'; nothing was read: write one from '{first}' to "
            f"'{last}'" + (", or 'before' for all that is earlier" if before else "")
        )
    return schedule.periods.index(period)


def _require_turn(schedule: Schedule, window: Window, place: int) -> None:
    missing = [one for one in schedule.periods[:place] if one not in window.seals]
    if missing:
        more = f" and {len(missing) - 1:,} more after it" if len(missing) > 1 else ""
        raise NotDue(
            f"period '{schedule.periods[place]}' is out of turn: '{missing[0]}'{more} comes before it and has not been "
            "released; release that first, from its own rows; nothing was read"
        )


def _require_due(schedule: Schedule, window: Window, place: int, now: datetime) -> None:
    last = datetime.fromisoformat(window.last_time)
    if now < last - _SLACK:
        raise NotDue(
            f"the clock says {now:%Y-%m-%d %H:%M} UTC, and the ledger was written at {last:%Y-%m-%d %H:%M}: it was set "
            "back; set it right; nothing was read"
        )
    ends = schedule.ends(place)
    if ends is not None and now < ends:
        here = now.astimezone(ends.tzinfo)
        raise NotDue(
            f"period '{schedule.periods[place]}' is not over before {ends:%Y-%m-%d} {ends.tzinfo}, and there it is "
            f"{here:%Y-%m-%d %H:%M}: rows that still come would never be read; nothing was read"
        )


def _sums_each(schedule: Schedule, periods: int) -> list[int]:
    """How many sums the seals of so many first periods have."""
    return [schedule.form.sums_in(place) for place in range(periods)]
