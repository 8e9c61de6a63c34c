"""The page of a policy that counts concentrated privacy: curves over distance, and never one figure of odds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from dxgeom.disclosure.contributions import LossCurve, curve_of_entries
from dxgeom.document.document import (
    Block,
    Document,
    Notice,
    Paragraph,
    Picture,
    Section,
    ShownColumn,
    ShownTable,
    Words,
)
from dxgeom.document.scenes import guess_curve
from dxgeom.policy.explain.telling import CurvePoint
from dxgeom.privacy.curves import concentrated_right_guess
from dxgeom.privacy.measures import CONCENTRATED
from dxgeom.report.account import answers_of, budget_gauge
from dxgeom.report.facts import Facts, Pair
from dxgeom.report.questions import questions_section
from dxgeom.report.rules import example_pairs, over_time, rows_of, rule_title
from dxgeom.report.sections import combined, evidence, head, needed, not_hidden, way_of, words_and_signature
from dxgeom.report.warnings import CEILING, right_of_thousand, warnings
from dxgeom.wording.numbers import NO_LIMIT, amount

_FAR = 1e5
_UP = 1 + 1e-9
"""Compiled distances are rounded down by less than this, relatively; what is said of them is not."""
_EPSILON = "ε, with a δ of one in a million"


def curves_page(facts: Facts) -> Document:
    """In short, rules, what is not hidden, questions, account and evidence, as curves over distance."""
    notices = warnings(facts)
    decisions = sum(one.severity == "decide" for one in notices)
    sections = (
        _in_short(facts, notices),
        _hidden(facts),
        not_hidden(facts),
        _together(facts),
        _who(facts),
        questions_section(facts),
        _account(facts),
        evidence(facts),
        words_and_signature(decisions),
    )
    title, policy = "Privacy review", facts.policy
    return Document(title, policy.title, policy.about, head(facts), sections, policy.fingerprint)


def _in_short(facts: Facts, notices: tuple[Notice, ...]) -> Section:
    near, far = facts.extremes.closest, facts.extremes.farthest
    said = Paragraph(
        f"All answers within the budget together tell the closest two kinds of record, {near.words}, apart in at most "
        f"{right_of_thousand(facts, near.distance)} of 1,000 guesses on average (a coin gets 500), and the farthest "
        f"two, {far.words}, in at most {right_of_thousand(facts, far.distance)}. {CEILING}{needed(notices)}"
    )
    return Section(0, "In short", (said, *notices))


def _hidden(facts: Facts) -> Section:
    lead = (
        "Somebody wants to know which of two records is in the data. They differ only as stated, seemed equally "
        "likely; every other record may be known. With all answers within the budget at most so many of 1,000 guesses "
        "are right on average; odds pass the figure beside it one time in a million. That chance is not δ."
    )
    blocks: list[Block] = [Paragraph(lead), _table("What distances tell, of the whole budget", facts.review.curve)]
    for number, (rule, resolved) in enumerate(zip(facts.review.rules, facts.policy.rules, strict=True), 1):
        blocks.append(Paragraph(rule_title(number, resolved), "title"))
        blocks.append(Paragraph(f"{rule.sentence[:1].upper()}{rule.sentence[1:]}."))
        pairs = rows_of(facts, resolved)
        if pairs:
            blocks.append(pairs_by_guesses(f"Pairs under rule {number}", pairs, facts))
    blocks.append(
        Paragraph("What is told grows faster than distance: four times the distance is more than four times ε.", "note")
    )
    blocks += [_drawn(facts), *over_time(facts, _right)]
    return Section(1, "What is hidden, and how strongly", tuple(blocks))


def _table(label: str, points: Iterable[CurvePoint]) -> ShownTable:
    columns = ("Distance", "Right of 1,000 guesses", "Odds, but one time in a million", _EPSILON)
    rows = tuple(
        (amount(one.distance), _guesses(one.right_guess), one.odds, amount(_up(one.epsilon))) for one in points
    )
    return ShownTable(label, tuple(ShownColumn(title, figures=True) for title in columns), rows)


def pairs_by_guesses(label: str, rows: Iterable[tuple[str, Pair]], facts: Facts) -> ShownTable:
    """Real pairs of records, by their compiled distances."""
    columns = (
        ShownColumn("Two records"),
        ShownColumn("For example"),
        ShownColumn("Distance", figures=True),
        ShownColumn("Right of 1,000 guesses", figures=True),
    )
    cells = tuple(
        (
            what,
            pair.words,
            amount(pair.distance) if math.isfinite(pair.distance) else NO_LIMIT,
            right_of_thousand(facts, pair.distance),
        )
        for what, pair in rows
    )
    return ShownTable(label, columns, cells)


def _drawn(facts: Facts) -> Picture:
    """Right guesses over distance, with the pairs of the page on the curve."""
    spent = None if facts.spent is None else float(facts.spent)
    pairs = [(pair.words, pair.distance) for pair in example_pairs(facts)]
    return Picture(
        guess_curve(pairs, facts.budget, spent, _right),
        "Right guesses of 1,000, at most, between two records that seemed equally likely.",
    )


def _right(distance: float) -> float:
    return 1000 * concentrated_right_guess(min(distance, _FAR))


def _together(facts: Facts) -> Section:
    """Section 3, in guesses: what is hidden more than asked, which rules do nothing, what adds up."""
    far = facts.extremes.farthest
    right = (
        f"Two records may differ in everything at once: at most {right_of_thousand(facts, far.distance)} right guesses"
    )
    said: list[Words] = [f"{right} of 1,000, between {far.words}." if facts.extremes.exact else f"{right}."]
    for one in facts.review.tightened:
        stated, given = (right_of_thousand(facts, distance) for distance in (one.stated, one.given))
        said.append(
            f"Line {one.line} states at most {stated} right guesses of 1,000, but {way_of(one, facts)} gives "
            f"{given}: more hidden than asked."
        )
    return combined(facts, said)


def _who(facts: Facts) -> Section:
    people = facts.policy.universe.reading.people
    assumed = "Each person is assumed to have one row; nothing checks it. For k rows distances add up: up to k times."
    return Section(4, "Who counts as a person", (Paragraph(assumed if people is None else people.sentence),))


def _account(facts: Facts) -> Section:
    title = "What was told, and what is left"
    if facts.history is None:
        nothing = "No ledger was given with this page: what was told is not known here. The budget is"
        return Section(6, title, (Paragraph(f"{nothing} {amount(facts.budget)}."),))
    entries = facts.entries
    spent = facts.spent or Fraction(0)
    blocks: list[Block] = [budget_gauge(spent, facts.policy.budget, len(entries), CONCENTRATED)]
    noises = {} if facts.plan is None or facts.plan.noise is None else {facts.plan.fingerprint: facts.plan.noise}
    nearest = min((float(point.distance) for point in facts.review.curve), default=math.inf)
    curve = curve_of_entries(entries, CONCENTRATED, noises, nearest)
    if curve is not None:
        blocks += [Paragraph("What all releases so far tell together, as a curve over distance:"), _curve_table(curve)]
    for one in facts.releases:
        blocks += answers_of(one, facts)
    return Section(6, title, tuple(blocks))


def _curve_table(curve: LossCurve) -> ShownTable:
    columns = ("Distance", "Right of 1,000 guesses", _EPSILON)
    rows = tuple((amount(one.distance), _guesses(one.right_guess), amount(_up(one.epsilon))) for one in curve.points)
    return ShownTable("What was told so far", tuple(ShownColumn(title, figures=True) for title in columns), rows)


def _guesses(chance: float) -> str:
    return f"{math.ceil(1000 * chance):,}"


def _up(number: float) -> float:
    """Rounded up to two digits behind the point."""
    return math.ceil(number * 100) / 100
