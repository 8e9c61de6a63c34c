"""What a policy says of cells is read alike of a table on a server and of the same table here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from services.tables import PostgresTables, as_spark

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError
from dxgeom.metrics.components import components_of

READING: dict[str, Any] = {"decimal": ",", "thousands": ".", "trim": True, "case": "fold", "missing": ["NA", "-"]}
WRITTEN = ["31.12.2025 23:59", "2025-12-31"]
ATTRIBUTES: dict[str, Any] = {
    "sex": {
        "values": ["F", "M"],
        "from": "Geschlecht",
        "words": {"weiblich": "F", "m\u00e4nnlich": "M"},
        "missing": {"epsilon": 1},
    },
    "age": {"range": [0, 110], "step": 5, "whole": True, "clamp": True, "from": "Alter", "missing": {"epsilon": 1}},
    "day": {"dates": ["2025-01-01", "2025-12-31"], "step": 30, "from": "Ankunft", "written": WRITTEN},
    "month": {"range": [1, 12], "step": 1, "whole": True, "from": "Ankunft", "as": "month", "written": WRITTEN},
    "pay": {"range": [0, 10000], "step": 500, "from": "Lohn", "units": {"\u20ac": 1, "ct": "0.01"}, "clamp": True},
}


def policy(people: dict[str, Any] | None) -> dx.Policy:
    rules = [{"change": name, "epsilon": 1} for name in ATTRIBUTES]
    stated = {"policy": "p", "reading": READING, "universe": {"attributes": ATTRIBUTES}, "rules": rules}
    return dx.Policy.from_dict({**stated, **({} if people is None else {"people": people})})


def rows_of(rows: int = 300) -> pa.Table:
    random = np.random.default_rng(3)
    sexes = ["F", "m", " f ", "WEIBLICH", "ma\u0308nnlich", "NA", "", None]
    ages = ["5", " 30 ", "1.000", "99", "-", "NA", "42,0", None]
    days = ["01.03.2025 07:05", "2025-11-30", "31.12.2025 23:59", " 05.05.2025 12:00"]
    pays = ["1.234,50 \u20ac", "\u20ac 17", "99999 ct", "400\u00a0\u20ac", "0 \u20ac"]
    columns = {"Geschlecht": sexes, "Alter": ages, "Ankunft": days, "Lohn": pays, "who": [*map(str, range(90))]}
    chosen = {name: [cells[k] for k in random.integers(0, len(cells), rows)] for name, cells in columns.items()}
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in chosen.items()})


PEOPLE = [None, {"column": "who", "count": "once"}, {"column": "who", "count": "rows", "at_most": 2}]


def same_as_here(there: Any, table: pa.Table, people: dict[str, Any] | None) -> None:
    stated = policy(people)
    of = None if people is None else components_of(stated.compile().metric).of
    here, found = (histogram_of_table(each, stated.universe, component_of=of) for each in (table, there))
    assert int(here.counts.sum()) > 0 and np.array_equal(here.counts, found.counts)


def unreadable(there: Any, wrong: str) -> None:
    """Which cells do not fit is told as it is here."""
    with pytest.raises(DataError) as caught:
        histogram_of_table(there, policy(None).universe)
    assert wrong in str(caught.value)


@pytest.mark.service("postgres")
@pytest.mark.parametrize("people", PEOPLE)
def test_cells_are_read_alike_on_postgres(postgres: Any, tmp_path: Path, people: dict[str, Any] | None) -> None:
    table = rows_of()
    same_as_here(PostgresTables(postgres).keep(table, tmp_path), table, people)


@pytest.mark.service("spark")
@pytest.mark.parametrize("people", PEOPLE)
def test_cells_are_read_alike_on_spark(spark: Any, tmp_path: Path, people: dict[str, Any] | None) -> None:
    table = rows_of()
    same_as_here(as_spark(spark, table, tmp_path), table, people)


@pytest.mark.service("postgres")
def test_a_cell_that_cannot_be_read_is_told_of_on_postgres(postgres: Any, tmp_path: Path) -> None:
    table = rows_of().set_column(2, "Ankunft", pa.array(["03/04/2025"] * 300))
    unreadable(PostgresTables(postgres).keep(table, tmp_path), "03/04/2025")
