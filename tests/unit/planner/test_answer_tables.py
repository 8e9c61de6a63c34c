from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.errors import MissingExtra

POLICY = """policy: pay
universe:
  attributes:
    ward: [A, B]
    name: [long, short]
    salary: {range: [0, 40], step: 10}
rules:
  - {change: [ward, name, salary], epsilon: 1}
"""
QUERIES = """queries:
  - {name: pay, sum: salary, by: ward}
  - {count: true, by: name}
  - count: salary >= 20
"""
COLUMNS = ["query", "name", "ward", "by name", "value", "low", "high", "rmse", "bias", "unit"]


@pytest.fixture(scope="module")
def released():
    policy = dx.parse_policy(POLICY)
    plan = dx.plan(policy.compile(), dx.parse_queries(QUERIES, policy), mechanism="laplace")
    return plan.release(np.arange(policy.universe.size) * 100, ledger=":memory:", spend=1)


def test_an_answer_is_asked_for_by_its_name(released):
    found = released["pay, ward=B"]
    place = released.names.index("pay, ward=B")
    assert (found.name, found.query, found.group) == ("pay, ward=B", "pay", {"ward": "B"})
    assert (found.value, found.exact_value) == (released.values[place], released.exact_values[place])
    assert found.interval == tuple(released.intervals()[place])
    assert (found.rmse, found.bias, found.unit) == (released.rmse[place], released.biases[place], "salary")
    alone = released["salary >= 20"]
    assert (alone.query, alone.group, alone.unit) == ("salary >= 20", {}, "records")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pay", r"no answer is called 'pay'; it has several: take to_arrow\(query='pay'\)"),
        ("pay, ward=C", "no answer is called 'pay, ward=C'; did you mean 'pay, ward="),
        (0, "answers are asked for by name, found 0"),
    ],
)
def test_an_answer_that_is_not_there_is_refused(released, name, message):
    with pytest.raises(dx.UnsupportedCombination, match=message):
        released[name]


MEANS = """queries:
  - {name: pay, mean: salary, by: ward}
  - {name: long ones, share: name == 'long'}
  - {count: true, by: ward}
"""


def test_means_and_shares_have_rows_of_their_own():
    policy = dx.parse_policy(POLICY)
    plan = dx.plan(policy.compile(), dx.parse_queries(MEANS, policy), mechanism="laplace")
    release = plan.release(np.arange(policy.universe.size) * 100, ledger=":memory:", spend=1)
    table = release.to_arrow("pay", level=0.9).to_pydict()
    assert table["name"] == ["pay, ward=A", "pay, ward=B"]
    assert table["ward"] == ["A", "B"]
    assert table["unit"] == ["salary"] * 2
    assert table["rmse"] == [None, None]
    ratios = release.ratios(0.9)
    for place, ratio in enumerate(ratios[:2]):
        assert (table["value"][place], table["bias"][place]) == (ratio.value, ratio.rounding)
        assert (table["low"][place], table["high"][place]) == ratio.interval
    everything = release.to_pandas()
    assert list(everything["query"])[-3:] == ["pay", "pay", "long ones"]
    assert release.to_arrow()["unit"].to_pylist()[-1] is None
    assert release["long ones"] == release.ratios()[2]
    assert release["pay, ward=B"].interval == release.ratios()[1].interval
    with pytest.raises(dx.UnsupportedCombination, match=r"it has several: take to_arrow\(query='pay'\)"):
        release["pay"]


def test_a_release_is_no_sequence_by_accident(released):
    with pytest.raises(dx.UnsupportedCombination, match="by name"):
        list(released)


def test_the_arrow_table_has_a_row_for_each_answer_and_a_column_for_each_that_groups(released):
    table = released.to_arrow(level=0.9)
    assert isinstance(table, pa.Table)
    assert table.column_names == COLUMNS
    assert table["name"].to_pylist() == list(released.names)
    assert table["query"].to_pylist() == ["pay", "pay", "count", "count", "salary >= 20"]
    assert table["ward"].to_pylist() == ["A", "B", None, None, None]
    assert table["by name"].to_pylist() == [None, None, "long", "short", None]
    assert table["value"].to_pylist() == released.values.tolist()
    assert np.array_equal(np.column_stack([table["low"], table["high"]]), released.intervals(0.9))
    assert table["rmse"].to_pylist() == released.rmse.tolist()
    assert table["bias"].to_pylist() == released.biases.tolist()
    assert table["unit"].to_pylist() == ["salary"] * 2 + ["records"] * 3


def test_the_table_of_one_query_has_its_rows_and_columns_only(released):
    table = released.to_arrow("pay")
    assert table.column_names == [name for name in COLUMNS if name != "by name"]
    assert table["ward"].to_pylist() == ["A", "B"]
    with pytest.raises(dx.UnsupportedCombination, match="no query is called 'pya'; did you mean 'pay'"):
        released.to_arrow("pya")


def test_the_data_frame_says_the_same(released):
    frame, table = released.to_pandas(), released.to_arrow()
    assert list(frame.columns) == table.column_names
    for column in table.column_names:
        assert [None if entry != entry else entry for entry in frame[column]] == table[column].to_pylist()
    wide = released.to_pandas("pay").pivot(index="ward", columns="query", values="value")
    assert wide.loc["B", "pay"] == released["pay, ward=B"].value


def test_without_pandas_there_is_advice_and_an_arrow_table(released, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pip install pandas, or take to_arrow\(\)"):
        released.to_pandas()
    assert released.to_arrow().num_rows == 5


@pytest.mark.needs("polars")
def test_the_frame_of_polars_says_the_same_with_the_same_types(released):
    for query in (None, "pay"):
        frame, table = released.to_polars(query, level=0.9), released.to_arrow(query, level=0.9)
        assert frame.to_dict(as_series=False) == table.to_pydict()
        assert frame.to_arrow().schema.names == table.schema.names
    kinds = {name: str(kind) for name, kind in released.to_polars("pay").schema.items()}
    assert kinds == {name: "Float64" if name in COLUMNS[4:9] else "String" for name in COLUMNS if name != "by name"}
    with pytest.raises(dx.UnsupportedCombination, match="no query is called 'pya'"):
        released.to_polars("pya")


def test_without_polars_there_is_advice(released, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match=r"pip install polars, or take to_arrow\(\)"):
        released.to_polars()


def test_marginals_have_columns_too_and_queries_made_in_python_need_no_file():
    policy = dx.parse_policy(POLICY)
    asked = dx.LinearQueries.stack(
        [
            dx.LinearQueries.marginals(policy.universe, [["ward", "salary"]]),
            dx.LinearQueries.prefixes(policy.universe, "salary"),
        ]
    )
    plan = dx.plan(policy.compile(), asked, mechanism="laplace")
    released = plan.release(np.ones(policy.universe.size, dtype=np.int64), ledger=":memory:", spend=1)
    table = released.to_arrow("marginal of ward, salary")
    assert table["ward"].to_pylist() == ["A"] * 5 + ["B"] * 5
    assert table["salary"].to_pylist() == ["0", "10", "20", "30", "40"] * 2
    assert released["salary up to 20"].query == "salary up to 20"
