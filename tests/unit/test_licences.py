"""All that dxgeom needs may be used with it: what the check of licences finds, and what it would find."""

from __future__ import annotations

import runpy

import pytest
from reference.project import ROOT


@pytest.fixture(scope="module")
def check():
    return runpy.run_path(str(ROOT / "checks" / "licences.py"))


def test_what_is_needed_says_its_licence_and_binds_nobody(check):
    found = check["needed"]("dxgeom")
    assert {"numpy", "scipy", "duckdb", "pyarrow", "pydantic", "jinja2", "typing-extensions"} <= found.keys()
    assert "pytest" not in found and "matplotlib" not in found
    assert [*check["refused"](found)] == []


@pytest.mark.parametrize(
    "words", ["GPL-3.0-only", "GNU Affero General Public License v3", "AGPL-3.0", "SSPL-1.0", "says none"]
)
def test_a_licence_that_binds_others_is_named(check, words):
    assert [*check["refused"]({"a": words, "b": "MIT"})] == [f"a: {words}"]


@pytest.mark.parametrize(
    "words", ["MIT OR GPL-2.0", "LGPL-3.0-or-later", "GNU Lesser General Public License v3", "Apache-2.0"]
)
def test_a_licence_that_binds_nobody_is_not(check, words):
    assert [*check["refused"]({"a": words})] == []
