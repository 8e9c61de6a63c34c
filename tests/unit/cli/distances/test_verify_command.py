"""``dxgeom verify``."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app

HOLDS = "0,0.1,0.3\n0.1,0,0.2\n0.3,0.2,0\n"
FAILS = "0,0.1,0.3\n0.1,0,0.1\n0.3,0.1,0\n"


def verified(path: Path) -> tuple[int, dict[str, Any], str]:
    result = CliRunner().invoke(app, ["verify", str(path), "--format", "json"])
    return result.exit_code, json.loads(result.stdout), result.stderr


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "matrix.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_decimals_in_text_are_decided_exactly(tmp_path: Path) -> None:
    # In float64 0.1 + 0.2 exceeds 0.3, and a comparison with a tolerance would call both matrices metrics.
    code, document, _ = verified(written(tmp_path, HOLDS))
    assert (code, document["verdict"], document["certificate"]["excess"]) == (0, "holds", 0)
    barely = HOLDS.replace("0.3", "0.3000000000001")
    code, document, _ = verified(written(tmp_path, barely))
    assert (code, document["verdict"]) == (1, "violated")
    assert document["error"]["excess"] == pytest.approx(1e-13)


def test_a_violation_shows_its_witness_in_the_numbers_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, FAILS)
    result = CliRunner().invoke(app, ["verify", str(path)])
    assert result.exit_code == 1
    assert "verdict  violated" in result.stdout
    assert "d(2, 0) = 0.3 > d(2, 1) + d(1, 0) = 0.1 + 0.1" in result.stdout
    assert "triangle inequality" in result.stderr
    code, document, _ = verified(path)
    assert (code, document["witness"]["indices"], document["error"]["kind"]) == (1, [2, 1, 0], "NotAMetric")
    assert document["witness"]["distances"] == {"2,0": "0.3", "2,1": "0.1", "1,0": "0.1"}


@pytest.mark.parametrize(
    "text",
    [
        ",a,b,c\na,0,0.1,0.3\nb,0.1,0,0.1\nc,0.3,0.1,0\n",
        "a,b,c\n0,0.1,0.3\n0.1,0,0.1\n0.3,0.1,0\n",
        "a,0,0.1,0.3\nb,0.1,0,0.1\nc,0.3,0.1,0\n",
        "\ufeffname,a,b,c\r\na,0,0.1,0.3\r\nb,0.1,0,0.1\r\n\r\nc,0.3,0.1,0\r\n",
    ],
    ids=["both", "header", "column", "as a spreadsheet writes it"],
)
def test_labels_are_found_in_the_first_row_and_column(tmp_path: Path, text: str) -> None:
    code, document, _ = verified(written(tmp_path, text))
    assert (code, document["size"], document["witness"]["labels"]) == (1, 3, ["c", "b", "a"])


def test_fractions_and_infinities_are_numbers(tmp_path: Path) -> None:
    code, document, _ = verified(written(tmp_path, "0,1/3,inf\n1/3,0,∞\nInfinity,inf,0\n"))
    assert (code, document["verdict"]) == (0, "holds")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no distances"),
        ("0,1o,2\n1,0,1\n2,1,0\n", "line 1, column 2: found '1o'"),
        ("0,1\n,0\n", "line 2, column 1: found an empty cell"),
        ("0,1\n1\n", "line 2: a distance matrix is square"),
        ("0,1,2\n1,0,1\n", "a distance matrix is square"),
        ("0,1/0\n1/0,0\n", "nothing is divided by 0"),
        ('0,"1\n1,0\n', "not comma-separated text"),
        ("0,nan\nnan,0\n", "no distance is NaN"),
        ("0,-1\n-1,0\n", "no distance is negative"),
        ("0,1\n2,0\n", "distances are symmetric"),
        ("0,0.1\n0.2,0\n", "d(0, 1) = 0.1 and d(1, 0) = 0.2"),
        ("1,1\n1,1\n", "from itself is 0"),
    ],
)
def test_what_is_no_matrix_of_distances_is_refused_with_the_reason(tmp_path: Path, text: str, said: str) -> None:
    code, document, shown = verified(written(tmp_path, text))
    assert code == 1
    assert said in document["error"]["message"]
    assert said in shown


def test_long_decimals_are_read_as_float64_and_that_is_said(tmp_path: Path) -> None:
    points = np.random.default_rng(3).random((12, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    path = tmp_path / "matrix.csv"
    np.savetxt(path, distances, delimiter=",")
    code, document, _ = verified(path)
    assert (code, document["decimals_rounded"]) == (0, True)
    assert "too many digits" in CliRunner().invoke(app, ["verify", str(path)]).stdout


def test_numpy_files_are_read_and_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npy"
    np.save(path, np.array([[0, 1], [1, 0]]))
    assert verified(path)[0] == 0
    np.save(path, np.array([[None]], dtype=object), allow_pickle=True)
    code, document, _ = verified(path)
    assert code == 1
    assert "pickled objects are refused" in document["error"]["message"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 an archive", b"words"])
def test_a_file_that_only_ends_in_npy_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "matrix.npy"
    path.write_bytes(content)
    code, document, _ = verified(path)
    assert code == 1
    assert "is not a .npy file of numbers" in document["error"]["message"]


@pytest.mark.parametrize("array", [np.zeros((2, 3)), np.float64(0), np.zeros((2, 2), dtype=complex)])
def test_arrays_of_another_shape_or_kind_are_refused(tmp_path: Path, array: Any) -> None:
    path = tmp_path / "matrix.npy"
    np.save(path, array)
    code, document, _ = verified(path)
    assert (code, document["error"]["kind"]) == (1, "NotAMetric")


def test_decimal_columns_of_a_parquet_file_are_exact(tmp_path: Path) -> None:
    def column(*cells: str) -> list[Decimal]:
        return [Decimal(cell) for cell in cells]

    table = {"x": column("0.0", "0.1", "0.3"), "y": column("0.1", "0.0", "0.1"), "z": column("0.3", "0.1", "0.0")}
    path = tmp_path / "matrix.parquet"
    pq.write_table(pa.table({"name": ["p", "q", "r"], **table}), path)
    code, document, _ = verified(path)
    assert (code, document["witness"]["labels"]) == (1, ["r", "q", "p"])
    assert document["error"]["excess"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"a": [0.0, None], "b": [1.0, 0.0]}, "empty cell"),
        ({"a": [0, 1], "b": ["x", "y"]}, "holds string"),
    ],
)
def test_parquet_files_that_hold_other_things_are_refused(tmp_path: Path, table: dict[str, Any], said: str) -> None:
    path = tmp_path / "matrix.parquet"
    pq.write_table(pa.table(table), path)
    code, document, _ = verified(path)
    assert code == 1
    assert said in document["error"]["message"]


@pytest.mark.parametrize("name", ["nowhere.csv", "nowhere.npy", "nowhere.parquet", "nowhere.txt", "."])
def test_a_missing_or_strange_file_exits_with_1(tmp_path: Path, name: str) -> None:
    code, document, shown = verified(tmp_path / name)
    assert (code, document["error"]["kind"]) == (1, "DataError")
    assert shown.startswith("error: ")
