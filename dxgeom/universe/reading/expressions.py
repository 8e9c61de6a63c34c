"""What a row's cells are made into before an attribute sees them: per row, never looking at another one.

A number is a cell, a constant, or made of numbers by + − × ÷; the parts of a moment, the local day and the beginning of
a word are made of one cell. Engines carry them out: an expression whose cells are all readable is missing where a cell
is, or where it divides by 0; it is outside every attribute where a cell cannot be read or a number passes float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, final

from dxgeom.universe.attributes import CellType
from dxgeom.universe.columns import plain

Sign: TypeAlias = Literal["+", "-", "*", "/"]
Part: TypeAlias = Literal["year", "quarter", "month", "weekday", "hour"]


class Expression(ABC):
    """What is made of the cells of one row. Its text reads like what the policy says."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns whose cells it is made of, each once."""

    @property
    @abstractmethod
    def makes(self) -> CellType:
        """What it hands to an attribute."""

    @property
    @abstractmethod
    def digest(self) -> list[Any]:
        """Ready for JSON; equal digests make the same of every row."""

    @abstractmethod
    def __str__(self) -> str:
        """For a person."""


@final
@dataclass(frozen=True)
class NumberCell(Expression):
    """The number in a column."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def makes(self) -> CellType:
        return "numbers"

    @property
    def digest(self) -> list[Any]:
        return ["number", self.column]

    def __str__(self) -> str:
        return self.column


@final
@dataclass(frozen=True)
class Number(Expression):
    """A number that is the same in every row; used as the nearest float64."""

    value: Fraction

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @property
    def makes(self) -> CellType:
        return "numbers"

    @property
    def digest(self) -> list[Any]:
        return ["constant", str(self.value)]

    def __str__(self) -> str:
        return plain(self.value)


@final
@dataclass(frozen=True)
class Arithmetic(Expression):
    """Two numbers made into one, in float64, rounded once; a division by 0 is missing."""

    sign: Sign
    left: Expression
    right: Expression

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.left.columns, *self.right.columns)))

    @property
    def makes(self) -> CellType:
        return "numbers"

    @property
    def digest(self) -> list[Any]:
        return [self.sign, self.left.digest, self.right.digest]

    def __str__(self) -> str:
        sides = (f"({side})" if isinstance(side, Arithmetic) else str(side) for side in (self.left, self.right))
        return f" {self.sign} ".join(sides)


@final
@dataclass(frozen=True)
class MomentPart(Expression):
    """A part of the moment in a column: a year, a quarter 1 to 4, a month 1 to 12, a weekday 1 (Monday) to 7, an hour.

    ``zone``: where clocks show it, for moments that know their own zone; None for those that do not.
    """

    part: Part
    column: str
    zone: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def makes(self) -> CellType:
        return "numbers"

    @property
    def digest(self) -> list[Any]:
        return [self.part, self.column, self.zone]

    def __str__(self) -> str:
        return f"the {self.part} of {self.column}" + (f" in {self.zone}" if self.zone else "")


@final
@dataclass(frozen=True)
class LocalDay(Expression):
    """The day in a column; of moments that know their own zone, the day that calendars show in ``zone``."""

    column: str
    zone: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def makes(self) -> CellType:
        return "days"

    @property
    def digest(self) -> list[Any]:
        return ["day", self.column, self.zone]

    def __str__(self) -> str:
        return f"the day of {self.column}" + (f" in {self.zone}" if self.zone else "")


@final
@dataclass(frozen=True)
class WordCell(Expression):
    """The word in a column, or its first ``length`` characters."""

    column: str
    length: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def makes(self) -> CellType:
        return "words"

    @property
    def digest(self) -> list[Any]:
        return ["word", self.column, self.length]

    def __str__(self) -> str:
        if self.length is None:
            return self.column
        count = "character" if self.length == 1 else f"{self.length} characters"
        return f"the first {count} of {self.column}"
