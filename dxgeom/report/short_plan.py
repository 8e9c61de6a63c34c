"""A plan on one screen: ± of each answer, what is of no use and what would help, and how far from the best this is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from dxgeom.document.document import Block, Document, Paragraph, Section, ShownColumn, ShownTable
from dxgeom.planner.answers.tables import called_by
from dxgeom.planner.plan import Plan
from dxgeom.planner.public_numbers import ALL_PUBLIC, EXACT, NOT_COMPARED, public_part, public_words, unused_in_words
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import PURE
from dxgeom.report.facts import known_records
from dxgeom.report.usefulness import Useless, useless_of
from dxgeom.universe.columns import plain
from dxgeom.universe.labels import PolicyLabels
from dxgeom.wording.numbers import counted, digits, in_full, plus_minus

MOST_ROWS: Final = 12
"""So many answers are shown."""
_FIRST: Final = 6
_MUCH: Final = 0.1
"""From this part of ± on, rounding to bins is named."""
_MOST_USELESS: Final = 4
_FEW: Final = 3
"""Below so many times a digit behind the point is shown."""


class _Row(NamedTuple):
    """A question, its ± as it stands, as a number, and what is to be said beside it."""

    name: str
    shown: str
    half_width: float
    note: str


def plan_screen(plan: Plan, spend: Fraction, level: float = 0.95, policy: Policy | None = None) -> Document:
    """The plan at a spend in at most fifteen lines at 80 characters, and one for each answer up to twelve.

    ``policy``: what it was made under, whose titles and labels are shown.
    """
    useless = useless_of(plan, spend, level)
    rows = [*_rows(plan, spend, level, {one.name: one for one in useless})]
    rows = _called(plan, rows, None if policy is None else policy.labels)
    blocks: list[Block] = [] if not rows else [_table(rows, useless, level)]
    if len(rows) > MOST_ROWS:
        blocks.append(Paragraph(f"and {len(rows) - MOST_ROWS:,} more: --all"))
    blocks += [] if rows else [*_stated(plan, spend, level)]
    sections = [Section(0, "", tuple(blocks))] if blocks else []
    people = "people" if policy is None else policy.labels.people
    use, (wider, *noise) = [*_of_use(plan, rows, useless, people)], _about_noise(plan, rows, spend)
    use = [f"{use[0]} {wider}".strip(), *use[1:]] if len(use) == 1 else [*use, *filter(None, [wider])]
    sections.append(Section(0, "", tuple(map(Paragraph, filter(None, [*use, *noise])))))
    name = plan.metric.title if policy is None else policy.title
    return Document(str(name), _head(plan, rows, spend, people), "", (), tuple(sections), plan.fingerprint)


def often(level: float) -> str:
    """How often bars hold.

    >>> often(0.95), often(0.9)
    ('19 times in 20', '90 times in 100')
    """
    return "19 times in 20" if level == 0.95 else f"{level * 100:g} times in 100"


def chosen_rows(widths: Sequence[float], noted: Sequence[bool]) -> list[int]:
    """The places of those that are shown: all of a dozen; else the first ones, the most and the least exact, and of
    those with a note so many as there is room for."""
    if len(widths) <= MOST_ROWS:
        return [*range(len(widths))]
    finite = [(width, place) for place, width in enumerate(widths) if not math.isnan(width)]
    ends = [min(finite)[1], max(finite)[1]] if finite else []
    wanted = [*ends, *[place for place, one in enumerate(noted) if one][:_MOST_USELESS], *range(_FIRST)]
    wanted += [*range(_FIRST, MOST_ROWS)]
    return sorted([*dict.fromkeys(wanted)][:MOST_ROWS])


def _called(plan: Plan, rows: Sequence[_Row], labels: PolicyLabels | None) -> list[_Row]:
    """The rows by what readers see these called."""
    if not plan.plan.answers_a_list:
        return [*rows]
    queries = plan.plan.queries
    named = [*zip(queries.names, queries.each_origin, strict=True)]
    named += [(one.name, one.origin) for one in (*queries.ratios, *queries.variances)]
    called = {name: called_by(labels, name, origin) for name, origin in named}
    return [one._replace(name=called.get(one.name, one.name)) for one in rows]


def _head(plan: Plan, rows: Sequence[_Row], spend: Fraction, called: str) -> str:
    budget = Fraction(plan.metric.budget)
    whole = f"the whole budget of {plain(budget)}" if spend == budget else f"{plain(spend)} of the budget of "
    whole += "" if spend == budget else plain(budget)
    records = known_records(plan)
    people = "" if records is None else f" about {records:,} {called}"
    asked = counted(len(rows), "answer") if rows else plan.question_in_words
    return f"{asked[:1].lower()}{asked[1:]}{people}, for {whole}"


def _rows(plan: Plan, spend: Fraction, level: float, useless: dict[str, Useless]) -> Iterator[_Row]:
    shown = plan.plan
    if shown.answers_a_list:
        widths, biases = shown.half_widths(level, spend), shown.bars(spend).biases
        numbers = public_words(shown.queries, shown.mechanism)
        each = zip(shown.queries.names, widths.tolist(), biases.tolist(), numbers, strict=True)
        for name, width, bias, public in each:
            bare = EXACT if public.get("public") == EXACT else _bare(width)
            yield _Row(name, bare, width, _note(width, bias, useless.get(name)))
        for one in useless.values():
            if one.ratio:
                yield _Row(one.name, f"{_bare(one.half_width)} at least", one.half_width, one.note)
    else:
        for table in plan.each_table(spend, level):
            said = _Row(f"{table.name} ({table.cells})", _bare(table.half_width), table.half_width, "")
            yield said._replace(note=useless[table.name].note if table.name in useless else "")


def _bare(width: float) -> str:
    return plus_minus(width).removeprefix("± ")


def _note(width: float, bias: float, useless: Useless | None) -> str:
    if useless is not None:
        return useless.note
    if not math.isfinite(width) or bias < _MUCH * width or bias == 0:
        return ""
    return f"of it {digits(bias, 2, ROUND_CEILING)} by rounding to bins"


def _table(rows: Sequence[_Row], useless: Sequence[Useless], level: float) -> ShownTable:
    places = chosen_rows([one.half_width for one in rows], [bool(one.note) for one in rows])
    columns = (ShownColumn(""), ShownColumn(f"± {often(level)}", figures=True), ShownColumn(""))
    return ShownTable("Errors", columns, tuple((rows[k].name, rows[k].shown, rows[k].note) for k in places))


def _stated(plan: Plan, spend: Fraction, level: float) -> Iterator[Block]:
    """What holds of questions whose errors are no list of ±."""
    each = plan.each_stated(spend, level)
    for one in each[:MOST_ROWS]:
        yield Paragraph(in_full(f"{one.name}: {one.holds}"))
    if len(each) > MOST_ROWS:
        yield Paragraph(f"and {len(each) - MOST_ROWS:,} more: --all")


def _of_use(plan: Plan, rows: Sequence[_Row], useless: Sequence[Useless], people: str) -> Iterator[str]:
    if not rows:
        return
    if useless:
        number = "One answer is" if len(useless) == 1 else f"{len(useless):,} answers are"
        more = (
            " More of the budget, fewer questions or larger groups help." if any(one.spend for one in useless) else ""
        )
        yield f"▲ {number} of no use: ± covers half or more of what is possible.{more}"
        binned = [one.name for one in useless if one.spend is None]
        if binned:
            others = "" if len(binned) == 1 else f" and {counted(len(binned) - 1, 'other')}"
            yield f"{binned[0]}{others}: all of it is rounding to bins. Smaller bins help, not a larger budget."
        return
    known = known_records(plan)
    most = plan.metric.people is not None and plan.metric.people.most_rows > 1
    if most and plan.plan.answers_a_list:
        yield f"Whether an answer is of use depends on how many {people} there are, and on their rows."
    elif known is None:
        # Where the number is private, the option is refused.
        option = " (--records N)" if plan.metric.absent is None else ""
        yield f"Whether an answer is of use depends on how many {people} there are{option}."
    elif plan.plan.answers_a_list and (plan.plan.queries.ratios or plan.plan.queries.variances):
        yield "Every answer above is of use. What is divided by how many a group has may be of none if these are few."
    else:
        yield "Every answer is of use."


def _about_noise(plan: Plan, rows: Sequence[_Row], spend: Fraction) -> Iterator[str]:
    """How wide noise is at less, which noise it is, and how far from the best."""
    shown = plan.plan
    if plan.wants_errors and plan.least_spend is not None:
        yield f"The errors asked for need a spend of {plain(plan.least_spend)}."
    elif rows and spend == Fraction(plan.metric.budget):
        yield "At a quarter of the budget noise is 4 times as wide."
    else:
        yield ""
    yield from unused_in_words(plan)
    if not shown.answers_a_list:
        yield f"Noise: {shown.mechanism.name}. More: --all" if rows else "More: --all"
        return
    built = [one for one in shown.comparison.shown if one.loss is not None]
    best = f", the best of {len(built)} kinds" if len(built) > 1 and shown.interrupted is None else ""
    yield f"Noise: {shown.mechanism.name}{best}. {_gap(shown)}".strip()
    yield from _limits(shown)
    ordinary = _ordinary(shown, spend)
    yield f"{ordinary} More: --all".strip()


def _limits(shown: Plan) -> Iterator[str]:
    """What holds of this plan only, and must not stay silent."""
    if shown.interrupted is not None:
        yield f"▲ Planning was interrupted at {shown.interrupted}: this is the best that was finished."
    elif shown.comparison.search == "quick":
        yield "A quick plan: more time may find less noise."
    if shown.bias_in_words is not None:
        yield "Answers are to changed questions: that saves noise, and ± holds the difference."
    public = public_part(shown.mechanism)
    for said in () if public is None else (*([ALL_PUBLIC] if public.implied.all() else ()), NOT_COMPARED):
        yield f"▲ {said[:1].upper()}{said[1:]}."
    if shown.metric.privacy != PURE:
        yield "Squares of spends add up."


def _gap(shown: Plan) -> str:
    """How far what was made small is from the least, where that is known."""
    if not shown.comparison.bound_at_hand or shown.lower_bound == 0 or shown.mechanism.change is not None:
        return ""
    if public_part(shown.mechanism) is not None:  # another part of public numbers could leave less to ask
        return ""
    gap, squares = shown.gap, shown.objective.size is None
    error = "squared error" if squares else shown.objective.title
    if squares and shown.objective.name == "max":
        error = "worst answer's squared error"
    if gap <= 1.005:
        return f"No added noise has {'less' if error == 'squared error' else 'a smaller'} {error}."
    most = digits(gap, 3, ROUND_CEILING).rstrip("0").rstrip(".") if gap < 100 else digits(gap, 3, ROUND_CEILING)
    return f"Its {error} is at most {most} times the least that added noise can have."


def _ordinary(shown: Plan, spend: Fraction) -> str:
    """How much wider noise is that hides everybody like the closest two."""
    each: Any = shown.ordinary.per_query if shown.candidates else None
    if not each:
        return ""
    noise = np.sqrt(shown.mechanism.variances(spend))
    ordinary = np.sqrt(np.array(each)) / float(spend)
    ratios = ordinary[noise > 0] / noise[noise > 0]
    if ratios.size == 0 or not np.all(np.isfinite(ratios)):
        return ""
    low, high = (digits(float(one), 2) if one < _FEW else f"{one:,.0f}" for one in (ratios.min(), ratios.max()))
    wide = low if low == high else f"{low} to {high}"
    return f"Ordinary differential privacy: noise {wide} times as wide."
