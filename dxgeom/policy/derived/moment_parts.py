"""``from: admitted, as: month``: a part of a moment, for attributes of numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, final

from dxgeom.policy.derived.derivation import DerivationKind, NotDerivable, Stated
from dxgeom.universe.reading.expressions import Expression, MomentPart


@final
class MomentPartKind(DerivationKind):
    """A year, a quarter, a month, a weekday or an hour."""

    key: ClassVar[str] = "as"
    field: ClassVar[Any] = Literal["year", "quarter", "month", "weekday", "hour"]
    about: ClassVar[str] = (
        "A part of the date or time in that column, as a number: the year, the quarter from 1 to 4, the month from 1 "
        "to 12, the weekday from 1 (Monday) to 7, the hour from 0 to 23."
    )

    def expression(self, stated: Stated) -> Expression:
        if stated.makes != "numbers":
            raise NotDerivable("as", "'as' makes numbers", "write its values as a range or as bins")
        return MomentPart(stated.given, stated.column, stated.zone)
