"""What has to be decided or known, in the order of weight."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from dxgeom.report.document.blocks import Notice
from dxgeom.report.facts.comparisons import Pair
from dxgeom.report.facts.exactness import Expected, expected
from dxgeom.report.facts.facts import Facts
from dxgeom.report.sections.combined import idle
from dxgeom.report.sections.not_hidden import exact_questions
from dxgeom.report.sections.people import hides_presence, people_of
from dxgeom.report.sections.rules import rows_of
from dxgeom.wording.numbers import MOST_ODDS, amount, band_of, guesses, odds, plus_minus

_ALARMING: Final = math.log(20)
_MOST_SAID: Final = 3


def warnings(facts: Facts) -> tuple[Notice, ...]:
    """All warnings: what stops, what is to be decided, what is to be known."""
    rows = () if facts.plan is None or facts.spend is None else expected(facts, facts.plan, facts.spend)
    return (*_stops(facts), *_decisions(facts, rows), *_known(facts, rows))


def _notice(severity: str, lead: str, more: str, section: int) -> Notice:
    return Notice(severity, lead, more, f"section-{section}", f"Section {section}")  # type: ignore[arg-type]


def _stops(facts: Facts) -> Iterator[Notice]:
    if facts.foreign_ledger:
        yield _notice("stop", "The ledger is of another policy.", "What it says is not about this page.", 6)
    for one in facts.releases:
        if one.policy != facts.policy.fingerprint:
            yield _notice("stop", "A release is of another policy.", "Its answers are not under these rules.", 6)
            break
    limit = math.log(MOST_ODDS)
    for rule in facts.policy.rules:
        rows = [pair for _, pair in rows_of(facts, rule) if 0 < pair.distance < math.inf]
        closest = min(rows, key=lambda pair: pair.distance, default=None)
        if closest is not None and closest.distance * facts.budget > limit:
            more = f"Even its closest two, {closest.words}, are at {odds(closest.distance * facts.budget)}."
            yield _notice("stop", f"The rule at line {rule.line} hides nothing.", more, 1)


def _decisions(facts: Facts, rows: tuple[Expected, ...]) -> Iterator[Notice]:
    for rule in facts.policy.rules:
        pairs = [pair for _, pair in rows_of(facts, rule)]
        worst = max(pairs, key=lambda pair: pair.distance, default=None)
        if worst is not None and worst.distance * facts.budget > _ALARMING:
            yield _weak(facts, rule.line, pairs, worst)
    for one in facts.policy.unprotected:
        about = "Some records" if one.attribute is None else f"Some values of {one.attribute}"
        yield _notice("decide", f"{about} may be told apart exactly.", "The policy allows it.", 2)
    exact = exact_questions(facts)
    if exact:
        more = f"{_some(exact)}: the policy hides nothing that {'it tells' if len(exact) == 1 else 'they tell'}."
        yield _notice("decide", f"{_count(len(exact), 'question is', 'questions are')} answered exactly.", more, 2)
    if people_of(facts) is None:
        far = facts.extremes.closest.distance * facts.budget
        more = (
            "The policy does not say how people with several rows count. For two rows of one person the odds square: "
            f"{odds(far)} becomes {odds(2 * far)}."
        )
        yield _notice("decide", "One person with several rows is protected less.", more, 4)
    if not hides_presence(facts):
        number = "their number" if facts.records is None else f"their number, {facts.records:,}"
        yield _notice("decide", "That somebody has a record here is not hidden,", f"nor is {number}.", 2)
    useless = [row for row in rows if row.useless]
    if useless:
        more = f"{_some(tuple(f'{row.name} ({plus_minus(row.half_width)})' for row in useless))}."
        yield _notice("decide", f"{_count(len(useless), 'answer is', 'answers are')} useless at this spend.", more, 5)
    shifted = [row for row in rows if row.bias > row.half_width / 2]
    if shifted:
        more = f"{_some(tuple(row.name for row in shifted))}: bias makes up more than half of the error."
        yield _notice("decide", f"{_count(len(shifted), 'answer has', 'answers have')} a large bias.", more, 5)


def _weak(facts: Facts, line: int, pairs: list[Pair], worst: Pair) -> Notice:
    told = worst.distance * facts.budget
    others = [pair for pair in pairs if pair.distance < worst.distance and pair.distance * facts.budget > 1]
    best = min(others, key=lambda pair: pair.distance, default=None)
    more = (
        "No limit is promised."
        if math.isinf(told)
        else f"Of 1,000 guesses between {worst.words}, up to {guesses(told):,} can be right once the whole budget is "
        "spent; tossing a coin gets 500."
    )
    if best is not None:
        more += f" Between {best.words}, at most {guesses(best.distance * facts.budget):,}."
    return _notice(
        "decide", f"What the rule at line {line} is about is at its farthest {band_of(told).words}.", more, 1
    )


def _known(facts: Facts, rows: tuple[Expected, ...]) -> Iterator[Notice]:
    if facts.review.tightened:
        lines = ", ".join(str(one.line) for one in facts.review.tightened[:_MOST_SAID])
        yield _notice("know", "Rules together hide more than each states:", f"line {lines}.", 3)
    for line, why in idle(facts):
        yield _notice("know", f"The rule at line {line} changes nothing:", f"{why}.", 3)
    if facts.review.not_examined:
        names = ", ".join(facts.review.not_examined)
        yield _notice("know", "Not examined pair by pair:", f"{names}.", 3)
    coarse = [row for row in rows if row.coarse and not row.useless]
    if coarse:
        names = _some(tuple(f"{row.name} ({plus_minus(row.half_width)})" for row in coarse))
        yield _notice("know", "± is more than a tenth of what is possible:", f"{names}.", 5)
    if facts.told is not None and facts.told * 2 >= facts.policy.budget:
        left = facts.policy.budget - facts.told
        share = "All" if left == 0 else "Half" if left * 2 == facts.policy.budget else "More than half"
        more = "Nothing more can be answered." if left == 0 else f"{amount(Fraction(left))} is left."
        yield _notice("know", f"{share} of the budget is spent.", more, 6)


def _count(number: int, one: str, more: str) -> str:
    return f"One {one}" if number == 1 else f"{number:,} {more}"


def _some(names: tuple[str, ...]) -> str:
    more = f", and {len(names) - _MOST_SAID:,} more" if len(names) > _MOST_SAID else ""
    return ", ".join(names[:_MOST_SAID]) + more
