from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.universe import Universe

UNIVERSE = Universe(
    (DateAttribute("day", date(2024, 2, 26), date(2024, 3, 12), 7), CategoricalAttribute("w", ("u", "v")))
)
TEXTS = ["2024-02-29", "2024-03-04", "2024-03-12", "2024-03-04"]
WORDS = ["u", "v", "u", "v"]


def test_texts_and_dates_in_every_container_are_counted_alike(tmp_path: Path) -> None:
    texts = pd.DataFrame({"day": TEXTS, "w": WORDS})
    times = texts.assign(day=pd.to_datetime(texts["day"]) + pd.Timedelta(hours=23))
    days = pa.table({"day": pa.array([date.fromisoformat(text) for text in TEXTS]), "w": WORDS})
    texts.to_csv(tmp_path / "a.csv", index=False)
    times.to_parquet(tmp_path / "a.parquet")
    tables: list[Any] = [texts, times, days, days.to_pandas(), tmp_path / "a.csv", tmp_path / "a.parquet"]
    for table in tables:
        assert histogram_of_table(table, UNIVERSE).counts.tolist() == [1, 0, 0, 2, 1, 0]


@pytest.mark.parametrize("wrong", ["2024-03-13", "2024-02-30", "", None, "04/03/2024"])
def test_days_outside_are_refused_or_dropped(wrong: str | None) -> None:
    frame = pd.DataFrame({"day": ["2024-03-04", wrong], "w": ["u", "u"]})
    with pytest.raises(DataError, match="accepted are dates from 2024-02-26 to 2024-03-12"):
        histogram_of_table(frame, UNIVERSE)
    found = histogram_of_table(frame, UNIVERSE, outside="drop")
    assert (found.total, found.dropped) == (1, 1)


def test_a_missing_date_is_outside() -> None:
    frame = pd.DataFrame({"day": pd.to_datetime(["2024-03-04", None]), "w": ["u", "u"]})
    with pytest.raises(DataError, match="day is missing"):
        histogram_of_table(frame, UNIVERSE)


def test_numbers_and_times_of_a_zone_are_no_dates() -> None:
    with pytest.raises(DataError, match="must hold dates"):
        histogram_of_table(pd.DataFrame({"day": [20240304], "w": ["u"]}), UNIVERSE)
    zoned = pd.DataFrame({"day": pd.to_datetime(["2024-03-04"]).tz_localize("Asia/Tokyo"), "w": ["u"]})
    with pytest.raises(DataError, match="time zone"):
        histogram_of_table(zoned, UNIVERSE)
