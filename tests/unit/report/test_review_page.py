"""The review page: its ten questions are answered from it alone, hostile names are text, and nothing leaves it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.document.document import Notice, Picture, ShownTable, plain_words
from dxgeom.errors import DataError, LedgerError, WrongArgument
from dxgeom.report.changes import changes_page
from dxgeom.report.released import read_release
from dxgeom.report.review import review_page
from dxgeom.report.showing import document_for
from dxgeom.wording.numbers import band_of, guesses, odds, plus_minus

NAMES = sorted(path.name for path in POLICIES.iterdir() if path.is_dir())
HOSTILE = "<script>alert(1)</script>"
LONG = "a name that goes on " * 40
TURNED = "ab\u202edc"


def planned(name, records=None):
    policy = dx.load_policy(POLICIES / name / "policy.yaml")
    return policy, dx.plan(policy.compile(), dx.load_queries(POLICIES / name / "queries.yaml", policy, records))


@pytest.fixture(scope="module")
def stays(tmp_path_factory):
    """The page of hospital stays after one release, the document and where its ledger is."""
    policy, plan = planned("hospital-stays", 304)
    ledger = tmp_path_factory.mktemp("stays") / "stays.db"
    plan.release(POLICIES / "hospital-stays" / "stays.csv", ledger=ledger, spend="0.5", insecure_test_seed=1)
    return review_page(policy, plan, spend="0.5", ledger=ledger), ledger, policy, plan


class Parsed(HTMLParser):
    """What a page holds: its tags, ids, targets, and words."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.targets, self.outside, self.words = set(), [], set(), [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name == "href" and value.startswith("#"):
                self.targets.add(value[1:])
            elif name in ("href", "src", "srcset", "action", "data") and not value.startswith("data:,"):
                self.outside.append(value)
            assert not name.startswith("on")

    def handle_data(self, data):
        self.words.append(data)


def said(document, number):
    """The words of a section's tables, paragraphs and warnings."""
    found = []
    for block in document.section(number).blocks:
        match block:
            case ShownTable(rows=rows):
                found += [" | ".join(map(plain_words, row)) for row in rows]
            case Notice(lead=lead, more=more):
                found.append(f"{block.severity}: {lead} {more}")
            case Picture():
                found.append(block.scene.alt)
            case _ if hasattr(block, "words"):
                found.append(plain_words(block.words))
    return "\n".join(found)


@pytest.mark.parametrize("name", NAMES)
def test_every_example_has_a_page_that_stands_alone(name):
    policy, plan = planned(name)
    document = review_page(policy, plan, spend=policy.budget / 2)
    page = Parsed(document.html())
    assert len(page.ids) == len(set(page.ids))
    assert page.targets <= set(page.ids)
    assert page.outside == []
    assert not page.tags & {"script", "iframe", "object", "embed", "form", "base"}
    assert max(map(len, document.lines())) <= 80 or "change" in " ".join(document.lines())
    assert [section.number for section in document.sections] == list(range(9))
    assert json.loads(json.dumps(document.as_dict(), allow_nan=False))["digest"] == policy.fingerprint
    told = " ".join(said(document, number) for number in range(7))
    assert not re.search(r"\d[eE][+-]?\d\d", told)


def test_the_ten_questions_are_answered_in_curves():
    policy, plan = planned("hotline")
    document = review_page(policy, plan, spend=policy.budget / 2)
    short = said(document, 0)
    assert "the farthest two, (1 to below 6, 0 to below 8, loneliness) and (" in short
    assert "(a coin gets 500)" in short and "576 of 1,000" in short and "There is no ceiling on the odds" in short
    assert "Any two | loneliness and illness | 0.3 | 576" in said(document, 1)
    assert "Having a record | No limit is promised" in said(document, 2)
    assert "at most 876 right guesses of 1,000, between" in said(document, 3)
    assert "counts with every row, of which the first 3" in said(document, 4)
    assert "± 27" in said(document, 5) and "cannot be said here: the number of records is not public" in said(
        document, 5
    )
    assert "the budget is 1" in said(document, 6).lower()
    assert policy.fingerprint in said(document, 7)
    pictures = document.html().count('<svg class="scene wide"')
    assert pictures == 2


def test_the_ten_questions_are_answered(stays):
    document, _, policy, _ = stays
    short = said(document, 0)
    assert "1.11 to 1 (525 right of 1,000 guesses; a coin gets 500)" in short
    assert "90.1 to 1 (990 right)" in short
    assert "B and B20 | 1.06 to 1 | 1.11 to 1 | 525" in said(document, 1)
    assert "at most this many are right" in said(document, 1)
    assert "Having a record | No limit is promised" in said(document, 2)
    assert "1.35 to 1 for three" in said(document, 4)
    assert "The number of records | 304 is told exactly; of a table that was filtered, how many passed." in said(
        document, 2
    )
    assert "Rule 1 (line 13)" in said(document, 1)
    assert "stays for a fracture | ± 6.1 | ± 180 ✖ useless" in said(document, 5)
    assert "0.5 told, 1 release" in said(document, 6)
    assert "0.5 left of 1" in " ".join(document.lines())
    assert policy.fingerprint in said(document, 7)


def test_what_the_page_says_of_the_bands_is_the_compiled_metrics(stays):
    document, _, policy, _ = stays
    table = next(block for block in document.section(1).blocks if isinstance(block, ShownTable))
    for row in table.rows:
        one, other = plain_words(row[1]).split(" and ")
        distance = float(policy.explain({"diagnosis": one}, {"diagnosis": other}).distance)
        assert row[3] == odds(distance * (1 - 1e-12))
        assert plain_words(row[-1]) == band_of(distance).words


def test_answers_are_those_of_the_ledger_and_shown_once(stays, tmp_path):
    document, ledger, policy, plan = stays
    (kept,) = dx.ledger.read_ledger(ledger).answers
    file = tmp_path / "release.json"
    file.write_bytes(dx.ledger.read_answer(ledger, kept))
    again = review_page(policy, plan, spend="0.5", ledger=ledger, releases=[read_release(file)])
    assert said(again, 6) == said(document, 6)
    alone = review_page(policy, plan, spend="0.5", releases=[read_release(file)])
    assert "0.5 told, 1 release" in said(alone, 6)
    assert "Half of the budget is spent." in said(document, 0)
    assert "all 3 together at least 85 in 100" in said(document, 6)


def test_a_ledger_and_a_release_of_another_policy_stop_a_signature(stays, tmp_path):
    _, ledger, *_ = stays
    policy, plan = planned("clinic")
    assert "stop: The ledger is of another policy." in said(review_page(policy, plan, ledger=ledger), 0)
    file = tmp_path / "release.json"
    file.write_bytes(dx.ledger.read_answer(ledger, 1))
    assert "stop: A release is of another policy." in said(review_page(policy, releases=[read_release(file)]), 0)
    with pytest.raises(LedgerError, match="no such ledger"):
        review_page(policy, ledger=tmp_path / "none.db")
    with pytest.raises(WrongArgument, match="policy"):
        review_page("policy.yaml")


@pytest.mark.parametrize(
    "content", ["", "[]", '{"answers": []}', '{"policy": {"fingerprint": 1}, "spent": "x"}', "[" * 100_000]
)
def test_a_file_that_is_no_release_is_refused(content, tmp_path):
    file = tmp_path / "release.json"
    file.write_text(content)
    with pytest.raises(DataError, match="no release"):
        read_release(file)


def test_an_epsilon_that_hides_nothing_stops_a_signature():
    data = {"policy": "p", "universe": {"attributes": {"a": ["x", "y"]}}, "rules": [{"change": "a", "epsilon": 1000}]}
    short = said(review_page(dx.Policy.from_dict(data)), 0)
    assert "stop: Rule 1 (line" in short and "It hides nothing." in short
    assert "more than 1,000,000 to 1" in short


def test_chains_beyond_what_a_rule_names_are_told():
    policy = dx.load_policy(POLICIES / "bike-sharing" / "policy.yaml")
    told = said(review_page(policy), 1)
    assert "Any two that it names | Station and Library | 1.65 to 1" in told
    assert "Farthest two by any way | Station and Beach | 12.2 to 1" in told


def test_hostile_names_are_text():
    values = [HOSTILE, LONG, TURNED, '" onload="alert(2)', "</style><b>", "{{ 7 * 7 }}", "&lt;"]
    data = {
        "policy": HOSTILE,
        "about": "</title><script>alert(3)</script> {{ 7 * 7 }}",
        "universe": {"attributes": {HOSTILE: values, "b": ["x", "y"]}},
        "rules": [{"change": [HOSTILE, "b"], "epsilon": 4}],
    }
    policy = dx.Policy.from_dict(data)
    queries = dx.LinearQueries.from_matrix([HOSTILE, LONG], np.eye(2, 14, dtype=int), policy.universe)
    document = review_page(policy, dx.plan(policy.compile(), queries))
    for page in (document.html(), document.fragment()):
        parsed = Parsed(page)
        assert not parsed.tags & {"script", "b"}
        assert "\u202e" not in page
        assert "{{ 7 * 7 }}" in page
        assert HOSTILE in "".join(parsed.words)


def test_whole_tables_are_told_cell_by_cell_and_useless_ones_named():
    data = {
        "policy": "p",
        "privacy": "concentrated",
        "universe": {"attributes": {"a": ["x", "y"], "b": ["u", "v", "w"]}},
        "rules": [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": 1}],
    }
    policy = dx.Policy.from_dict(data)
    for records, words in ((10, "✖ useless"), (10_000, "0 to 10,000"), (None, "cannot be said")):
        tables = dx.universe.MarginalQueries.of(policy.universe, ways=2, records=records)
        plan = dx.plan(policy.compile(), tables)
        document = review_page(policy, plan, spend="0.5")
        (width,) = plan.half_widths(0.95, "0.5")
        assert f"a, b | 2 × 3 | {plus_minus(width)}" in said(document, 5) and words in said(document, 5)
        assert tables.fingerprint in said(document, 7) and plan.fingerprint in said(document, 7)


def test_quantiles_of_nobody_knows_how_many_records_hold_for_any_number():
    data = {
        "policy": "p",
        "universe": {"attributes": {"a": {"range": [0, 9], "step": 1}}},
        "rules": [{"change": "a", "epsilon": 1, "per": "1 step"}],
    }
    policy = dx.Policy.from_dict(data)
    for text, words in (("median: a", "the median of a"), ("quantiles: a\n    at: [1/4]", "quantiles at 1/4 of a")):
        queries = dx.parse_queries(f"queries:\n  - {text}\n", policy)
        told = said(review_page(policy, dx.plan(policy.compile(), queries)), 5)
        assert words in told and "with probability 0.95" in told and "1,000" not in told


def test_a_change_of_policy_is_told_worst_first():
    old = dx.load_policy(POLICIES / "hospital-stays" / "policy.yaml")
    document = old.resolved.document
    data = {
        "policy": "newer",
        "universe": {"attributes": {"nights": {"bins": [1, 3, 8, 31], "whole": True}, "ward": ["a", "b"]}},
        "rules": [{"change": "nights", "epsilon": 0.9, "per": "1 step"}, {"change": "ward", "epsilon": 1}],
    }
    page = changes_page(old, dx.Policy.from_dict(data))
    first = next(block for block in page.section(1).blocks if isinstance(block, ShownTable)).rows[0]
    assert [plain_words(cell) for cell in first[:4]] == ["nights", "1 to below 3 and 8 to 31", "2.72 to 1", "6.05 to 1"]
    assert "The attribute diagnosis is gone." in said(page, 0)
    assert "The attribute ward is new." in said(page, 0)
    assert "No pair of values is hidden less" in said(changes_page(old, old), 0)
    assert document is not None
    assert Parsed(page.html()).outside == []


def test_a_change_of_a_concentrated_policy_is_told_in_curves():
    def policy(epsilon):
        rules = [{"change": "a", "epsilon": epsilon}]
        universe = {"attributes": {"a": ["x", "y"]}}
        return dx.Policy.from_dict({"policy": "p", "privacy": "concentrated", "universe": universe, "rules": rules})

    page = changes_page(policy(1), policy(2))
    (table,) = [block for block in page.section(1).blocks if isinstance(block, ShownTable)]
    right, now, before, after = [plain_words(cell) for cell in table.rows[0][2:]]
    for told, distance in ((right, 1.0), (now, 2.0)):
        assert int(told) == math.ceil(1000 * dx.privacy.concentrated_right_guess(distance * (1 + 1e-9)))
    # Either way: half of the chance for each.
    for told, distance in ((before, 1.0), (after, 2.0)):
        limit = math.exp(dx.privacy.concentrated_odds(5e-7, distance))
        assert limit <= float(told.removesuffix(" to 1").replace(",", "")) <= limit * 1.01
    assert f"{right} right guesses of 1,000 before, {now} now" in said(page, 0)
    assert "There is no ceiling on the odds" in said(page, 0)
    assert "No pair is hidden more" in said(page, 2)
    assert "No pair of values is hidden less" in said(changes_page(policy(1), policy(1)), 0)


def test_odds_and_guesses_are_rounded_up():
    for distance in np.geomspace(1e-6, 13.8, 200):
        written = Fraction(odds(distance).removesuffix(" to 1").replace(",", ""))
        assert written >= math.exp(distance) * (1 - 1e-12)
        assert written <= math.exp(distance) * 1.01 + 0.01
        assert guesses(distance) >= 1000 / (1 + math.exp(-distance)) * (1 - 1e-12)


def test_a_plan_from_a_file_has_the_same_errors(stays, tmp_path):
    document, ledger, policy, plan = stays
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy, spend="0.5")
    kept = dx.load_plan(tmp_path / "plan.json")
    again = review_page(policy, kept.plan, spend=kept.spend, ledger=ledger, plan_digest=kept.digest)
    assert said(again, 5) == said(document, 5)
    assert kept.digest in said(again, 7)
    assert replace(again, sections=()).digest == document.digest


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ({"column": "id", "count": "single"}, "A second row of a person stops the release"),
        ({"column": "id", "count": "once"}, "Each person weighs 1, shared over their rows"),
        ({"column": "id", "count": "rows", "at_most": 3, "order": "day"}, "each tells a part in 3 of what"),
    ],
)
def test_a_policy_that_names_people_says_how_they_count(people, words):
    data = {
        "policy": "p",
        "people": people,
        "universe": {"attributes": {"a": ["x", "y"]}},
        "rules": [{"change": "a", "epsilon": 1}],
    }
    page = review_page(dx.Policy.from_dict(data))
    assert words in said(page, 4)
    assert "several rows" not in said(page, 0)
    assert ("Which rows a person has" in said(page, 2)) == (people["count"] == "rows")


@pytest.mark.long
def test_a_document_without_a_glossary_explains_words_and_leads_nowhere(policies):
    page = document_for(dx.load_policy(policies / "clinic" / "policy.yaml")).html()
    links = set(re.findall(r'href="#([^"]*)"', page))
    assert links <= set(re.findall(r'id="([^"]*)"', page)) and '<span class="term" title="' in page
