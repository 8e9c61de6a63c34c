"""The project's own paper: its figures, its page, its references."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest
from reference.project import PAPERS, ROOT

HERE = PAPERS / "dxgeom"


@pytest.fixture
def build(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(HERE), str(PAPERS), *sys.path])
    monkeypatch.delitem(sys.modules, "run", raising=False)
    spec = importlib.util.spec_from_file_location("build", HERE / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("run", None)


def test_the_page_is_what_the_text_makes(build):
    assert (HERE / "page.md").read_text(encoding="utf-8") == build.page()
    assert "@" not in build.page() and "<!--" not in build.page()


@pytest.mark.long
def test_figures_are_computed_as_the_paper_says(build):
    rows = list(sys.modules["run"].rows())
    assert len(rows) == 6
    for row in rows:
        assert row.computed == pytest.approx(row.reference, abs=row.within), row.figure


def test_other_figures_are_those_that_the_benchmarks_page_lists(build):
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    listed = {script: line for line in text.splitlines() for script in re.findall(r"^\| `([\w/]+\.py)`", line)}
    for figure in sys.modules["run"].FIGURES:
        assert (ROOT / figure.script).exists()
        if figure.computed is None:
            for number in f"{figure.here}, {figure.beside}".split(", "):
                assert number == "1" or number in listed[figure.script], figure.what


def test_a_reference_that_nothing_cites_is_found(build, monkeypatch):
    monkeypatch.setattr(build, "references", lambda: {"nobody2000": {"author": "N", "title": "T", "year": "2000"}})
    with pytest.raises(SystemExit, match="cited and listed"):
        build.page()
