"""The kind of the attribute that a policy's ``time`` makes; no attribute is written so."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from typing import Any, ClassVar, Final, final

from pydantic import Field

from dxgeom.policy.axes import Axis, LineAxis
from dxgeom.policy.kinds.kind import AttributeKeys, AttributeKind, Declared, Misfit, written_as, wrote
from dxgeom.policy.source.fields import Length
from dxgeom.universe.periods import DAYS, PeriodAttribute, Periods, next_start
from dxgeom.universe.wording import shown


@final
class PeriodsSyntax(AttributeKeys):
    """What ``time`` says of its attribute. ``periods``: from the first day to the last, cut or not."""

    model_config = written_as("Periods", "days, weeks, months, quarters or years.")

    periods: Any = Field(description="The periods.")
    before: bool = True
    after: bool = True
    border: Fraction = Fraction(1)


@final
class PeriodsKind(AttributeKind[PeriodsSyntax, PeriodAttribute]):
    """Periods in a row; lengths are in periods, or in days where these are whole periods."""

    key: ClassVar[str] = "time"
    noun: ClassVar[str] = "periods"
    form: ClassVar[str] = "time"
    syntax = PeriodsSyntax
    makes = PeriodAttribute

    def resolve(self, syntax: PeriodsSyntax, declared: Declared) -> PeriodAttribute | None:
        periods = syntax.periods
        if not isinstance(periods, Periods):
            return None
        first, last, every = periods.first, periods.last, periods.every
        if first > last:
            message = f": time runs forwards, found {first} to {last}"
            declared.note("DX190", message, f"write from: {last}, to: {first}", at=("from",))
            return None
        if first == date.min or last == date.max:
            message = ": a window leaves the calendar days before and after it, the years 1 to 9999"
            declared.note("DX190", message, "write a first day that is later, or a last day that is earlier")
            return None
        if not declared.few_enough((last - first).days // DAYS.get(every, 28) + 1):
            return None
        if not periods.whole:
            declared.note(
                "DX190", f": a window has whole periods, found {first} to {last} every {every}", _whole(periods)
            )
            return None
        return PeriodAttribute(declared.name, periods, syntax.before, syntax.after, syntax.border)

    def measured(self, attribute: PeriodAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        days, every = DAYS.get(attribute.periods.every), attribute.periods.every
        amount = length.amount
        if length.unit == "day" and days is not None:
            amount /= days
        if length.unit not in ("day", "step") or (length.unit == "day" and days is None):
            message = f"{shown(attribute.name)} holds periods of a {every}, found {wrote(length)}"
            return Misfit(message, "write '2 steps'; a step is a period")
        if every != "day" and amount.denominator != 1:
            message = f"{shown(attribute.name)} tells one {every} from the next, found {wrote(length)}"
            return Misfit(message, "write whole periods: a row that moves over a border moves by a whole one")
        return LineAxis("numbers", attribute.positions), amount


def _whole(periods: Periods) -> str:
    """A window of whole periods around that day."""
    first, every = periods.first, periods.every
    if every not in DAYS:
        month = 1 if every == "year" else first.month if every == "month" else first.month - (first.month - 1) % 3
        first = first.replace(day=1, month=month)
    start = first
    while start <= periods.last:
        start = next_start(start, every)
    return f"write from: {first}, to: {start - timedelta(1)}"


PERIODS: Final = PeriodsKind()
