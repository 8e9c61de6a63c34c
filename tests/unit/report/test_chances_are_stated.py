"""A chance with which promises do not hold is stated wherever these are, and what cannot state it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination
from dxgeom.report.changes import changes_page
from dxgeom.report.review import exported_page, review_page
from dxgeom.report.short_policy import policy_screen
from dxgeom.report.short_release import release_screen
from dxgeom.studio.draft import cards, draft_of, in_words
from dxgeom.studio.what_if import WhatIf

PAGES = """policy: pages
universe:
  attributes: {page: {open: text}, country: [DE, FR]}
people: {column: user, count: rows, at_most: 3, order: time}
rules: [{presence: true, epsilon: 1}]
unconnected: allow
budget: 2
delta: 1e-6
"""
TASKS = "tasks: [{name: read, keys: [page, country], delta: 1e-9}]\n"
ROWS = {"user": list(range(200)), "time": [1] * 200, "page": ["home"] * 200, "country": ["DE"] * 200}


def policy_of(text: str = PAGES) -> Any:
    return dx.parse_policy(text)


def plan_of(text: str = PAGES) -> Any:
    policy = policy_of(text)
    return dx.plan(policy.compile(), dx.parse_queries(TASKS, policy))


def told(document: Any) -> str:
    return " ".join("\n".join(document.lines()).split())


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """What plans, reads and reports is loaded before a test is timed."""
    told(review_page(policy_of()))
    plan_of().release(ROWS, ledger=":memory:", spend=1)


def test_screens_and_pages_state_the_chance() -> None:
    policy = policy_of()
    assert "page': a key that one person alone has may show, in all releases together with chance 1e-6 at most" in told(
        policy_screen(policy, policy.review())
    )
    page = told(review_page(policy))
    assert "Odds hold except with chance 1e-6." in page and page.count("(except with chance 1e-6)") == 2
    assert "xcept with chance" not in told(
        review_page(policy_of(PAGES.replace("{open: text}", "[a, b]").replace("delta: 1e-6\n", "")))
    )
    release = plan_of().release(ROWS, ledger=":memory:", spend=1)
    assert "Its odds hold except with chance 1e-9." in told(release_screen(release, policy=policy))


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_forms_of_others_have_a_delta(privacy: str) -> None:
    policy = policy_of(PAGES.replace("budget", f"privacy: {privacy}\nbudget"))
    entry = YAML(typ="safe").load(exported_page("registry", policy))["deployment"]
    assert entry["privacy_loss"]["privacy_parameters"]["delta"] == 1e-6
    assert entry["dp_variant"]["variant_name"] == "Custom"
    assert "except with chance delta, at most 1e-6" in entry["privacy_loss"]["privacy_parameters_details"]
    assert "kind, with a chance of failure delta." in exported_page("checklist", policy)


def test_the_studio_says_it_beside_each_promise() -> None:
    draft = draft_of(PAGES, "pages.yaml", None)
    assert cards(draft, draft)[0]["sentence"].endswith("(except with chance 1e-6)")
    assert in_words(policy_of(), 1.0)["odds"].endswith("to 1 (except with chance 1e-6)")
    assert "Odds hold except with chance 1e-6." in {one.lead for one in draft.notices}
    with pytest.raises(UnsupportedCombination, match="odds that always hold"):
        WhatIf(policy_of())


@pytest.mark.parametrize(("delta", "severity"), [("1e-3", "decide"), ("1e-9", "know")])
def test_another_delta_is_a_change(delta: str, severity: str) -> None:
    page = changes_page(policy_of(), policy_of(PAGES.replace("1e-6", delta)))
    found = [one for one in page.sections[0].blocks if getattr(one, "lead", "") == "Odds hold otherwise:"]
    assert [one.severity for one in found] == [severity]
    assert "except with chance 1e-6 before, except with chance" in found[0].more


def test_what_cannot_state_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedCombination, match="a map without a delta"):
        plan_of().to_opendp(ledger=tmp_path / "p.db", spend=1)
    assert not (tmp_path / "p.db").exists()
