"""What a page warns of, by one rule for both kinds of promise: what stops, what to decide, what to know."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from dxgeom.document.document import Notice, Severity
from dxgeom.policy.explain.telling import curve_of
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.privacy.measures import PURE
from dxgeom.report.exactness import Expected, expected
from dxgeom.report.facts import Facts, Pair
from dxgeom.report.rules import rows_of, rule_title
from dxgeom.report.sections import exact_questions, hides_presence, idle, people_of
from dxgeom.universe.columns import chance_in_words
from dxgeom.wording.numbers import MOST_ODDS, amount, band_of, guesses, odds, plus_minus

CEILING: Final = "There is no ceiling on the odds."
_ALARMING: Final = 20 / 21
"""The chance of a right guess where odds are 20 to 1."""
_HOPELESS: Final = MOST_ODDS / (MOST_ODDS + 1)
_MOST_SAID: Final = 3
_UP: Final = 1 + 1e-9
"""Compiled distances are rounded down by less than this, relatively; what is said of them is not."""


def warnings(facts: Facts) -> tuple[Notice, ...]:
    """All warnings: what stops, what is to be decided, what is to be known."""
    rows = () if facts.plan is None or facts.spend is None else expected(facts, facts.plan, facts.spend)
    return (*_stops(facts), *_decisions(facts, rows), *_known(facts, rows))


def chance_of(facts: Facts, distance: float) -> float:
    """Of a right guess, on average at most, between two records that seemed equally likely, whole budget."""
    if not math.isfinite(distance):
        return 1.0
    if facts.policy.privacy == PURE:
        return 1 / (1 + math.exp(-min(distance * facts.budget * _UP, 100.0)))
    (point,) = curve_of([Fraction(distance * _UP)], facts.policy.budget)
    return point.right_guess


def right_of_thousand(facts: Facts, distance: float) -> str:
    """The same of 1,000 guesses, *rounded up*."""
    if facts.policy.privacy == PURE:
        return f"{guesses(distance * facts.budget):,}"
    return f"{math.ceil(1000 * chance_of(facts, distance)):,}"


def _in_words(facts: Facts, distance: float) -> str:
    """What a distance tells: odds, or right guesses where no odds always hold."""
    if facts.policy.privacy == PURE:
        return odds(distance * facts.budget)
    return f"{right_of_thousand(facts, distance)} right guesses of 1,000"


def _notice(severity: Severity, lead: str, more: str, section: int) -> Notice:
    return Notice(severity, lead, more, f"section-{section}", f"Section {section}")


def _stops(facts: Facts) -> Iterator[Notice]:
    if facts.foreign_ledger:
        yield _notice("stop", "The ledger is of another policy.", "What it says is not about this page.", 6)
    for one in facts.releases:
        if one.policy != facts.policy.fingerprint:
            yield _notice("stop", "A release is of another policy.", "Its answers are not under these rules.", 6)
            break
    for number, rule in enumerate(facts.policy.rules, 1):
        rows = [pair for _, pair in rows_of(facts, rule) if 0 < pair.distance < math.inf]
        closest = min(rows, key=lambda pair: pair.distance, default=None)
        if closest is not None and chance_of(facts, closest.distance) > _HOPELESS:
            more = f"Even its closest two, {closest.words}, are at {_in_words(facts, closest.distance)}."
            yield _notice("stop", f"{rule_title(number, rule)}. It hides nothing.", more, 1)


def _decisions(facts: Facts, rows: tuple[Expected, ...]) -> Iterator[Notice]:
    if facts.policy.privacy != PURE:
        more = "Rare answers tell more than others. What is promised is how rarely, and how many guesses are right."
        yield _notice("decide", CEILING, more, 1)
    for number, rule in enumerate(facts.policy.rules, 1):
        pairs = [pair for _, pair in rows_of(facts, rule)]
        worst = max(pairs, key=lambda pair: pair.distance, default=None)
        if worst is not None and chance_of(facts, worst.distance) > _ALARMING:
            yield _weak(facts, number, rule, pairs, worst)
    for one in facts.policy.unprotected:
        title = "" if one.attribute is None else facts.policy.labels.attribute(one.attribute)
        about = f"Some values of {title}" if title else "Some records"
        yield _notice("decide", f"{about} may be told apart exactly.", "The policy allows it.", 2)
    exact = exact_questions(facts)
    if exact:
        more = f"{_some(exact)}: the policy hides nothing that {'it tells' if len(exact) == 1 else 'they tell'}."
        yield _notice("decide", f"{_count(len(exact), 'question is', 'questions are')} answered exactly.", more, 2)
    yield from _about_people(facts)
    useless = [row for row in rows if row.useless]
    if useless:
        more = f"{_some(tuple(f'{row.name} ({plus_minus(row.half_width)})' for row in useless))}."
        yield _notice("decide", f"{_count(len(useless), 'answer is', 'answers are')} useless at this spend.", more, 5)
    shifted = [row for row in rows if row.bias > row.half_width / 2]
    if shifted:
        more = f"{_some(tuple(row.name for row in shifted))}: bias makes up more than half of the error."
        yield _notice("decide", f"{_count(len(shifted), 'answer has', 'answers have')} a large bias.", more, 5)


def _about_people(facts: Facts) -> Iterator[Notice]:
    if people_of(facts) is None:
        near = facts.extremes.closest.distance
        grows = "odds square" if facts.policy.privacy == PURE else "distances double"
        more = (
            f"The policy does not say how people with several rows count. For two rows of one person the {grows}: "
            f"{_in_words(facts, near)} becomes {_in_words(facts, 2 * near)}."
        )
        yield _notice("decide", "One person with several rows is protected less.", more, 4)
    if not hides_presence(facts):
        number = "their number" if facts.records is None else f"their number, {facts.records:,}"
        more = f"nor is {number}; of a table that was filtered, how many passed."
        yield _notice("decide", "That somebody has a record here is not hidden,", more, 2)


def _weak(facts: Facts, number: int, rule: ResolvedRule, pairs: list[Pair], worst: Pair) -> Notice:
    pure = facts.policy.privacy == PURE
    others = [pair for pair in pairs if pair.distance < worst.distance and pair.distance * facts.budget > 1]
    best = min(others, key=lambda pair: pair.distance, default=None)
    more = (
        "No limit is promised."
        if math.isinf(worst.distance)
        else f"Of 1,000 guesses between {worst.words}, up to {right_of_thousand(facts, worst.distance)} can be right "
        "once the whole budget is spent; tossing a coin gets 500."
    )
    if best is not None:
        more += f" Between {best.words}, at most {right_of_thousand(facts, best.distance)}."
    how = (
        band_of(worst.distance * facts.budget).words if pure else "hidden so little that 19 of 20 guesses can be right"
    )
    return _notice("decide", f"{rule_title(number, rule)}. Its farthest two are {how}.", more, 1)


def _known(facts: Facts, rows: tuple[Expected, ...]) -> Iterator[Notice]:
    if facts.policy.delta is not None:
        more = (
            "Releases of keys that nobody listed may show one that a single person has, all together at most with "
            "that chance; whatever this page says of odds and guesses holds without it."
        )
        yield _notice("know", f"Odds hold except with chance {chance_in_words(facts.policy.delta)}.", more, 1)
    if facts.review.tightened:
        lines = ", ".join(str(one.line) for one in facts.review.tightened[:_MOST_SAID])
        yield _notice("know", "Rules together hide more than each states:", f"line {lines}.", 3)
    for line, why in idle(facts):
        yield _notice("know", f"The rule at line {line} changes nothing:", f"{why}.", 3)
    if facts.review.not_examined:
        names = ", ".join(map(facts.policy.labels.attribute, facts.review.not_examined))
        yield _notice("know", "Not examined pair by pair:", f"{names}.", 3)
    coarse = [row for row in rows if row.coarse and not row.useless]
    if coarse:
        names = _some(tuple(f"{row.name} ({plus_minus(row.half_width)})" for row in coarse))
        yield _notice("know", "± is more than a tenth of what is possible:", f"{names}.", 5)
    if facts.spent is not None and facts.spent * 2 >= facts.policy.budget:
        left = facts.policy.budget - facts.spent
        share = "All" if left == 0 else "Half" if left * 2 == facts.policy.budget else "More than half"
        more = "Nothing more can be answered." if left == 0 else f"{amount(Fraction(left))} is left."
        if facts.policy.privacy != PURE:
            more = (
                "Nothing more can be answered."
                if left == 0
                else "Squares of spends add up: Section 6 says what is left."
            )
        yield _notice("know", f"{share} of the budget is spent.", more, 6)


def _count(number: int, one: str, more: str) -> str:
    return f"One {one}" if number == 1 else f"{number:,} {more}"


def _some(names: tuple[str, ...]) -> str:
    more = f", and {len(names) - _MOST_SAID:,} more" if len(names) > _MOST_SAID else ""
    return ", ".join(names[:_MOST_SAID]) + more
