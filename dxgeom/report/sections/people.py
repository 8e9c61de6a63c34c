"""Section 4: who counts as a person."""

from __future__ import annotations

from dxgeom.report.document.blocks import Paragraph, Section
from dxgeom.report.facts.facts import Facts
from dxgeom.report.wording.numbers import guesses, odds


def who(facts: Facts) -> Section:
    """The section."""
    return Section(4, "Who counts as a person", (Paragraph(_nobody_said(facts)),))


def hides_presence(facts: Facts) -> bool:
    """Whether having a record is hidden."""
    return facts.policy.universe.absent is not None


def names_people(facts: Facts) -> bool:
    """Whether the policy says who a person is."""
    return False


def _nobody_said(facts: Facts) -> str:
    far = facts.extremes.closest.distance * facts.budget
    return (
        "The limits hold for one row. Each person is assumed to have one row; nothing checks it. For a person with k "
        f"rows the rows' limits multiply: the closest two, at {odds(far)} for one row, are at {odds(2 * far)} for two "
        f"and {odds(3 * far)} for three, {guesses(3 * far):,} right guesses of 1,000."
    )
