"""Plans released in instalments, as a ledger knows them: opened once, each period sealed and answered once, closed.

The ledger reads no seal: what is in one is closed with a key that it never has. What may follow what is said here, and
is checked of every row that is written and of every row that is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final, final

from dxgeom.ledger.entry import Entry

OPEN: Final = "open"
SEAL: Final = "seal"
ANSWER: Final = "answer"
CLOSE: Final = "close"
_WITH_PERIOD: Final = (SEAL, ANSWER)


@final
@dataclass(frozen=True)
class InstalmentStep:
    """``kind``: "open", "seal", "answer" or "close". ``turn``: 0, and of a seal one more each time that it is closed
    with another key. ``period``: empty of what opens and closes. ``key``: the name of the key that a seal is closed
    with. ``text``: what the plan is and how it is released; the closed seal; the answers. ``seal``: the row's."""

    entry: int
    kind: str
    turn: int
    period: str
    key: str | None
    time_utc: str
    text: str
    seal: str = ""

    @property
    def place(self) -> str:
        """What no two steps have alike."""
        return f"{self.entry}/{self.kind}/{self.turn}/{self.period}"

    @classmethod
    def of(cls, row: Mapping[str, Any], seal: str) -> InstalmentStep | None:
        """The step of a row's fields; None where they are none."""
        entry, *parts = row["step"].split("/", 3)
        if len(parts) != 3 or entry != str(row["entry"]) or not parts[1].isascii() or not parts[1].isdigit():
            return None
        step = cls(row["entry"], parts[0], int(parts[1]), parts[2], row["key"], row["time_utc"], row["text"], seal)
        return step if step.place == row["step"] else None


@final
class Window:
    """A plan whose whole window was charged as one entry, and what was released of it so far.

    ``seals``: by period, in the order in which they were sealed, the newest of each; ``answers``: by period.
    ``written``: the seals of all rows so far, in order.
    """

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.opening: InstalmentStep | None = None
        self.closing: InstalmentStep | None = None
        self.seals: dict[str, InstalmentStep] = {}
        self.answers: dict[str, InstalmentStep] = {}
        self.written: list[str] = []
        self.last_time = entry.time_utc

    def like(self, step: InstalmentStep) -> InstalmentStep | None:
        """What is written already in place of the step; None where nothing is."""
        known = {SEAL: self.seals, ANSWER: self.answers}.get(step.kind, {}).get(step.period)
        if step.kind == CLOSE:
            return self.closing
        return known if known is not None and known.turn >= step.turn else None

    def refusal(self, step: InstalmentStep) -> str | None:
        """Why the step cannot be the next, None where it can."""
        known = self.seals.get(step.period)
        proper = (step.key is not None) == (step.kind == SEAL) and bool(step.period) == (step.kind in _WITH_PERIOD)
        turn = 0 if known is None or step.kind != SEAL else known.turn + 1
        if not proper or step.turn != turn or step.entry != self.entry.number:
            return "it is out of turn, or says what is not said of such a step"
        if (self.opening is None) != (step.kind == OPEN):
            return "a plan is opened once, and before all else"
        if self.closing is not None:
            return "the plan is closed"
        if step.kind == ANSWER and (known is None or step.period in self.answers):
            return "a period is answered once, and after it was sealed"
        return None if step.kind in (OPEN, SEAL, ANSWER, CLOSE) else "there is no such step"

    def add(self, step: InstalmentStep) -> None:
        """Take the step in; it is one that can be the next."""
        match step.kind:
            case "open":
                self.opening = step
            case "seal":
                self.seals[step.period] = step
            case "answer":
                self.answers[step.period] = step
            case _:
                self.closing = step
        self.written.append(step.seal)
        self.last_time = step.time_utc

    @property
    def periods(self) -> tuple[str, ...]:
        """All of them in their order, as the opening says; those that were sealed where it does not say so."""
        try:
            stated = json.loads("" if self.opening is None else self.opening.text)["periods"]
        except (ValueError, KeyError, TypeError):
            stated = None
        listed = isinstance(stated, list) and all(isinstance(one, str) for one in stated)
        return tuple(stated) if listed else tuple(self.seals)

    def missed(self, now: datetime) -> tuple[str, ...]:
        """Periods that are called by days, have been over for a day or longer, and were not sealed.

        A period is over when the next one begins; of the last one it is not known here.
        """
        if self.closing is not None:
            return ()
        days = [_day_of(one) for one in self.periods]
        over = (now - timedelta(1)).date()
        late = [next_one is not None and next_one <= over for next_one in (*days[1:], None)]
        return tuple(one for one, is_late in zip(self.periods, late, strict=True) if is_late and one not in self.seals)


def _day_of(name: str) -> date | None:
    try:
        return date.fromisoformat(name)
    except ValueError:
        return None
