"""The universe: every record type there is, numbered 0..size-1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError
from dxgeom.universe.attributes import OUTSIDE, Attribute


@final
@dataclass(frozen=True)
class Universe:
    """The product of finite attributes; the last attribute's code runs fastest.

    Laws: ``index(record(i)) == i``; sizes multiply.
    """

    attributes: tuple[Attribute, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def size(self) -> int:
        """The number of record types."""
        return math.prod(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def raw_columns(self) -> tuple[str, ...]:
        """The columns of a table that say which record a row is: those of each attribute, in order."""
        return tuple(column for attribute in self.attributes for column in attribute.raw_columns)

    @property
    def raw_places(self) -> tuple[tuple[int, ...], ...]:
        """For each attribute, which of the ``raw_columns`` are its own."""
        ends = list(accumulate((len(attribute.raw_columns) for attribute in self.attributes), initial=0))
        return tuple(tuple(range(start, end)) for start, end in pairwise(ends))

    def lists_the_same_records(self, other: Universe) -> bool:
        """Whether an index means the same record in both: the same names and labels in the same order."""
        mine = [(attribute.name, attribute.labels) for attribute in self.attributes]
        return mine == [(attribute.name, attribute.labels) for attribute in other.attributes]

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name.

        Raises: KeyError.
        """
        return self.attributes[self.names.index(name)] if name in self.names else _no_attribute(name)

    def record(self, index: int) -> dict[str, str]:
        """The record type with that index, as labels by attribute name."""
        if not 0 <= index < self.size:
            raise IndexError(f"record {index} does not exist: the universe has {self.size} record types")
        codes = np.unravel_index(index, self.shape)
        return {
            attribute.name: attribute.labels[int(code)] for attribute, code in zip(self.attributes, codes, strict=True)
        }

    def index(self, record: Mapping[str, Any]) -> Any:
        """The index of a record, or an array of indices when the mapping holds columns of equal length.

        Raises: DataError naming the first value that is in no attribute, or a missing or unknown attribute.
        """
        unknown = [name for name in record if name not in self.names]
        missing = [name for name in self.names if name not in record]
        if unknown or missing:
            found = f"unknown: {', '.join(unknown)}" if unknown else f"missing: {', '.join(missing)}"
            raise DataError(f"a record has exactly the attributes {', '.join(self.names)}; {found}")
        single = all(np.ndim(record[name]) == 0 for name in self.names)
        columns = {name: [record[name]] if single else record[name] for name in self.names}
        indices = self.encode(columns)
        if np.any(indices == OUTSIDE):
            row = int(np.argmax(indices == OUTSIDE))
            raise DataError(f"this record is not in the universe: { ({n: columns[n][row] for n in self.names}) }")
        return int(indices[0]) if single else indices

    def encode(self, columns: Mapping[str, Any]) -> NDArray[np.int64]:
        """Indices of rows given by columns; ``OUTSIDE`` where any cell is no value of its attribute."""
        flat: NDArray[np.int64] | None = None
        outside: NDArray[np.bool_] | None = None
        for attribute in self.attributes:
            codes = attribute.encode(columns[attribute.name])
            beyond = codes == OUTSIDE
            flat = codes if flat is None else flat * attribute.size + codes
            outside = beyond if outside is None else outside | beyond
        if flat is None or outside is None:
            raise DataError("a universe without attributes has no rows to encode")
        return np.where(outside, OUTSIDE, flat)


def _no_attribute(name: str) -> Attribute:
    raise KeyError(name)
