"""The scripts that draw single figures, and the table that names a command for each figure."""

from __future__ import annotations

import importlib.util
import re
import sys

import numpy as np
import pytest
from reference.paper_figures import require_as_in_the_table, table_rows
from reference.project import PAPERS

SCRIPTS = ("awan2020/figure_1", "chatzikokolakis2013/figure_1", "chatzikokolakis2013/figure_4", "wu2017/figure_7")


def loaded(script, monkeypatch):
    path = PAPERS / f"{script}.py"
    monkeypatch.setattr(sys, "path", [str(path.parent), *sys.path])
    monkeypatch.delitem(sys.modules, "run", raising=False)
    spec = importlib.util.spec_from_file_location(script.replace("/", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delitem(sys.modules, "run", raising=False)
    return module


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_figures_of_a_script_are_what_they_must_be(script, monkeypatch):
    rows = list(loaded(script, monkeypatch).rows())
    assert rows
    for row in rows:
        assert row.computed == pytest.approx(row.reference, abs=row.within), row.figure
    assert require_as_in_the_table((row.figure, row.computed, row.within) for row in rows)


@pytest.mark.parametrize("script", SCRIPTS[:3])
def test_a_script_draws_its_picture(script, monkeypatch, tmp_path):
    module = loaded(script, monkeypatch)
    monkeypatch.setattr(module, "HERE", tmp_path)
    module.draw_picture()
    assert [file.suffix for file in tmp_path.iterdir()] == [".png"]


@pytest.mark.long
def test_cities_in_degrees_and_pictures_of_kamalaruban(monkeypatch, tmp_path):
    """A query's scale by all pairs, as the pictures have it, against the planner's; what Figure 3 shows."""
    module = loaded("kamalaruban2020/pictures", monkeypatch)
    metric = module.on_places(3)
    queries = module.run._random_queries("uniform", 20, 3)
    assert module.single_scales(metric, queries.matrix) == pytest.approx(module.run._single_scales(metric, queries))
    rows = list(module.rows())
    for row in rows:
        assert row.computed == pytest.approx(row.reference, abs=row.within), row.figure
    assert require_as_in_the_table((row.figure, row.computed, row.within) for row in rows) == 1
    assert len(module.strategies()) == 16
    monkeypatch.setattr(module, "strategies", lambda: np.linspace(1, 3, 16).tolist())
    monkeypatch.setattr(module, "HERE", tmp_path)
    module.draw_pictures(1, 10)
    drawn = {f"figure_{number}.png" for number in ("2a", "2b", "2c", "3a", "3b", "4", "5")}
    assert {file.name for file in tmp_path.iterdir()} == drawn


def test_what_estimators_learn_is_drawn(monkeypatch, tmp_path):
    module = loaded("awan2020/learned", monkeypatch)
    monkeypatch.setattr(module, "HERE", tmp_path)
    found = {"cylinders": np.linspace(0.1, 1, 8).reshape(4, 2), "hull": np.full((4, 2), 0.5)}
    for number in (2, 3):
        sweep = module.Sweep(number, "title", "below", "measure", ("1/4", "1"), found)
        assert len(sweep.lines()) == 3
        module.draw_picture(sweep)
    assert {file.name for file in tmp_path.iterdir()} == {"figure_2.png", "figure_3.png"}


@pytest.mark.long
def test_estimators_learn_what_figures_2_and_3_show(monkeypatch):
    module = loaded("awan2020/learned", monkeypatch)
    with module.dx.learning.open_ledger(":memory:", module.ENDLESS) as ledger:
        for sweep in (module.logistic(1, ledger), module.linear(1, 2_000, ledger)):
            for rows in sweep.found.values():
                assert rows.shape == (1, len(sweep.budgets))
                assert np.all(np.isfinite(rows))


def test_both_orders_of_the_graphs_list_every_graph_once(monkeypatch):
    module = loaded("wu2017/figure_6", monkeypatch)
    for number in range(2):
        assert sorted(module.order(number).tolist()) == list(range(1044))


@pytest.mark.long
def test_a_width_for_some_graphs_has_the_rates_that_the_table_shows(monkeypatch):
    module = loaded("wu2017/figure_6", monkeypatch)
    assert [module.means("1", number) for number in range(2)] == [(0.715, 0.744), (0.717, 0.743)]


def test_every_script_is_named_in_the_table_and_every_name_is_a_script():
    table = (PAPERS / "README.md").read_text(encoding="utf-8").split("## Every figure")[1]
    named = set(re.findall(r"\b\w+/\w+\.py\b", table))
    scripts = {path.relative_to(PAPERS).as_posix() for path in PAPERS.glob("*/*.py") if path.parent.name != "dxgeom"}
    assert named == scripts  # the figures of dxgeom's own paper are held by tests of their own


def test_numbers_of_the_table_are_as_near_to_the_corrected_ones_as_it_says():
    compared = 0
    for row in table_rows():
        ours, corrected = row.numbers("ours"), row.numbers("corrected")
        if ours and corrected:
            margins = row.margins(len(ours))
            for one, other, margin in zip(ours, corrected, margins, strict=True):
                assert abs(one - other) <= margin * (1 + 1e-9), row.figure
            compared += len(ours)
        elif ours:
            assert row.within == "a third" or len(row.margins(len(ours))) == len(ours), row.figure
    assert compared >= 40


def test_the_table_says_of_kamalaruban_what_its_page_shows():
    """Which a test of the page holds to what the script computes."""
    page = (PAPERS / "kamalaruban2020" / "page.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][2:]
    found = [(name, computed, within) for name, computed, _, within in lines]
    assert require_as_in_the_table(found) == 15


def test_the_table_names_the_seeds_of_the_scripts():
    rows = table_rows()
    assert all(row.seed for row in rows)
    for path in PAPERS.glob("*/*.py"):
        name = path.relative_to(PAPERS).as_posix()
        text = path.read_text(encoding="utf-8")
        seeds = [row.seed for row in rows if row.script == name]
        if "default_rng" not in text:
            assert set(seeds) <= {"–"}, name
        for seed in re.findall(r"default_rng\((\d+)\)", text):
            assert name == "awan2020/run.py" or any(re.search(rf"\b{seed}\b", one) for one in seeds), (name, seed)
