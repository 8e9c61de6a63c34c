"""Whole tables of counts on Spark: its rows never come, and the counts are those of a pass over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from services.tables import as_spark

import dxgeom as dx
from dxgeom.engines import tables_on_servers
from dxgeom.engines.counted_tables import TableCounts, table_counts
from dxgeom.engines.spark import _View
from dxgeom.errors import DataError
from dxgeom.metrics.components import components_of

pytestmark = pytest.mark.service("spark")
SIZES = (2, 3, 4, 5, 2)
COUNTING: dict[str, dict[str, Any]] = {
    "rows": {"column": "who", "count": "rows", "at_most": 2, "order": "at"},
    "spread": {"column": "who", "count": "rows", "at_most": 3},
    "single": {"column": "who", "count": "single"},
    "once": {"column": "who", "count": "once"},
}


def policy(count: str | None, presence: bool = False) -> dx.Policy:
    """Words, of which some may be missing or are listed nowhere, and numbers; values of one are compared in halves."""
    attributes: dict[str, Any] = {f"a{k}": {"values": [f"it's {j}" for j in range(s)]} for k, s in enumerate(SIZES)}
    missing: Any = {"epsilon": 1} if presence else "public"
    attributes["n"] = {"range": [0, 3], "step": 0.3, "missing": missing}
    attributes["a1"]["missing"], attributes["a4"]["unlisted"] = missing, "it's 1"
    halves = {"edges": [["it's 0", "it's 3", 2], ["it's 1", "it's 2", 1]]}
    rules: list[dict[str, Any]] = [{"change": name, "epsilon": 1} for name in attributes if name != "a2"]
    rules.append({"presence": True, "epsilon": 1} if presence else {"change": "a2", "secrets": halves})
    stated = {"policy": "p", "universe": {"attributes": attributes}, "rules": rules, "unconnected": "allow"}
    return dx.Policy.from_dict({**stated, **({} if count is None else {"people": COUNTING[count]})})


def rows_of(seed: int, count: str | None, rows: int = 400) -> pa.Table:
    """Some cells are no values, and some are missing; persons have rows in many places of the order."""
    generator = np.random.default_rng(seed)
    words = [[f"it's {j}" for j in generator.integers(0, size + (size == 5), rows)] for size in SIZES]
    words[1] = [None if k % 7 == 0 else "" if k % 11 == 0 else word for k, word in enumerate(words[1])]
    words[4] = [f"another {k % 3}" if k % 5 == 0 else word for k, word in enumerate(words[4])]
    numbers = [None if k % 13 == 0 else float(generator.random() * 3.05) for k in range(rows)]
    who = generator.permutation(rows) if count == "single" else generator.integers(0, 60, rows)
    columns = {f"a{k}": own for k, own in enumerate(words)}
    return pa.table({**columns, "n": numbers, "who": who, "at": generator.permutation(rows)})


def counted(table: Any, own: dx.Policy, outside: Any = "drop") -> TableCounts:
    queries = dx.universe.MarginalQueries.of(own.universe, [*_pairs(own), ["a0", "a2", "n"], ["a3"], []])
    keys = components_of(own.compile().metric).keys(len(own.universe.attributes))
    return table_counts(table, queries, outside=outside, component_keys=keys)


def _pairs(own: dx.Policy) -> list[list[str]]:
    names = own.universe.names
    return [[one, other] for place, one in enumerate(names) for other in names[place + 1 :]]


@pytest.fixture
def nothing_but_counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each result that comes from Spark has; all rows may never come."""
    come: list[int] = []
    run = _View.run

    def seen(self: Any, rows: Any) -> Any:
        found = run(self, rows).read_all()
        come.append(found.num_rows)
        return found.to_reader()

    def everything(_: Any) -> Any:
        raise AssertionError("all rows came")

    monkeypatch.setattr(_View, "run", seen)
    monkeypatch.setattr(_View, "everything", everything)
    return come


@pytest.mark.parametrize(
    ("count", "presence"),
    [(None, False), ("rows", False), ("single", True), ("once", True), ("once", False), ("spread", False)],
)
def test_counts_are_those_of_a_pass_over_rows(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    nothing_but_counts: list[int],
    count: str,
    presence: bool,
) -> None:
    monkeypatch.setattr(tables_on_servers, "MOST_CELLS", 256)
    own, table = policy(count, presence), rows_of(1, count)
    wanted, found = counted(table, own), counted(as_spark(spark, table, tmp_path), own)
    assert all(np.array_equal(one, other) for one, other in zip(found.cells, wanted.cells, strict=True))
    assert (found.total, found.dropped) == (wanted.total, wanted.dropped)
    assert max(nothing_but_counts) <= 256


def test_of_rows_outside_examples_alone_come(spark: Any, tmp_path: Path, nothing_but_counts: list[int]) -> None:
    table, said = rows_of(2, None), set[str]()
    for one in (table, as_spark(spark, table, tmp_path)):
        with pytest.raises(DataError, match="rows are outside") as caught:
            counted(one, policy(None), "refuse")
        lines = str(caught.value).splitlines()
        assert len([line for line in lines if line.startswith("  ")]) == 5
        said.add(lines[0].split(" (")[0])
    assert len(said) == 1


def test_tables_that_change_meanwhile_are_refused(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    met, looked = tables_on_servers._met, list[Any]()

    def once_more(reader: Any, places: Any) -> Any:
        looked.append(met(reader, places))
        return {place: {*own, "new"} if len(looked) > 1 else own for place, own in looked[-1].items()}

    monkeypatch.setattr(tables_on_servers, "_met", once_more)
    with pytest.raises(DataError, match="was changed while it was read"):
        counted(as_spark(spark, rows_of(3, None), tmp_path), policy(None))


def test_very_many_different_cells_are_left_to_a_pass(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables_on_servers, "MOST_SPELLINGS", 10)
    own, table = policy("rows"), rows_of(4, "rows")
    wanted, found = counted(table, own), counted(as_spark(spark, table, tmp_path), own)
    assert all(np.array_equal(one, other) for one, other in zip(found.cells, wanted.cells, strict=True))
