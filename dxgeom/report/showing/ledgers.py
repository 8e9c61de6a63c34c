"""A ledger in a notebook: how much of the budget is spent, and on what."""

from __future__ import annotations

from fractions import Fraction

from dxgeom.ledger.history import read_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.report.document.blocks import Block, Code, Paragraph, Section, ShownColumn, ShownTable, Words
from dxgeom.report.document.document import Document
from dxgeom.report.sections.account import budget_gauge, date_of
from dxgeom.wording.numbers import amount

_MOST_ROWS = 50


def ledger(shown: Ledger) -> Document:
    """The gauge and the entries of its policy."""
    account, blocks = shown.account, list[Block]()
    if shown.file is None:
        blocks.append(Paragraph("In memory: it is forgotten when it is closed, and protects nobody across runs."))
    else:
        blocks += _entries(shown, shown.file)
    facts: tuple[tuple[str, Words], ...] = (
        ("Kept in", "memory" if shown.file is None else shown.file),
        ("Budget", amount(account.budget)),
        ("Policy", (account.policy_name, " ", Code(account.policy_fingerprint[:12]))),
    )
    section = Section(0, "What was told, and what is left", tuple(blocks))
    return Document("Ledger", account.policy_name, "", facts, (section,), account.policy_fingerprint)


def _entries(shown: Ledger, file: str) -> list[Block]:
    history = read_ledger(file)
    account, answered = shown.account, {*history.answers, *history.waiting}
    numbers = {one.number for one in history.accounts if one.policy_fingerprint == account.policy_fingerprint}
    mine = [entry for entry in history.entries if entry.account in numbers]
    edition = account.data_set.edition
    mine = [entry for entry in mine if not history.disjoint or entry.edition == edition]
    counted = history.currency
    told = counted.spend_above(sum((counted.counted(entry.spend) for entry in mine), Fraction(0)))
    columns = (
        ShownColumn("Entry"),
        ShownColumn("Day"),
        ShownColumn("Purpose"),
        ShownColumn("Spend", figures=True),
        ShownColumn("State"),
    )
    rows = tuple(
        (
            str(entry.number),
            date_of(entry.time_utc),
            entry.purpose,
            amount(entry.spend),
            "answered" if entry.number in answered else "charged, answer not kept here",
        )
        for entry in mine[-_MOST_ROWS:]
    )
    return [budget_gauge(told, account.budget, len(mine), account.currency), ShownTable("Entries", columns, rows)]
