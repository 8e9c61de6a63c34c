"""The tutorials are notebooks: their cells run, in order, where nothing lies but what the cells themselves write."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
from reference.project import ROOT
from typer.testing import CliRunner

from dxgeom.cli.main import app

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs(tutorial, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, object] = {}
    cells = CELL.findall(tutorial.read_text(encoding="utf-8"))
    assert len(cells) >= 8
    for cell in cells:
        if cell.startswith("%%writefile "):
            first, text = cell.split("\n", 1)
            Path(first.split()[1]).write_text(text, encoding="utf-8")
        elif cell.startswith("!"):
            typed(cell)
        else:
            shown(cell, names)


def typed(cell):
    """Lines of a shell, which here all begin the command line."""
    for line in cell.splitlines():
        first, *words = shlex.split(line)
        assert first == "!dxgeom"
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output


def shown(cell, names):
    """A cell of Python; what its last line is, is shown as notebooks show it."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        getattr(value, "_repr_html_", str)()
