"""Refusals can be made mute, and where records may be absent a row that cannot be counted is outside like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.watching import QUIET
from dxgeom.errors import DataError

POLICY = """
policy: quiet
universe:
  attributes:
    sex: [F, M]
    age: {range: [0, 9], step: 1}
rules:
  - change: [sex, age]
    epsilon: 1
"""
PRESENCE = POLICY + "  - presence: true\n    epsilon: 1\n"
BAD_FILES = {
    "outside": "sex,age\nF,3\nSECRET,4\n",
    "short row": "sex,age\nF,3\nSECRET\n",
    "open quote": 'sex,age\nF,3\n"SECRET,4\n',
    "no column": "SECRET,age\nF,3\n",
    "no rows": "sex,age\n",
    "nobody": "sex,age\nSECRET,99\n",
    "no text": b"sex,age\nF,3\n\xff\xfe,4\n",
    "nothing": "",
}


def table(folder: Path, content: str | bytes) -> Path:
    path = folder / "people.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("content", [text for name, text in BAD_FILES.items() if name != "nothing"])
@pytest.mark.parametrize("outside", ["refuse", "drop"])
def test_a_mute_refusal_depends_on_no_data(content: Any, outside: Any, tmp_path: Path) -> None:
    universe = dx.parse_policy(POLICY).universe
    path = table(tmp_path, content)
    try:
        histogram_of_table(path, universe, outside=outside)
    except DataError as error:
        assert str(error) != QUIET
        with pytest.raises(DataError) as caught:
            histogram_of_table(path, universe, outside=outside, quiet_data=True)
        assert str(caught.value) == QUIET
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"sex": ["F", 3], "age": [1, 2]}),
        pd.DataFrame({"sex": ["F", "M"], "age": ["x", "y"]}),
        np.array([-1] + [0] * 19),
        np.zeros(3, dtype=np.int64),
    ],
)
def test_tables_in_memory_are_refused_mutely_too(data: Any) -> None:
    plan = dx.plan(
        dx.parse_policy(POLICY).compile(), dx.parse_queries("queries: [{count: true}]", dx.parse_policy(POLICY))
    )
    with pytest.raises(DataError) as caught:
        plan.release(data, ledger=":memory:", spend="1/2", quiet_data=True)
    assert str(caught.value) == QUIET


def test_what_is_wrong_with_a_path_is_told_in_any_case(tmp_path: Path) -> None:
    universe = dx.parse_policy(POLICY).universe
    with pytest.raises(DataError, match="does not exist"):
        histogram_of_table(tmp_path / "none.csv", universe, quiet_data=True)


def test_the_command_line_can_be_quiet(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "queries.yaml").write_text("queries:\n  - count: age >= 5\n")
    files = [str(tmp_path / "policy.yaml"), str(table(tmp_path, BAD_FILES["outside"])), str(tmp_path / "queries.yaml")]
    words = ["release", *files, "--ledger", str(tmp_path / "a.db"), "--spend", "0.5"]
    loud, quiet = (CliRunner().invoke(app, [*words, *more]) for more in ([], ["--quiet-data"]))
    assert (loud.exit_code, quiet.exit_code) == (1, 1)
    assert "1 of 2 rows do not fit the policy: sex 1" in loud.output
    assert "do not fit" not in quiet.output
    assert "SECRET" not in loud.output + quiet.output
    assert not (tmp_path / "a.db").exists()


def test_a_row_without_a_count_is_outside_where_records_may_be_absent_and_rows_are_dropped(tmp_path: Path) -> None:
    rows = table(tmp_path, "sex,age,n\nF,3,2\nM,4,many\nM,5,1.5\nF,99,7\n")
    universe = dx.parse_policy(PRESENCE).universe
    found = histogram_of_table(rows, universe, outside="drop", count_column="n")
    assert (found.counts.sum(), found.counts[3]) == (2, 2)
    for here, outside in ((universe, "refuse"), (dx.parse_policy(POLICY).universe, "drop")):
        with pytest.raises(DataError, match="a row stands for a whole number of records"):
            histogram_of_table(rows, here, outside=outside, count_column="n")
