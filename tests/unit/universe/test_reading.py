"""How rows are read is one value: it knows its columns, each once, and which cells each attribute is handed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dxgeom.errors import DataError
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.numbers.numeric_attributes import RangeAttribute
from dxgeom.universe.reading.reading import CellReading, Reading, plain_reading
from dxgeom.universe.universe import Universe

SEX = CategoricalAttribute("sex", ("F", "M"))
AGE = RangeAttribute("age", Fraction(0), Fraction(9), Fraction(1))


def test_attributes_of_their_own_columns_are_read_as_they_are() -> None:
    reading = Universe((SEX, AGE)).reading
    assert reading.columns == ("sex", "age")
    assert [one.read_as for one in reading.attributes] == ["words", "numbers"]
    assert reading.places == reading.cells == ((0,), (1,))


def test_a_column_that_several_attributes_need_is_read_once() -> None:
    reading = Reading((plain_reading(SEX), CellReading(("lon", "lat"), "numbers"), CellReading(("lat",), "words")))
    assert reading.columns == ("sex", "lon", "lat")
    assert reading.places == ((0,), (1, 2), (2,))
    assert reading.cells == ((0,), (1, 2), (3,))
    assert reading.digest == [
        [["sex"], "words", None, None],
        [["lon", "lat"], "numbers", None, None],
        [["lat"], "words", None, None],
    ]


def test_a_reading_has_one_entry_for_each_attribute() -> None:
    with pytest.raises(DataError, match="one entry for each of its attributes"):
        Universe((SEX, AGE), stated_reading=Reading((plain_reading(SEX),)))
