from __future__ import annotations

from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.errors import DataError, TooLarge, UnsupportedCombination
from dxgeom.universe.attributes import (
    OUTSIDE,
    CategoricalAttribute,
    NotAValue,
)
from dxgeom.universe.columns import plain
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute, RangeAttribute, numbers_of
from dxgeom.universe.places import PointsAttribute
from dxgeom.universe.universe import Universe


def F(text):
    return Fraction(text)


AGE = RangeAttribute("age", F("0"), F("100"), F("5"))
WEEK = "did you mean '2024-01-01'?"
WEEKS = DateAttribute("week", date(2024, 1, 1), date(2024, 1, 20), 7)
BINS = BinnedAttribute("income", (F("0"), F("0.1"), F("18"), F("65")))
NATIVE = CategoricalAttribute("native", ("Yes", "No"))
PLACES = PointsAttribute("place", ("a", "b", "c"), "plane", np.array([[0.0, 0], [1, 0], [2, 2]]), "km")
UNIVERSE = Universe((NATIVE, AGE, BINS, PLACES))


def test_a_range_rounds_down_to_its_step():
    assert AGE.size == 21
    assert AGE.labels[:2] == ("0", "5")
    assert AGE.encode(np.array([0, 4.999, 5, 37, 100, -0.1, 100.1, np.nan, np.inf])).tolist() == [
        0, 0, 1, 7, 20, OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE,
    ]  # fmt: skip


def test_a_step_that_is_no_binary_fraction_keeps_its_decimals():
    tenths = RangeAttribute("x", F("0"), F("1"), F("0.1"))
    assert tenths.encode(np.array([0.1, 0.2, 0.3, 0.6, 0.7, 1.0])).tolist() == [1, 2, 3, 6, 7, 10]


def test_bins_are_half_open_but_for_the_last():
    assert BINS.labels == ("[0, 0.1)", "[0.1, 18)", "[18, 65]")
    assert BINS.encode(np.array([0, 0.0999, 0.1, 17.9, 18, 65, 65.1, -1])).tolist() == [0, 0, 1, 1, 2, 2, -1, -1]
    assert numbers_of(BINS) == (F("0.05"), F("9.05"), F("41.5"))


def test_words_match_letter_for_letter():
    assert NATIVE.encode(["Yes", "yes", "No ", "No", None, 1]).tolist() == [0, -1, -1, 1, -1, -1]
    with pytest.raises(UnsupportedCombination, match="not numbers"):
        numbers_of(NATIVE)


@given(st.integers(0, UNIVERSE.size - 1))
def test_an_index_names_its_record_and_back(index):
    record = UNIVERSE.record(index)
    native, age, place = record["native"], float(record["age"]), record["place"]
    income = float(numbers_of(BINS)[BINS.labels.index(record["income"])])
    assert UNIVERSE.index({"native": native, "age": age, "income": income, "place": place}) == index


def test_columns_of_records_are_indexed_together():
    rows = {"native": ["Yes", "No"], "age": [0, 100], "income": [0, 65], "place": ["a", "c"]}
    assert UNIVERSE.index(rows).tolist() == [0, UNIVERSE.size - 1]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"native": "Yes"}, "missing: age, income, place"),
        ({"native": "Yes", "age": 1, "income": 1, "place": "a", "shoe": 4}, "unknown: shoe"),
        ({"native": "Maybe", "age": 1, "income": 1, "place": "a"}, "Maybe"),
    ],
)
def test_a_record_that_is_none_is_told(record, message):
    with pytest.raises(DataError, match=message):
        UNIVERSE.index(record)


def test_an_index_outside_is_refused():
    for index in (-1, UNIVERSE.size):
        with pytest.raises(IndexError):
            UNIVERSE.record(index)


@pytest.mark.parametrize("count", [6, 7])
def test_numbers_of_records_that_64_bits_do_not_hold_are_refused(count):
    """2000⁶ is beyond 2⁶⁴: an index would go around, to another record."""
    many = Universe(tuple(RangeAttribute(f"a{k}", F("0"), F("1999"), F("1")) for k in range(count)))
    last = dict.fromkeys(many.names, "1999")
    for asked in (lambda: many.index(last), lambda: many.record(0), lambda: many.codes(many.record_types - 1)):
        with pytest.raises(TooLarge, match="too many to number one by one"):
            asked()


def test_an_unknown_attribute_is_a_key_error():
    assert UNIVERSE.attribute("age") is AGE
    with pytest.raises(KeyError):
        UNIVERSE.attribute("shoe")


@pytest.mark.parametrize(
    ("number", "text"),
    [("5", "5"), ("-0.25", "-0.25"), ("0.1", "0.1"), ("1/3", "1/3"), ("100", "100"), ("1/1024", "0.0009765625")],
)
def test_numbers_are_written_as_a_person_would(number, text):
    assert plain(Fraction(number)) == text


@given(st.fractions(max_denominator=5000))
def test_written_numbers_read_back_as_themselves(number):
    assert Fraction(plain(number)) == number


@pytest.mark.parametrize("attribute", [AGE, BINS, NATIVE, WEEKS], ids=lambda attribute: attribute.name)
def test_a_label_is_what_a_person_may_write_for_its_code(attribute):
    assert [attribute.code_of(label) for label in attribute.labels] == list(range(attribute.size))


def test_what_a_table_may_hold_a_person_may_write():
    assert AGE.code_of("7.5") == AGE.code_of("5") == 1
    assert WEEKS.code_of("2024-01-09") == WEEKS.code_of("2024-01-08") == 1


@pytest.mark.parametrize(
    ("attribute", "text", "message", "advice"),
    [
        (AGE, "old", "age is a number, found 'old': this is not a decimal number", ""),
        (AGE, "101", "age runs from 0 to 100, found '101'", ""),
        (NATIVE, "yes", "native has no value 'yes'; did you mean 'Yes'?", "did you mean 'Yes'?"),
        (
            WEEKS,
            "2024-02-01",
            "week has no value '2024-02-01'; did you mean '2024-01-01'?",
            "did you mean '2024-01-01'?",
        ),
    ],
)
def test_a_text_that_names_no_value_is_refused_with_what_may_be_meant(attribute, text, message, advice):
    with pytest.raises(NotAValue) as refused:
        attribute.code_of(text)
    assert (str(refused.value), refused.value.advice) == (message, advice)
