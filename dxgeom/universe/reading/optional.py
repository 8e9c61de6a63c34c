"""An attribute whose value may be missing: one value more, the last, which means that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.attributes import Attribute, CellType, NotAValue
from dxgeom.universe.columns import Column

MISSING: Final = "missing"
"""What the missing value is called, in labels and in conditions."""


@final
@dataclass(frozen=True)
class OptionalAttribute(Attribute):
    """The values of ``inner`` and the missing one: an empty cell, NULL, NaN and NaT alike.

    Of several columns one that is empty is enough. The word ``missing`` names it in records, never in a table.
    """

    name: str
    inner: Attribute

    @property
    def missing(self) -> int:
        return self.inner.size

    @property
    def present(self) -> Attribute:
        return self.inner

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.inner.labels, MISSING)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(replace(column, missing=True) for column in self.inner.columns)

    @property
    def size(self) -> int:
        return self.inner.size + 1

    @property
    def raw_columns(self) -> tuple[str, ...]:
        return self.inner.raw_columns

    @property
    def read_as(self) -> CellType:
        return self.inner.read_as

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        gone = np.fromiter((is_missing(cell) or cell == MISSING for cell in raw), dtype=np.bool_, count=len(raw))
        codes = np.full(len(raw), self.missing, dtype=np.int64)
        there = np.flatnonzero(~gone)
        if there.size:
            codes[there] = self.inner.encode([raw[int(place)] for place in there])
        return codes

    def encode_cells(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> NDArray[np.int64]:
        if self.read_as == "numbers":
            gone = np.logical_or.reduce([np.isnan(np.asarray(column, dtype=np.float64)) for column in columns])
            return np.where(gone, self.missing, self.inner.encode_cells(columns))
        return self.inner.encode_cells(columns)

    def code_of(self, text: str) -> int:
        if text in ("", MISSING):
            return self.missing
        try:
            return self.inner.code_of(text)
        except NotAValue as error:
            raise NotAValue(f"{error.args[0]}, or {MISSING}") from error

    def accepted(self, found: str) -> str:
        return f"{self.inner.accepted(found)}, or an empty cell"

    @property
    def beyond_labels(self) -> Sequence[Any]:
        return (self.inner.digest,)


def is_missing(cell: Any) -> bool:
    """Whether a cell in Python's own terms is None, the empty word, NaN or NaT."""
    if cell is None or (isinstance(cell, str) and not cell):
        return True
    try:
        return bool(cell != cell)
    except TypeError:
        return True  # pandas' NA is neither equal to itself nor different
