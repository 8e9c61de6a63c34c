"""The same job in other libraries, as the page shows it.

What cannot be installed beside dxgeom is run by the Python of an environment that has it, named in the environment as
``DXGEOM_PYTHON_SNSQL`` and its like; without one it is left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from reference.project import ROOT

import dxgeom as dx

PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"^```python ?(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
RUN_HERE = {"", "opendp"}
ELSEWHERE = ["diffprivlib", "snsql", "tmlt"]


def test_each_library_has_its_block():
    assert set(SHOWN) == {*RUN_HERE, *ELSEWHERE}
    for code in SHOWN.values():
        compile(code, "coming-from.md", "exec")


@pytest.fixture
def folder(tmp_path, monkeypatch, policies):
    (tmp_path / "policies").symlink_to(policies)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_job_runs_here_and_errs_as_the_page_says(folder, capsys):
    names: dict[str, object] = {}
    exec(compile(SHOWN[""], "coming-from.md", "exec"), names)
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert isinstance(names["release"], dx.Release)
    assert names["release"].half_widths(0.95)[:5].round(1).min() == pytest.approx(5.5, abs=0.15)  # type: ignore[union-attr]


@pytest.mark.needs("opendp")
def test_the_job_runs_in_opendp(folder, capsys):
    exec(compile(SHOWN["opendp"], "coming-from.md", "exec"), {})
    counts, mean = capsys.readouterr().out.splitlines()
    assert (counts.count(","), 30 < float(mean) < 45) == (4, True)


@pytest.mark.parametrize("library", ELSEWHERE)
def test_the_job_runs_in_an_environment_of_its_own(library, folder):
    python = os.environ.get(f"DXGEOM_PYTHON_{library.upper()}")
    if python is None:
        pytest.skip(f"DXGEOM_PYTHON_{library.upper()} names no Python that has {library}")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    clean["PYSPARK_PYTHON"] = python
    done = subprocess.run([python, "-c", SHOWN[library]], cwd=folder, env=clean, capture_output=True, text=True)
    sys.stdout.write(done.stdout)
    assert done.returncode == 0, done.stderr
    assert "38." in done.stdout
