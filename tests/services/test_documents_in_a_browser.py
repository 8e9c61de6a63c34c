"""Documents of plans, of releases and of all else that is shown, as pages of their own, in a real browser."""

from __future__ import annotations

import pytest
from golden import matrix
from reference.project import POLICIES
from services.browser import Browser
from services.detectors import CONTRAST, LAYOUT, sound

import dxgeom as dx

pytestmark = pytest.mark.service("browser")
LOOKS = ({}, {"dark": True, "width": 390})


@pytest.fixture(scope="module")
def browser():
    one = Browser()
    yield one
    one.close()


@pytest.fixture
def seen(browser, tmp_path):
    """Whether a thing's document is sound: in light, and dark on a telephone."""

    def look(thing, name):
        page = thing.in_full().save(tmp_path / f"{name}.html")
        for how in LOOKS:
            browser.open(page, **how)
            sound(browser, page)
            assert browser.ask(LAYOUT) == []
            assert browser.ask(CONTRAST) == []
            assert browser.ask("return document.documentElement.scrollWidth") <= how.get("width", 1000)

    return look


@pytest.mark.parametrize("kind", matrix.PLANS)
def test_the_document_of_a_plan_is_sound(seen, kind):
    seen(next(matrix.plans(kind)), "plan")


@pytest.mark.parametrize("kind", matrix.KINDS)
def test_the_document_of_a_release_is_sound(seen, kind, tmp_path):
    seen(next(matrix.releases(kind, tmp_path)), "release")


@pytest.mark.parametrize("name", ["hospital-stays", "us-cities", "districts"])
def test_the_documents_of_a_policy_and_its_metric_are_sound(seen, name):
    policy = dx.load_policy(POLICIES / name / "policy.yaml")
    metric = policy.compile()
    for thing in (policy, metric, metric.certificate):
        seen(thing, type(thing).__name__)


def test_the_documents_of_a_ledger_and_of_a_candidate_are_sound(seen, tmp_path):
    folder, file = POLICIES / "hospital-stays", tmp_path / "stays.db"
    policy = dx.load_policy(folder / "policy.yaml")
    plan = dx.plan(policy.compile(), dx.load_queries(folder / "queries.yaml", policy))
    release = plan.release(folder / "stays.csv", ledger=file, spend="1/4", insecure_test_seed=5)
    named = {"policy_fingerprint": policy.fingerprint, "policy_name": policy.name, "data_set": policy.data_set}
    with dx.Ledger.open(file, budget=policy.budget, **named) as ledger:
        for thing in (ledger, release, *plan.candidates[:3]):
            seen(thing, type(thing).__name__)
