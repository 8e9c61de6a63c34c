"""The page of a policy that counts concentrated privacy: curves over distance, and never one figure of odds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from dxgeom.disclosure.curves import ToldCurve, curve_of_entries
from dxgeom.policy.explain.telling import CurvePoint, curve_of
from dxgeom.privacy.currencies import CONCENTRATED, currency_of
from dxgeom.report.document.blocks import Block, Notice, Paragraph, Section, ShownColumn, ShownTable
from dxgeom.report.document.document import Document
from dxgeom.report.facts.facts import Facts, entries_of
from dxgeom.report.sections.account import answers_of, budget_gauge
from dxgeom.report.sections.evidence import evidence, words_and_signature
from dxgeom.report.sections.not_hidden import not_hidden
from dxgeom.report.sections.opening import head
from dxgeom.wording.numbers import amount, plus_minus

_CEILING = "There is no ceiling on the odds."
_EPSILON = "ε, with a δ of one in a million"


def curves_page(facts: Facts) -> Document:
    """In short, rules, what is not hidden, questions, account and evidence, as curves over distance."""
    notices = tuple(_notices(facts))
    decisions = sum(one.severity == "decide" for one in notices)
    sections = (
        _in_short(facts, notices),
        _hidden(facts),
        not_hidden(facts),
        _who(facts),
        _asked(facts),
        _account(facts),
        evidence(facts),
        words_and_signature(decisions),
    )
    title, policy = "Privacy review", facts.policy
    return Document(title, policy.name, policy.about, head(facts), sections, policy.fingerprint)


def _notices(facts: Facts) -> Iterable[Notice]:
    if facts.foreign_ledger:
        yield Notice(
            "stop", "This ledger is another policy's.", "Nothing in it is about these data.", "section-6", "Section 6"
        )
    yield Notice(
        "decide",
        _CEILING,
        "Rare answers tell more than others. What is promised is how rarely, and how many guesses are right.",
        "section-1",
        "Section 1",
    )
    if any(facts.policy.unprotected):
        yield Notice("decide", "Something is not hidden at all.", "It may be told exactly.", "section-2", "Section 2")


def _in_short(facts: Facts, notices: tuple[Notice, ...]) -> Section:
    near, far = (facts.extremes.closest.distance, facts.extremes.farthest.distance)
    said = Paragraph(
        "All answers within the budget together tell the closest two kinds of record apart in at most "
        f"{_of_thousand(near, facts)} of 1,000 guesses on average (a coin gets 500), and the farthest two in at most "
        f"{_of_thousand(far, facts)}. {_CEILING}"
    )
    return Section(0, "In short", (said, *notices))


def _of_thousand(distance: float, facts: Facts) -> str:
    if not math.isfinite(distance):
        return "1,000"
    (point,) = curve_of([Fraction(distance)], facts.policy.budget)
    return _guesses(point.right_guess)


def _hidden(facts: Facts) -> Section:
    lead = (
        "Somebody wants to know which of two records is in the data. They differ only as stated, seemed equally "
        "likely; every other record may be known. With all answers within the budget at most so many of 1,000 guesses "
        "are right on average; odds pass the figure beside it one time in a million. That chance is not δ."
    )
    blocks: list[Block] = [Paragraph(lead), _table("What distances tell, of the whole budget", facts.review.curve)]
    for rule in facts.review.rules:
        blocks.append(Paragraph(f"{rule.words}: {rule.sentence}."))
    blocks.append(
        Paragraph("What is told grows faster than distance: four times the distance is more than four times ε.", "note")
    )
    return Section(1, "What is hidden, and how strongly", tuple(blocks))


def _table(label: str, points: Iterable[CurvePoint]) -> ShownTable:
    columns = ("Distance", "Right of 1,000 guesses", "Odds, but one time in a million", _EPSILON)
    rows = tuple(
        (amount(one.distance), _guesses(one.right_guess), one.odds, amount(_up(one.epsilon))) for one in points
    )
    return ShownTable(label, tuple(ShownColumn(title, figures=True) for title in columns), rows)


def _who(facts: Facts) -> Section:
    people = facts.policy.universe.reading.people
    assumed = "Each person is assumed to have one row; nothing checks it. For k rows distances add up: up to k times."
    return Section(4, "Who counts as a person", (Paragraph(assumed if people is None else people.sentence),))


def _asked(facts: Facts) -> Section:
    title = "What is asked, and how exact the answers are"
    plan, spend = facts.plan, facts.spend
    if plan is None or spend is None:
        nothing = Paragraph("No questions were given with this page. What they cost in accuracy is not on it.")
        return Section(5, title, (nothing,))
    widths = plan.half_widths(0.95, spend, facts.records)
    rows = tuple(
        (name, plus_minus(float(width)) if np.isfinite(width) else "not known")
        for name, width in zip(plan.queries.names[:200], widths[:200].tolist(), strict=True)
    )
    columns = (ShownColumn("Question"), ShownColumn("±, 19 times in 20", figures=True))
    said = f"At a spend of {amount(spend)}; squares of spends add up."
    return Section(5, title, (ShownTable("Questions and their errors", columns, rows), Paragraph(said, "note")))


def _account(facts: Facts) -> Section:
    title, currency = "What was told, and what is left", currency_of(CONCENTRATED)
    if facts.history is None:
        nothing = "No ledger was given with this page: what was told is not known here. The budget is"
        return Section(6, title, (Paragraph(f"{nothing} {amount(facts.budget)}."),))
    entries = entries_of(facts)
    told = currency.spend_above(sum((currency.counted(one.spend) for one in entries), Fraction(0)))
    blocks: list[Block] = [budget_gauge(told, facts.policy.budget, len(entries), CONCENTRATED)]
    noises = {} if facts.plan is None or facts.plan.noise is None else {facts.plan.fingerprint: facts.plan.noise}
    nearest = min((float(point.distance) for point in facts.review.curve), default=math.inf)
    curve = curve_of_entries(entries, CONCENTRATED, noises, nearest)
    if curve is not None:
        blocks += [Paragraph("What all releases so far tell together, as a curve over distance:"), _told(curve)]
    for one in facts.releases:
        blocks += answers_of(one, facts)
    return Section(6, title, tuple(blocks))


def _told(curve: ToldCurve) -> ShownTable:
    columns = ("Distance", "Right of 1,000 guesses", _EPSILON)
    rows = tuple((amount(one.distance), _guesses(one.right_guess), amount(_up(one.epsilon))) for one in curve.points)
    return ShownTable("What was told so far", tuple(ShownColumn(title, figures=True) for title in columns), rows)


def _guesses(chance: float) -> str:
    return f"{math.ceil(1000 * chance):,}"


def _up(number: float) -> float:
    """Rounded up to two digits behind the point."""
    return math.ceil(number * 100) / 100
