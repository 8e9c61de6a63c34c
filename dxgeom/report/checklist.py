"""A checklist after NIST SP 800-226, *Guidelines for Evaluating Differential Privacy Guarantees* (2025), filled in.

Its topics, from the parameter down to how data are collected; the words are ours. What a policy, plan and ledger say is
ticked. What only people know is left open.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from dxgeom.privacy.measures import PURE
from dxgeom.report.facts import Facts
from dxgeom.report.registry_entry import (
    accuracy_of,
    bounded_by,
    composition_of,
    failing_of,
    uniform,
    unit_of,
    whole_loss,
)
from dxgeom.report.sections import hides_presence, people_of
from dxgeom.report.warnings import right_of_thousand, warnings
from dxgeom.wording.numbers import amount

_HEAD: Final = (
    "Topics are those of NIST SP 800-226; the words are ours. ☒ is known here, ☐ is for you to find out and write."
)


@final
class _Item(NamedTuple):
    """A topic, whether the files answer it, and what they say or ask."""

    topic: str
    known: bool
    said: str


def checklist(facts: Facts) -> str:
    """Return the list as Markdown: what is promised, what could undermine it, what it rests on, what to decide."""
    parts = (
        ("What is promised", _promised(facts)),
        ("What could undermine it", _undermining(facts)),
        ("What it rests on", _RESTS_ON),
    )
    lines = [f"# Differential privacy of {facts.policy.title}, checked", "", _HEAD]
    for title, items in parts:
        lines += ["", f"## {title}", ""]
        lines += [f"- {'☒' if one.known else '☐'} **{one.topic}.** {one.said}" for one in items]
    notices = [one for one in warnings(facts) if one.severity != "know"]
    lines += ["", "## What to decide", ""]
    lines += [f"- ☐ {one.lead} {one.more}" for one in notices] or ["Nothing was found."]
    return "\n".join([*lines, "", f"Policy (SHA-256): {facts.policy.fingerprint}", ""])


def _promised(facts: Facts) -> list[_Item]:
    near, far = facts.extremes.closest, facts.extremes.farthest
    name, loss = ("epsilon", whole_loss(facts)) if facts.policy.privacy == PURE else ("rho", whole_loss(facts))
    number = "no one number holds for all pairs" if loss is None else f"{name} is at most {loss:g} for any two records"
    guesses = (
        f"Of 1,000 guesses between two records, {right_of_thousand(facts, near.distance)} can be right for the closest "
        f"and {right_of_thousand(facts, far.distance)} for the farthest; a coin gets 500."
    )
    kind = "Any two records are equally far apart" if uniform(facts) else "Distances differ by pair of records"
    variant = "pure" if facts.policy.privacy == PURE else "zero-concentrated"
    failing = "without a" if facts.policy.delta is None else "with a"
    adds = "added, removed or replaced" if hides_presence(facts) else "replaced; their number is public"
    return [
        _Item("Privacy parameter", True, f"For the whole budget of {amount(facts.policy.budget)}, {number}. {guesses}"),
        _Item("Variant", True, f"The {variant} kind, {failing} chance of failure delta. {kind}.{failing_of(facts)}"),
        _Item("Unit of privacy", people_of(facts) is not None, f"{unit_of(facts)}. Records are {adds}."),
        _Item("Bounded contributions", people_of(facts) is not None, bounded_by(facts)),
        _Item(
            "Comparable claims",
            True,
            "An epsilon of two systems compares only for one unit, one neighbourhood and one period.",
        ),
    ]


def _undermining(facts: Facts) -> list[_Item]:
    accuracy = accuracy_of(facts)
    return [
        _Item(
            "Algorithms and sensitivity",
            facts.plan is not None or facts.plan_shown is not None,
            "Distances are proved to be a metric. Noise is checked against them in whole, whoever made a plan.",
        ),
        _Item("Composition", facts.spent is not None, composition_of(facts)),
        _Item(
            "Accuracy",
            accuracy is not None,
            accuracy or "No questions were given: ask what answers are needed, and how exact.",
        ),
        _Item(
            "Bias",
            False,
            "Small groups have the largest relative errors. Who is missing from the data, or miscounted in it?",
        ),
        _Item("Queries", True, "A fixed list, answered once for its charge. Repeated releases show the same answers."),
        _Item(
            "Numbers of finite precision",
            True,
            "Noise is drawn exactly on integers, never rounded from floating point.",
        ),
        _Item("Timing", False, "Running time is not hidden. Who could measure it, or see refusals and their messages?"),
        _Item(
            "Trust",
            False,
            "The central model: who holds the table runs the release. Who else sees rows before noise is added?",
        ),
        _Item(
            "Security and access",
            False,
            "Who may read the table, run releases and write the ledger? Is there only one ledger?",
        ),
    ]


_RESTS_ON: Final = [
    _Item(
        "Exposure by collection",
        False,
        "Which rows are collected at all, for how long, and who could be harmed by that alone?",
    ),
    _Item("Public facts", False, "Were ranges, lists of values and rules chosen without looking at this table?"),
]
