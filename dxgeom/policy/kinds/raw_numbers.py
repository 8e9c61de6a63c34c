"""``whole`` and ``clamp``: which raw numbers a range or bins take, beside those between their ends."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.policy.kinds.kind import Declared
from dxgeom.policy.source.fields import exact_field, wrong_field
from dxgeom.universe.columns import plain
from dxgeom.universe.numbers.number_cells import Interval, NumberCells, RawNumbers

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
