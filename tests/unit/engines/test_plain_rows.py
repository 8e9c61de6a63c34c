"""Small files of text are read without Ibis, and say what they would say with it."""

from __future__ import annotations

import csv
import random
import subprocess
import sys

import numpy as np
import pytest
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.engines import reading
from dxgeom.engines.histogram import histogram_of_table

POLICY = dx.parse_policy("""
policy: p
unconnected: allow
universe:
  attributes:
    word: {values: [x, "1", é], unlisted: other, missing: public}
    number: {range: [0, 4], step: 1, clamp: true, missing: public}
    share: {bins: [0, 0.5, 1.5, 1e9], missing: public}
    day: {dates: [2026-01-01, 2026-01-15], step: 7, missing: public}
rules:
  - {change: [word, number, share, day], epsilon: 1}
""")
CELLS = {
    "word": ("x", "1", "é", "X", " x", "", "'", '"', "x,1", "\t"),
    "number": ("0", "1", " 2 ", "3.5", "4", "-1", "1e3", "1_0", "0x1", "", "inf", "-inf", "nan", "ten", "1e400", "٣"),
    "share": ("0.5", ".5", "1.4999999999999999", "1.5", "999999999", "1000000000", "1e9", "", "-0", "5e-324", "true"),
    "day": ("2026-01-01", "2026-01-09", "2026-01-15", "2026-1-1", "", "2026-01-01 00:00", "01/01/2026"),
    "records": (
        "0",
        "1",
        " 3 ",
        "\t4\t",
        "03",
        "3.0",
        "1e2",
        "-1",
        "",
        "9223372036854775807",
        "9223372036854775808",
        "٣",
    ),
}


def found(table, count_column):
    try:
        histogram = histogram_of_table(table, POLICY.universe, outside="drop", count_column=count_column)
    except dx.DataError as error:
        return str(error)
    return (histogram.counts.tolist(), histogram.total, histogram.dropped, histogram.not_declared_whole)


@pytest.mark.parametrize("count_column", [None, "records"])
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(one, marks=pytest.mark.long) for one in range(4, 12))])
def test_a_small_file_says_what_it_would_say_with_ibis(tmp_path, monkeypatch, seed, count_column):
    choose = random.Random(seed)
    path = tmp_path / ("t.tsv" if seed % 2 else "t.csv")
    few = {name: cells if seed % 3 else cells[:5] for name, cells in CELLS.items()}
    few["records"] = CELLS["records"] if seed == 0 else CELLS["records"][:5]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if seed % 2 else ",", lineterminator="\n")
        writer.writerow(few)
        writer.writerows([[choose.choice(cells) for cells in few.values()] for _ in range(60)])
    plain = found(path, count_column)
    monkeypatch.setattr(reading, "SMALL", -1)
    assert found(path, count_column) == plain


@pytest.mark.parametrize("name", ["clinic/patients.csv", "us-cities/people.csv"])
def test_ibis_is_not_loaded_for_a_small_file(name):
    read = f"""
import sys
import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
policy = dx.load_policy({str(POLICIES / name.split("/")[0] / "policy.yaml")!r})
histogram_of_table({str(POLICIES / name)!r}, policy.universe)
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", read], check=True, capture_output=True, text=True)
    assert "duckdb" in done.stdout.split()
    assert not {"ibis", "sqlglot", "pandas"} & {*done.stdout.split()}


def test_adults_are_counted_alike(monkeypatch):
    policy = dx.load_policy(POLICIES / "adult" / "policy.yaml")
    plain = histogram_of_table(POLICIES / "adult" / "people.csv", policy.universe)
    monkeypatch.setattr(reading, "SMALL", -1)
    assert np.array_equal(histogram_of_table(POLICIES / "adult" / "people.csv", policy.universe).counts, plain.counts)
