"""Section 3: what the rules do together: what is hidden more than asked, which rules do nothing, what adds up."""

from __future__ import annotations

from collections.abc import Iterator

from dxgeom.policy.explain.tightening import NOBODY, Tightening
from dxgeom.report.document.blocks import Paragraph, Section, Strong, Words
from dxgeom.report.facts.facts import Facts
from dxgeom.wording.numbers import at_most, guesses, odds


def together(facts: Facts) -> Section:
    """The section."""
    said: list[Words] = [_farthest(facts), *(tightened_in_words(one, facts.budget) for one in facts.review.tightened)]
    said += [f"Line {line} changes nothing: {why}." for line, why in idle(facts)]
    if len(said) == 1:
        said.append("No rule lowers what another one states, and none is idle.")
    unexamined = facts.review.not_examined
    if unexamined:
        names = ", ".join(unexamined)
        said.append(f"Not examined pair by pair, because there are too many values or bounds: {names}.")
    return Section(3, "What the rules do together", tuple(Paragraph(words) for words in said))


def idle(facts: Facts) -> Iterator[tuple[int, str]]:
    """Lines of rules that change nothing, and why."""
    for rule in facts.review.rules:
        if rule.idle:
            yield rule.line, "it selects no pair"
        elif rule.redundant:
            yield rule.line, "other rules ask for more on every pair"


def _farthest(facts: Facts) -> Words:
    far = facts.extremes.farthest
    told = far.distance * facts.budget
    if not facts.extremes.exact:
        return ("Records that differ in everything: odds ", Strong(at_most(told)), ".")
    return (
        f"Two records may differ in everything at once. The farthest are {far.words}: odds ",
        Strong(at_most(told)),
        f", {guesses(told):,} right guesses of 1,000.",
    )


def tightened_in_words(one: Tightening, budget: float) -> str:
    """What a rule states, what the pair gets, by which way, and what to change."""
    steps = " → ".join(f"{value} (line {line})" for line, value in one.path)
    lines = list(dict.fromkeys(line for line, value in one.path if value != NOBODY)) or [one.line]
    undo = " or ".join(str(line) for line in lines)
    more = f", and so for {one.pairs:,} pairs" if one.pairs > 1 else ""
    return (
        f"Line {one.line} states {odds(one.stated * budget)}, but {one.start} → {steps} gives "
        f"{odds(one.given * budget)}{more}: more hidden than asked. To undo: raise line {undo}."
    )
