from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.errors import PredicateError
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.dates import DateAttribute, iso_date
from dxgeom.universe.predicates import parse_predicate
from dxgeom.universe.selections import evaluate
from dxgeom.universe.universe import Universe

WEEKS = DateAttribute("day", date(2024, 2, 26), date(2024, 3, 12), 7)
UNIVERSE = Universe((WEEKS,))


def test_a_day_is_rounded_down_to_the_step_over_a_leap_day():
    assert WEEKS.labels == ("2024-02-26", "2024-03-04", "2024-03-11")
    days = ["2024-02-26", "2024-02-29", "2024-03-03", "2024-03-04", "2024-03-12", "2024-03-13", "2024-02-25"]
    assert WEEKS.encode(days).tolist() == [0, 0, 0, 1, 2, OUTSIDE, OUTSIDE]


def test_only_one_spelling_of_a_day_is_read():
    for text in ("20240301", "2024-3-1", "2024-W09-5", " 2024-03-01", "2024-02-30", "0000-01-01", "", "٢٠٢٤-٠٣-٠١"):
        assert iso_date(text) is None
        assert WEEKS.encode([text]).tolist() == [OUTSIDE]


def test_dates_of_every_kind_are_read_and_missing_ones_are_outside():
    noon = datetime(2024, 3, 4, 12, 0, 0)
    assert WEEKS.encode([date(2024, 3, 4), noon, pd.Timestamp(noon), noon.replace(tzinfo=UTC)]).tolist() == [
        1,
        1,
        1,
        -1,
    ]
    assert WEEKS.encode([None, pd.NaT, float("nan"), 3]).tolist() == [OUTSIDE] * 4
    assert WEEKS.encode(np.array(["2024-03-04T23:59", "NaT"], dtype="datetime64[ns]")).tolist() == [1, OUTSIDE]


@given(st.dates(), st.integers(0, 400), st.integers(1, 50), st.integers(-5, 500))
def test_every_day_has_the_last_value_not_after_it(first, span, step, offset):
    last = min(first, date.max - timedelta(1000)) + timedelta(span)
    first = min(first, date.max - timedelta(1000))
    attribute = DateAttribute("d", first, last, step)
    assert attribute.encode(attribute.labels).tolist() == list(range(attribute.size))
    if first.toordinal() + offset < 1:
        return
    day = first + timedelta(offset)
    earlier = [code for code, label in enumerate(attribute.labels) if date.fromisoformat(label) <= day]
    assert attribute.encode([day]).tolist() == [earlier[-1] if earlier and day <= last else OUTSIDE]


@pytest.mark.parametrize(
    ("condition", "codes"),
    [
        ("day < '2024-03-04'", [0]),
        ("'2024-03-04' <= day", [1, 2]),
        ("day == '2024-03-11'", [2]),
        ("day > '2030-01-01'", []),
        ("day in ['2024-02-26', '2024-03-11']", [0, 2]),
    ],
)
def test_days_are_compared_in_their_order(condition, codes):
    assert np.flatnonzero(evaluate(parse_predicate(condition), UNIVERSE).mask).tolist() == codes


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("day < '2024-03-05'", "use 2024-03-04 or 2024-03-11"),
        ("day == '2024-01-01'", "use 2024-02-26"),
        ("day < 'March'", "is not a date"),
        ("day < 5", "write it as"),
    ],
)
def test_a_day_between_the_values_is_refused(condition, message):
    with pytest.raises(PredicateError, match=message):
        evaluate(parse_predicate(condition), UNIVERSE)
