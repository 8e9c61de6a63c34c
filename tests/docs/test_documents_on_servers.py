"""What documents show of servers works as shown, on real ones."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from reference.project import GUIDE
from typer.testing import CliRunner

from dxgeom.cli.main import app

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.service("postgres")
def test_the_shared_ledger_is_begun_divided_charged_and_verified_as_shown(
    postgres: Any, tmp_path: Any, policies: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "policies").symlink_to(policies)
    monkeypatch.chdir(tmp_path)
    text = (
        (GUIDE / "shared-ledger.md").read_text(encoding="utf-8").replace("@db.example", f"@127.0.0.1:{postgres.port}")
    )
    shown = FENCE.findall(text)
    (sql,), (commands,), (code,) = (
        [body for kind, body in shown if kind == wanted] for wanted in ("sql", "", "python")
    )
    for statement in filter(None, map(str.strip, sql.split(";"))):
        postgres.execute(statement)
    lines = commands.splitlines()
    assert [line.split()[1:3] for line in lines][:2] == [["ledger", "init"], ["ledger", "allot"]]
    said = []
    for line in lines:
        outcome = CliRunner().invoke(app, shlex.split(line)[1:])
        assert outcome.exit_code == 0, outcome.output
        said.append(outcome.output)
    assert "clinic, allotment weekly" in said[1] and "verdict    holds" in said[4] and "entries" in said[4]
    exec(compile(code, "shared-ledger.md", "exec"), {})
    assert "entry 2: 9/10 remains" in capsys.readouterr().out
