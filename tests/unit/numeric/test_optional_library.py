"""Without an optional library, one sentence says how to install it; everything else works."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from dxgeom.errors import MissingExtra
from dxgeom.numeric.optional_library import optional_library


def test_a_library_that_is_installed_is_loaded():
    assert optional_library("math", "any", "numbers are made") is math


def test_one_that_is_not_is_named_with_the_line_that_installs_it():
    sentence = r"suns are counted by no_such_library, .* pip install 'dxgeom\[stars\]'$"
    with pytest.raises(MissingExtra, match=sentence):
        optional_library("no_such_library.of_stars", "stars", "suns are counted")


OPTIONAL = ("matplotlib", "numba", "mbi", "jax", "pandas", "polars")


def run_without(*libraries, code):
    """What a program prints where these libraries cannot be imported."""
    lines = [f"import sys; sys.modules.update(dict.fromkeys({libraries!r}))", code]
    return subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True).stdout


def test_pictures_without_matplotlib_say_what_to_install():
    code = "from dxgeom.errors import MissingExtra\ntry:\n import dxgeom.report.pictures\n"
    printed = run_without("matplotlib", code=code + "except MissingExtra as error:\n print(error)")
    assert "pip install 'dxgeom[plots]'" in printed


def test_a_release_from_a_file_needs_no_optional_library(policies):
    code = f"""
import dxgeom as dx
from pathlib import Path
folder = Path({str(policies / "clinic")!r})
policy = dx.load_policy(folder / "policy.yaml")
plan = dx.plan(policy.compile(), dx.load_queries(folder / "queries.yaml", policy))
print(len(plan.release(folder / "patients.csv", ledger=":memory:", spend=0.1).values))
"""
    assert int(run_without(*OPTIONAL, code=code)) > 0
