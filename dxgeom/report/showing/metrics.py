"""A verified metric, and its certificate, in a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from dxgeom.metrics.diameters import smallest_distance
from dxgeom.metrics.metric import MetricCertificate
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.policy.explain.telling import Telling
from dxgeom.privacy.currencies import PURE
from dxgeom.report.document.blocks import Code, Paragraph, Section, ShownColumn, ShownTable, Strong, Words
from dxgeom.report.document.document import Document
from dxgeom.wording.numbers import amount, at_most, guesses


def verifiedmetric(shown: VerifiedMetric) -> Document:
    """Its closest pair and its certificate."""
    told = smallest_distance(shown.metric) * float(shown.budget)
    short = Paragraph(
        (
            "All answers within the budget together tell the closest two records apart with odds ",
            *_told(shown, told),
        )
    )
    facts: tuple[tuple[str, Words], ...] = (
        ("Records", f"{shown.size:,}"),
        ("Budget", amount(shown.budget)),
        ("Fingerprint", (Code(shown.fingerprint[:12]),)),
    )
    section = Section(0, "In short", (short, certificate_table(shown.certificate)))
    return Document("Verified metric", shown.title, "", facts, (section,), shown.fingerprint)


def _told(shown: VerifiedMetric, told: float) -> tuple[str | Strong, ...]:
    if shown.privacy == PURE or not math.isfinite(told):
        return (Strong(at_most(told)), f", {guesses(told):,} right of 1,000 guesses.")
    return (Strong(Telling(shown.privacy, shown.budget).at_most(Fraction(told) / shown.budget)), ".")


def metriccertificate(shown: MetricCertificate) -> Document:
    """Part by part, why the axioms hold."""
    holds = "The axioms of a distance hold." if shown.verdict == "holds" else "They hold within the numbers' rounding."
    section = Section(0, "In short", (Paragraph(holds), certificate_table(shown)))
    return Document("Certificate", shown.form, "", (("Values", f"{shown.size:,}"),), (section,), "")


def certificate_table(shown: MetricCertificate) -> ShownTable:
    """A row for each part, the whole first."""
    columns = (
        ShownColumn("Part"),
        ShownColumn("Values", figures=True),
        ShownColumn("Established by"),
        ShownColumn("Checked"),
    )
    return ShownTable("Certificate", columns, tuple(_rows(shown, 0)))


def _rows(shown: MetricCertificate, depth: int) -> Iterator[tuple[Words, ...]]:
    checked = f"{shown.pairs:,} pairs, {shown.triples:,} triples" if shown.pairs else "by a theorem"
    yield f"{'· ' * depth}{shown.form}", f"{shown.size:,}", shown.reason, checked
    for part in shown.parts:
        yield from _rows(part, depth + 1)
