"""The page of public deployments shows what its examples give today, and each can be released."""

from __future__ import annotations

import re
import runpy
from math import exp, log

import numpy as np
import pytest
from reference.project import GUIDE, ROOT

import dxgeom as dx

FOLDER = ROOT / "examples" / "deployments"
PAGE = (GUIDE / "deployments.md").read_text(encoding="utf-8")
NAMES = sorted(path.name for path in FOLDER.iterdir() if (path / "policy.yaml").is_file())


@pytest.fixture(scope="module")
def compare():
    return runpy.run_path(str(FOLDER / "compare.py"))


@pytest.fixture(scope="module")
def tables():
    return runpy.run_path(str(FOLDER / "tables.py"))


def test_each_deployment_has_its_lines_its_table_and_its_published_noise(compare, tables):
    published = re.findall(r"^\| ([a-z-]+) \| \[", PAGE, re.MULTILINE)
    reached = re.findall(r"^\| \[([a-z-]+)\]\(\.\./\.\./examples/deployments/\1/policy\.yaml\) \|", PAGE, re.MULTILINE)
    assert len(NAMES) == 10
    assert published == reached == NAMES == list(compare["DEPLOYMENTS"]) == list(tables["TABLES"])


def test_the_published_noise_is_that_wide(compare):
    """Of Laplace noise exp(-w epsilon) lies beyond w; of three symptoms each has a third of a level's number."""
    (broadband,) = compare["DEPLOYMENTS"]["broadband"]
    assert exp(-0.1 * broadband.published) == pytest.approx(0.05)
    everywhere, _, county = compare["DEPLOYMENTS"]["symptoms"]
    assert everywhere.published == pytest.approx(log(20) / (0.168 / 3))
    assert county.published == pytest.approx(log(20) / (1.1 / 3))
    (views,) = compare["DEPLOYMENTS"]["page-views"]
    deviation = views.published / 1.959964
    assert 10 / (2 * deviation**2) == pytest.approx(0.015)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_what_is_reached_today(name, compare):
    assert compare["row"](name) in PAGE.splitlines()


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_both_policies_answer_the_same_from_its_table(name, compare, tables, tmp_path):
    """Answers differ by noise alone: by 12 times both ±, once in 10^15 at most. A device counts once, or ten times."""
    table = tables["write"](name, tmp_path)
    groups = compare["DEPLOYMENTS"][name]
    assert [one.first for one in groups] == [0, *(one.end for one in groups[:-1])]
    values, bars = {}, {}
    for file in ("policy", "as-published"):
        policy = dx.load_policy(FOLDER / name / f"{file}.yaml")
        plan = dx.plan(policy.compile(), dx.load_queries(FOLDER / name / "queries.yaml", policy))
        release = plan.release(table, ledger=tmp_path / f"{file}.db", spend=policy.budget)
        assert groups[-1].end == len(release.names)
        values[file], bars[file] = np.asarray(release.values), plan.half_widths(0.95)
    apart = np.abs(values["policy"] - values["as-published"]) <= 12 * (bars["policy"] + bars["as-published"])
    assert np.all(apart) or name == "page-views"
