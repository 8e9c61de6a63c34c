"""Columns of numbers and words, read without what Arrow is slow to load, as with it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dxgeom.engines import cells as encoding

TYPES = [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]


def cast(column: pa.Array) -> np.ndarray:
    return np.array(column.cast(pa.float64()).to_pylist(), dtype=np.float64)


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("cells", [[], [0, 3, 100], [7, None, 1]], ids=["none", "all", "missing"])
def test_numbers_of_every_type_are_those_that_arrow_makes_of_them(kind: pa.DataType, cells: list[int | None]) -> None:
    column = pa.array(cells, type=kind)
    found = encoding._numbers(column)
    assert found.dtype == np.float64
    assert np.array_equal(found, cast(column), equal_nan=True)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()], ids=str)
def test_whole_numbers_that_float64_does_not_have_are_refused_and_the_last_it_has_is_read(kind: pa.DataType) -> None:
    assert encoding._numbers(pa.array([2**53], type=kind)).tolist() == [2.0**53]
    with pytest.raises(pa.ArrowInvalid):
        encoding._numbers(pa.array([2**53 + 1], type=kind))


def test_a_part_of_a_column_is_read_from_where_it_begins() -> None:
    assert encoding._numbers(pa.array([1, 2, 3, 4])[1:3]).tolist() == [2.0, 3.0]


def test_words_of_few_rows_are_those_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    column = pa.array(["b", None, "a", "b", ""])
    walked, places = encoding._distinct(column)
    monkeypatch.setattr(encoding, "_FEW", 2)
    coded, which = encoding._distinct(column)
    assert [walked[place] for place in places] == [coded[place] for place in which] == column.to_pylist()
