"""Features of a policy's attributes: numbers and days scaled by the universe's own bounds, words one by one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.learning.perturbed.features import FeatureGroup
from dxgeom.numeric.sealed import Sealed
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import NumberColumn


@final
@dataclass(frozen=True, eq=False)
class EncodedAttribute(Sealed):
    """``table`` (values, dimensions): the features of each code; ``groups``: theirs, in order.

    ``half``: what a distance of 1 in the first feature is worth, of numbers, and of days in days; else None.
    ``middle``: the number that is 0 there.
    """

    name: str
    groups: tuple[FeatureGroup, ...]
    table: NDArray[np.float64]
    half: Fraction | None = None
    middle: Fraction = Fraction(0)

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.table.shape[1])


def unused(attribute: Attribute) -> EncodedAttribute:
    """An attribute that a model does not look at: no features."""
    return EncodedAttribute(attribute.name, (), np.zeros((attribute.size, 0)))


def encoded(attribute: Attribute, beside_first: bool = False) -> EncodedAttribute:
    """An attribute's features.

    Numbers and days: one feature, the values' own least and largest at −1 and 1; anything else: a feature for each
    value, 1 where it holds, ``beside_first`` for each but the first, which all are then compared with. A missing number
    is 0, and 1 in a feature of its own.
    Guarantee: features are within their groups' bodies, whatever the value; nothing here comes from data.
    """
    present = attribute.present
    points = _points(present)
    missing = attribute.missing is not None
    if points is None:
        names = tuple(f"{attribute.name}={label}" for label in attribute.labels)[beside_first:]
        words = (FeatureGroup(names, "choice"),) if names else ()
        return EncodedAttribute(attribute.name, words, np.eye(attribute.size)[:, beside_first:])
    low, high = min(points), max(points)
    half, middle = (high - low) / 2 or Fraction(1), (low + high) / 2
    scaled = [float((2 * x - low - high) / (high - low)) if high > low else 0.0 for x in points]
    line = FeatureGroup((attribute.name,), "box")
    if not missing:
        return EncodedAttribute(attribute.name, (line,), np.array(scaled)[:, None], half, middle)
    groups = (line, FeatureGroup((f"{attribute.name} is missing",), "choice"))
    table = np.column_stack([[*scaled, 0.0], [0.0] * len(scaled) + [1.0]])
    return EncodedAttribute(attribute.name, groups, table, half, middle)


def _points(attribute: Attribute) -> list[Fraction] | None:
    """Where the values lie on a line, None for words without an order."""
    column = attribute.columns[0]
    if isinstance(column, NumberColumn):
        return list(column.added_up)
    if column.dates:
        return [Fraction(date.fromisoformat(text).toordinal()) for text in column.texts]
    return None
