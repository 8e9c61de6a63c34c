"""What a member of one kind of plan, or release, does in another: it works there, too, or says why not, in recorded
words."""

from __future__ import annotations

import html
import json

import pytest
from reference.json_schema import is_valid

import dxgeom as dx
from dxgeom.plan_files import release_schema
from dxgeom.planner.answers.shown_answers import ShownAnswers
from golden.kinds import keeping
from golden.matrix import (
    ALONE,
    FILES,
    KINDS,
    MEMBERS,
    PLAN,
    PLAN_MEMBERS,
    PLANS,
    REFUSALS,
    cells,
    plan_cells,
    plans,
    releases,
)

_RECORDED = REFUSALS.read_text("utf-8").splitlines()
OF_PLANS = [one for one in _RECORDED if one.startswith(PLAN)]
RECORDED = [one for one in _RECORDED if not one.startswith(PLAN)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_member_of_a_release_works_or_says_why_not(kind, tmp_path):
    found = cells(kind, tmp_path)
    assert not [one for one in found if one.crashed]
    assert sorted(one.line for one in found if one.refused) == [one for one in RECORDED if one.split(" | ")[1] == kind]


@pytest.mark.parametrize("kind", PLANS)
def test_every_member_of_a_plan_works_or_says_why_not_fresh_and_from_its_file(kind):
    found = plan_cells(kind)
    assert not [one for one in found if one.crashed]
    assert sorted(one.line for one in found if one.refused) == [one for one in OF_PLANS if one.split(" | ")[1] == kind]


def test_at_most_a_quarter_is_refused_and_only_kinds_that_there_are():
    for recorded, kinds, members in ((RECORDED, KINDS, MEMBERS), (OF_PLANS, PLANS, PLAN_MEMBERS)):
        assert {one.split(" | ")[1] for one in recorded} <= {*kinds}
        assert 4 * len(recorded) <= len(kinds) * len(members)


@pytest.mark.parametrize("kind", KINDS)
def test_every_release_is_of_the_schema_and_its_answers_are_shown_in_a_notebook(kind, tmp_path):
    release = next(releases(kind, tmp_path))
    assert is_valid(json.loads(release.to_json()), release_schema())
    for answers in (release.answer, *getattr(release.answer, "answers", ())):
        if isinstance(answers, ShownAnswers):
            page = html.unescape(answers._repr_html_())
            assert all(str(name) in page for name in answers.by_name)


@pytest.mark.parametrize("kind", ALONE)
def test_a_release_of_a_task_alone_is_of_the_schema(kind):
    (plan,) = plans(f"task, {kind}")
    assert is_valid(json.loads(plan.rehearse(spend="1/2").to_json()), release_schema())


@pytest.mark.parametrize("kind", FILES)
def test_a_plan_from_a_file_is_rehearsed_at_its_spend_and_every_plan_is_written_as_json(kind):
    loaded = dx.load_plan(keeping.plan_file(kind))
    rehearsed = loaded.rehearse()
    assert (rehearsed.rehearsal, rehearsed.receipt, rehearsed.spent) == (True, None, loaded.spend)
    assert loaded.to_json() == keeping.plan_file(kind).read_text("ascii")
    for one in (loaded.plan, *(loaded.plan.parts if kind.startswith("tasks") else ())):
        assert json.loads(one.to_json()) == json.loads(json.dumps(one.as_dict()))
