"""A release in a notebook: its answers with their bars, and what it cost."""

from __future__ import annotations

from typing import Any

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.json_text import compact_json
from dxgeom.planner.release import Release
from dxgeom.privacy.currencies import currency_of
from dxgeom.report.document.blocks import Block, Code, Paragraph, Picture, Section, Words
from dxgeom.report.document.document import Document
from dxgeom.report.drawing.answer_bars import answer_bars
from dxgeom.report.drawing.scene import Scene
from dxgeom.report.facts.released import AnswerAsReleased, Released, release_of
from dxgeom.report.sections.account import answer_blocks, budget_gauge, date_of, joint_words
from dxgeom.universe.people.people import PUBLIC_NUMBER
from dxgeom.universe.wording import shown as quoted
from dxgeom.wording.numbers import amount


def release(shown: Release[Any]) -> Document:
    """Answers with bars, and the budget."""
    account = shown.mechanism.account
    budget = account.budget
    released = _document(shown)
    scene = _scene(released.answers, ())
    blocks: list[Block] = [Paragraph(joint_words(released))] if scene is not None else []
    blocks += [] if scene is None else [Picture(scene, "The dots are the released answers, the lines their bars.")]
    blocks += answer_blocks(released)
    counted = currency_of(account.currency)
    told = counted.spend_above(counted.counted(budget) - counted.counted(shown.remaining))
    blocks.append(budget_gauge(told, budget, None, account.currency))
    blocks += [] if shown.records is None else [Paragraph(PUBLIC_NUMBER)]
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
    return _scene(_document(shown).answers, about)


def _scene(answers: tuple[AnswerAsReleased, ...], about: tuple[str, ...]) -> Scene | None:
    unknown = [name for name in about if name not in {one.name for one in answers}]
    if unknown:
        raise UnsupportedCombination(f"the release has no answer to {quoted(unknown[0])}")
    wanted = [one for one in answers if not about or one.name in about]
    rows = [(one.name, one.value, one.low, one.high) for one in wanted if one.unit == wanted[0].unit]
    return answer_bars(rows, None, wanted[0].unit or "") if rows else None


def _document(shown: Release[Any]) -> Released:
    return release_of(compact_json(shown.as_dict()).encode(), "this release")
