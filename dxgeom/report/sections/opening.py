"""The head of the page, and what has to be decided, in short."""

from __future__ import annotations

from dxgeom.report.document.blocks import Block, Code, Notice, Paragraph, Section, Strong, Words
from dxgeom.report.facts.facts import Facts
from dxgeom.report.sections.people import hides_presence, people_of
from dxgeom.wording.numbers import amount, at_most, guesses, odds

_NUMBERS = ("Nothing needs", "One thing needs", "Two things need", "Three things need", "Four things need")


def in_short(facts: Facts, notices: tuple[Notice, ...]) -> Section:
    """The closest and the farthest pair, and every warning."""
    stops = sum(one.severity == "stop" for one in notices)
    decisions = sum(one.severity == "decide" for one in notices)
    needs = _NUMBERS[decisions] if decisions < len(_NUMBERS) else f"{decisions} things need"
    end = " Something here stops a signature." if stops else f" {needs} a decision."
    blocks: tuple[Block, ...] = (Paragraph((*summary(facts), end)), *notices)
    return Section(0, "In short", blocks)


def summary(facts: Facts) -> tuple[str | Strong, ...]:
    """The one sentence that matters."""
    near, far = (pair.distance * facts.budget for pair in (facts.extremes.closest, facts.extremes.farthest))
    return (
        "All answers within the budget together tell the closest two kinds of record apart with odds of at most ",
        Strong(odds(near)),
        f" ({guesses(near):,} right of 1,000 guesses; a coin gets 500), and the farthest two with ",
        Strong(at_most(far)),
        f" ({guesses(far):,} right).",
    )


def head(facts: Facts) -> tuple[tuple[str, Words], ...]:
    """A few facts at the head."""
    told, budget = facts.told, facts.policy.budget
    spent = f"{amount(budget)}" if told is None else f"{amount(told)} of {amount(budget)} spent"
    return (
        ("Records", _records(facts)),
        ("Hidden attributes", ", ".join(_hidden(facts)) or "none"),
        ("Budget", spent),
        ("Policy file", (facts.policy.file.rsplit("/", 1)[-1], " ", Code(facts.policy.fingerprint[:12]))),
    )


def _records(facts: Facts) -> str:
    if hides_presence(facts):
        return "their number is private"
    number = "number not stated" if facts.records is None else f"{facts.records:,}"
    people = people_of(facts)
    if people is None:
        return f"{number}, one per person assumed"
    return number if people.count == "rows" else f"{number}, each of one person"


def _hidden(facts: Facts) -> list[str]:
    bare = {one.attribute for one in facts.policy.unprotected if one.no_rule}
    return [name for name in facts.policy.universe.names if name not in bare]
