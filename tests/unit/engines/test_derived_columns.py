"""What is made of a row's cells is what Python makes of them, row by row, in float64."""

from __future__ import annotations

import math
from datetime import datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.opening import opened
from dxgeom.engines.reading import plan_reading
from dxgeom.errors import DataError
from dxgeom.policy.derived import NotDerivable, arithmetic
from dxgeom.universe.numbers.numeric_attributes import RangeAttribute
from dxgeom.universe.reading.expressions import Arithmetic, Expression, Number, NumberCell
from dxgeom.universe.reading.reading import CellReading, Reading
from dxgeom.universe.universe import Universe

ANY = RangeAttribute("any", Fraction(0), Fraction(1), Fraction(1))


def policy_of(*attributes: str) -> str:
    listed = "".join(f"    {attribute}\n" for attribute in attributes)
    return f"policy: p\nunconnected: allow\nuniverse:\n  attributes:\n{listed}rules: []\n"


def handed(expression: Expression, table: Any) -> list[Any]:
    """What the engine hands to an attribute of numbers that is made so."""
    universe = Universe((ANY,), stated_reading=Reading((CellReading(expression.columns, "numbers", None, expression),)))
    with opened(table, universe.reading.columns) as source:
        batches = list(plan_reading(source, universe, None).batches())
    return [cell for batch in batches for cell in batch.column("k0").to_pylist()]


def expected(expression: Expression, row: dict[str, float | None]) -> float | None:
    """By Python: None where it is missing, infinite where it is outside everything."""
    cells = [row[column] for column in expression.columns]
    if any(cell is None or math.isnan(cell) for cell in cells):
        return None
    if any(math.isinf(cell) for cell in cells if cell is not None):
        return math.inf
    found = by_hand(expression, row)
    return math.inf if found is not None and math.isnan(found) else found


def by_hand(expression: Expression, row: dict[str, float | None]) -> float | None:
    if isinstance(expression, NumberCell):
        return row[expression.column]
    if isinstance(expression, Number):
        return float(expression.value)
    assert isinstance(expression, Arithmetic)
    one, other = by_hand(expression.left, row), by_hand(expression.right, row)
    if one is None or other is None:
        return None
    with np.errstate(all="ignore"):
        match expression.sign:
            case "+":
                return float(np.float64(one) + np.float64(other))
            case "-":
                return float(np.float64(one) - np.float64(other))
            case "*":
                return float(np.float64(one) * np.float64(other))
            case "/":
                return None if other == 0 else float(np.float64(one) / np.float64(other))


numbers = st.sampled_from(["0", "1", "0.1", "3e-20", "7e29", "30000000000000000004e-20", "123.456"])
expressions = st.recursive(
    st.sampled_from(["a", "b", "`c d`"]) | numbers,
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner) | inner.map("-{}".format),
    max_leaves=8,
).filter(lambda text: any(name in text for name in ("a", "b", "c")))
cells = st.none() | st.floats(allow_nan=True) | st.sampled_from([0.0, 1.0, -2.5, 1e300, math.inf])


@settings(max_examples=60, deadline=None)
@given(expressions, st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6))
def test_arithmetic_is_that_of_float64_row_by_row(text: str, rows: list[tuple[float | None, ...]]) -> None:
    expression = arithmetic(text)
    columns = [pa.array(column, pa.float64()) for column in zip(*rows, strict=True)]
    table = pa.table(dict(zip(("a", "b", "c d"), columns, strict=True)))
    found = handed(expression, table)
    assert len(found) == len(rows)
    for cell, row in zip(found, rows, strict=True):
        wanted = expected(expression, dict(zip(("a", "b", "c d"), row, strict=True)))
        if wanted is None or math.isinf(wanted):
            told = None if cell is None or math.isnan(cell) else abs(cell)
            assert told == (None if wanted is None else math.inf)
        else:
            assert cell == wanted


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + b * c", 7.0),
        ("(a + b) * c", 9.0),
        ("a - b - c", -4.0),
        ("c / b / b", 0.75),
        ("-a * -b", 2.0),
        ("- (a - b)", 1.0),
        ("1e2*a", 100.0),
        ("`a` + .5", 1.5),
        ("a/(b-2)", None),
    ],
)
def test_signs_bind_as_in_school(text: str, value: float | None) -> None:
    [found] = handed(arithmetic(text), pa.table({"a": [1.0], "b": [2.0], "c": [3.0]}))
    assert found == value


NOT_ARITHMETIC = (
    *("", "a +", "a b", "(a", "a)", "2", "a ** b", "a // b", "sum(a)", "a[0]", "a == b", "'a'", "a; b", "max(a) - a"),
    *("1e999 + a", "(" * 60 + "a" + ")" * 60, "-" * 60 + "a", "a + " * 400 + "a"),
)


@pytest.mark.parametrize("text", NOT_ARITHMETIC)
def test_nothing_but_arithmetic_over_one_row_is_read(text: str) -> None:
    with pytest.raises(NotDerivable):
        arithmetic(text)


def test_parts_of_moments_are_those_of_the_calendar() -> None:
    moments = pd.date_range("2023-12-30 22:13", periods=400, freq="11h")
    parts = {
        "year": [moment.year for moment in moments],
        "quarter": [(moment.month + 2) // 3 for moment in moments],
        "month": [moment.month for moment in moments],
        "weekday": [moment.isoweekday() for moment in moments],
        "hour": [moment.hour for moment in moments],
    }
    for part, wanted in parts.items():
        universe = dx.parse_policy(policy_of(f"x: {{range: [0, 3000], step: 1, from: at, as: {part}}}")).universe
        counts = np.bincount(wanted, minlength=3001)
        texts = [str(moment) for moment in moments]
        for column in (moments, pd.Series(moments).dt.floor("D") if part != "hour" else moments, texts):
            assert np.array_equal(histogram_of_table(pd.DataFrame({"at": column}), universe).counts, counts)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "Europe/Berlin", "UTC"])
def test_clocks_of_a_zone_are_those_that_python_knows(zone: str) -> None:
    """Across a year, so that clocks are put forward and back."""
    instants = pd.date_range("2024-01-01 00:30", periods=800, freq="11h", tz="UTC")
    clocks = [instant.to_pydatetime().astimezone(ZoneInfo(zone)) for instant in instants]
    hour = f"hour: {{range: [0, 23], step: 1, from: at, as: hour, zone: {zone}}}"
    day = f"day: {{dates: [2023-12-31, 2025-01-02], step: 1, from: at, zone: {zone}}}"
    universe = dx.parse_policy(policy_of(hour, day)).universe
    wanted = np.zeros(universe.size, dtype=np.int64)
    for clock in clocks:
        wanted[universe.index({"hour": clock.hour, "day": clock.date().isoformat()})] += 1
    as_text = [instant.strftime("%Y-%m-%dT%H:%M:%SZ") for instant in instants]
    offset = [datetime.isoformat(clock, sep=" ") for clock in clocks]
    for column in (instants, as_text, offset):
        assert np.array_equal(histogram_of_table(pd.DataFrame({"at": column}), universe).counts, wanted)


@pytest.mark.parametrize(
    ("keys", "column", "told"),
    [
        ("as: hour", pa.array([0], pa.date32()), "must hold moments, but holds date32"),
        ("as: hour", pa.array([0], pa.timestamp("us", "UTC")), "say beside 'as' which clocks count"),
        ("as: hour, zone: UTC", pa.array([0], pa.timestamp("us")), "leave out 'zone'"),
        ("as: hour", pa.array([1.5]), "must hold moments, but holds double"),
        ("as: hour", pa.array(["2024-02-29"]), "x (the hour of at), where at is '2024-02-29': accepted are numbers"),
        ("as: month", pa.array(["2024-13-01"]), "where at is '2024-13-01'"),
        ("as: month", pa.array(["2024-01-01T00:00Z"]), "where at is '2024-01-01T00:00Z'"),
        ("as: month, zone: UTC", pa.array(["2024-01-01T00:00"]), "where at is '2024-01-01T00:00'"),
        ("as: month", pa.array([None], pa.string()), "where at is missing"),
    ],
)
def test_what_is_no_moment_is_refused(keys: str, column: Any, told: str) -> None:
    universe = dx.parse_policy(policy_of(f"x: {{range: [0, 30], step: 1, from: at, {keys}}}")).universe
    with pytest.raises(DataError) as caught:
        histogram_of_table(pa.table({"at": column}), universe)
    assert told in str(caught.value)


def test_a_prefix_counts_characters_and_words_from_elsewhere_are_read_there() -> None:
    text = """
policy: p
universe:
  attributes:
    two: {values: [äö, a], from: long word, prefix: 2, unlisted: rest, missing: {epsilon: 1}}
    zip: {values: ["10", "12"], from: postcode, prefix: 2}
rules:
  - change: [two, zip]
    epsilon: 1
"""
    universe = dx.parse_policy(text).universe
    rows = pd.DataFrame({"long word": ["äöü", "a", "ab", None], "postcode": [10115, 12043, 10, 12]})
    found = histogram_of_table(rows, universe).counts
    records = [("äö", "10"), ("a", "12"), ("rest", "10"), ("missing", "12")]
    assert all(found[universe.index({"two": two, "zip": zip_})] == 1 for two, zip_ in records)


def test_the_nearest_place_is_found_and_what_is_far_is_outside() -> None:
    rng = np.random.default_rng(3)
    places = rng.uniform(0, 10, (40, 2))
    rows = rng.uniform(-1, 11, (2000, 2))
    lengths = np.linalg.norm(rows[:, None, :] - places[None], axis=2)
    wanted = np.where(lengths.min(axis=1) <= 1.5, lengths.argmin(axis=1), -1)
    attribute = nearest_places(places, "plane", 1.5)
    assert np.array_equal(attribute.encode_cells([rows[:, 0], rows[:, 1]]), wanted)


def test_on_the_globe_the_way_over_the_date_line_and_the_poles_is_short() -> None:
    attribute = nearest_places(np.array([[0.0, 179.9], [89.9, 0.0], [50.0, 8.0]]), "great circle", 100)
    longitudes = np.array([-179.9, 180.0, 8.0, 8.0, 500.0, np.nan])
    latitudes = np.array([0.0, 89.9, 50.5, 52.0, 0.0, 3.0])
    assert attribute.encode_cells([longitudes, latitudes]).tolist() == [0, 1, 2, -1, -1, -1]


def test_of_places_equally_near_the_first_one_counts() -> None:
    attribute = nearest_places(np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, -1.0]]), "plane", 9)
    assert attribute.encode_cells([np.array([1.0, 0.0]), np.array([0.0, 0.0])]).tolist() == [0, 1]


def nearest_places(places: Any, geometry: Any, at_most: float) -> Any:
    located = dx.universe.Nearest("x", "y", at_most, "km", geometry, places)
    keys = tuple(f"p{k}" for k in range(len(places)))
    return dx.universe.PointsAttribute("place", keys, geometry, places, "km", (), located)
