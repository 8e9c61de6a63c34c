"""``{range: [low, high], step: s}``, with ``whole`` and ``clamp``: evenly spaced numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, ClassVar, final

from pydantic import Field

from dxgeom.policy.axes.axis import Axis
from dxgeom.policy.axes.line import LineAxis
from dxgeom.policy.kinds.attribute_keys import AttributeKeys
from dxgeom.policy.kinds.kind import AttributeKind, Declared, Misfit, misfit_of_numbers, written_as
from dxgeom.policy.kinds.raw_numbers import Clamp, Whole, raw_numbers
from dxgeom.policy.source.fields import Exact, Positive
from dxgeom.policy.source.lengths import Length
from dxgeom.universe.columns import plain
from dxgeom.universe.numbers.numeric_attributes import FINEST, RangeAttribute


@final
class RangeSyntax(AttributeKeys):
    """``{range: [low, high], step: s, whole: true, clamp: [lowest, highest]}``."""

    model_config = written_as("Range", "evenly spaced numbers; raw numbers are rounded down to them.")

    range: Annotated[tuple[Exact, Exact], Field(description="The lowest and the highest number.")]
    step: Annotated[Positive, Field(description="The distance between neighbouring numbers, above 0.")]
    whole: Whole = None
    clamp: Clamp = None


@final
class RangeKind(AttributeKind[RangeSyntax, RangeAttribute]):
    """Evenly spaced numbers; lengths are in their own unit, or in steps."""

    key: ClassVar[str] = "range"
    noun: ClassVar[str] = "a range"
    form: ClassVar[str] = "{range, step}"
    example: ClassVar[str] = "write {range: [0, 100], step: 5}"
    syntax = RangeSyntax
    makes = RangeAttribute

    def resolve(self, syntax: RangeSyntax, declared: Declared) -> RangeAttribute | None:
        low, high = syntax.range
        if low > high:
            message = f": a range runs upwards, found {plain(low)} to {plain(high)}"
            declared.note("DX111", message, f"write [{plain(high)}, {plain(low)}]", at=("range",))
            return None
        if not declared.few_enough((high - low) // syntax.step + 1):
            return None
        if syntax.step * FINEST <= max(abs(low), abs(high)):
            message = ": the step is too fine beside numbers as large as these"
            declared.note("DX111", message, "use a coarser step, or count from nearer to 0", at=("step",))
            return None
        attribute = RangeAttribute(declared.name, low, high, syntax.step)
        raw = raw_numbers(declared, syntax.whole, syntax.clamp, attribute.floors, high)
        return None if raw is None else replace(attribute, raw=raw)

    def measured(self, attribute: RangeAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        if length.unit not in ("step", ""):
            return misfit_of_numbers(attribute, length)
        amount = length.amount * attribute.step if length.unit else length.amount
        return LineAxis("numbers", attribute.numbers), amount
