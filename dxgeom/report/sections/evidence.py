"""Sections 7 and 8: what can be checked by somebody else, the words, and room for a signature."""

from __future__ import annotations

from collections.abc import Iterator

from dxgeom.report.document.blocks import (
    Block,
    Code,
    Definitions,
    Paragraph,
    Section,
    ShownColumn,
    ShownTable,
    Signature,
    Words,
)
from dxgeom.report.facts.facts import Facts
from dxgeom.wording.glossary import GLOSSARY


def evidence(facts: Facts) -> Section:
    """Section 7."""
    columns = (ShownColumn("What"), ShownColumn("Established by"), ShownColumn("Digest (SHA-256)"))
    blocks: tuple[Block, ...] = (
        ShownTable("Certificates", columns, tuple(_rows(facts))),
        Paragraph(
            (
                "This page is of your file if its digest is the same: ",
                Code(f"dxgeom check {facts.policy.file} --format json"),
                " prints it as “fingerprint”. It stands for what the file means; comments and layout do not change it.",
            )
        ),
    )
    return Section(7, "Check it yourself", blocks)


def words_and_signature(decisions: int) -> Section:
    """Section 8, and the signature."""
    marks = ", ".join(str(number) for number in range(1, decisions + 1)) or "none"
    labels = ("Name, office", f"Decisions taken on ▲ {marks}", "Date")
    return Section(8, "Words used here", (Definitions(GLOSSARY), Signature(labels)))


def _rows(facts: Facts) -> Iterator[tuple[Words, ...]]:
    certificate = facts.review.certificate
    yield (
        "Distances obey the triangle inequality",
        f"{certificate.form}: {certificate.reason}{_parts(facts)}",
        (Code(facts.policy.fingerprint),),
    )
    if facts.plan is not None:
        yield (
            "Noise fits the distances",
            "Checked on every pair that generates the distances, when the plan was made or read.",
            (Code(facts.plan.fingerprint),),
        )
        yield (
            "Questions",
            f"{facts.plan.queries.count:,} exact tables of weights",
            (Code(facts.plan.queries.fingerprint),),
        )
    if facts.stated is not None:
        asked, digest = facts.stated.questions
        yield "Plan", "The law of all answers together, and what is asked.", (Code(facts.stated.plan.fingerprint),)
        yield "Questions", asked, (Code(digest),)
    if facts.plan_digest is not None:
        yield "Plan file", "Everything in it was proved again when it was read.", (Code(facts.plan_digest),)
    if facts.history is not None and facts.history.receipt is not None:
        number, seal = facts.history.receipt
        yield "Ledger", f"A chain of seals up to entry {number}, verified as a whole", (Code(seal),)


def _parts(facts: Facts) -> str:
    parts = [f"{part.form}, {part.reason}" for part in facts.review.certificate.parts]
    return f" ({'; '.join(parts)})" if parts else ""
