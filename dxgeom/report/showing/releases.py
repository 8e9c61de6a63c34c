"""A release in a notebook: its answers with their bars, and what it cost."""

from __future__ import annotations

import json
from typing import Any

from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.answers.linear_answers import LinearAnswers
from dxgeom.planner.release import Release
from dxgeom.privacy.currencies import currency_of
from dxgeom.report.document.blocks import Block, Code, Paragraph, Picture, Section, Words
from dxgeom.report.document.document import Document
from dxgeom.report.drawing.answer_bars import answer_bars
from dxgeom.report.drawing.scene import Scene
from dxgeom.report.facts.released import Released, release_of
from dxgeom.report.sections.account import answer_table, budget_gauge, date_of, joint_words
from dxgeom.universe.wording import shown as quoted
from dxgeom.wording.numbers import amount


def release(shown: Release[Any]) -> Document:
    """Answers with bars, and the budget."""
    account = shown.mechanism.account
    budget = account.budget
    blocks: list[Block] = []
    if isinstance(shown.answer, LinearAnswers):
        document = _document(shown)
        scene = release_scene(shown, ())
        blocks.append(Paragraph(joint_words(document)))
        blocks += [] if scene is None else [Picture(scene, "The dots are the released answers, the lines their bars.")]
        blocks.append(answer_table(document))
    else:
        blocks.append(Paragraph(f"The answer: {quoted(str(shown.answer)[:200])}"))
    counted = currency_of(account.currency)
    told = counted.spend_above(counted.counted(budget) - counted.counted(shown.remaining))
    blocks.append(budget_gauge(told, budget, None, account.currency))
    if shown.rehearsal:
        blocks.insert(0, Paragraph("A rehearsal with made-up records: nothing here is about anybody."))
    facts: tuple[tuple[str, Words], ...] = (
        ("Spent", amount(shown.spent)),
        ("Records", "private" if shown.records is None else f"{shown.records:,}"),
        ("When", date_of(shown.time)),
        ("Plan", (Code(shown.plan_fingerprint[:12]),)),
    )
    section = Section(0, "Answers", tuple(blocks))
    return Document("Release", account.policy_name, "", facts, (section,), shown.plan_fingerprint)


def release_scene(shown: Release[Any], about: tuple[str, ...]) -> Scene | None:
    """The answers with bars; all of one unit, or those of the names given."""
    if not isinstance(shown.answer, LinearAnswers):
        return None
    answers = _document(shown).answers
    unknown = [name for name in about if name not in {one.name for one in answers}]
    if unknown:
        raise UnsupportedCombination(f"the release has no answer to {quoted(unknown[0])}")
    wanted = [one for one in answers if not about or one.name in about]
    unit = wanted[0].unit
    rows = [(one.name, one.value, one.low, one.high) for one in wanted if one.unit == unit]
    return answer_bars(rows, None, unit or "")


def _document(shown: Release[Any]) -> Released:
    return release_of(json.dumps(shown.as_dict()).encode(), "this release")
