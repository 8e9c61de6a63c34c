"""Lengths such as ``10 km``, exactly as written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

from dxgeom.universe.columns import plain
from dxgeom.universe.decimals import NotANumber, exact

_LONGEST: Final = 64
_LENGTH = re.compile(r"(\S+?)\s*([A-Za-z]*)", re.ASCII)

Unit: TypeAlias = Literal["", "m", "km", "step", "day"]
UNITS: Final[dict[str, Unit]] = {
    "": "",
    "m": "m",
    "km": "km",
    "step": "step",
    "steps": "step",
    "day": "day",
    "days": "day",
}


@final
@dataclass(frozen=True)
class Length:
    """A positive exact amount with the unit as written; "" is the attribute's own unit."""

    amount: Fraction
    unit: Unit

    def __str__(self) -> str:
        plural = "s" if self.unit in ("step", "day") and self.amount != 1 else ""
        return f"{plain(self.amount)} {self.unit}{plural}".rstrip()


def length(text: str) -> Length:
    """A length such as ``10 km``, ``500 m``, ``7 days``, ``2 steps`` or, for numeric attributes, ``5``.

    Raises: NotANumber.
    """
    match = _LENGTH.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        raise NotANumber("a length is a number and a unit")
    number, unit = match.groups()
    if unit not in UNITS:
        raise NotANumber(f"the unit '{unit}' is not known; units are m, km, days and steps")
    amount = exact(number)
    if amount <= 0:
        raise NotANumber("a length is above 0")
    return Length(amount, UNITS[unit])
