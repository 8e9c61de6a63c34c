"""Section 4: who counts as a person."""

from __future__ import annotations

from collections.abc import Iterator

from dxgeom.report.document.blocks import Paragraph, Section
from dxgeom.report.facts.facts import Facts
from dxgeom.universe.people.people import People
from dxgeom.universe.wording import shown
from dxgeom.wording.numbers import guesses, odds


def who(facts: Facts) -> Section:
    """The section."""
    people = people_of(facts)
    said = [_nobody_said(facts)] if people is None else [*_counted(facts, people), _NAMES]
    return Section(4, "Who counts as a person", tuple(map(Paragraph, said)))


_NAMES = "Rows that name nobody are refused; one person under several names is several people."


def hides_presence(facts: Facts) -> bool:
    """Whether having a record is hidden."""
    return facts.policy.universe.absent is not None


def people_of(facts: Facts) -> People | None:
    """Who a person is, where the policy says it."""
    return facts.policy.universe.reading.people


def _nobody_said(facts: Facts) -> str:
    far = facts.extremes.closest.distance * facts.budget
    return (
        "The limits hold for one row. Each person is assumed to have one row; nothing checks it. For a person with k "
        f"rows the rows' limits multiply: the closest two, at {odds(far)} for one row, are at {odds(2 * far)} for two "
        f"and {odds(3 * far)} for three, {guesses(3 * far):,} right guesses of 1,000."
    )


def _counted(facts: Facts, people: People) -> Iterator[str]:
    yield f"A person is whoever {shown(people.column)} names."
    if people.count == "single":
        yield "A second row of a person stops the release before anything is spent, so the limits hold for a person."
    elif people.count == "once":
        yield (
            "Each person weighs 1, shared over their rows: the limits hold for a person, however many rows there are. "
            "Moving half of a person's share by a distance counts as half of that distance."
        )
        yield "A count adds up shares of people, not people who ever match: one row of three counts a third."
        if facts.policy.unprotected:
            yield (
                "Only people with equal shares in each group of records that rules join are compared; the sums of "
                "these shares are exact, and may reveal how many rows people have."
            )
    else:
        yield from _by_rows(facts, people)


def _by_rows(facts: Facts, people: People) -> Iterator[str]:
    least = facts.extremes.closest.distance * facts.budget
    most = people.most_rows
    yield (
        f"The first {most} rows of a person by {shown(people.order or '')} are kept, and each tells a part in {most} "
        f"of what the rules allow: if all {most} change, the limits are those of Section 1. With one changed row the "
        f"closest two are at {odds(least / most)}, with all at {odds(least)}."
    )
    yield "Which rows there are, and their order, is not hidden; the errors of Section 5 leave out rows cut off."
    if not hides_presence(facts):
        yield "How many rows of each person are kept is public."
