"""A release is shown by its ledger as it was when it was fresh, whatever was asked."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from golden.kinds import keeping

SOME = sorted(path.stem for path in keeping.plan_file("any").parent.iterdir())[::10]
FEW = [
    "boxes, pure, once, plain",
    "cells, concentrated, gaussian",
    "listed, pure, changed-queries",
    "quantiles, groups",
    "tables, concentrated, plain, marginal-gaussian",
    "tasks, pure, fit linear",
    "tasks, pure, select several",
    "tasks, pure, series",
    "tasks, pure, several",
    "tasks, pure, synthesize",
    "words, every word",
]


def shown(*words: object) -> str:
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize("name", [*FEW, *(pytest.param(one, marks=pytest.mark.long) for one in SOME)])
def test_a_ledger_shows_what_was_shown_when_it_was_released(name, tmp_path):
    ledger, file = tmp_path / "l.db", keeping.plan_file(name)
    spend = () if json.loads(file.read_text("ascii"))["spend"] else ("--spend", keeping.SPEND)
    release = ("release", file, keeping.table_of(name), "--ledger", ledger, "--id", name, *spend, "--format")
    show = ("ledger", "show", ledger, "--entry", 1, "--format")
    for all_of_it in ((), ("--all",)):
        fresh = shown(*release, "text", *all_of_it).splitlines()
        again = shown(*show, "text", *all_of_it).split("\n\n", 1)[1].splitlines()
        again = again if all_of_it else again[: len(again) - again[::-1].index("") - 1]
        assert again
        # What shows the rest is another command.
        assert not [line for line in again if line and line not in fresh and not line.endswith(" more: --all")]
    rows = [csv.DictReader(io.StringIO(shown(*words, "csv"))) for words in (release, show)]
    one, other = ([{column: row[column] for column in rows[0].fieldnames or ()} for row in each] for each in rows)
    assert one == other
    shown("ledger", "show", ledger, "--entry", 1, "--output", tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").num_rows > 0
    (tmp_path / "release.json").write_text(shown(*release, "json"), encoding="utf-8")
    read = dx.report.read_release(tmp_path / "release.json")
    assert [table.rows for part in read.parts for table in part.tables]
