"""The review page: a policy, its questions and its account, for whoever signs it; first what has to be decided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, cast

from dxgeom.arguments import require
from dxgeom.document.document import Document, Notice
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.ledger.history import History, read_answer, read_ledger
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import PURE
from dxgeom.report.account import account
from dxgeom.report.curves import curves_page
from dxgeom.report.exactness import Expected, expected
from dxgeom.report.facts import Facts, Pair, facts_of
from dxgeom.report.questions import questions_section
from dxgeom.report.released import Released, release_of
from dxgeom.report.rules import hidden, rows_of
from dxgeom.report.sections import (
    evidence,
    exact_questions,
    head,
    hides_presence,
    idle,
    in_short,
    not_hidden,
    people_of,
    together,
    who,
    words_and_signature,
)
from dxgeom.wording.numbers import MOST_ODDS, amount, band_of, guesses, odds, plus_minus

if TYPE_CHECKING:
    pass


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
    if facts.spent is not None and facts.spent * 2 >= facts.policy.budget:
        left = facts.policy.budget - facts.spent
        share = "All" if left == 0 else "Half" if left * 2 == facts.policy.budget else "More than half"
        more = "Nothing more can be answered." if left == 0 else f"{amount(Fraction(left))} is left."
        yield _notice("know", f"{share} of the budget is spent.", more, 6)


def _count(number: int, one: str, more: str) -> str:
    return f"One {one}" if number == 1 else f"{number:,} {more}"


def _some(names: tuple[str, ...]) -> str:
    more = f", and {len(names) - _MOST_SAID:,} more" if len(names) > _MOST_SAID else ""
    return ", ".join(names[:_MOST_SAID]) + more


def review_page(
    policy: Policy,
    plan: Plan | None = None,
    *,
    spend: Amount | None = None,
    ledger: str | Path | None = None,
    releases: Iterable[Released] = (),
    plan_digest: str | None = None,
) -> Document:
    """What whoever signs a policy, its questions and its budget has to know, as a document.

    Args: ``plan``: how the questions are answered, under this policy; quantiles, tasks and whole tables by what
    holds of their errors. ``spend``: of the budget on them; left out, the
    whole budget. ``ledger``: what was told so far is read from it, and not changed. ``releases``: answers from files
    (``read_release``), beside those in the ledger. ``plan_digest``: of the plan's file.
    Guarantee: odds and errors are *rounded up*; nothing on it comes from data but released answers and what is public.
    A policy that counts concentrated privacy has curves over distance, and no odds that always hold.
    Raises: LedgerError; UnsupportedCombination for a plan under another policy; TooLarge.
    """
    require(policy, Policy, "policy", "load it with dx.load_policy")
    require(plan, (Plan, NoneType), "plan", "make it with dx.plan, or load one with dx.load_plan")
    if plan is not None and plan.metric.fingerprint != policy.fingerprint:
        raise UnsupportedCombination(
            f"the plan is under another policy than '{policy.name}': plan under this one, or name the plan's own"
        )
    if plan_digest is not None:
        require(plan_digest, str, "plan_digest", "it is the digest that a plan's file states")
    released = _released(releases)
    history = None if ledger is None else read_ledger(ledger)
    amount = None if plan is None else policy.budget if spend is None else exact_amount(spend, "spend")
    chosen: Any = None if plan is None else plan.kept
    linear, stated = (chosen, None) if chosen is not None and chosen.answers_a_list else (None, chosen)
    facts = facts_of(policy, linear, amount, plan_digest, history, plan_shown=stated)
    kept = () if ledger is None or history is None else _answers(ledger, history, facts)
    further = tuple(one for one in released if one not in kept)
    facts = replace(facts, releases=(*kept, *further))
    return document_of(facts)


def _released(releases: object) -> tuple[Released, ...]:
    """Raises: WrongArgument for anything but releases from files."""
    advice = "make a list of what dx.report.read_release returns"
    require(releases, Iterable, "releases", advice)
    found = tuple(cast("Iterable[Released]", releases))
    for one in found:
        require(one, Released, "releases", advice)
    return found


def document_of(facts: Facts) -> Document:
    """The page of these facts."""
    if facts.policy.privacy != PURE:
        return curves_page(facts)
    notices = warnings(facts)
    decisions = sum(one.severity == "decide" for one in notices)
    sections = (
        in_short(facts, notices),
        hidden(facts),
        not_hidden(facts),
        together(facts),
        who(facts),
        questions_section(facts),
        account(facts),
        evidence(facts),
        words_and_signature(decisions),
    )
    return Document(
        "Privacy review", facts.policy.title, facts.policy.about, head(facts), sections, facts.policy.fingerprint
    )


def _answers(ledger: str | Path, history: History, facts: Facts) -> tuple[Released, ...]:
    """The answers to queries that the ledger holds of this policy."""
    found = []
    for entry in facts.entries:
        kept = entry.number in history.answers or entry.number in history.waiting
        content = read_answer(ledger, entry.number) if kept else None
        if content is not None:
            with suppress(DataError):  # answers of other mechanisms are in the ledger, too
                found.append(release_of(content, f"entry {entry.number} of the ledger"))
    return tuple(found)
