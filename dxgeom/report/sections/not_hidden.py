"""Section 2: what is not hidden: silence would read as protection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from dxgeom.policy.lower.connectivity import Unprotected
from dxgeom.report.document.blocks import Section, ShownColumn, ShownTable
from dxgeom.report.facts.facts import Facts
from dxgeom.report.sections.people import hides_presence, people_of

Row: TypeAlias = tuple[str, str, str]


def not_hidden(facts: Facts) -> Section:
    """The section."""
    columns = (
        ShownColumn("Not hidden"),
        ShownColumn("What that means"),
        ShownColumn("Who decided, and how to change it"),
    )
    return Section(2, "What is not hidden", (ShownTable("What is not hidden", columns, tuple(_rows(facts))),))


def exact_questions(facts: Facts) -> tuple[str, ...]:
    """The questions that are answered without noise."""
    if facts.plan is None:
        return ()
    noise = facts.plan.mechanism.ideal_variances
    return tuple(name for name, variance in zip(facts.plan.queries.names, noise, strict=True) if variance == 0)


def _rows(facts: Facts) -> Iterator[Row]:
    for one in facts.policy.unprotected:
        allowed = (
            f"The policy, by 'unconnected: allow' {_line_of(facts, 'unconnected')}. A rule that joins them hides it."
        )
        yield _what(one), _meaning(one), allowed
    for name in sorted(facts.policy.resolved.public):
        yield (
            f"Whether {name} is missing",
            "It is told exactly whether a record has a value here.",
            f"The policy, by 'missing: public' of {name}. 'missing: {{epsilon: …}}' hides it.",
        )
    for name in exact_questions(facts):
        yield f"The answer to “{name}”", "It is told exactly, without noise.", "The policy hides nothing that it tells."
    if not hides_presence(facts):
        number = "Their number" if facts.records is None else f"{facts.records:,}"
        yield (
            "Having a record",
            "No limit is promised on what can be learnt about whether somebody is among the data.",
            "The policy: no rule about presence. 'presence: true' with an epsilon adds one, at the cost of more noise.",
        )
        told = f"{number} is told exactly; of a table that was filtered, how many passed."
        yield "The number of records", told, "The same."
    people = people_of(facts)
    if people is not None and people.count == "rows":
        yield (
            "Which rows a person has",
            f"Which rows there are, and their order by {people.order}, may be told; {people.at_most} of each are kept.",
            "The policy, by 'people: {count: rows}'. 'count: once' hides it.",
        )
    yield (
        "What is true of many",
        "What the answers say of people in general can be held of anybody, in the data or not.",
        "The questions. No policy changes it.",
    )
    yield (
        "What others publish",
        "Answers about the same people from elsewhere add to these. This page does not know them.",
        "Whoever keeps the data.",
    )


def _what(one: Unprotected) -> str:
    return "Groups of records" if one.attribute is None else one.attribute


def _meaning(one: Unprotected) -> str:
    examples = [example for _, example in one.components[:2] if example]
    if len(examples) == 2:
        return (
            f"{examples[0]} and {examples[1]} may be told apart exactly; there are {len(one.components):,} such groups."
        )
    return "Any two of its values may be told apart exactly."


def _line_of(facts: Facts, key: str) -> str:
    """The line where a key of the file stands."""
    text = facts.policy.text
    lines = [] if text is None or text.paths is not None else text.content.splitlines()
    found = [number for number, line in enumerate(lines, 1) if line.split(":")[0].strip(" '\"") == key]
    return f"(line {found[0]})" if found else ""
