"""Section 6: what was told, what is left, and the answers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from fractions import Fraction

from dxgeom.document.document import Block, BudgetGauge, Paragraph, Picture, Section
from dxgeom.document.scenes import MOST_BARS, answer_bars
from dxgeom.planner.answers.tables import AnswerPart
from dxgeom.policy.explain.telling import except_with
from dxgeom.privacy.measures import PURE, Privacy, privacy_measure_of
from dxgeom.report.answers import answer_notes, answer_tables
from dxgeom.report.exactness import possible_ranges
from dxgeom.report.facts import Facts
from dxgeom.report.released import AnswerAsReleased, Released
from dxgeom.wording.numbers import amount, odds

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def account(facts: Facts) -> Section:
    """The section."""
    blocks: list[Block] = []
    spent, budget = facts.spent, facts.policy.budget
    if spent is None:
        blocks.append(
            Paragraph(
                f"No ledger was given with this page: what was told is not known here. The budget is {amount(budget)}."
            )
        )
    else:
        blocks.append(budget_gauge(spent, budget, len(facts.releases if facts.history is None else facts.entries)))
        blocks += [Paragraph(words) for words in _words(facts, spent)]
    for one in facts.releases:
        blocks += answers_of(one, facts)
    if facts.releases:
        blocks.append(
            Paragraph("Nothing else on this page comes from data, except the public number of records.", "note")
        )
    return Section(6, "What was told, and what is left", tuple(blocks))


def budget_gauge(spent: Fraction, budget: Fraction, count: int | None, privacy_measure: Privacy = PURE) -> BudgetGauge:
    """How much of the budget was spent; ``spent``: as a single spend, where squares add up the root of their sum."""
    counted, releases = (
        privacy_measure_of(privacy_measure),
        "" if count is None else f", {count:,} release{'' if count == 1 else 's'}",
    )
    left = counted.counted(budget) - counted.counted(spent)
    how = " (squares add up)" if counted.squares else ""
    return BudgetGauge(
        1 - float(left / counted.counted(budget)),
        f"{amount(spent)} told{releases}",
        f"{amount(counted.spend_below(max(left, Fraction(0))))} left of {amount(budget)}{how}",
    )


def _words(facts: Facts, spent: Fraction) -> Iterator[str]:
    share = spent / facts.policy.budget
    far = facts.extremes.farthest.distance
    yield (
        f"Spending the whole budget gives the limits of Section 1. Told so far: {amount(spent)} of "
        f"{amount(facts.policy.budget)}. Odds are now those of Section 1 to the power "
        f"{share if share.denominator < 100 else amount(float(f'{float(share):.3g}'))}: the farthest two are at "
        f"{odds(far * float(spent))}, the closest at {odds(facts.extremes.closest.distance * float(spent))}"
        f"{except_with(facts.policy.delta)}."
    )
    history = facts.history
    if history is None:
        return
    answered = {*history.answers, *history.waiting}
    silent = [entry.number for entry in facts.entries if entry.number not in answered and entry.reserved]
    if silent:
        yield f"Charged without an answer, and counted as told: entry {', '.join(map(str, silent))}."
    others = [one for one in history.accounts if one.policy_fingerprint != facts.policy.fingerprint]
    if others:
        names = ", ".join(one.policy_name for one in others)
        yield (
            f"The same data were also asked under {names}. Those answers add to these: distances add, each times its "
            "spend. ‘dxgeom ledger told’ says what all of them together may have told."
        )


def answers_of(one: Released, facts: Facts) -> Iterator[Block]:
    """A release: when and at what price, its answers with bars on common axes, and as figures."""
    made_up = "A rehearsal with made-up records. " if one.rehearsal else ""
    count = sum(table.rows for part in one.parts for table in part.tables)
    answers = f"{count:,} answer{'' if count == 1 else 's'}"
    yield Paragraph(f"{made_up}{date_of(one.time)}, spend {amount(one.spend)}: {answers}. {joint_words(one)}".strip())
    yield from _pictures(one.answers, facts)
    yield from answer_blocks(one.parts)


def joint_words(one: Released) -> str:
    """How often bars hold the truth, each on its own and all together; nothing where there are none."""
    bars = [each for each in one.answers if math.isfinite(each.low) or math.isfinite(each.high)]
    if not bars:
        return ""
    times = f"{amount(round(one.level * 100, 9))} times in 100"
    if one.together:
        return f"Bars made this way hold the true values {times}, all at once."
    joint = max(0.0, round(100 - len(bars) * (100 - one.level * 100), 9))
    together = f"; all {len(bars)} together at least {amount(joint)} in 100" if len(bars) > 1 else ""
    return f"Bars made this way hold the true value {times}, each on its own{together}."


def _pictures(answers: Sequence[AnswerAsReleased], facts: Facts) -> Iterator[Picture]:
    units: defaultdict[str | None, list[AnswerAsReleased]] = defaultdict(list)
    for each in answers:
        units[each.unit].append(each)
    for unit, group in units.items():
        rows = [(each.name, each.value, each.low, each.high) for each in group]
        possible = _possible(facts, group)
        scene, narrow = (answer_bars(rows, possible, unit or "", narrow=narrow) for narrow in (False, True))
        more = f" The first {MOST_BARS} of {len(group):,}." if len(group) > MOST_BARS else ""
        yield Picture(scene, f"The dots are the released answers, the lines their bars.{more}", None, narrow)


def _possible(facts: Facts, group: Sequence[AnswerAsReleased]) -> tuple[float, float] | None:
    if facts.plan is None:
        return None
    known = dict(zip(facts.plan.queries.names, possible_ranges(facts.plan, facts.records), strict=True))
    found = [known.get(each.name) for each in group]
    ends = [each for each in found if each is not None]
    if len(ends) < len(found):
        return None
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    widest = max(each.high - each.low for each in group)
    return (low, high) if widest > 0.02 * (high - low) else None


def answer_blocks(parts: Sequence[AnswerPart]) -> Iterator[Block]:
    """The answers as figures, task by task, and what is said of their errors."""
    for part in parts:
        if part.name:
            yield Paragraph(f"{part.name} ({part.kind})", "title")
        yield from answer_tables(part)
        yield from (Paragraph(f"{note.about.capitalize()}: {note.sentence}", "note") for note in answer_notes(part))


def date_of(time: str) -> str:
    """The day of a time as a person writes it.

    >>> date_of("2026-11-22T07:00:00+00:00"), date_of("")
    ('22 November 2026', 'At an unknown time')
    """
    try:
        day = datetime.fromisoformat(time)
    except ValueError:
        return "At an unknown time"
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
