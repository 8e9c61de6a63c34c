"""Raw values of a column that tell apart whatever any of several attributes tells apart: one for each refined cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.numbers.numeric_attributes import NumericAttribute
from dxgeom.universe.reading.reading import CellReading
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown

Codes: TypeAlias = list[NDArray[np.int64]]
"""For each attribute the code of every raw value, ``OUTSIDE`` where it is no value of it."""


@final
@dataclass(frozen=True, eq=False)
class ReadAttribute:
    """An attribute of a policy, and how rows say its value."""

    attribute: Attribute
    reading: CellReading

    @property
    def digest(self) -> list[Any]:
        """Equal digests find the same value in every row."""
        return [self.attribute.digest, self.reading.digest]

    @property
    def handed(self) -> tuple[Any, ...]:
        """What of a row the attribute sees, as one cell; two columns without an expression are no cell."""
        made = self.reading.expression
        return (self.reading.columns, self.reading.read_as, self.reading.cells, None if made is None else made.digest)

    def codes(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        """Of these values, and behind them of a cell that is empty."""
        found = np.asarray(self.attribute.present.encode(values), dtype=np.int64)
        if self.reading.unlisted is not None:
            found = np.where(found == OUTSIDE, self.reading.unlisted, found)
        missing = self.attribute.missing
        return np.append(found, OUTSIDE if missing is None else missing)


def attribute_of(universe: Universe, name: str) -> ReadAttribute:
    """The attribute of that name. Raises: KeyError."""
    return ReadAttribute(universe.attribute(name), universe.reading.attributes[universe.names.index(name)])


def refined(attributes: Sequence[ReadAttribute]) -> Codes:
    """The codes of raw values such that every raw value that one of them knows has the codes of one of these under all.

    Guarantee: *exact*. Cells of numbers and days are half open, so each cell of the common refinement begins where a
    cell of one of them does, or behind the end of one. Words are those of any of the lists, and one of none.
    Raises: UnsupportedCombination for attributes of different kinds, or that are read from different columns.
    """
    first = attributes[0]
    if all(one.digest == first.digest for one in attributes):
        return [np.arange(first.attribute.size)] * len(attributes)
    present = [one.attribute.present for one in attributes]
    values = next((kind(present) for holds, kind in _KINDS if all(map(holds, present))), None)
    if values is None or first.reading.cells != 1 or any(one.handed != first.handed for one in attributes):
        raise UnsupportedCombination(
            f"'{first.attribute.name}' is not read alike by these policies: "
            f"{', '.join(sorted(set(map(_how, attributes))))}; only words, numbers or days of one column can be "
            "compared"
        )
    return [one.codes(values) for one in attributes]


def _how(one: ReadAttribute) -> str:
    made = "" if one.reading.expression is None else f", as {one.reading.expression}"
    return f"{one.reading.read_as} in the column {' and '.join(map(shown, one.reading.columns))}{made}"


def _words(attributes: Sequence[Attribute]) -> list[str]:
    labels = list(dict.fromkeys(label for one in attributes for label in one.labels))
    return [*labels, "?" * (1 + max(map(len, labels)))]


def _numbers(attributes: Sequence[Attribute]) -> NDArray[np.float64]:
    numeric = [one for one in attributes if isinstance(one, NumericAttribute)]
    ends = [float(one.ends[1]) for one in numeric]
    beyond = [math.nextafter(end, math.inf) for end in ends]
    below = [math.nextafter(float(one.lower[0]), -math.inf) for one in numeric]
    return np.unique(np.concatenate([*(one.lower for one in numeric), ends, beyond, below]))


def _days(attributes: Sequence[Attribute]) -> list[Any]:
    dated = [one for one in attributes if isinstance(one, DateAttribute)]
    starts = {one.first + timedelta(int(day)) for one in dated for day in one.days}
    return sorted(starts | {one.last + timedelta(1) for one in dated} | {one.first - timedelta(1) for one in dated})


_KINDS: Final[tuple[tuple[Callable[[Attribute], bool], Callable[[Sequence[Attribute]], Any]], ...]] = (
    (lambda one: one.read_as == "words", _words),
    (lambda one: isinstance(one, NumericAttribute), _numbers),
    (lambda one: isinstance(one, DateAttribute), _days),
)
"""What an attribute is made of, and how what several are made of is refined."""
