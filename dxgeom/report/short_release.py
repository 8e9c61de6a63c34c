"""A release on one screen, fresh or from a ledger: answers with ±, what was spent, what is left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any, Final, NamedTuple

from dxgeom.document.document import Block, Document, Paragraph, Section, ShownColumn, ShownTable
from dxgeom.errors import DxgeomError
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.answers.tables import AnswerPart, AnswerTable, parts_of
from dxgeom.planner.public_numbers import EXACT, NOT_COMPARED
from dxgeom.planner.release import Release
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import PURE
from dxgeom.report.answers import answer_notes, answer_tables
from dxgeom.report.short_plan import MOST_ROWS, chosen_rows, often
from dxgeom.report.short_policy import ONE_ROW_EACH, called, people_words, rule_rows, unit_of
from dxgeom.universe.columns import chance_in_words, plain
from dxgeom.wording.numbers import amount, answer_and_bar, counted, ends_outward, in_full

_ALL: Final = "--all"
_MOST_NOTES: Final = 3
_LONGEST: Final = 8
_NEAR: Final = 1e-6
_ONE_ROW: Final = "▲ Each person was taken to have one row."
_PUBLIC: Final = "How many they are is told exactly, of a filtered table too."


class _Row(NamedTuple):
    """An answer: its name, itself, ±, and half of the bar as a number."""

    name: str
    value: str
    bar: str
    half_width: float


def release_screen(
    released: Release[Any], level: float = 0.95, *, joint: bool = False, policy: Policy | None = None
) -> Document:
    """The release in at most fifteen lines at 80 characters, and one for each answer up to twelve.

    ``policy``: what it was made under; read from what the release keeps of it where it is left out.
    """
    parts = parts_of(released.as_dict(level, joint=joint))
    people = "records" if released.people is None else released.people.records_are
    known = policy if policy is not None else _policy_of(released)
    people = people.replace("records", "people").replace("people", "people" if known is None else known.labels.people)
    assumed = _ONE_ROW if released.people is None else people_words(released.people)
    if known is not None and known.universe.one_row_each:
        assumed = ONE_ROW_EACH
    many = f"the number of {people} is private" if released.records is None else f"{released.records:,} {people}"
    made_up = ", made up" if released.rehearsal else ""
    dropped = f"; {released.dropped:,} rows that do not fit were left out" if released.dropped else ""
    useless = released.answer.warnings if isinstance(released.answer, ShownAnswers) else ()
    # To release again with --all would spend again.
    rest = _ALL if released.receipt is None else f"{released.receipt.command} {_ALL}"
    closing = [bars_in_words(parts) + _spent(released), *_by_rule(known, released.spent, rest)]
    closing += [
        assumed if released.records is None else f"{assumed} {_PUBLIC}",
        *(f"▲ {in_full(one)}" for one in useless[:_MOST_NOTES]),
        *not_compared(parts),
    ]
    closing += [*_kept(released)]
    name = released.mechanism.account.policy_name if known is None else known.title
    sections = (*answer_sections(parts, rest), Section(0, "", tuple(map(Paragraph, filter(None, closing)))))
    return Document(name, f"{many}{made_up}{dropped}", "", (), sections, released.plan_fingerprint)


def except_for(chance: Fraction | None) -> list[str]:
    """With which chance a release is outside its promise, where it may be."""
    return [] if chance is None else [f"Its odds hold except with chance {chance_in_words(chance)}."]


def not_compared(parts: Sequence[AnswerPart]) -> list[str]:
    """What is to be said where public numbers are in answers."""
    told = any("public" in table.columns for part in parts for table in part.tables)
    told = told or any(part.cells and note.about == "public" for part in parts for note in part.notes)
    return [f"▲ {NOT_COMPARED[:1].upper()}{NOT_COMPARED[1:]}."] if told else []


def _policy_of(released: Release[Any]) -> Policy | None:
    """The policy that a release's account keeps; None where it keeps none."""
    stated = released.mechanism.account.policy
    if isinstance(held := getattr(stated, "__self__", None), Policy):  # planned just now
        return held
    stated = stated if isinstance(stated, str | None) else stated()
    try:
        return None if stated is None else Policy.from_stated(stated)
    except DxgeomError:
        return None


def answer_sections(parts: Sequence[AnswerPart], rest: str = _ALL) -> Iterator[Section]:
    """The answers of each part, below its name where it has one; ``rest`` shows those that are left out."""
    for part in parts:
        titled: tuple[Block, ...] = () if not part.name else (Paragraph(f"{part.name} ({part.kind})"),)
        blocks = (*titled, *_answers(part, rest))
        if blocks:
            yield Section(0, "", blocks)


def _answers(part: AnswerPart, rest: str) -> Iterator[Block]:
    listed = [*_rows(part)] if all(map(_has_bars, part.tables)) and part.tables else []
    if not listed or (part.summary is not None and len(listed) > MOST_ROWS):
        for table in answer_tables(part):
            yield ShownTable(table.label, table.columns, table.rows[:MOST_ROWS])
            if len(table.rows) > MOST_ROWS:
                yield Paragraph(f"and {len(table.rows) - MOST_ROWS:,} more: {rest}")
        yield from (Paragraph(in_full(one.sentence)) for one in [*answer_notes(part)][:_MOST_NOTES])
        return
    places = chosen_rows([one.half_width for one in listed], [False] * len(listed))
    columns = ShownColumn(""), ShownColumn("", figures=True), ShownColumn(""), ShownColumn("")
    yield ShownTable("Answers", columns, tuple((*listed[k][:3], "") for k in places))
    if len(listed) > MOST_ROWS:
        yield Paragraph(f"and {len(listed) - MOST_ROWS:,} more: {rest}")


def _has_bars(table: AnswerTable) -> bool:
    """Whether all answers are numbers, each with a bar or without any limit."""
    return "value" in table.columns and all(
        low is not None
        for low, value in zip(table.cells("low"), table.cells("value"), strict=True)
        if value is not None
    )


def _rows(part: AnswerPart) -> Iterator[_Row]:
    for table in part.tables:
        columns = (table.cells(title) for title in ("value", "low", "high", "rmse", "public"))
        for name, value, low, high, error, public in zip(table.called, *columns, strict=True):
            if public == EXACT and value is not None:
                yield _Row(name, answer_and_bar(value, 0.0)[0], EXACT, 0.0)
            elif value is None or low is None or high is None:
                yield _Row(name, "none", "", math.nan)
            elif abs((low + high) / 2 - value) <= _NEAR * max(abs(value), high - low, 1e-300):
                shown, bar = answer_and_bar(value, (high - low) / 2)
                # An integer's bar is 0 where it is right often enough, which is not always.
                yield _Row(name, shown, "± 0" if high == low and error else bar, (high - low) / 2)
            elif math.isinf(low) and math.isinf(high):
                yield _Row(name, amount(value), "± no limit", math.inf)
            else:
                between = "between {} and {}".format(*ends_outward(low, high))
                yield _Row(name, answer_and_bar(value, high - low)[0], between, (high - low) / 2)


def bars_in_words(parts: Sequence[AnswerPart]) -> str:
    """How often bars hold, with a blank behind it; nothing where there are none."""
    tables = [table for part in parts for table in part.tables if _has_bars(table)]
    if not tables:
        return ""
    once = ", for all answers at once" if all("at once" in table.manner for table in tables) else ""
    return f"± holds {often(tables[0].level)}{once}. "


def _spent(released: Release[Any]) -> str:
    account = released.mechanism.account
    budget = plain(account.budget)
    if released.rehearsal:
        return f"Nothing was spent: a release would have spent {plain(released.spent)} of the budget of {budget}."
    squares = "" if account.privacy_measure == PURE else " Squares of spends add up."
    seldom = "".join(f" {one}" for one in except_for(released.mechanism.delta))
    left = f"{_left(released.remaining)} is left."
    if released.repeated:
        return f"As it was at {released.time}: nothing was spent again. {left}{squares}{seldom}"
    return f"Spent {plain(released.spent)} of the budget of {budget}; {left}{squares}{seldom}"


def _left(remaining: Fraction) -> str:
    """Rounded down where it has very many digits: what is named can be spent."""
    exact = plain(remaining)
    if len(exact) <= _LONGEST:
        return exact
    step = Fraction(10) ** (math.floor(math.log10(remaining)) - 3)
    return f"{plain(remaining // step * step)} and a little more"


def _by_rule(policy: Policy | None, spend: Fraction, rest: str) -> Iterator[str]:
    """What this release spent of each rule, as epsilon and as odds."""
    if policy is None:
        return
    said: list[str] = []
    for (odds, epsilons, step), rows in groupby(
        rule_rows(policy), lambda row: (row.odds(spend, policy.privacy), row.epsilons(spend), row.step)
    ):
        several = [*rows]
        names = ", ".join(called(policy.labels, row) for row in several)
        step += unit_of(policy.labels, several[0])
        limit = "" if said or not odds.replace(".", "").replace(",", "").isdecimal() else " to 1"
        said.append(f"{names} {epsilons}{step}, {odds}{limit}")
    if said:
        words = "epsilon and odds" if policy.privacy == PURE else "distance and odds, one time in a million more"
        others = "" if len(said) <= MOST_ROWS else f" · {counted(len(said) - MOST_ROWS, 'rule')} more: {rest}"
        yield f"Spent, as {words}: {' · '.join(said[:MOST_ROWS])}{others}"


def _kept(released: Release[Any]) -> Iterator[str]:
    """Where it is kept, and what is to be known of that."""
    booking = released.receipt
    if booking is None:
        return
    new = (
        " (new: releases about the same data in another ledger are not counted)"
        if booking.entry == 1 and booking.warning
        else ""
    )
    yield f"{booking.ledger}, entry {booking.entry}{new}"
    if booking.waiting is not None:
        yield f"▲ The answer waits beside the ledger, to be booked later: {booking.waiting}"
    if booking.warning is not None and not new:
        yield f"▲ {booking.warning}"
