"""How a row of a table says which record it is, attribute by attribute."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, final

from dxgeom.universe.attributes import Attribute, CellType


@final
@dataclass(frozen=True)
class CellReading:
    """How a row says which value of one attribute it has.

    ``columns``: the columns of the table that say it; ``read_as``: what their cells are read as; ``unlisted``: the code
    of rows whose cells are there but name no value, None where these are outside the universe.
    """

    columns: tuple[str, ...]
    read_as: CellType
    unlisted: int | None = None

    @property
    def cells(self) -> int:
        """How many cells of a row the attribute is handed."""
        return len(self.columns)

    @property
    def digest(self) -> list[Any]:
        """Ready for JSON; equal digests read every row alike."""
        return [list(self.columns), self.read_as, self.unlisted]


@final
@dataclass(frozen=True)
class Reading:
    """How each attribute of a universe is read, in their order; several may be read from one column."""

    attributes: tuple[CellReading, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that are read, each once, in the order in which attributes first need them."""
        return tuple(dict.fromkeys(column for one in self.attributes for column in one.columns))

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """For each attribute, which of the ``columns`` are its own."""
        place_of = {column: place for place, column in enumerate(self.columns)}
        return tuple(tuple(place_of[column] for column in one.columns) for one in self.attributes)

    @property
    def cells(self) -> tuple[tuple[int, ...], ...]:
        """For each attribute, the places of its cells among all that a row hands over, counted from 0."""
        ends = list(accumulate((one.cells for one in self.attributes), initial=0))
        return tuple(tuple(range(start, end)) for start, end in pairwise(ends))

    @property
    def digest(self) -> list[Any]:
        """Ready for JSON; equal digests read every table alike, over equal attributes."""
        return [one.digest for one in self.attributes]


def plain_reading(attribute: Attribute) -> CellReading:
    """An attribute's value stands in its own columns as it is."""
    return CellReading(attribute.raw_columns, attribute.read_as)
