"""Review pages in a real browser: nothing goes wrong, nothing leaves them, and nobody is kept from reading them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from reference.project import POLICIES
from services.browser import Browser
from services.detectors import CONTRAST, LAYOUT, sound

import dxgeom as dx

pytestmark = pytest.mark.service("browser")
NAMES = sorted(path.name for path in POLICIES.iterdir() if path.is_dir())
HOSTILE = ["<script>document.title = 'taken'</script>", "a name that goes on " * 40, "ab\u202edc", '"><img src=x>']


@pytest.fixture(scope="module")
def browser():
    one = Browser()
    yield one
    one.close()


@pytest.fixture(scope="module")
def page_of(tmp_path_factory):
    """The page of an example, written once; hospital stays have answers and a ledger."""
    folder, written = tmp_path_factory.mktemp("pages"), {}

    def page(name):
        if name not in written:
            policy = dx.load_policy(POLICIES / name / "policy.yaml")
            plan = dx.plan(policy.compile(), dx.load_queries(POLICIES / name / "queries.yaml", policy))
            ledger = None
            if name == "hospital-stays":
                ledger = folder / "stays.db"
                plan.release(POLICIES / name / "stays.csv", ledger=ledger, spend="1/2", insecure_test_seed=1)
            made = dx.report.review_page(policy, plan, spend=policy.budget / 2, ledger=ledger)
            written[name] = made.save(folder / f"{name}.html")
        return written[name]

    return page


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_sound_in_light_and_dark(browser, page_of, name):
    page = page_of(name)
    for dark in (False, True):
        browser.open(page, dark=dark)
        sound(browser, page)
        assert browser.ask(LAYOUT) == []
        assert browser.ask(CONTRAST) == []
        ground = browser.ask("return getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(18, 24, 31)" if dark else "rgb(255, 255, 255)")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_a_telephone(browser, page_of, name):
    browser.open(page_of(name), width=390)
    assert browser.ask(LAYOUT) == []
    assert browser.ask("return document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(("name", "most"), [("hospital-stays", 7), ("us-cities", 4)])
def test_a_page_is_printed_whole(browser, page_of, name, most):
    browser.open(page_of(name))
    printed = browser.printed()
    assert printed.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= most


def test_the_detectors_detect(browser, tmp_path):
    page = tmp_path / "wrong.html"
    text = '<text x="{}" y="20" fill="#111">{}</text>'.format
    drawn = f'<path class="area" fill="#222" d="M0 0H90V30H0Z"/>{text(5, "one")}{text(10, "two")}{text(190, "beyond")}'
    cell = '<td style="max-width: 9px; overflow: hidden">501,000,000</td>'
    head = '<h1 style="line-height: 4px; height: 4px">A head</h1><p style="margin-top: -28px">overprinted</p>'
    dashed = f'{text(120, "crossed")}<path class="line" stroke-dasharray="5 4" d="M110 15H190"/>'
    picture = f'<svg class="scene" width="200" height="40">{drawn}{dashed}</svg>'
    page.write_text(f'<!DOCTYPE html><body class="dxgeom">{head}{picture}<table><tr>{cell}</tr></table>')
    browser.open(page)
    found = " ".join(browser.ask(LAYOUT))
    for words in (
        "outside: beyond",
        "over each other: one | two",
        "cut: 501,000,000",
        "overprinted: A head",
        "a line over: crossed",
    ):
        assert words in found
    assert [words.split(":")[0] for words in browser.ask(CONTRAST)] == ["one", "two"]


def test_hostile_names_do_nothing(browser, tmp_path):
    data = {
        "policy": HOSTILE[0],
        "about": HOSTILE[3],
        "universe": {"attributes": {HOSTILE[0]: HOSTILE, "b": ["x", "y"]}},
        "rules": [{"change": [HOSTILE[0], "b"], "epsilon": 4}],
    }
    policy = dx.Policy.from_dict(data)
    queries = dx.LinearQueries.from_matrix(HOSTILE[:2], np.eye(2, 8, dtype=int), policy.universe)
    page = dx.report.review_page(policy, dx.plan(policy.compile(), queries)).save(tmp_path / "page.html")
    browser.open(page, width=390)
    sound(browser, page)
    assert browser.ask("return document.title").endswith("Privacy review")
    assert browser.ask("return document.images.length") == 0
    assert browser.ask("return document.documentElement.scrollWidth") <= 390


def test_what_notebooks_show_is_sound(browser, tmp_path):
    policy = dx.load_policy(POLICIES / "clinic" / "policy.yaml")
    plan = dx.plan(policy.compile(), dx.load_queries(POLICIES / "clinic" / "queries.yaml", policy))
    shown = "".join(f"<section>{one._repr_html_()}</section>" for one in (policy, plan))
    page = tmp_path / "notebook.html"
    head = "<!DOCTYPE html><html lang='en'><title>notebook</title><link rel='icon' href='data:,'><meta charset='utf-8'>"
    page.write_text(f"{head}<main>{shown}</main></html>", encoding="utf-8")
    browser.open(page)
    assert browser.messages() == []
    assert browser.ask("return getComputedStyle(document.querySelector('.dxgeom')).color") == "rgb(27, 37, 48)"
    assert browser.ask(LAYOUT) == []
