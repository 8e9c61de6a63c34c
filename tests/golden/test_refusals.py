"""What a member of one kind of release does in another: it works there, too, or says why not, in recorded words."""

from __future__ import annotations

import pytest

from golden.matrix import KINDS, MEMBERS, REFUSALS, cells

RECORDED = REFUSALS.read_text("utf-8").splitlines()


@pytest.mark.parametrize("kind", KINDS)
def test_every_member_of_a_release_works_or_says_why_not(kind, tmp_path):
    found = cells(kind, tmp_path)
    assert not [one for one in found if one.crashed]
    assert sorted(one.line for one in found if one.refused) == [one for one in RECORDED if one.split(" | ")[1] == kind]


def test_at_most_a_quarter_is_refused_and_only_kinds_that_there_are():
    assert {one.split(" | ")[1] for one in RECORDED} <= {*KINDS}
    assert 4 * len(RECORDED) <= len(KINDS) * len(MEMBERS)
