"""Attribute kinds of numbers and dates: ranges, bins, days; and how raw numbers are read into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, final

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.policy.axes import Axis, CircleAxis, LineAxis
from dxgeom.policy.kinds.kind import (
    AttributeKeys,
    AttributeKind,
    Declared,
    Misfit,
    misfit_of_numbers,
    obeyed,
    written_as,
    wrote,
)
from dxgeom.policy.source.fields import Day, Exact, Length, Positive, WholeDays, exact_field, wrong_field
from dxgeom.universe.columns import plain
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.numbers.number_cells import Interval, NumberCells, RawNumbers
from dxgeom.universe.numbers.numeric_attributes import FINEST, BinnedAttribute, RangeAttribute
from dxgeom.universe.wording import shown

TrueEnds: TypeAlias = Literal["true"] | tuple[Fraction, Fraction]

_ADVICE: Final = "write 'clamp: [0, 120]' with the lowest and the highest number there is, or 'clamp: true'"
_CLAMP: Final = (
    "Numbers beyond the ends count in the end cells: the lowest and the highest there can be, or true where these are "
    "not known."
)
_NUMBER: Final = {"type": ["number", "string"]}


def _clamp(value: Any) -> TrueEnds:
    if value in ("true", True):
        return "true"
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise wrong_field("DX120", "true, or the two true ends, are expected here", _ADVICE)
    try:
        return exact_field(value[0]), exact_field(value[1])
    except PydanticCustomError as error:
        raise wrong_field("DX120", "two numbers, the true ends, are expected here", _ADVICE) from error


Whole: TypeAlias = Annotated[
    Literal["true"] | None,
    WithJsonSchema({"enum": [True, "true"]}),
    Field(description="true: raw numbers are whole, and others are refused."),
]
Clamp: TypeAlias = Annotated[
    TrueEnds | None,
    PlainValidator(_clamp),
    WithJsonSchema(
        {"anyOf": [{"enum": [True, "true"]}, {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}]}
    ),
    Field(description=_CLAMP),
]

_WRAPS: Final = (
    "true: the first value follows the last one, as with hours, weekdays, months and angles; distances are the shorter "
    "way round."
)
Wraps: TypeAlias = Annotated[
    Literal["true"] | None, WithJsonSchema({"enum": [True, "true"]}), Field(description=_WRAPS)
]

Unit: TypeAlias = Annotated[
    str | None, Field(description="What the numbers count, such as kg, for people; it has no other meaning.")
]


def raw_numbers(
    declared: Declared, whole: Literal["true"] | None, clamp: TrueEnds | None, floors: Sequence[Fraction], top: Fraction
) -> RawNumbers | None:
    """What 'whole' and 'clamp' mean for cells that begin at these floors; None when that makes no sense, which is then
    noted."""
    ends: Interval | None = None
    if isinstance(clamp, tuple):
        ends = clamp
        if ends[0] > floors[0] or ends[1] < top:
            found = f"[{plain(ends[0])}, {plain(ends[1])}] around [{plain(floors[0])}, {plain(top)}]"
            declared.note(
                "DX120", f": the true ends reach at least to the attribute's own, found {found}", _ADVICE, at=("clamp",)
            )
            return None
    raw = RawNumbers(whole is not None, clamp is not None, ends)
    if whole is not None:
        empty = [k for k, (low, high) in enumerate(NumberCells(tuple(floors), top, raw).intervals) if low > high]
        if empty:
            below = floors[empty[0] + 1] if empty[0] + 1 < len(floors) else top
            message = f": no whole number lies between {plain(floors[empty[0]])} and {plain(below)}"
            declared.note("DX120", message, "leave 'whole' out, or use wider steps", at=("whole",))
            return None
    return raw


_FEWEST_AROUND: Final = 3


def wrapped(declared: Declared, wraps: Literal["true"] | None, clamp: TrueEnds | None, size: int) -> bool | None:
    """Whether so many values wrap; None when that makes no sense, which is then noted."""
    if wraps is None:
        return False
    if size < _FEWEST_AROUND:
        message = f" wraps, and has {size} value{'s' if size > 1 else ''}: going round makes none of them nearer"
        declared.note("DX122", message, "leave 'wraps' out, or use finer steps", at=("wraps",))
        return None
    if clamp is not None:
        message = " wraps, so that no number lies beyond its ends, and 'clamp' would put such at one of them"
        declared.note("DX122", message, "leave 'clamp' out, or 'wraps'", at=("clamp",))
        return None
    return True


@final
class RangeSyntax(AttributeKeys):
    """``{range: [low, high], step: s, whole: true, clamp: [lowest, highest], wraps: true}``."""

    model_config = written_as("Range", "evenly spaced numbers; raw numbers are rounded down to them.")

    range: Annotated[tuple[Exact, Exact], Field(description="The lowest and the highest number.")]
    step: Annotated[Positive, Field(description="The distance between neighbouring numbers, above 0.")]
    whole: Whole = None
    clamp: Clamp = None
    wraps: Wraps = None
    unit: Unit = None


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
        wraps = wrapped(declared, syntax.wraps, syntax.clamp, attribute.size)
        return None if raw is None or wraps is None else replace(attribute, raw=raw, wraps=wraps)

    def measured(self, attribute: RangeAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        if length.unit not in ("step", ""):
            return misfit_of_numbers(attribute, length)
        amount = length.amount * attribute.step if length.unit else length.amount
        return _along(attribute), amount


_EDGES = Field(description="Every edge, the outer two included.", json_schema_extra=obeyed({"minItems": 2}))


@final
class BinsSyntax(AttributeKeys):
    """``{bins: [edges…], whole: true, clamp: [lowest, highest], wraps: true}``."""

    model_config = written_as(
        "Bins", "intervals between increasing edges; in sums a bin counts as the middle of its numbers."
    )

    bins: Annotated[tuple[Exact, ...], _EDGES]
    whole: Whole = None
    clamp: Clamp = None
    wraps: Wraps = None
    unit: Unit = None


@final
class BinsKind(AttributeKind[BinsSyntax, BinnedAttribute]):
    """Intervals of numbers; lengths are between midpoints in their own unit, or in steps from bin to bin."""

    key: ClassVar[str] = "bins"
    noun: ClassVar[str] = "bins"
    form: ClassVar[str] = "{bins}"
    example: ClassVar[str] = "write {bins: [0, 18, 65, 120]}"
    syntax = BinsSyntax
    makes = BinnedAttribute

    def resolve(self, syntax: BinsSyntax, declared: Declared) -> BinnedAttribute | None:
        edges = syntax.bins
        if len(edges) < 2:
            message = f": bins need at least two edges, found {len(edges)}"
            declared.note("DX112", message, "write every edge, the outer two included", at=("bins",))
            return None
        if not declared.few_enough(len(edges) - 1):
            return None
        largest = max(map(abs, edges))
        for place, (low, high) in enumerate(pairwise(edges), start=1):
            if (high - low) * FINEST <= largest:
                problem = "edges increase" if high <= low else "these edges are too close beside numbers as large"
                message = f": {problem}, found {plain(low)} then {plain(high)}"
                declared.note("DX112", message, "sort the edges and remove doubles", at=("bins", place))
                return None
        raw = raw_numbers(declared, syntax.whole, syntax.clamp, edges[:-1], edges[-1])
        wraps = wrapped(declared, syntax.wraps, syntax.clamp, len(edges) - 1)
        return None if raw is None or wraps is None else BinnedAttribute(declared.name, edges, raw, wraps)

    def measured(self, attribute: BinnedAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        if length.unit == "step":
            steps = tuple(map(Fraction, range(attribute.size)))
            around = CircleAxis("steps around", steps, Fraction(attribute.size))
            return around if attribute.wraps else LineAxis("steps", steps), length.amount
        if length.unit == "":
            return _along(attribute), length.amount
        return misfit_of_numbers(attribute, length)


def _along(attribute: RangeAttribute | BinnedAttribute) -> Axis:
    """Distances of its numbers: the shorter way round where they wrap."""
    if attribute.wraps:
        return CircleAxis("numbers around", attribute.numbers, attribute.around)
    return LineAxis("numbers", attribute.numbers)


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
