"""The answers of one period, and what is known of their errors; as they are stored, and as they are shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import LedgerError
from dxgeom.ledger.windows import InstalmentStep, Window
from dxgeom.numeric.json_text import compact_json
from dxgeom.planner.instalments.schedule import Schedule

FORMAT: Final = "dxgeom instalment 1"


@final
@dataclass(frozen=True, eq=False)
class Instalment:
    """The private answers of one period.

    ``exact_values`` (k,): of the answers that are released in this ``period``, by ``names``. ``spent``: what the whole
    window was charged, once. ``entry``, ``seal``: of the ledger; the seal is that of the answers' row. ``repeated``: it
    was released before, and is shown as it was then.
    """

    period: str
    names: tuple[str, ...]
    exact_values: tuple[Fraction, ...] = field(repr=False)
    spent: Fraction
    entry: int
    seal: str = field(repr=False)
    time: str
    repeated: bool
    schedule: Schedule = field(repr=False)

    @property
    def values(self) -> NDArray[np.float64]:
        """(k,): the private answers."""
        return np.array([float(value) for value in self.exact_values])

    @cached_property
    def _places(self) -> list[int]:
        place = self.schedule.periods.index(self.period)
        return self.schedule.answers_in(place)

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(k,): root mean squared error of each answer."""
        return self.schedule.plan.rmse(self.spent)[self._places]

    def half_widths(self, level: float = 0.95) -> NDArray[np.float64]:
        """(k,): each answer's error is at most this with probability *at least* ``level``, each on its own."""
        return self.schedule.plan.half_widths(level, self.spent)[self._places]

    def as_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Ready for JSON."""
        schedule, rows = (
            self.schedule,
            zip(self.names, self.exact_values, self.rmse, self.half_widths(level), strict=True),
        )
        account = schedule.form.mechanism.account
        return {
            "format": FORMAT,
            "period": self.period,
            "along": schedule.along,
            "number": 1 + schedule.periods.index(self.period),
            "periods": len(schedule.periods),
            "answers": [
                {
                    "name": name,
                    "value": float(value),
                    "exact": str(value),
                    "interval": [float(value) - width, float(value) + width],
                    "rmse": rmse,
                }
                for name, value, rmse, width in ((a, b, float(c), float(d)) for a, b, c, d in rows)
            ],
            "level": level,
            "spent_on_all_periods": str(self.spent),
            "time": self.time,
            "policy": {"title": account.policy_name, "fingerprint": account.policy_fingerprint},
            "plan_fingerprint": schedule.plan_fingerprint,
            "ledger": {"entry": self.entry, "seal": self.seal},
            **({"repeated": True} if self.repeated else {}),
        }

    def to_json(self, level: float = 0.95) -> str:
        """As JSON text."""
        return json.dumps(self.as_dict(level), indent=2, ensure_ascii=False)


def stored_text(period: str, names: Sequence[str], values: Sequence[Fraction]) -> str:
    """What the ledger holds of them: whoever reads it needs no plan."""
    answers = [
        {"name": name, "value": float(value), "exact": str(value)} for name, value in zip(names, values, strict=True)
    ]
    return compact_json({"format": FORMAT, "period": period, "answers": answers})


def stored_instalment(schedule: Schedule, window: Window, step: InstalmentStep, *, repeated: bool) -> Instalment:
    """The answers as they were stored. Raises: LedgerError where they are of other queries, or none."""
    try:
        answers = json.loads(step.text)["answers"]
        names, values = tuple(one["name"] for one in answers), tuple(Fraction(one["exact"]) for one in answers)
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise LedgerError(f"what the ledger holds of period '{step.period}' is no answer; nothing was read") from error
    if names != schedule.names_in(schedule.periods.index(step.period)):
        raise LedgerError(f"what the ledger holds of period '{step.period}' answers other queries than this plan")
    entry = window.entry
    return Instalment(
        step.period, names, values, entry.spend, entry.number, step.seal, step.time_utc, repeated, schedule
    )
