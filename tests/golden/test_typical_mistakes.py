"""Every typical mistake is answered with the rule, what was found, where, and what to do."""

from __future__ import annotations

import pytest

from golden.typical_mistakes.every import EVERY
from golden.typical_mistakes.mistake import TEXTS, answered


@pytest.mark.parametrize("name", EVERY)
def test_a_mistake_is_answered_as_written_beside_it(name, tmp_path):
    said = answered(EVERY[name], tmp_path)
    assert said == (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EVERY)
def test_an_answer_has_rule_finding_place_and_remedy(name):
    said = " ".join((TEXTS / f"{name}.txt").read_text(encoding="utf-8").split())
    mistake = EVERY[name]
    for part in (mistake.rule, mistake.found, mistake.place, mistake.remedy):
        assert part in said


def test_there_are_enough_mistakes_and_no_text_without_one():
    assert len(EVERY) >= 60
    assert {path.stem for path in TEXTS.iterdir()} == set(EVERY)
