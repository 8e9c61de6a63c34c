"""Tables as the world writes them: how they are made, what their policy says, and what commands may show of them."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from dxgeom.cli.main import app
from reference.workbooks import write_workbook

ROWS = 40
CANARY = "Qzyx"
"""In the cells of who people are, and of a note that no attribute reads."""
LINES = [["id", "sex", "age", "day", "note"]] + [
    [f"{CANARY}{k:03d}", "FM"[k % 2], str(20 + k), f"2025-{1 + k % 12:02d}-15", f"{CANARY} note"] for k in range(ROWS)
]
DAYS = [date.fromisoformat(line[3]) for line in LINES[1:]]
AGES = [20 + k for k in range(ROWS)]
ATTRIBUTES = {
    "sex": ["F", "M"],
    "age": {"range": [0, 120], "step": 10, "whole": True},
    "day": {"dates": ["2025-01-01", "2025-12-31"], "step": 1},
}
ASKED = {"women": "sex == 'F'", "old": "age >= 40", "summer": "'2025-06-01' <= day < '2025-09-01'"}
RIGHT = {"women": 20, "old": 20, "summer": 9}


@dataclass(frozen=True)
class Messy:
    """``reading``, ``attributes``: what the policy says; ``right``: the answers, None where the table is refused;
    ``shows``: what check says for its reader's eyes; ``asks``: whether init in a script writes nothing, and asks."""

    content: bytes
    reading: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    right: dict[str, int] | None = field(default_factory=lambda: RIGHT)
    shows: str = ""
    asks: bool = False
    people: Any = "one row each"
    name: str = "t.csv"
    address: str = ""

    @property
    def table(self) -> str:
        """What a command calls it."""
        return self.address or self.name


def parquet(**columns: Any) -> bytes:
    """The lines as Parquet, with other columns in the place of some."""
    said = {name: [line[place] for line in LINES[1:]] for place, name in enumerate(LINES[0])}
    buffer = io.BytesIO()
    pq.write_table(pa.table({**said, **columns}), buffer)
    return buffer.getvalue()


def database(change: Callable[[int, list[str]], list[Any]] = lambda _, cells: cells, kind: str = "TEXT") -> bytes:
    """The lines as a file of SQLite, with cells changed; ``kind``: of the column age."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE visits (id TEXT, sex TEXT, age {kind}, day TEXT, note TEXT)")
        rows = [change(k, [*cells]) for k, cells in enumerate(LINES) if k]
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
        return connection.serialize()


def workbook(
    change: Callable[[int, list[str]], list[Any]] = lambda _, cells: cells,
    before: Sequence[list[Any]] = (),
    others: Mapping[str, list[list[Any]]] | None = None,
) -> bytes:
    """The lines as a sheet, below some rows, with cells changed; ``others``: more sheets."""
    buffer = io.BytesIO()
    rows = [*before, *(change(k, [*cells]) for k, cells in enumerate(LINES))]
    write_workbook(buffer, {"visits": rows, **(others or {})})
    return buffer.getvalue()


def text(
    change: Callable[[int, list[str]], list[str]] = lambda _, cells: cells,
    sep: str = ",",
    encoding: str = "utf-8",
    end: str = "\n",
    before: str = "",
    after: str = "",
    header: bool = True,
) -> bytes:
    """The lines with cells changed, line 0 the header."""
    lines = [sep.join(change(k, [*cells])) for k, cells in enumerate(LINES) if k or header]
    return (before + end.join(lines) + end + after).encode(encoding)


def cell(column: int, made: Callable[[int, str], str]) -> Callable[[int, list[str]], list[str]]:
    """One column's cells changed, the header not."""
    return lambda k, cells: [made(k, one) if k and place == column else one for place, one in enumerate(cells)]


def day(form: str) -> Callable[[int, list[str]], list[str]]:
    """Days as a form with y, m and d has them."""
    return cell(
        3,
        lambda _, one: (
            form.replace("y", one[2:4] if "yy" not in form else one[:4], 1)
            .replace("y", "")
            .replace("m", one[5:7])
            .replace("d", one[8:])
        ),
    )


def dates(written: Any) -> dict[str, Any]:
    return {"day": {**ATTRIBUTES["day"], "written": written}}


def run(*words: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def policy_of(messy: Messy) -> dict[str, Any]:
    return {
        "policy": "messy",
        **({"reading": messy.reading} if messy.reading else {}),
        "people": messy.people,
        "universe": {"attributes": {**ATTRIBUTES, **messy.attributes}},
        "rules": [
            {"change": "sex", "epsilon": 60},
            {"change": ["age", "day"], "epsilon": 60},
        ],
        "budget": 9,
    }


def hides(*texts: str) -> bool:
    return not any(word in one for one in texts for word in (CANARY, "weiblich", "'199'", "02-31", "n/a"))


def is_read_or_refused(messy: Messy) -> None:
    """As its policy says; and only ``check`` shows a cell, to its reader."""
    Path("policy.yaml").write_text(json.dumps(policy_of(messy)))
    asked = [{"name": name, "count": condition} for name, condition in ASKED.items()]
    Path("queries.yaml").write_text(json.dumps({"queries": asked}))
    page = run("check", "policy.yaml", "--table", messy.table)
    assert page.exit_code == (messy.right is None), page.output
    assert messy.shows in page.output
    quiet = run("check", "policy.yaml", "--table", messy.table, "--quiet-data")
    assert (quiet.exit_code, hides(quiet.output)) == (page.exit_code, True), quiet.output
    release = run(
        "release",
        "policy.yaml",
        messy.table,
        "queries.yaml",
        "--ledger",
        "l.db",
        "--spend",
        1,
        "--format",
        "json",
        "--mechanism",
        "laplace",
    )
    assert hides(release.output), release.output
    if messy.right is None:
        assert release.exit_code == 1 and "error" in release.output, release.output
        return
    assert release.exit_code == 0, release.output
    found = {one["name"]: one["value"] for one in json.loads(release.stdout)["answers"]}
    assert {name: round(value) for name, value in found.items()} == messy.right


def is_drafted_or_asked_about(messy: Messy) -> None:
    """No cell is in a file or on a screen, and where ``init`` asks, no file is written."""
    result = run("init", messy.table)
    files = [path for path in Path().iterdir() if path.name != messy.name]
    assert hides(result.output, *(path.read_text("utf-8") for path in files)), result.output
    assert (result.exit_code == 0) is bool(files)
    assert (not files) is messy.asks, result.output
