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


OPTIONAL = ["matplotlib", "numba", "mbi", "jax", "pandas", "polars"]
ABSENT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
"""


def run_without(*libraries, code):
    """What a program prints where these libraries are not installed."""
    command = [sys.executable, "-c", ABSENT + code, *libraries]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_pictures_without_matplotlib_say_what_to_install():
    code = """
import dxgeom as dx
try:
    dx.report.improvement_picture
except dx.errors.MissingExtra as error:
    print(error)
"""
    printed = run_without("matplotlib", code=code)
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
