"""From batches of cells to indices of record types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.reading.reading import CellReading
from dxgeom.universe.universe import Universe

_FEW = 1 << 16
"""Rows: Arrow's own functions take longer to load than so few rows to walk, in some columns."""
_WHOLE = 1 << 53
"""Whole numbers up to it are numbers of float64, too."""


@final
class BatchEncoder:
    """Encodes the columns k0, k1, … of batches; remembers the words it has met.

    ``coded``: the attributes, by place, whose cells are their codes already, null where they are missing.
    """

    def __init__(self, universe: Universe, coded: frozenset[int]) -> None:
        self._universe = universe
        self._coded = coded
        self._met: list[dict[str | None, int]] = [{} for _ in universe.attributes]

    def codes(self, batch: pa.RecordBatch, axes: Sequence[int] | None = None) -> list[NDArray[np.int64]]:
        """For each attribute, or each of these, the codes of its columns, ``OUTSIDE`` where a cell is no value, or may
        not be missing."""
        reading, codes = self._universe.reading, []
        for place in range(len(self._universe.attributes)) if axes is None else axes:
            attribute, one, met = self._universe.attributes[place], reading.attributes[place], self._met[place]
            columns = [batch.column(f"k{cell}") for cell in reading.cells[place]]
            given = place in self._coded
            codes.append(_given(attribute, columns[0]) if given else _codes(attribute, one, columns, met))
        return codes

    def indices(self, codes: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The record type of each row, ``OUTSIDE`` where there is none."""
        return self._universe.indices_of(codes)


def _given(attribute: Attribute, column: Any) -> NDArray[np.int64]:
    nothing = OUTSIDE if attribute.missing is None else attribute.missing
    codes = column.fill_null(nothing) if column.null_count else column
    return np.asarray(np.from_dlpack(codes)).astype(np.int64)


def _codes(
    attribute: Attribute, reading: CellReading, columns: list[Any], met: dict[str | None, int]
) -> NDArray[np.int64]:
    beyond = OUTSIDE if reading.unlisted is None else reading.unlisted
    if reading.read_as == "numbers":
        numbers = [_numbers(column) for column in columns]
        readable = np.logical_and.reduce([np.isfinite(one) for one in numbers])
        codes = attribute.encode_cells(numbers)
        return np.where((codes == OUTSIDE) & readable, beyond, codes)
    (column,) = columns
    return _codes_of_words(attribute, column, met, beyond)


def _numbers(column: Any) -> NDArray[np.float64]:
    # Neither to_numpy, cast nor fill_null where they are not needed: they load pandas, or all that Arrow can compute.
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        plain = np.asarray(np.from_dlpack(column))
        if plain.dtype.kind == "f" or not np.any((plain > _WHOLE) | (plain < -_WHOLE)):
            return plain.astype(np.float64)
    numbers = column.cast(pa.float64())
    return np.asarray(np.from_dlpack(numbers.fill_null(np.nan) if numbers.null_count else numbers))


def _codes_of_words(attribute: Attribute, column: Any, met: dict[str | None, int], beyond: int) -> NDArray[np.int64]:
    words, places = _distinct(column)
    new = [word for word in words if word and word not in met]
    code_of = {word: int(code) for word, code in zip(new, attribute.encode_cells([new]), strict=True)}
    # Only true values are remembered: there are few of them, whatever the table holds.
    met.update({word: code for word, code in code_of.items() if code != OUTSIDE})
    nothing = OUTSIDE if attribute.missing is None else attribute.missing
    codes = np.array([met.get(word, beyond) if word else nothing for word in words], dtype=np.int64)
    return codes[places]


def _distinct(column: Any) -> tuple[list[str | None], NDArray[np.int64]]:
    """Words, and which of them stands in each row; of few rows no matter how often a word comes."""
    if len(column) <= _FEW:
        return column.to_pylist(), np.arange(len(column))
    coded = column.dictionary_encode(null_encoding="encode")
    return coded.dictionary.to_pylist(), np.asarray(np.from_dlpack(coded.indices), dtype=np.int64)
