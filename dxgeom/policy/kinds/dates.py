"""``{dates: [from, to], step: days}``: days between two dates."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, final

from pydantic import Field

from dxgeom.policy.axes.axis import Axis
from dxgeom.policy.axes.line import LineAxis
from dxgeom.policy.kinds.attribute_keys import AttributeKeys
from dxgeom.policy.kinds.kind import AttributeKind, Declared, Misfit, written_as, wrote
from dxgeom.policy.source.fields import Day, WholeDays
from dxgeom.policy.source.lengths import Length
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.wording import shown


@final
class DatesSyntax(AttributeKeys):
    """``{dates: [from, to], step: days}``."""

    model_config = written_as("Dates", "days between two dates; raw dates are rounded down to them.")

    dates: Annotated[tuple[Day, Day], Field(description="The first and the last day, as year-month-day.")]
    step: Annotated[WholeDays, Field(description="The number of days between neighbouring values, at least 1.")]


@final
class DatesKind(AttributeKind[DatesSyntax, DateAttribute]):
    """Days; lengths are in days or in steps."""

    key: ClassVar[str] = "dates"
    noun: ClassVar[str] = "dates"
    form: ClassVar[str] = "{dates, step}"
    example: ClassVar[str] = "write {dates: [2024-01-01, 2024-12-31], step: 7}; the step counts days"
    syntax = DatesSyntax
    makes = DateAttribute

    def resolve(self, syntax: DatesSyntax, declared: Declared) -> DateAttribute | None:
        first, last = syntax.dates
        if first > last:
            message = f": dates run forwards, found {first} to {last}"
            declared.note("DX118", message, f"write [{last}, {first}]", at=("dates",))
            return None
        attribute = DateAttribute(declared.name, first, last, syntax.step)
        return attribute if declared.few_enough(attribute.size) else None

    def measured(self, attribute: DateAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        if length.unit not in ("day", "step"):
            message = f"{shown(attribute.name)} holds dates, found {wrote(length)}"
            return Misfit(message, "write '7 days' or '2 steps'")
        days = length.amount * attribute.step if length.unit == "step" else length.amount
        return LineAxis("numbers", attribute.days), days
