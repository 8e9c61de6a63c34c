"""Possible records as the columns of a table that the same universe reads back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import NumberColumn
from dxgeom.universe.universe import Universe

SYNTHETIC: Final = (
    "synthetic records, made of private measurements: whatever is fitted to them takes them for real ones, and its own "
    "intervals leave out the noise that they were made with"
)
"""What tables of synthetic records say of themselves."""


def columns_of_records(universe: Universe, counts: NDArray[np.int64]) -> dict[str, list[Any]]:
    """A column for each attribute, with a row for each of so many records of every type, in order.

    Words are the values' own; a value that stands for many numbers is the one in their middle, as in sums; a missing
    one is None. Where an attribute is read from the column of its own name, such a table counts as these records.
    Args: ``counts``: (N,) of at least 0; none is of the absent record.
    """
    types = np.repeat(np.arange(universe.record_types), counts[: universe.record_types])
    places = types if universe.listed is None else universe.listed[types]
    codes = np.unravel_index(places, universe.shape)
    each = zip(universe.attributes, codes, strict=True)
    return {attribute.name: _cells(attribute, np.asarray(own)) for attribute, own in each}


def cells_of_words(universe: Universe, title: str, words: Sequence[str]) -> list[Any]:
    """What cells say of the values of a column that has these words: as above where it is that of an attribute, whose
    values are all told apart; else the words."""
    own = next((one for one in universe.attributes if one.name == title and one.size == len(words)), None)
    return list(words) if own is None else _told(own)


def _cells(attribute: Attribute, codes: NDArray[Any]) -> list[Any]:
    told = _told(attribute)
    return [told[code] for code in codes.tolist()]


def _told(attribute: Attribute) -> list[Any]:
    return [*_cells_of_values(attribute), *([None] if attribute.missing is not None else [])]


def _cells_of_values(attribute: Attribute) -> list[Any]:
    """What a cell says of each value."""
    column = attribute.present.columns[0]
    if not isinstance(column, NumberColumn):
        return list(attribute.present.labels)
    if all(number.denominator == 1 for number in column.added_up):
        return [int(number) for number in column.added_up]
    return [float(number) for number in column.added_up]
