"""Every optional library that is missing is named in one sentence, with the line that installs its extra."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from reference.project import ROOT

import dxgeom as dx
from dxgeom.errors import MissingExtra
from dxgeom.numeric.optional_library import optional_library

MODULES = {"pycddlib-standalone": "cdd"}
"""Names to import that are not the names to install."""
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


@cache
def asked_for() -> list[tuple[str, str, str]]:
    """Library, extra and task of each call of ``optional_library`` in the package; the library where it is literal."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "dxgeom").rglob("*.py")))
    found = []
    for text in texts:
        for node in ast.walk(ast.parse(text)) if "optional_library(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_library":
                name, extra, task = (one.value if isinstance(one, ast.Constant) else "" for one in node.args)
                found.append((name, extra, task))
    return found


@pytest.fixture
def nothing_optional(monkeypatch):
    """No library of any extra can be imported."""
    named = {re.split(r"[\[><=!~ ]", line)[0].lower() for lines in EXTRAS.values() for line in lines}
    blocked = {MODULES.get(name, name) for name in named}
    real, module = builtins.__import__, importlib.import_module

    def refused(name: str) -> bool:
        return name.partition(".")[0] in blocked or name.endswith("_compiled")

    def imported(name, *rest, **more):
        if refused(name):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *rest, **more)

    def loaded(name, *rest, **more):
        if refused(name):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return module(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", imported)
    monkeypatch.setattr(importlib, "import_module", loaded)


def test_every_extra_of_the_project_is_asked_for_somewhere():
    assert {extra for _, extra, _ in asked_for()} == set(EXTRAS)


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_is_one_sentence_with_its_install_line(extra, nothing_optional):
    for name, its, task in asked_for():
        if its == extra and name:
            with pytest.raises(MissingExtra) as caught:
                optional_library(name, extra, task)
            said = str(caught.value)
            assert said.startswith(f"{task} by ") and "\n" not in said
            assert said.endswith(f"which is not installed; install it with: pip install 'dxgeom[{extra}]'")


def small_plan() -> dx.Plan:
    policy = dx.Policy.from_dict(
        {
            "policy": "grades",
            "universe": {"attributes": {"grade": ["low", "high"]}},
            "rules": [{"change": "grade", "epsilon": 1}],
        }
    )
    return dx.plan(policy.compile(), dx.queries_from_dict({"queries": [{"count": "grade == 'low'"}]}, policy))


def lake(folder: Path) -> Path:
    (folder / "_delta_log").mkdir()
    return folder


DOORS = {
    "plots": lambda folder: small_plan().plot(),
    "delta": lambda folder: small_plan().release(lake(folder), ledger=":memory:", spend=1),
    "postgres": lambda folder: small_plan().release([1, 2], ledger="postgresql://me@localhost/clinic", spend=1),
}


@pytest.mark.parametrize("extra", DOORS)
def test_who_comes_by_a_front_door_reads_that_sentence(extra, tmp_path, nothing_optional):
    with pytest.raises(MissingExtra, match=re.escape(f"pip install 'dxgeom[{extra}]'")):
        DOORS[extra](tmp_path)
