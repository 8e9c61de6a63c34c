"""Every wrong policy has its messages beside it, to be read like a manual."""

from __future__ import annotations

from pathlib import Path

import pytest

from dxgeom.errors import PolicyError
from dxgeom.policy.policy import parse_policy
from dxgeom.policy.source.mistakes import CODES

WRONG = Path(__file__).parent / "policies" / "wrong"
POLICIES = sorted(WRONG.glob("*.yaml"))
SAID_IN_THE_MESSAGE = {"DX102", "DX108", "DX113", "DX115", "DX117", "DX138", "DX147", "DX180"}
"""Codes some of whose messages end with what is right, or name the line of a file that is to be corrected."""


def mistakes_of(policy: Path) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        parse_policy(policy.read_text(encoding="utf-8"), file=policy.name, folder=policy.parent)
    return caught.value


@pytest.mark.parametrize("policy", POLICIES, ids=lambda path: path.stem)
def test_a_wrong_policy_gets_the_messages_written_beside_it(policy):
    found = mistakes_of(policy)
    assert str(found) + "\n" == policy.with_suffix(".txt").read_text(encoding="utf-8")
    assert all(one.advice or one.code in SAID_IN_THE_MESSAGE for one in found.diagnostics)


def test_there_are_enough_wrong_policies_and_none_without_messages():
    assert len(POLICIES) >= 80
    assert {path.stem for path in WRONG.glob("*.txt")} == {path.stem for path in POLICIES}


def test_six_different_mistakes_give_six_messages():
    found = mistakes_of(WRONG / "six_mistakes.yaml").diagnostics
    assert len(found) == 6
    assert len({mistake.code for mistake in found}) == 6
    assert [mistake.line for mistake in found] == sorted(mistake.line for mistake in found)


def test_nearly_every_policy_code_has_a_wrong_policy():
    shown = {mistake.code for policy in POLICIES for mistake in mistakes_of(policy).diagnostics}
    elsewhere = {"DX100"}  # files that cannot be read: tests of hostile files
    assert {code for code in CODES if code < "DX200"} - shown == elsewhere
