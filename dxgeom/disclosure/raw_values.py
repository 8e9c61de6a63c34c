"""Raw values of a column that tell apart whatever any of several attributes tells apart: one for each refined cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.numbers.numeric_attributes import NumericAttribute
from dxgeom.universe.wording import shown

Codes: TypeAlias = list[NDArray[np.int64]]
"""For each attribute the code of every raw value, ``OUTSIDE`` where it is no value of it."""


def refined(attributes: Sequence[Attribute]) -> Codes:
    """The codes of raw values such that every raw value of the column has the codes of one of these, under all.

    Guarantee: *exact*. Cells of numbers and days are half open, so each cell of the common refinement begins where a
    cell of one of them does, or behind the end of one. Words are those of any of the lists.
    Raises: UnsupportedCombination for attributes of different kinds, or that are read from different columns.
    """
    first = attributes[0]
    if all(one.digest == first.digest for one in attributes):
        codes = np.arange(first.size)
        return [codes] * len(attributes)
    columns = {one.raw_columns for one in attributes}
    values = next((kind(attributes) for holds, kind in _KINDS if all(map(holds, attributes))), None)
    if values is None or len(columns) > 1:
        raise UnsupportedCombination(
            f"'{first.name}' is not read alike by these policies: {', '.join(sorted(set(map(_kind, attributes))))}; "
            "only words, numbers or days of one column can be compared"
        )
    return [one.encode(values) for one in attributes]


def _kind(attribute: Attribute) -> str:
    return f"{attribute.read_as} in the column {' and '.join(map(shown, attribute.raw_columns))}"


def _words(attributes: Sequence[Attribute]) -> list[str]:
    return list(dict.fromkeys(label for one in attributes for label in one.labels))


def _numbers(attributes: Sequence[Attribute]) -> NDArray[np.float64]:
    numeric = [one for one in attributes if isinstance(one, NumericAttribute)]
    ends = [float(one.ends[1]) for one in numeric]
    return np.unique(
        np.concatenate([*(one.lower for one in numeric), ends, [math.nextafter(end, math.inf) for end in ends]])
    )


def _days(attributes: Sequence[Attribute]) -> list[Any]:
    dated = [one for one in attributes if isinstance(one, DateAttribute)]
    starts = {one.first + timedelta(int(day)) for one in dated for day in one.days}
    return sorted(starts | {one.last + timedelta(1) for one in dated})


def _is_of_words(attribute: Attribute) -> bool:
    return attribute.read_as == "words" and attribute.raw_columns == (attribute.name,)


_KINDS: tuple[tuple[Callable[[Attribute], bool], Callable[[Sequence[Attribute]], Any]], ...] = (
    (_is_of_words, _words),
    (lambda one: isinstance(one, NumericAttribute), _numbers),
    (lambda one: isinstance(one, DateAttribute), _days),
)
"""What kind of column an attribute reads, and how such columns are refined."""
