"""``dxgeom verify`` with ``--repair``, ``--edges`` and ``--first``."""

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

FAILS = "0,0.1,0.3\n0.1,0,0.1\n0.3,0.1,0\n"


def run(*words: str | Path) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["verify", *map(str, words), "--format", "json"])
    return result.exit_code, json.loads(result.stdout)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "given.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FAILS, "0,0.1,0.2\n0.1,0,0.1\n0.2,0.1,0\n"),
        ("p,q\n0,2\n1,0\n", "p,q\n0,1\n1,0\n"),
        ("n,p,q\np,0,1/3\nq,1/2,0\n", "n,p,q\np,0,1/3\nq,1/3,0\n"),
        ("0,1,inf\n1,0,1\ninf,1,0\n", "0,1,2\n1,0,1\n2,1,0\n"),
    ],
)
def test_a_repair_keeps_the_labels_and_exact_numbers_of_the_file(tmp_path: Path, text: str, expected: str) -> None:
    out = tmp_path / "out.csv"
    code, document = run(written(tmp_path, text), "--repair", out)
    assert (code, document["verdict"]) == (0, "violated")
    assert out.read_text() == expected
    assert run(out)[1]["verdict"] == "holds"


def test_a_repair_says_how_much_fell_and_where(tmp_path: Path) -> None:
    path = written(tmp_path, FAILS)
    _, document = run(path, "--repair", tmp_path / "out.csv")
    fall = {"where": ["0", "2"], "from": "0.3", "to": "0.2", "by": "0.1"}
    assert document["repair"] == {"written": str(tmp_path / "out.csv"), "fell": 2, "of": 9, "largest_fall": fall}
    said = CliRunner().invoke(app, ["verify", str(path), "--repair", str(tmp_path / "again.csv")]).stdout
    assert "2 of 9 entries fell" in said
    assert "most at (0, 2): from 0.3 to 0.2, by 0.1" in said


def test_numpy_and_parquet_files_keep_their_format(tmp_path: Path) -> None:
    np.save(tmp_path / "given.npy", np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0]], dtype=np.int32))
    assert run(tmp_path / "given.npy", "--repair", tmp_path / "out.npy")[0] == 0
    repaired = np.load(tmp_path / "out.npy")
    assert (repaired.dtype, repaired[0].tolist()) == (np.int64, [0, 2, 1])
    columns = {"x": ["0.0", "0.9", "0.1"], "y": ["0.9", "0.0", "0.1"], "z": ["0.1", "0.1", "0.0"]}
    table = {name: [Decimal(cell) for cell in cells] for name, cells in columns.items()}
    pq.write_table(pa.table({"name": ["p", "q", "r"], **table}), tmp_path / "given.parquet")
    assert run(tmp_path / "given.parquet", "--repair", tmp_path / "out.parquet")[0] == 0
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema == pq.read_table(tmp_path / "given.parquet").schema
    assert out.column("x").to_pylist() == [Decimal("0.0"), Decimal("0.2"), Decimal("0.1")]
    pq.write_table(pa.table({"x": [0.0, 2.5], "y": [1.5, 0.0]}), tmp_path / "floats.parquet")
    assert run(tmp_path / "floats.parquet", "--repair", tmp_path / "lower.parquet")[0] == 0
    assert pq.read_table(tmp_path / "lower.parquet").to_pydict() == {"x": [0.0, 1.5], "y": [1.5, 0.0]}


def test_nothing_is_overwritten_and_the_format_is_kept(tmp_path: Path) -> None:
    path = written(tmp_path, FAILS)
    for target, said in ((path, "is not overwritten"), (tmp_path / "o.npy", "keeps its format")):
        code, document = run(path, "--repair", target)
        assert code == 1
        assert said in document["error"]["message"]
    code, document = run(path, "--repair", tmp_path / "nowhere" / "o.csv")
    assert (code, document["error"]["kind"]) == (1, "DataError")
    assert path.read_text() == FAILS


def test_what_no_metric_lies_below_is_not_repaired(tmp_path: Path) -> None:
    code, document = run(written(tmp_path, "0,-1\n-1,0\n"), "--repair", tmp_path / "out.csv")
    assert code == 1
    assert "no metric lies below" in document["error"]["message"]
    assert not (tmp_path / "out.csv").exists()


def test_a_metric_is_repaired_to_itself(tmp_path: Path) -> None:
    code, document = run(written(tmp_path, "0,1\n1,0\n"), "--repair", tmp_path / "out.csv")
    assert (code, document["verdict"], document["repair"]["fell"]) == (0, "holds", 0)
    assert (tmp_path / "out.csv").read_text() == "0,1\n1,0\n"


def test_json_counts_every_broken_axiom(tmp_path: Path) -> None:
    _, document = run(written(tmp_path, "1,2\n3,0\n"))
    broken = {entry["axiom"]: entry["count"] for entry in document["error"]["broken"]}
    assert broken == {"the distance of a record from itself is 0": 1, "distances are symmetric": 2}


def test_the_first_violation_is_enough_when_asked(tmp_path: Path) -> None:
    matrix = np.ones((200, 200)) - np.eye(200)
    matrix[0, 1] = matrix[1, 0] = 3
    np.save(tmp_path / "given.npy", matrix)
    code, document = run(tmp_path / "given.npy", "--first")
    assert code == 1
    assert "no more were looked at" in document["error"]["message"]


def test_within_rounding_names_the_bound_used(tmp_path: Path) -> None:
    line = np.exp(3 * np.random.default_rng(0).random(30))
    np.save(tmp_path / "given.npy", np.abs(line[:, None] - line[None]))
    result = CliRunner().invoke(app, ["verify", str(tmp_path / "given.npy")])
    assert result.exit_code == 0
    assert "within rounding of equality (relative excess" in result.stdout
    assert "allowed 3.55e-15" in result.stdout


EDGES = "from,to,distance\nAna,Bo,0.1\nBo,Cy,0.2\nCy,Ana,0.3\n"


def test_edge_lists_are_decided_exactly_on_their_shortest_paths(tmp_path: Path) -> None:
    code, document = run(written(tmp_path, EDGES), "--edges")
    assert (code, document["verdict"], document["records"], document["components"]) == (0, "holds", 3, 1)
    code, document = run(written(tmp_path, EDGES.replace("0.3", "0.3000000001")), "--edges")
    assert (code, document["verdict"], document["witness"]["labels"]) == (1, "violated", ["Cy", "Bo", "Ana"])
    said = CliRunner().invoke(app, ["verify", str(tmp_path / "given.csv"), "--edges"])
    assert "witness  the path Cy – Bo – Ana" in said.stdout
    assert "1 of 3 edges are longer" in said.stderr


def test_a_repaired_edge_list_keeps_its_rows(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    code, document = run(written(tmp_path, EDGES.replace("0.3", "7/2")), "--edges", "--repair", out)
    assert (code, document["repair"]["fell"], document["repair"]["largest_fall"]["by"]) == (0, 1, "3.2")
    assert out.read_text() == EDGES
    assert run(out, "--edges")[1]["verdict"] == "holds"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no edges"),
        ("from,to,distance\n", "a header and no edges"),
        ("a,b\n", "line 1: an edge has the cells from, to, distance"),
        ("a,b,1\na,,2\n", "line 2: an edge names both its ends"),
        ("a,b,1\na,c,far\n", "line 2, column 3: found 'far'"),
        ("a,b,1\nb,a,2\n", "stated twice"),
        ("a,b,-1\n", "no distance is negative"),
    ],
)
def test_what_is_no_edge_list_is_refused_with_the_reason(tmp_path: Path, text: str, said: str) -> None:
    code, document = run(written(tmp_path, text), "--edges")
    assert code == 1
    assert said in document["error"]["message"]


def test_edge_lists_are_text_and_long_decimals_are_read_as_float64(tmp_path: Path) -> None:
    code, document = run(tmp_path / "edges.npy", "--edges")
    assert (code, document["error"]["kind"]) == (1, "DataError")
    code, document = run(written(tmp_path, "a,b,0.12345678901234567\n"), "--edges")
    assert (code, document["decimals_rounded"]) == (0, True)
