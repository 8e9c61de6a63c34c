"""What releases may have told whoever knows a policy's public counts, and where pages say it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dxgeom.disclosure.all_releases import disclosed_loss
from dxgeom.ledger.history import History, read_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.metric import DataSet
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.report.changes import changes_page
from dxgeom.report.review import review_page
from dxgeom.report.short_policy import policy_screen

HEAD = """policy: example
universe:
  attributes:
    region: [north, south, west]
    age: {range: [0, 90], step: 10}
rules:
  - {change: [region, age], epsilon: 1}
"""
BY_REGION = "known:\n  - totals: region\n"


def spent(folder: Path, policy: Policy, *spends: Fraction) -> History:
    path = folder / "l.db"
    for number, spend in enumerate(spends):
        with Ledger.open(
            path,
            policy_fingerprint=policy.fingerprint,
            policy_name=policy.name,
            budget=Fraction(1),
            data_set=DataSet("v"),
        ) as ledger:
            ledger.charge(spend, purpose="", plan_fingerprint=f"p{number}")
    return read_ledger(path)


def test_the_closed_form_is_taken_of_what_was_spent(tmp_path):
    policy = parse_policy(HEAD + BY_REGION)
    told = disclosed_loss(spent(tmp_path, policy, Fraction(1, 4), Fraction(1, 4)), policy)
    assert (told.known.two, told.known.separate, told.known.by_class) == (1.0, 1.5, True)
    assert "  judging all people separately: 1.5, odds at most 4.49 to 1" in told.lines()
    assert told.as_dict()["known"]["unsure_of_two"] == 1.0


def test_a_policy_that_lists_counts_later_keeps_the_account_and_says_what_they_tell(tmp_path):
    before, after = parse_policy(HEAD), parse_policy(HEAD + BY_REGION)
    history = spent(tmp_path, before, Fraction(1, 2))
    assert disclosed_loss(history, before).known is None
    told = disclosed_loss(history, after, [before])
    assert (told.known.two, told.known.separate, told.known.by_class) == (1.0, 1.5, True)


def test_under_other_distances_the_largest_loss_is_taken(tmp_path):
    other = parse_policy(HEAD.replace("epsilon: 1", "epsilon: 2"))
    history = spent(tmp_path, other, Fraction(1, 2))
    policy = parse_policy(HEAD + BY_REGION)
    told = disclosed_loss(history, policy, [other])
    assert told.of_any == 2.0
    assert (told.known.two, told.known.separate, told.known.by_class) == (4.0, 6.0, False)
    crossing = parse_policy(f"{HEAD}{BY_REGION}  - totals: age\n")
    assert disclosed_loss(history, crossing, [other]).known.separate is None


def test_pages_and_screens_say_what_is_known():
    policy = parse_policy(HEAD + BY_REGION)
    [section] = [one for one in review_page(policy).sections if one.number == 2]
    (table,) = section.blocks
    rows = {row[0]: row for row in table.rows}
    assert rows["How many records each region has"][2] == "The policy, by 'known:' (line 9)."
    assert "at most 20.1 to 1" in rows["What known counts tell of records"][1]
    assert "Known: how many records each region has." in str(policy_screen(policy, policy.review()))


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_odds_are_those_of_the_policys_privacy(privacy):
    policy = parse_policy(f"{HEAD}privacy: {privacy}\n{BY_REGION}")
    assert policy.informed.separate == 3.0
    assert ("one time in a million" in policy.informed.sentences) == (privacy == "concentrated")
    assert review_page(policy)


def test_a_change_of_what_is_public_is_to_be_decided():
    old, new = parse_policy(HEAD), parse_policy(HEAD + BY_REGION)
    assert "What is public is another." in str(changes_page(old, new))
    assert "What is public is another." not in str(changes_page(new, new))
