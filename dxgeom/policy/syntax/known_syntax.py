"""``known:``, the counts of records that everybody may know; whether its keys go together is checked later."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias, final

from pydantic import BaseModel, ConfigDict, PlainValidator, WithJsonSchema

from dxgeom.policy.source.fields import Names, exact_field, wrong_field

_WRITE: Final = "write how many records there are, such as 0 or 10771"


MOST_COUNTED: Final = 10**15
"""No more records are counted."""


def _from_0(value: Any) -> int:
    number = exact_field(value, _WRITE)
    if not 0 <= number <= MOST_COUNTED or number.denominator != 1:
        raise wrong_field("DX109", "a number of records, 0 to 10^15, is expected here", _WRITE)
    return int(number)


WholeFromZero: TypeAlias = Annotated[
    int, PlainValidator(_from_0), WithJsonSchema({"type": ["integer", "string"], "minimum": 0})
]


_HOLD: Final = "write 'hold: 2', for who is unsure of one person and one more, or 'hold: all'"


def _held(value: Any) -> str:
    word = str(value).strip()
    if word not in ("2", "all"):
        raise wrong_field("DX109", "2 or all is expected here", _HOLD)
    return word


Hold: TypeAlias = Annotated[str, PlainValidator(_held), WithJsonSchema({"enum": [2, "2", "all"]})]
"""For whom the stated distances are held, of those who know the counts."""


@final
class KnownSyntax(BaseModel):
    """``{totals: attributes}``, perhaps with ``numbers`` from a file; or ``{where: condition, count: number}``."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    totals: Names = None
    numbers: str | None = None
    where: str | None = None
    count: WholeFromZero | None = None
